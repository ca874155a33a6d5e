//! Sets access times to known values, and checks whether they changed.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use iostrata_core::atime::ClockState;
use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, utimensat};

pub(super) const HOUR_S: i64 = 3600;

/// mtime of every file whose access time is checked: the same in both states, since programs that
/// remember it, such as git, would otherwise assume that the file was changed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moments {
    mtime_s: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Times {
    pub(super) accessed: Timespec,
    pub(super) modified: Timespec,
    pub(super) changed: Timespec,
}

impl Moments {
    /// With an mtime two hours ago.
    pub(super) fn now() -> Self {
        Self {
            mtime_s: now_s() - 2 * HOUR_S,
        }
    }

    /// Sets the times of `path`, not of its link target, so that relatime sees the state, and
    /// returns the times set.
    ///
    /// `utimensat`(2) sets ctime to the current time: an access time newer than that lies in the
    /// future.
    pub(super) fn set(self, path: &Path, state: ClockState) -> io::Result<Times> {
        let accessed_s = match state {
            ClockState::Due => self.mtime_s - HOUR_S,
            ClockState::Fresh => now_s() + HOUR_S,
        };
        let set = set_times(path, accessed_s, self.mtime_s)?;
        if set.state() != state {
            return Err(io::Error::other(
                "the file system did not keep the times that were set",
            ));
        }
        Ok(set)
    }
}

impl Times {
    /// The times of `path`, not of its link target.
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        let seen = fs::symlink_metadata(path)?;
        let time = |tv_sec, tv_nsec| Timespec { tv_sec, tv_nsec };
        Ok(Self {
            accessed: time(seen.atime(), seen.atime_nsec()),
            modified: time(seen.mtime(), seen.mtime_nsec()),
            changed: time(seen.ctime(), seen.ctime_nsec()),
        })
    }

    /// The state for relatime, `relatime_need_update` in fs/inode.c, without the age of a day.
    fn state(&self) -> ClockState {
        let order = |time: Timespec| (time.tv_sec, time.tv_nsec);
        let accessed = order(self.accessed);
        if accessed > order(self.modified) && accessed > order(self.changed) {
            ClockState::Fresh
        } else {
            ClockState::Due
        }
    }
}

/// Sets both times, in seconds since the epoch.
pub(super) fn set(path: &Path, accessed_s: i64, modified_s: i64) -> io::Result<()> {
    let second = |tv_sec| Timespec { tv_sec, tv_nsec: 0 };
    let times = Timestamps {
        last_access: second(accessed_s),
        last_modification: second(modified_s),
    };
    Ok(utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW)?)
}

/// The same, and returns the resulting times of `path`.
pub(super) fn set_times(path: &Path, accessed_s: i64, modified_s: i64) -> io::Result<Times> {
    set(path, accessed_s, modified_s)?;
    let set = Times::of(path)?;
    if (set.accessed.tv_sec, set.modified.tv_sec) != (accessed_s, modified_s) {
        return Err(io::Error::other(
            "the file system did not keep the times that were set",
        ));
    }
    Ok(set)
}

/// Seconds since the epoch.
pub(super) fn now_s() -> i64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_states_are_what_they_are_called() {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let moments = Moments::now();
        for path in [dir.path().join("file"), dir.path().join("link")] {
            if path.ends_with("file") {
                fs::write(&path, "text").unwrap();
            } else {
                std::os::unix::fs::symlink("nowhere", &path).unwrap();
            }
            for state in [ClockState::Due, ClockState::Fresh] {
                let set = moments.set(&path, state).unwrap();
                assert_eq!(set.state(), state);
                assert_eq!(Times::of(&path).unwrap(), set);
                assert_eq!(set.modified.tv_sec, moments.mtime_s);
            }
        }
    }
}
