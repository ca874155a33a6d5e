//! bpf(2) commands that Aya lacks.
#![expect(unsafe_code, reason = "a system call that Aya has no function for")]

use std::io;

/// `attributes` is the part of `bpf_attr` that the command takes. The caller keeps the memory
/// behind its pointers alive, with the lengths that it passes.
pub(super) fn bpf<T>(command: u32, attributes: &mut T) -> io::Result<libc::c_long> {
    let bytes = size_of::<T>();
    // SAFETY: the structure has the given length, and the memory behind its pointers lives as long
    // as the borrow from which the caller made it.
    let done = unsafe { libc::syscall(libc::SYS_bpf, command, &raw mut *attributes, bytes) };
    if done < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(done)
}
