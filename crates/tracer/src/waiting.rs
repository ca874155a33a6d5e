//! What this process waits for that no signal ends.

use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use syscalls::Sysno;

/// Descriptors are smaller than addresses (`vm.mmap_min_addr`).
const FIRST_ADDRESS: u64 = 1 << 16;

/// How much of a path is read.
const PATH_BYTES: usize = 256;

/// Calls of this process, and children of it, in uninterruptible sleep (`D` in `proc_pid_stat(5)`):
/// `umount(2) of /tmp/disk`, `process mkfs.ext4 (4211)`.
pub fn unending() -> Vec<String> {
    let mut all = Vec::new();
    for task in fs::read_dir("/proc/self/task")
        .into_iter()
        .flatten()
        .flatten()
    {
        let task = task.path();
        all.extend(state_of(&task).and_then(|_| call_of(&task)));
        let children = fs::read_to_string(task.join("children")).unwrap_or_default();
        all.extend(children.split_ascii_whitespace().filter_map(|child| {
            let name = state_of(&Path::new("/proc").join(child))?;
            Some(format!("process {name} ({child})"))
        }));
    }
    all
}

/// The name of a task that sleeps uninterruptibly.
fn state_of(task: &Path) -> Option<String> {
    let stat = fs::read(task.join("stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    let (begin, after) = stat.rsplit_once(") ")?;
    let (_, name) = begin.split_once('(')?;
    after.starts_with('D').then(|| name.to_owned())
}

/// From its number and first argument (`proc_pid_syscall(5)`).
fn call_of(task: &Path) -> Option<String> {
    let text = fs::read_to_string(task.join("syscall")).ok()?;
    let mut words = text.split(' ');
    let name = match Sysno::new(words.next()?.parse().ok()?)? {
        Sysno::umount2 => "umount",
        other => other.name(),
    };
    let first = words.next().and_then(|word| word.strip_prefix("0x"));
    let of = first.and_then(|first| object(u64::from_str_radix(first, 16).ok()?));
    Some(match of {
        Some(of) => format!("{name}(2) of {of}"),
        None => format!("{name}(2)"),
    })
}

/// The file of a descriptor, or the path at an address.
fn object(argument: u64) -> Option<String> {
    if argument < FIRST_ADDRESS {
        let file = fs::read_link(format!("/proc/self/fd/{argument}")).ok()?;
        return Some(file.display().to_string());
    }
    let mut bytes = [0; PATH_BYTES];
    let memory = File::open("/proc/self/mem").ok()?;
    let count = memory.read_at(&mut bytes, argument).ok()?;
    let end = bytes[..count].iter().position(|byte| *byte == 0)?;
    let path = std::str::from_utf8(&bytes[..end]).ok()?;
    (!path.is_empty()).then(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd as _;

    use super::*;

    #[test]
    fn descriptors_and_addresses_name_their_files() {
        let file = File::open("/proc/self/stat").unwrap();
        let of = object(u64::try_from(file.as_raw_fd()).unwrap()).unwrap();
        assert!(of.ends_with("/stat"), "{of}");
        let path = c"/a path";
        assert_eq!(
            object(path.as_ptr().addr() as u64).as_deref(),
            Some("/a path")
        );
        assert_eq!(object(u64::MAX), None);
    }

    #[test]
    fn one_who_runs_waits_for_nothing() {
        assert_eq!(state_of(Path::new("/proc/thread-self")), None);
    }
}
