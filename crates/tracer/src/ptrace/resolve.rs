//! Resolves the paths of a stopped program through the kernel, name by name, starting at the
//! program's own root, working directory or descriptor.
//!
//! No other way is correct: `link/..` is not the directory that contains `link`, an absolute link
//! inside a changed root stays inside it, and the same path means different files to different
//! processes. `openat2(2)` with `RESOLVE_IN_ROOT` starts only at that root, not at a directory
//! beneath it.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, PROC_SUPER_MAGIC, StatxFlags, fstatfs, openat,
    readlinkat, statx,
};

use super::place::{Given, beginning, link};
use super::request::Tid;

/// Maximum number of symbolic links in one path (`MAXSYMLINKS`, include/linux/namei.h).
const MOST_LINKS: usize = 40;

/// The role of the last name of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Last {
    /// The call acts on the name itself, as `rename` and `unlink` do.
    Kept,
    /// The call acts on the target of the name, as `open` does.
    Followed,
}

#[derive(Debug)]
pub(super) struct Found {
    at: OwnedFd,
    /// The unresolved rest of the path; empty when `at` is the file itself.
    rest: Vec<u8>,
}

impl Found {
    /// Absolute path in the tracer's view of the file system, as the kernel reports it.
    pub(super) fn path(&self) -> Option<Vec<u8>> {
        let at = link(&format!("/proc/self/fd/{}", self.at.as_raw_fd()))?;
        if self.rest.is_empty() {
            return Some(at);
        }
        let at = at.strip_suffix(b"/").unwrap_or(&at);
        Some([at, b"/", &self.rest].concat())
    }

    pub(super) fn parts(self) -> (OwnedFd, Vec<u8>) {
        (self.at, self.rest)
    }

    /// The file, opened with `O_PATH`; `None` when it does not exist.
    pub(super) fn file(self) -> Option<OwnedFd> {
        if self.rest.is_empty() {
            return Some(self.at);
        }
        step(&self.at, &self.rest).ok()
    }
}

/// A location in the directory tree. Nothing is opened for reading: an open may block, or have
/// effects.
fn step(at: &OwnedFd, name: &[u8]) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(at, OsStr::from_bytes(name), flags, Mode::empty())?)
}

fn open(path: &str) -> io::Result<OwnedFd> {
    Ok(openat(
        CWD,
        path,
        OFlags::PATH | OFlags::CLOEXEC,
        Mode::empty(),
    )?)
}

/// Resolves a path for a stopped thread. `None` when its starting directory is unknown.
pub(super) fn resolve(given: &Given, tid: Tid, last: Last) -> Option<Found> {
    Walk::begin(given, tid)?.follow_all(last)
}

struct Walk {
    tid: Tid,
    root: OwnedFd,
    at: OwnedFd,
    left: VecDeque<Vec<u8>>,
    links: usize,
}

impl Walk {
    fn begin(given: &Given, tid: Tid) -> Option<Self> {
        let root = open(&format!("/proc/{tid}/root")).ok()?;
        let at = if given.text.starts_with(b"/") {
            root.try_clone().ok()?
        } else {
            open(&beginning(given, tid)).ok()?
        };
        Some(Self {
            tid,
            root,
            at,
            left: names(&given.text),
            links: 0,
        })
    }

    fn follow_all(mut self, last: Last) -> Option<Found> {
        while let Some(name) = self.left.pop_front() {
            if name == b".." {
                self.up().ok()?;
                continue;
            }
            if last == Last::Kept && self.left.is_empty() {
                return Some(self.stay(name));
            }
            let Ok(next) = step(&self.at, &name) else {
                return Some(self.stay(name));
            };
            if is_link(&next) {
                self.follow_link(&name, &next).ok()?;
            } else {
                self.at = next;
            }
        }
        Some(Found {
            at: self.at,
            rest: Vec::new(),
        })
    }

    /// The resolution ends here.
    fn stay(self, name: Vec<u8>) -> Found {
        let rest: Vec<Vec<u8>> = std::iter::once(name).chain(self.left).collect();
        Found {
            at: self.at,
            rest: rest.join(&b'/'),
        }
    }

    /// A process sees its root as its own parent (`follow_dotdot`, fs/namei.c).
    fn up(&mut self) -> io::Result<()> {
        if identity(&self.at)? != identity(&self.root)? {
            self.at = step(&self.at, b"..")?;
        }
        Ok(())
    }

    fn follow_link(&mut self, name: &[u8], place: &OwnedFd) -> io::Result<()> {
        self.links += 1;
        if self.links > MOST_LINKS {
            return Err(io::Error::from_raw_os_error(libc::ELOOP));
        }
        if fstatfs(&self.at)?.f_type == PROC_SUPER_MAGIC {
            return self.follow_in_proc(name);
        }
        let target = readlinkat(place, c"", Vec::new())?.into_bytes();
        if target.starts_with(b"/") {
            self.at = self.root.try_clone()?;
        }
        let mut whole = names(&target);
        whole.append(&mut self.left);
        self.left = whole;
        Ok(())
    }

    /// Links in /proc lead to files and not to paths, and `self` is the reading process.
    fn follow_in_proc(&mut self, name: &[u8]) -> io::Result<()> {
        self.at = match name {
            b"self" | b"thread-self" => open(&format!("/proc/{}", self.tid))?,
            _ => {
                let flags = OFlags::PATH | OFlags::CLOEXEC;
                openat(&self.at, OsStr::from_bytes(name), flags, Mode::empty())?
            }
        };
        Ok(())
    }
}

fn names(path: &[u8]) -> VecDeque<Vec<u8>> {
    let names = path.split(|byte| *byte == b'/');
    let names = names.filter(|name| !name.is_empty() && *name != b".");
    names.map(<[u8]>::to_vec).collect()
}

fn is_link(place: &OwnedFd) -> bool {
    let found = rustix::fs::fstat(place);
    found.is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::Symlink)
}

/// Identifies a directory by mount and inode.
fn identity(place: &OwnedFd) -> io::Result<(u64, u32, u32, u64)> {
    let wanted = StatxFlags::INO | StatxFlags::MNT_ID;
    let found = statx(place, c"", AtFlags::EMPTY_PATH, wanted)?;
    let device = (found.stx_dev_major, found.stx_dev_minor);
    Ok((found.stx_ino, device.0, device.1, found.stx_mnt_id))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStringExt as _;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    fn resolved(dir: &Path, text: &str, last: Last) -> String {
        let given = Given::from_here([dir.as_os_str().as_bytes(), b"/", text.as_bytes()].concat());
        let found = resolve(&given, std::process::id(), last).unwrap();
        let path = found.path().unwrap();
        let prefix = std::fs::canonicalize(dir)
            .unwrap()
            .into_os_string()
            .into_vec();
        let inside = path.strip_prefix(&prefix[..]).unwrap_or(&path);
        String::from_utf8_lossy(inside).into_owned()
    }

    #[test]
    fn names_come_from_where_links_lead() {
        let dir = tempfile::tempdir().unwrap();
        let at = dir.path();
        std::fs::create_dir_all(at.join("d/e")).unwrap();
        std::fs::write(at.join("d/f"), "").unwrap();
        symlink("d/e", at.join("s")).unwrap();
        symlink("f", at.join("d/l")).unwrap();
        symlink("loop", at.join("loop")).unwrap();
        let kept = |text| resolved(at, text, Last::Kept);
        assert_eq!(kept("s/../f"), "/d/f", "and not /f");
        assert_eq!(kept("d//./e/new"), "/d/e/new");
        assert_eq!(kept("d/l"), "/d/l");
        assert_eq!(resolved(at, "d/l", Last::Followed), "/d/f");
        assert_eq!(
            kept("absent/./x/y"),
            "/absent/x/y",
            "as far as there is one"
        );
        assert_eq!(kept("s/.."), "/d");
        let given = Given::from_here(b"/../../..".to_vec());
        let root = resolve(&given, std::process::id(), Last::Kept).unwrap();
        assert_eq!(root.path().unwrap(), b"/");
        let endless = [at.as_os_str().as_bytes(), b"/loop/x"].concat();
        assert!(resolve(&Given::from_here(endless), std::process::id(), Last::Kept).is_none());
    }

    #[test]
    fn a_link_of_proc_leads_to_the_file() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let text = format!("/proc/self/fd/{}", file.as_file().as_raw_fd());
        let found = resolve(
            &Given::from_here(text.into_bytes()),
            std::process::id(),
            Last::Followed,
        );
        let real = std::fs::canonicalize(file.path()).unwrap();
        let path = found.unwrap().path().unwrap();
        assert_eq!(path, real.into_os_string().into_vec());
    }
}
