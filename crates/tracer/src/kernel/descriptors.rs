//! Closing what a child has inherited.

use std::io;
use std::os::fd::RawFd;

use rustix::process::{Resource, getrlimit};

/// Closes all descriptors from one number to another, both included. Only for a child between `fork`
/// and its end, in which nobody uses them: makes system calls and nothing else.
///
/// Before Linux 5.9 there is no `close_range(2)`, and a filter may refuse it. A descriptor that stays
/// open would hold a pipe open that somebody waits for.
pub(crate) fn close_descriptors(from: u32, to: u32) {
    // SAFETY: the caller says that nobody uses them.
    if unsafe { libc::syscall(libc::SYS_close_range, from, to, 0) } == 0 {
        return;
    }
    // None is above the limit unless that was lowered: fs.nr_open bounds it (fs/file.c).
    let limit = getrlimit(Resource::Nofile).maximum;
    let end = limit.and_then(|limit| u32::try_from(limit).ok());
    for descriptor in from..=to.min(end.unwrap_or(MOST)) {
        // SAFETY: the caller says that nobody uses it.
        unsafe { libc::close(descriptor.cast_signed()) };
    }
}

/// The kernel's own bound, unless somebody has raised it (`sysctl_nr_open`, fs/file.c).
const MOST: u32 = 1 << 20;

/// Waits for a byte or the end of a pipe, of which `read(2)` tells: 1, 0, or -1 where it fails. Makes
/// system calls and nothing else, as a child between `fork` and its end has to.
pub(crate) fn wait_for_byte(fd: RawFd, byte: &mut u8) -> isize {
    loop {
        // SAFETY: the kernel writes at most one byte, which lives.
        let read = unsafe { libc::read(fd, std::ptr::from_mut(byte).cast(), 1) };
        if read >= 0 || io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
            return read;
        }
    }
}
