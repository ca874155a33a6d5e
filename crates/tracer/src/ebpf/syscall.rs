//! bpf(2) commands that Aya lacks.
#![expect(unsafe_code, reason = "a system call that Aya has no function for")]

use std::io;
use std::os::fd::{FromRawFd as _, OwnedFd};

use aya_obj::generated::bpf_cmd;

/// `attributes` is the part of `bpf_attr` that the command takes. The caller keeps the memory
/// behind its pointers alive, with the lengths that it passes.
pub(super) fn bpf<T>(command: bpf_cmd, attributes: &mut T) -> io::Result<libc::c_long> {
    let bytes = size_of::<T>();
    // SAFETY: the structure has the given length, and the memory behind its pointers lives as long
    // as the borrow from which the caller made it.
    let done = unsafe { libc::syscall(libc::SYS_bpf, command as u32, &raw mut *attributes, bytes) };
    if done < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(done)
}

/// A command that returns a new descriptor, and nothing else.
pub(super) fn create<T>(command: bpf_cmd, attributes: &mut T) -> io::Result<OwnedFd> {
    let number = i32::try_from(bpf(command, attributes)?).map_err(io::Error::other)?;
    // SAFETY: the kernel has just created this descriptor for us.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}
