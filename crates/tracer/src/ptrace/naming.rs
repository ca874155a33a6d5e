//! Names of files, read from the kernel at the moment of the call.

use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd};

use iostrata_core::trace::{FileKind, NamedFile};
use syscalls::Sysno;

use super::identity::{Identifier, Open};
use super::place::{self, Given};
use super::recorder::{Recorder, low};
use super::request::Tid;

impl Recorder {
    /// The paths of a call, and the file that it links.
    pub(super) fn names(
        &mut self,
        tid: Tid,
        number: Sysno,
        arguments: &[u64; 6],
        (first, second): (Option<Given>, Option<Given>),
    ) -> (Option<Vec<u8>>, Option<Vec<u8>>, Option<Open>) {
        let absolute = |given: Option<Given>| place::absolute(&given?, tid);
        let linked = first.as_ref().filter(|_| links_file(number, arguments));
        let linked = linked.and_then(|first| {
            let file = place::file(first, tid)?;
            let open = self.identifier.identify(file.as_fd(), tid).ok()?;
            Some((path_of(file.as_fd(), &open), open))
        });
        match linked {
            Some((path, open)) => (Some(path), absolute(second), Some(open)),
            None => (absolute(first), absolute(second), None),
        }
    }
}

/// A file with its name at first use.
pub(super) fn named(fd: BorrowedFd<'_>, open: &Open, identifier: &Identifier) -> NamedFile {
    NamedFile {
        file: open.file,
        path: path_of(fd, open),
        kind: open.kind(),
        filesystem: identifier.kind_of(open.place).to_owned(),
        size_bytes: open.size_bytes,
        shown: (open.file.device, open.file.inode),
    }
}

/// The name shown by `/proc`; for a file without names, its last name.
fn path_of(fd: BorrowedFd<'_>, open: &Open) -> Vec<u8> {
    let mut path = place::link(&format!("/proc/self/fd/{}", fd.as_raw_fd())).unwrap_or_default();
    // fs/d_path.c appends this to the path of a file whose names were all removed. A file that
    // never had a name in a file system keeps the kernel's.
    if open.is_unlinked && open.kind() != FileKind::Anonymous && path.ends_with(b" (deleted)") {
        path.truncate(path.len() - b" (deleted)".len());
    }
    path
}

/// Whether the call links the target of its first path and not the name: the target may be a file
/// without a name (`O_TMPFILE`).
fn links_file(number: Sysno, arguments: &[u64; 6]) -> bool {
    let flags = (libc::AT_SYMLINK_FOLLOW | libc::AT_EMPTY_PATH).unsigned_abs();
    number == Sysno::linkat && low(arguments[4]) & flags != 0
}
