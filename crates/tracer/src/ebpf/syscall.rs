//! bpf(2), for what Aya has not.
#![expect(unsafe_code, reason = "a system call that Aya has no function for")]

use std::io;

/// `attributes` is the part of `bpf_attr` that the command takes. The caller keeps what its pointers
/// point at, with the lengths that it gives.
pub(super) fn bpf<T>(command: u32, attributes: &mut T) -> io::Result<libc::c_long> {
    let bytes = size_of::<T>();
    // SAFETY: the structure has the length that is given, and what it points at lives as long as
    // the borrow of what the caller made it of.
    let done = unsafe { libc::syscall(libc::SYS_bpf, command, &raw mut *attributes, bytes) };
    if done < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(done)
}
