//! Names of code that a program makes while it runs, as runtimes write them to
//! `/tmp/perf-PID.map` (Linux, tools/perf/Documentation/jit-interface.txt).

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::time::SystemTime;

use rustix::fs::{Mode, OFlags, ResolveFlags, open, openat2};

/// A map of the largest programs has some tens of megabytes.
const MOST_BYTES: u64 = 256 << 20;

/// Where the names of one process's code are, or will be.
#[derive(Debug)]
pub(super) enum PerfMap {
    /// The file, kept open: some runtimes remove it when they end.
    Open(File),
    /// Not there yet: Java writes it when it ends.
    Awaited {
        /// The process's number where it lives.
        own_id: u32,
        /// Its user.
        user: u32,
    },
}

impl PerfMap {
    /// That of a process that lives, in the mounts that it sees; `None` when it has ended.
    pub(super) fn of(process: u32) -> Option<Self> {
        let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
        let (own_id, user) = identity(&status)?;
        let found = open_at(&format!("/proc/{process}/root"), own_id, user);
        Some(found.map_or(Self::Awaited { own_id, user }, Self::Open))
    }

    /// Names of the addresses, in the same order. A file that was awaited must have been
    /// written after `since`: an older one is of another process with that number.
    pub(super) fn names(self, addresses: &[u64], since: SystemTime) -> Vec<Option<String>> {
        let file = match self {
            Self::Open(file) => Ok(file),
            Self::Awaited { own_id, user } => open_at("/", own_id, user).and_then(|file| {
                let is_new = file.metadata()?.modified()? >= since;
                is_new.then_some(file).ok_or(io::ErrorKind::NotFound.into())
            }),
        };
        let mut text = Vec::new();
        match file.and_then(|file| file.take(MOST_BYTES).read_to_end(&mut text)) {
            Ok(_) => lookup(&text, addresses),
            Err(_) => vec![None; addresses.len()],
        }
    }
}

fn open_at(root: &str, own_id: u32, user: u32) -> io::Result<File> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = open(root, flags, Mode::empty())?;
    // The program may have put a link there: it must not lead out of its own root, and its
    // last step is not followed.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let path = format!("tmp/perf-{own_id}.map");
    let file = openat2(root, path, flags, Mode::empty(), ResolveFlags::IN_ROOT)?;
    let file = File::from(file);
    let found = file.metadata()?;
    // Anybody may have left a file of that name there for whoever gets this number.
    if !found.is_file() || found.uid() != user {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    Ok(file)
}

/// The process's number where it lives, and its user: `NSpid:` and `Uid:` of
/// `proc_pid_status(5)`.
fn identity(status: &str) -> Option<(u32, u32)> {
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name));
    let own_id = field("NSpid:")?.split_whitespace().last()?.parse().ok()?;
    let user = field("Uid:")?.split_whitespace().next()?.parse().ok()?;
    Some((own_id, user))
}

/// Lines are `START SIZE NAME`, numbers in hexadecimal. Of two that cover an address the
/// later one counts, since memory is used again.
fn lookup(text: &[u8], addresses: &[u64]) -> Vec<Option<String>> {
    let mut names = vec![None; addresses.len()];
    for line in text.split(|byte| *byte == b'\n') {
        let mut fields = line.splitn(3, |byte| *byte == b' ');
        let mut number = || {
            let digits = std::str::from_utf8(fields.next()?).ok()?;
            u64::from_str_radix(digits.trim_start_matches("0x"), 16).ok()
        };
        let (Some(start), Some(size)) = (number(), number()) else {
            continue;
        };
        let Some(name) = fields.next() else {
            continue;
        };
        for (address, found) in addresses.iter().zip(&mut names) {
            if address.checked_sub(start).is_some_and(|at| at < size) {
                *found = Some(String::from_utf8_lossy(name).into_owned());
            }
        }
    }
    names
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
        let names = lookup(text, &[0x7f10, 0x7f1f, 0x7f20, 0x7f30, 0x8000, 0x8001]);
        let expected = [
            Some("py::work:/x/y.py"),
            Some("py::work:/x/y.py"),
            Some("old name"),
            None,
            Some("LazyCompile:~f"),
            None,
        ];
        assert_eq!(names, expected.map(|name| name.map(str::to_owned)));
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
            PerfMap::Open(file).names(&[0x12, 0x20], since)
        };
        assert_eq!(names(SystemTime::now()), [Some("name".to_owned()), None]);
        assert!(open_at(root, 7, user + 1).is_err(), "another user's");
        assert!(open_at(root, 8, user).is_err());
        std::fs::rename(&path, dir.path().join("tmp/other")).unwrap();
        std::os::unix::fs::symlink("other", &path).unwrap();
        assert!(open_at(root, 7, user).is_err(), "a link");
        let awaited = PerfMap::Awaited {
            own_id: u32::MAX,
            user,
        };
        assert_eq!(awaited.names(&[1], SystemTime::UNIX_EPOCH), [None]);
    }

    #[test]
    fn a_process_in_a_namespace_is_known_by_its_own_number() {
        let status = "Name:\tx\nUid:\t1000\t0\t0\t0\nNSpid:\t4711\t7\n";
        assert_eq!(identity(status), Some((7, 1000)));
        assert_eq!(identity("Name:\tx\n"), None);
    }
}
