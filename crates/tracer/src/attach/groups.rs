//! Control groups of version 2: where they are, and who is in them.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

use rustix::fs::statfs;

use crate::stack::Roots;
use crate::stack::mountinfo::Mounts;

/// `CGROUP2_SUPER_MAGIC` and `CGROUP_SUPER_MAGIC`, include/uapi/linux/magic.h.
const VERSION_2: u64 = 0x6367_7270;
const VERSION_1: u64 = 0x0027_e0eb;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    pub directory: PathBuf,
    /// From the root of the hierarchy, as in `/proc/PID/cgroup`.
    pub path: String,
    /// The kernel's number for it: the inode of the directory.
    pub id: u64,
}

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum GroupError {
    #[error(
        "no cgroup hierarchy of version 2 is mounted; mount one (mount -t cgroup2 none DIR), or pass \
         the processes with -p"
    )]
    NoHierarchy,
    #[error("no cgroup {path} below {}; `find {} -type d` lists those that exist", point.display(),
        point.display())]
    NotFound { path: String, point: PathBuf },
    #[error(
        "cgroup {path} is of version 1, and processes are followed in cgroups of version 2 only; pass \
         the processes that it holds now: -p $(paste -sd, {path}/cgroup.procs)"
    )]
    Version1 { path: String },
}

/// Where control groups of version 2 are mounted.
#[derive(Debug, Clone)]
pub struct Hierarchy {
    point: PathBuf,
    /// Where those of version 1 are.
    old: Vec<PathBuf>,
}

impl Hierarchy {
    /// That of this machine.
    pub fn read() -> Result<Self, GroupError> {
        let mounts =
            Mounts::read(&Roots::default()).map_err(|_no_table| GroupError::NoHierarchy)?;
        let points = |kind: &str| {
            let mounts = mounts.of_kind(kind);
            mounts.map(|mount| mount.point.clone()).collect::<Vec<_>>()
        };
        let point = points("cgroup2").into_iter().next();
        Ok(Self {
            point: point.ok_or(GroupError::NoHierarchy)?,
            old: points("cgroup"),
        })
    }

    /// The group of a path: that of its directory, or the one in `/proc/PID/cgroup`.
    pub fn group(&self, path: &Path) -> Result<Group, GroupError> {
        let typed = || path.to_string_lossy().into_owned();
        let kind = |directory: &Path| {
            let kind = statfs(directory).ok()?.f_type;
            u64::try_from(kind).ok()
        };
        let is_root = |part: &Component<'_>| *part == Component::RootDir;
        let inner: PathBuf = path.components().skip_while(is_root).collect();
        let below = self.point.join(inner);
        let directory = [path, &below].into_iter().find_map(|directory| {
            let directory = fs::canonicalize(directory).ok()?;
            (directory.is_dir() && kind(&directory) == Some(VERSION_2)).then_some(directory)
        });
        if let Some(found) = directory.and_then(|directory| self.at(&directory)) {
            return Ok(found);
        }
        if path.is_dir() && kind(path) == Some(VERSION_1) {
            return Err(GroupError::Version1 { path: typed() });
        }
        Err(GroupError::NotFound {
            path: typed(),
            point: self.point.clone(),
        })
    }

    fn at(&self, directory: &Path) -> Option<Group> {
        let path = directory.strip_prefix(&self.point).unwrap_or(directory);
        Some(Group {
            id: fs::metadata(directory).ok()?.ino(),
            path: format!("/{}", path.to_string_lossy().trim_start_matches('/')),
            directory: directory.to_owned(),
        })
    }

    /// Groups whose directory's name is such a one, the upper ones first; none below another that is.
    pub(super) fn find(&self, is_it: impl Fn(&OsStr) -> bool) -> Vec<Group> {
        let found = find(&self.point, &is_it);
        found.iter().filter_map(|found| self.at(found)).collect()
    }

    /// Directories of version 1 with such a name.
    pub(super) fn find_old(&self, is_it: impl Fn(&OsStr) -> bool) -> Option<PathBuf> {
        let mut points = self.old.iter();
        points.find_map(|point| find(point, &is_it).into_iter().next())
    }
}

fn find(point: &Path, is_it: &dyn Fn(&OsStr) -> bool) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut left = vec![point.to_owned()];
    while let Some(directory) = left.pop() {
        for below in directories(&directory) {
            if below.file_name().is_some_and(is_it) {
                found.push(below);
            } else {
                left.push(below);
            }
        }
    }
    found.sort();
    found
}

fn directories(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let directories = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    directories.map(|entry| entry.path()).collect()
}

impl Group {
    /// Whether it is still the same: one that was removed and made again has another number.
    pub fn is_there(&self) -> bool {
        fs::metadata(&self.directory).is_ok_and(|found| found.ino() == self.id)
    }

    /// Processes in it and below now. Those of other PID namespaces have no number here.
    pub fn members(&self) -> Vec<u32> {
        let mut members = Vec::new();
        let mut left = vec![self.directory.clone()];
        while let Some(directory) = left.pop() {
            let text = fs::read(directory.join("cgroup.procs")).unwrap_or_default();
            let numbers = text.split(|byte| *byte == b'\n').filter_map(|line| {
                let number = std::str::from_utf8(line).ok()?.parse::<u32>().ok()?;
                (number > 0).then_some(number)
            });
            members.extend(numbers);
            left.extend(directories(&directory));
        }
        members.sort_unstable();
        members.dedup();
        members
    }

    /// Its last name.
    pub(super) fn name(&self) -> &[u8] {
        let name = self.directory.file_name();
        name.map_or(b"/", OsStr::as_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Hierarchy {
        /// A hierarchy elsewhere.
        pub(crate) fn at_point(point: &Path) -> Self {
            Self {
                point: point.to_owned(),
                old: Vec::new(),
            }
        }
    }

    #[test]
    fn the_upper_ones_are_found() {
        let place = tempfile::tempdir().unwrap();
        for name in ["a/x/y/x", "b", "c/x"] {
            fs::create_dir_all(place.path().join(name)).unwrap();
        }
        fs::write(place.path().join("a/x/cgroup.procs"), "12\n0\n7\n").unwrap();
        fs::write(place.path().join("a/x/y/cgroup.procs"), "9\n12\n").unwrap();
        let hierarchy = Hierarchy::at_point(place.path());
        let found = hierarchy.find(|name| name == "x");
        let paths: Vec<&str> = found.iter().map(|group| group.path.as_str()).collect();
        assert_eq!(paths, ["/a/x", "/c/x"]);
        assert_eq!(found[0].members(), [7, 9, 12]);
        assert_eq!(found[1].members(), [] as [u32; 0]);
        assert!(found[0].is_there());
        fs::remove_dir_all(place.path().join("c")).unwrap();
        assert!(!found[1].is_there());
    }

    #[test]
    fn a_directory_elsewhere_is_no_control_group() {
        let place = tempfile::tempdir().unwrap();
        let hierarchy = Hierarchy::at_point(place.path());
        let error = hierarchy.group(Path::new("/none")).unwrap_err();
        assert!(matches!(error, GroupError::NotFound { .. }), "{error}");
        let error = hierarchy.group(place.path()).unwrap_err();
        assert!(matches!(error, GroupError::NotFound { .. }), "{error}");
    }
}
