//! A duplicate of a traced process's descriptor.
//!
//! `pidfd_getfd(2)` duplicates it. The seccomp profiles of Docker and Podman refuse that call in a
//! container without `CAP_SYS_PTRACE` (seccomp/default.json in github.com/moby/profiles), while
//! they allow ptrace and `/proc`: then the file is reopened through its link in `/proc`, which
//! leads to the file and not to a path.

use std::os::fd::{AsRawFd as _, OwnedFd};

use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, openat};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

use super::request::Tid;

/// It keeps locks and files alive: hold it only briefly.
#[derive(Debug)]
pub(super) struct Duplicate {
    pub(super) fd: OwnedFd,
    /// `O_*` of the original, if this one was reopened.
    pub(super) flags: Option<OFlags>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Absent {
    /// The descriptor is not open, or the process has ended.
    NotOpen,
    /// iostrata is not permitted to know.
    Refused,
}

/// A pidfd of a process or thread; `None` when it has ended.
pub(super) fn handle(number: u32, flags: PidfdFlags) -> Option<OwnedFd> {
    let pid = Pid::from_raw(i32::try_from(number).ok()?)?;
    pidfd_open(pid, flags).ok()
}

/// `PIDFD_THREAD` of `include/uapi/linux/pidfd.h`, which is `O_EXCL` (Linux 6.9).
const PIDFD_THREAD: PidfdFlags = PidfdFlags::from_bits_retain(0o200);

/// The descriptor `fd` of a thread and its process, for which a pidfd may exist.
pub(super) fn duplicate(process: Option<&OwnedFd>, tid: Tid, fd: i32) -> Result<Duplicate, Absent> {
    let get = |of: &OwnedFd| pidfd_getfd(of, fd, PidfdGetfdFlags::empty());
    let whole = |fd| Duplicate { fd, flags: None };
    match process.map(get) {
        Some(Ok(fd)) => return Ok(whole(fd)),
        Some(Err(Errno::BADF)) => return Err(Absent::NotOpen),
        _ => {}
    }
    // A process whose first thread has ended shows descriptors only through its other threads.
    match handle(tid, PIDFD_THREAD).map(|thread| get(&thread)) {
        Some(Ok(fd)) => Ok(whole(fd)),
        Some(Err(Errno::BADF)) => Err(Absent::NotOpen),
        _ => open_again(tid, fd),
    }
}

/// The file of a descriptor, through `/proc`: opened for reading where that is allowed and
/// harmless, otherwise with `O_PATH`.
fn open_again(tid: Tid, fd: i32) -> Result<Duplicate, Absent> {
    let link = format!("/proc/{tid}/fd/{fd}");
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let place = match openat(CWD, link, flags, Mode::empty()) {
        Ok(place) => place,
        Err(Errno::NOENT | Errno::SRCH) => return Err(Absent::NotOpen),
        Err(_) => return Err(Absent::Refused),
    };
    let flags = flags_of(tid, fd).ok_or(Absent::Refused)?;
    Ok(Duplicate {
        fd: for_reading(&place).unwrap_or(place),
        flags: Some(flags),
    })
}

/// Opening a FIFO or a device has effects; opening a regular file or a directory has none.
fn for_reading(place: &OwnedFd) -> Option<OwnedFd> {
    let mode = fstat(place).ok()?.st_mode;
    let kind = FileType::from_raw_mode(mode);
    if !matches!(kind, FileType::RegularFile | FileType::Directory) {
        return None;
    }
    let link = format!("/proc/self/fd/{}", place.as_raw_fd());
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    openat(CWD, link, flags, Mode::empty()).ok()
}

/// `flags:` and octal digits (`proc_pid_fdinfo(5)`).
fn flags_of(tid: Tid, fd: i32) -> Option<OFlags> {
    let info = std::fs::read_to_string(format!("/proc/{tid}/fdinfo/{fd}")).ok()?;
    let digits = info.lines().find_map(|line| line.strip_prefix("flags:"))?;
    let bits = u32::from_str_radix(digits.trim(), 8).ok()?;
    Some(OFlags::from_bits_retain(bits))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use super::*;

    #[test]
    fn a_file_is_the_same_when_it_is_opened_again() {
        let me = std::process::id();
        let file = tempfile::tempfile().unwrap();
        let again = open_again(me, file.as_raw_fd()).unwrap();
        let of = std::fs::File::from(again.fd).metadata().unwrap();
        assert_eq!(of.ino(), file.metadata().unwrap().ino());
        let flags = again.flags.unwrap();
        assert!(flags.contains(OFlags::RDWR) && !flags.contains(OFlags::PATH));
        let (pipe, _other) = rustix::pipe::pipe().unwrap();
        let place = open_again(me, pipe.as_raw_fd()).unwrap();
        let kind = FileType::from_raw_mode(fstat(&place.fd).unwrap().st_mode);
        assert_eq!(kind, FileType::Fifo);
        assert_eq!(open_again(me, 1 << 20).unwrap_err(), Absent::NotOpen);
    }
}
