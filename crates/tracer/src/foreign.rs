//! Opens files chosen by another program, so that it cannot block this one.
//!
//! The file at a path, or behind a descriptor of another process, may be exchanged at any moment:
//! opening a FIFO waits for a writer, opening a device does whatever its driver does. So the file
//! is first opened with `O_PATH` (open(2)), then checked, and opened for reading only if it is a
//! regular file. `O_NONBLOCK` matters for regular files too: otherwise the open would wait for a
//! lease of the program (fcntl(2), `F_SETLEASE`). The file is never mapped: a file that shrinks
//! meanwhile ends a read and not this program (`SIGBUS`, mmap(2)).

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, fstat, open as open_at_path, openat2};
use rustix::io::Errno;

/// The regular file at a path, following symbolic links: `/proc/PID/fd/N` is one.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    opened(&open_at_path(path, flags, Mode::empty())?)
}

/// The regular file at a path, without following a symbolic link at its end.
pub(crate) fn open_itself(path: &Path) -> io::Result<File> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    opened(&open_at_path(path, flags, Mode::empty())?)
}

/// The regular file at a path as seen from `root`; no link leads out of it. A link at the end of
/// the path is followed only with `follow`.
pub(crate) fn open_beneath(root: &str, path: &Path, follow: bool) -> io::Result<File> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = open_at_path(root, flags, Mode::empty())?;
    let mut flags = OFlags::PATH | OFlags::CLOEXEC;
    if !follow {
        flags |= OFlags::NOFOLLOW;
    }
    let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
    opened(&openat2(root, path, flags, Mode::empty(), resolve)?)
}

/// Opens the held file if it is regular. Its access time stays unchanged where that is permitted
/// (`O_NOATIME`).
pub(crate) fn opened(held: &OwnedFd) -> io::Result<File> {
    let found = fstat(held)?;
    if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is not a regular file",
        ));
    }
    let again = format!("/proc/self/fd/{}", held.as_raw_fd());
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = match open_at_path(again.as_str(), flags | OFlags::NOATIME, Mode::empty()) {
        Err(Errno::PERM) => open_at_path(again.as_str(), flags, Mode::empty()),
        other => other,
    };
    Ok(file?.into())
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::os::unix::fs::symlink;

    use rustix::fs::{CWD, mknodat};

    use super::*;

    #[test]
    fn a_fifo_a_device_and_a_directory_are_refused_and_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let fifo = dir.path().join("fifo");
        mknodat(CWD, &fifo, FileType::Fifo, Mode::RWXU, 0).unwrap();
        for path in [fifo.as_path(), Path::new("/dev/zero"), dir.path()] {
            let error = open(path).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{path:?}");
        }
        let descriptor = OwnedFd::from(File::open(dir.path()).unwrap());
        let link = format!("/proc/self/fd/{}", descriptor.as_raw_fd());
        assert!(open(Path::new(&link)).is_err());
    }

    #[expect(unsafe_code, reason = "no library wraps F_SETLEASE")]
    #[test]
    fn a_lease_is_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("leased");
        let file = File::create(&path).unwrap();
        // SAFETY: F_SETLEASE takes an open descriptor and a number.
        let leased = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLEASE, libc::F_WRLCK) };
        assert_eq!(leased, 0, "{}", io::Error::last_os_error());
        // The kernel notifies the holder by SIGIO, which would end this program. SAFETY: ignoring a
        // signal needs no handler.
        unsafe { libc::signal(libc::SIGIO, libc::SIG_IGN) };
        let error = open(&path).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
    }

    #[test]
    fn a_link_leads_where_it_may() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, "bytes").unwrap();
        let link = dir.path().join("link");
        symlink("file", &link).unwrap();
        let mut text = String::new();
        open(&link).unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "bytes");
        assert!(open_itself(&link).is_err());
        assert!(open_itself(&path).is_ok());
        let root = dir.path().to_str().unwrap();
        assert!(open_beneath(root, Path::new("/link"), true).is_ok());
        assert!(open_beneath(root, Path::new("/link"), false).is_err());
        let out = dir.path().join("out");
        symlink("/etc/passwd", &out).unwrap();
        assert!(open_beneath(root, Path::new("/out"), true).is_err());
    }
}
