//! Where paths lead that a traced program hands over.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::PathBuf;

use super::calls::path;
use super::memory;
use super::request::Tid;
use super::tasks::Tasks;
use crate::paths;

/// A path as it was given, and where it begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Given {
    directory: i32,
    text: Vec<u8>,
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

/// Descriptors are the low 32 bits of their argument, whatever the others are.
pub(super) fn descriptor(argument: u64) -> i32 {
    let [a, b, c, d, ..] = argument.to_le_bytes();
    i32::from_le_bytes([a, b, c, d])
}

/// The absolute path, in the names of the tracer's file system; `None` for an empty one,
/// which stands for a descriptor.
pub(super) fn absolute(given: &Given, tid: Tid, tasks: &mut Tasks) -> Option<Vec<u8>> {
    match given.text.first()? {
        b'/' => Some(paths::normal(&[tasks.root(tid), &given.text[..]].concat())),
        _ => match link(&beginning(given, tid)) {
            Some(base) => Some(paths::normal(&[&base[..], b"/", &given.text].concat())),
            None => Some(given.text.clone()),
        },
    }
}

/// Whether the path leads to a file now, seen from where the program sees it.
pub(super) fn exists(given: &Given, tid: Tid) -> bool {
    std::fs::metadata(reachable(given, tid)).is_ok()
}

/// A path by which this process reaches the same file.
pub(super) fn reachable(given: &Given, tid: Tid) -> PathBuf {
    let base = if given.text.starts_with(b"/") {
        format!("/proc/{tid}/root")
    } else {
        beginning(given, tid)
    };
    let path = [base.as_bytes(), b"/", &given.text].concat();
    PathBuf::from(OsString::from_vec(path))
}

fn beginning(given: &Given, tid: Tid) -> String {
    match given.directory {
        libc::AT_FDCWD => format!("/proc/{tid}/cwd"),
        directory => format!("/proc/{tid}/fd/{directory}"),
    }
}

/// What a symbolic link says.
pub(super) fn link(path: &str) -> Option<Vec<u8>> {
    let target = std::fs::read_link(path).ok()?;
    Some(target.as_os_str().as_bytes().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostrata_core::trace::tally::Used;

    #[test]
    fn relative_paths_begin_where_the_program_is() {
        let me = std::process::id();
        let mut tasks = Tasks::default();
        tasks.begin(me, me, Used::default());
        let mut at = |text: &[u8], directory| {
            let given = Given {
                directory,
                text: text.to_vec(),
            };
            absolute(&given, me, &mut tasks)
        };
        let here = std::env::current_dir().unwrap();
        let expected = here.join("x/y").into_os_string().into_vec();
        assert_eq!(at(b"./x//y", libc::AT_FDCWD), Some(expected));
        assert_eq!(at(b"/a/../b", 99), Some(b"/b".to_vec()));
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
