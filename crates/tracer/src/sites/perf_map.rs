//! Names of code generated at run time, as runtimes write them to `/tmp/perf-PID.map` (Linux,
//! tools/perf/Documentation/jit-interface.txt).

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use super::budget::{Budget, Exceeded};
use super::demangle::shortened;
use super::reads::Lines;
use crate::foreign;

/// Maximum length of a line; a longer one names nothing.
const LONGEST_LINE: usize = 16 << 10;

/// The map's names for the code at some addresses, in the same order, and the resource exhausted
/// before the end of the file. A later name overrides an earlier one, so an incomplete map gives no
/// names.
pub(super) type Names = (Vec<Option<Arc<str>>>, Option<Exceeded>);

/// The location of the names of one process's code, now or later.
#[derive(Debug)]
pub(super) enum PerfMap {
    /// The file, kept open: some runtimes remove it when they end.
    Open(File),
    /// Not there yet: Java writes it at its end.
    Awaited {
        /// The process's id in its own PID namespace.
        own_id: u32,
        user: u32,
    },
}

impl PerfMap {
    /// For a live process, in its own mount namespace; `None` when it has ended.
    pub(super) fn of(process: u32) -> Option<Self> {
        let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
        let (own_id, user) = identity(&status)?;
        let found = open_at(&format!("/proc/{process}/root"), own_id, user);
        Some(found.map_or(Self::Awaited { own_id, user }, Self::Open))
    }

    /// Names of the sorted addresses, in the same order. A file that was awaited must have been
    /// written after `since`: an older one belongs to another process with that id.
    pub(super) fn names(self, addresses: &[u64], since: SystemTime, budget: &Budget) -> Names {
        let file = match self {
            Self::Open(file) => Ok(file),
            Self::Awaited { own_id, user } => open_at("/", own_id, user).and_then(|file| {
                let is_new = file.metadata()?.modified()? >= since;
                is_new.then_some(file).ok_or(io::ErrorKind::NotFound.into())
            }),
        };
        match file {
            Ok(file) => lookup(BufReader::with_capacity(1 << 16, file), addresses, budget),
            Err(_) => (vec![None; addresses.len()], None),
        }
    }
}

fn open_at(root: &str, own_id: u32, user: u32) -> io::Result<File> {
    // The program may have put a link there: it must not lead out of the program's root, and a link
    // at its end is not followed.
    let path = format!("tmp/perf-{own_id}.map");
    let file = foreign::open_beneath(root, Path::new(&path), false)?;
    // Any user may have left a file with that name for whichever process gets this id.
    if file.metadata()?.uid() != user {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    Ok(file)
}

/// The process's id in its own PID namespace, and its user: `NSpid:` and `Uid:` of
/// `proc_pid_status(5)`.
fn identity(status: &str) -> Option<(u32, u32)> {
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name));
    let own_id = field("NSpid:")?.split_whitespace().last()?.parse().ok()?;
    let user = field("Uid:")?.split_whitespace().next()?.parse().ok()?;
    Some((own_id, user))
}

/// Lines are `START SIZE NAME`, numbers in hexadecimal. Of two that cover an address the later one
/// counts, since memory is reused.
pub(super) fn lookup(text: impl BufRead, addresses: &[u64], budget: &Budget) -> Names {
    let mut names = vec![None; addresses.len()];
    let mut lines = Lines::of(text, LONGEST_LINE);
    while let Ok(Some(line)) = lines.next() {
        if let Err(exceeded) = budget.check() {
            return (vec![None; addresses.len()], Some(exceeded));
        }
        let Some((start, size, name)) = function(line) else {
            continue;
        };
        let first = addresses.partition_point(|address| *address < start);
        let inside = addresses[first..]
            .iter()
            .take_while(|address| **address - start < size);
        let covered = first..first + inside.count();
        if !covered.is_empty() {
            let name = Arc::from(shortened(&String::from_utf8_lossy(name)));
            names[covered].fill(Some(name));
        }
    }
    (names, None)
}

/// Start, length and name.
fn function(line: &[u8]) -> Option<(u64, u64, &[u8])> {
    let mut fields = line.splitn(3, |byte| *byte == b' ');
    let mut number = || {
        let digits = std::str::from_utf8(fields.next()?).ok()?;
        u64::from_str_radix(digits.trim_start_matches("0x"), 16).ok()
    };
    let (start, size) = (number()?, number()?);
    Some((start, size, fields.next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_that_covers_an_address_names_it() {
        let text = b"7f10 20 old name\n\
            garbage\n\
            7f10 10 py::work:/x/y.py\n\
            0x8000 1 LazyCompile:~f\n";
        let addresses = [0x7f10, 0x7f1f, 0x7f20, 0x7f30, 0x8000, 0x8001];
        let (names, exceeded) = lookup(&text[..], &addresses, &Budget::default());
        assert_eq!(exceeded, None);
        let expected = [
            Some("py::work:/x/y.py"),
            Some("py::work:/x/y.py"),
            Some("old name"),
            None,
            Some("LazyCompile:~f"),
            None,
        ];
        assert_eq!(names, expected.map(|name| name.map(Arc::from)));
    }

    #[test]
    fn only_a_new_file_of_the_same_user_is_read() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("tmp")).unwrap();
        let path = dir.path().join("tmp/perf-7.map");
        std::fs::write(&path, "10 5 name\n").unwrap();
        let user = std::fs::metadata(&path).unwrap().uid();
        let root = dir.path().to_str().unwrap();
        let names = |since| {
            let file = open_at(root, 7, user).unwrap();
            PerfMap::Open(file).names(&[0x12, 0x20], since, &Budget::default())
        };
        assert_eq!(names(SystemTime::now()).0, [Some("name".into()), None]);
        assert!(open_at(root, 7, user + 1).is_err(), "another user's");
        assert!(open_at(root, 8, user).is_err());
        std::fs::rename(&path, dir.path().join("tmp/other")).unwrap();
        std::os::unix::fs::symlink("other", &path).unwrap();
        assert!(open_at(root, 7, user).is_err(), "a link");
        let awaited = PerfMap::Awaited {
            own_id: u32::MAX,
            user,
        };
        let (names, _) = awaited.names(&[1], SystemTime::UNIX_EPOCH, &Budget::default());
        assert_eq!(names, [None]);
    }

    #[test]
    fn a_process_in_a_namespace_is_known_by_its_own_number() {
        let status = "Name:\tx\nUid:\t1000\t0\t0\t0\nNSpid:\t4711\t7\n";
        assert_eq!(identity(status), Some((7, 1000)));
        assert_eq!(identity("Name:\tx\n"), None);
    }
}
