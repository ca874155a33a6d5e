//! Whether a checker changed a tree, as one does that recovers: by what stat(2) says of all files in it, and by what they hold.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use blake3::Hash;
use rustix::time::{ClockId, clock_gettime};

/// All files by their paths below a directory.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Looks(BTreeMap<PathBuf, Look>);

#[derive(Debug, PartialEq, Eq)]
struct Look {
    inode: u64,
    size_bytes: u64,
    mode: u32,
    owner: (u32, u32),
    /// Of the data, of a directory of its names: seconds, and nanoseconds.
    modified: (i64, i64),
    /// What `cp -p` restores has the time of its copy.
    holds: Holds,
}

/// The time of the last change alone tells too much: `SQLite` gives its journal the owner that it has at each start, which changes
/// that time and nothing else.
#[derive(Debug, PartialEq, Eq)]
enum Holds {
    Bytes(Hash),
    /// Of files that are too long to read them for each state, when they were changed.
    Since(i64, i64),
}

/// Files of no more than so many bytes are read.
const READ_BYTES: u64 = 1 << 20;

/// Times that the kernel gives are those of its last tick, at most 10 ms ago (`ktime_get_coarse_real_ts64`, kernel/time/timekeeping.c).
const PAUSE: Duration = Duration::from_millis(1);

/// Pauses until a file is taken that a clock since set back has dated.
const MOST_PAUSES: usize = 50;

impl Looks {
    pub(super) fn of(top: &Path) -> io::Result<Self> {
        let mut all = BTreeMap::new();
        let mut waiting = vec![PathBuf::new()];
        while let Some(path) = waiting.pop() {
            let metadata = fs::symlink_metadata(top.join(&path))?;
            if metadata.is_dir() {
                for entry in fs::read_dir(top.join(&path))? {
                    waiting.push(path.join(entry?.file_name()));
                }
            }
            let look = Look {
                inode: metadata.ino(),
                size_bytes: metadata.size(),
                mode: metadata.mode(),
                owner: (metadata.uid(), metadata.gid()),
                modified: (metadata.mtime(), metadata.mtime_nsec()),
                holds: holds(&top.join(&path), &metadata)?,
            };
            all.insert(path, look);
        }
        Ok(Self(all))
    }

    /// The same, when each later change gets another time.
    pub(super) fn of_past(top: &Path) -> io::Result<Self> {
        let all = Self::of(top)?;
        let newest = all.0.values().map(|look| look.modified).max();
        for _ in 0..MOST_PAUSES {
            let now = clock_gettime(ClockId::RealtimeCoarse);
            if Some((now.tv_sec, now.tv_nsec)) > newest {
                break;
            }
            thread::sleep(PAUSE);
        }
        Ok(all)
    }
}

fn holds(path: &Path, metadata: &Metadata) -> io::Result<Holds> {
    if !metadata.is_file() {
        return Ok(Holds::Bytes(blake3::hash(b"")));
    }
    if metadata.len() > READ_BYTES {
        return Ok(Holds::Since(metadata.ctime(), metadata.ctime_nsec()));
    }
    Ok(Holds::Bytes(blake3::hash(&fs::read(path)?)))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn what_was_changed_and_put_back_was_changed() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("directory/file");
        fs::create_dir(dir.path().join("directory")).unwrap();
        fs::write(&file, "old").unwrap();
        let mode = |bits| fs::set_permissions(&file, fs::Permissions::from_mode(bits)).unwrap();
        mode(0o600);
        let restored = || {
            let modified = fs::metadata(&file).unwrap().modified().unwrap();
            fs::write(&file, "new").unwrap();
            let of = fs::File::options().write(true).open(&file).unwrap();
            of.set_modified(modified).unwrap();
        };
        let changes: [&dyn Fn(); 5] = [
            &restored,
            &|| mode(0o644),
            &|| fs::write(&file, "old").unwrap(),
            &|| fs::rename(&file, dir.path().join("aside")).unwrap(),
            &|| fs::rename(dir.path().join("aside"), &file).unwrap(),
        ];
        for (number, change) in changes.iter().enumerate() {
            let before = Looks::of_past(dir.path()).unwrap();
            if number < 3 {
                fs::read(&file).unwrap();
                std::os::unix::fs::chown(&file, Some(before.0[Path::new("")].owner.0), None)
                    .unwrap();
            }
            assert_eq!(Looks::of(dir.path()).unwrap(), before, "{number}");
            change();
            assert_ne!(Looks::of(dir.path()).unwrap(), before, "{number}");
        }
    }
}
