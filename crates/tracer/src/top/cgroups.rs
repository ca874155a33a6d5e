//! Paths of cgroups by their number, which is the inode number of their directory (`cgroups(7)`).

use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use iostrata_core::bytes::text_of;

use crate::stack::Roots;
use crate::stack::mountinfo::{Mount, Mounts};

/// Directories that are looked at in one search.
const MOST: usize = 65_536;

/// Cgroups that were found, and numbers that were not.
#[derive(Debug, Default)]
pub(super) struct Cgroups {
    known: HashMap<u64, Option<String>>,
}

impl Cgroups {
    /// Below the mount point of version 2; `None` when it is not mounted, or the cgroup is gone.
    pub(super) fn path_of(&mut self, number: u64) -> Option<String> {
        if !self.known.contains_key(&number) {
            if self.known.len() > MOST {
                self.known.clear();
            }
            self.search();
            self.known.entry(number).or_insert(None);
        }
        self.known.get(&number).cloned().flatten()
    }

    fn search(&mut self) {
        let mounts = Mounts::read(&Roots::default()).ok();
        let whole = |mount: &&Mount| mount.root == Path::new("/");
        let root = mounts
            .as_ref()
            .and_then(|mounts| mounts.of_kind("cgroup2").find(whole));
        let Some(root) = root.map(|mount| mount.point.as_path()) else {
            return;
        };
        let mut left = vec![root.to_owned()];
        let mut looked_at = 0;
        while let Some(directory) = left.pop() {
            looked_at += 1;
            if looked_at > MOST {
                return;
            }
            if let Ok(found) = std::fs::metadata(&directory) {
                let path = below(root, &directory);
                self.known.insert(found.ino(), Some(path));
            }
            left.extend(directories_in(&directory));
        }
    }
}

fn below(root: &Path, directory: &Path) -> String {
    let rest = directory.strip_prefix(root).unwrap_or(directory);
    format!("/{}", text_of(rest.as_os_str().as_bytes()))
}

fn directories_in(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let directories = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    directories.map(|entry| entry.path()).collect()
}
