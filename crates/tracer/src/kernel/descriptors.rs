//! Closes inherited descriptors in a child.

use std::io;
use std::os::fd::RawFd;

use rustix::process::{Resource, getrlimit};

/// Closes all descriptors from `first` to `last`, both included. Only for a child between `fork`
/// and its end, in which nothing uses them: makes system calls and nothing else.
///
/// Linux before 5.9 has no `close_range(2)`, and a filter may refuse it. A descriptor left open
/// would keep open a pipe whose end another process waits for.
pub(crate) fn close_descriptors(from: u32, to: u32) {
    // SAFETY: the caller guarantees that nothing uses them.
    if unsafe { libc::syscall(libc::SYS_close_range, from, to, 0) } == 0 {
        return;
    }
    // None is above the limit unless the limit was lowered: fs.nr_open bounds it (fs/file.c).
    let limit = getrlimit(Resource::Nofile).maximum;
    let end = limit.and_then(|limit| u32::try_from(limit).ok());
    for descriptor in from..=to.min(end.unwrap_or(MOST)) {
        // SAFETY: the caller guarantees that nothing uses it.
        unsafe { libc::close(descriptor.cast_signed()) };
    }
}

/// The kernel's default bound; root may raise it (`sysctl_nr_open`, fs/file.c).
const MOST: u32 = 1 << 20;

/// Waits for a byte or the end of a pipe; returns the result of `read(2)`: 1, 0, or -1 on failure.
/// Makes system calls and nothing else, as required in a child between `fork` and its end.
pub(crate) fn wait_for_byte(fd: RawFd, byte: &mut u8) -> isize {
    loop {
        // SAFETY: the kernel writes at most one byte, which lives.
        let read = unsafe { libc::read(fd, std::ptr::from_mut(byte).cast(), 1) };
        if read >= 0 || io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
            return read;
        }
    }
}
