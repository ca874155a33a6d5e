//! The targets of paths passed by a traced program.

use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;

use rustix::fs::{FileType, Mode, OFlags, fstat};

use super::calls::{call, path};
use super::memory;
use super::request::Tid;
use super::resolve::{Last, resolve};

/// A path as the program passed it, and its starting directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Given {
    directory: i32,
    pub(super) text: Vec<u8>,
}

/// The paths of a call, in the order of its arguments.
pub(super) fn given(tid: Tid, style: u8, arguments: &[u64; 6]) -> [Option<Given>; 2] {
    let from = |directory: Option<usize>, at: usize| {
        Some(Given {
            directory: directory.map_or(libc::AT_FDCWD, |index| descriptor(arguments[index])),
            text: memory::string(tid, arguments[at])?,
        })
    };
    match style {
        path::FIRST => [from(None, 0), None],
        path::AT => [from(Some(0), 1), None],
        path::TWO => [from(None, 0), from(None, 1)],
        path::TWO_AT => [from(Some(0), 1), from(Some(2), 3)],
        path::SECOND => [from(None, 1), None],
        path::THIRD_AT => [from(Some(1), 2), None],
        _ => [None, None],
    }
}

/// Descriptors are the low 32 bits of their argument, whatever the other bits are.
pub(super) fn descriptor(argument: u64) -> i32 {
    let [a, b, c, d, ..] = argument.to_le_bytes();
    i32::from_le_bytes([a, b, c, d])
}

/// The descriptor of which a call takes bytes inside the kernel.
pub(super) fn source(meaning: u32, arguments: &[u64; 6]) -> Option<i32> {
    match meaning {
        _ if meaning & call::SOURCE_FIRST != 0 => Some(descriptor(arguments[0])),
        _ if meaning & call::SOURCE_SECOND != 0 => Some(descriptor(arguments[1])),
        _ => None,
    }
}

impl Given {
    pub(super) fn of_descriptor(directory: i32) -> Self {
        Self {
            directory,
            text: Vec::new(),
        }
    }

    /// An empty path, which means the descriptor itself (`AT_EMPTY_PATH`).
    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }
}

/// The absolute path in the tracer's view of the file system; `None` for an empty path, which means
/// a descriptor.
pub(super) fn absolute(given: &Given, tid: Tid) -> Option<Vec<u8>> {
    if given.is_empty() {
        return None;
    }
    let found = resolve(given, tid, Last::Kept);
    // With an unknown start, or too many links: the path as the program passed it.
    let path = found.and_then(|found| found.path());
    Some(path.unwrap_or_else(|| given.text.clone()))
}

/// Whether the path leads to a file now, as the program sees it.
pub(super) fn exists(given: &Given, tid: Tid) -> bool {
    let found = resolve(given, tid, Last::Followed);
    found.is_some_and(|found| found.file().is_some())
}

/// The regular file that the path leads to. Others are not opened: they may block.
pub(super) fn file(given: &Given, tid: Tid) -> Option<OwnedFd> {
    let place = resolve(given, tid, Last::Followed)?.file()?;
    let kind = FileType::from_raw_mode(fstat(&place).ok()?.st_mode);
    if kind != FileType::RegularFile {
        return None;
    }
    let path = format!("/proc/self/fd/{}", place.as_raw_fd());
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    rustix::fs::open(path, flags, Mode::empty()).ok()
}

/// The starting directory of a relative path.
pub(super) fn beginning(given: &Given, tid: Tid) -> String {
    match given.directory {
        libc::AT_FDCWD => format!("/proc/{tid}/cwd"),
        directory => format!("/proc/{tid}/fd/{directory}"),
    }
}

pub(super) fn link(path: &str) -> Option<Vec<u8>> {
    let target = std::fs::read_link(path).ok()?;
    Some(target.as_os_str().as_bytes().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStringExt as _;

    impl Given {
        /// A path from the working directory.
        pub(crate) fn from_here(text: Vec<u8>) -> Self {
            Self {
                directory: libc::AT_FDCWD,
                text,
            }
        }
    }

    #[test]
    fn relative_paths_begin_where_the_program_is() {
        let me = std::process::id();
        let at = |text: &[u8], directory| {
            let text = text.to_vec();
            absolute(&Given { directory, text }, me)
        };
        let here = std::env::current_dir().unwrap();
        let expected = here.join("x/y").into_os_string().into_vec();
        assert_eq!(at(b"./x//y", libc::AT_FDCWD), Some(expected));
        assert_eq!(at(b"/absent-a/b", 99), Some(b"/absent-a/b".to_vec()));
        assert_eq!(at(b"", libc::AT_FDCWD), None);
        assert_eq!(at(b"x", 9_999), Some(b"x".to_vec()), "of unknown beginning");
    }

    #[test]
    fn paths_are_where_the_call_has_them() {
        let me = std::process::id();
        let (one, two) = (c"/one", c"two");
        let address = |text: &std::ffi::CStr| text.as_ptr().addr() as u64;
        let arguments = [5, address(one), u64::MAX, address(two), 0, 0];
        let [first, second] = given(me, path::TWO_AT, &arguments);
        let (first, second) = (first.unwrap(), second.unwrap());
        assert_eq!((first.directory, &first.text[..]), (5, &b"/one"[..]));
        assert_eq!((second.directory, &second.text[..]), (-1, &b"two"[..]));
        let [first, second] = given(me, path::THIRD_AT, &[0, 7, address(two), 0, 0, 0]);
        assert_eq!(first.unwrap().directory, 7);
        assert_eq!(second, None);
        assert_eq!(given(me, 0, &arguments), [None, None]);
    }
}
