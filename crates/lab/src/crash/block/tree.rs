//! The tree that a recovery left, and what tells one from another.

use std::collections::BTreeMap;
use std::collections::HashMap;
use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use blake3::{Hash, Hasher};
use iostrata_core::crash::{Held, read_held};
use rustix::fs::{lgetxattr, llistxattr};

/// Extended attributes of a file at most (`XATTR_LIST_MAX`), and one of them (`XATTR_SIZE_MAX`), bytes: xattr(7).
const MOST_XATTR_BYTES: usize = 65_536;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observed {
    /// Of names, kinds, modes, owners, extended attributes, lengths and contents.
    pub hash: Hash,
    /// Files and links, by their paths in it.
    pub files: BTreeMap<Vec<u8>, Held>,
    /// The first path that the file system refuses to read, and why: it is damaged.
    pub unreadable: Option<(Vec<u8>, String)>,
}

/// Looks at everything below a directory that nobody changes meanwhile.
pub fn observe(directory: &Path) -> Observed {
    let mut walk = Walk {
        hasher: Hasher::new(),
        observed: Observed {
            hash: Hash::from_bytes([0; 32]),
            files: BTreeMap::new(),
            unreadable: None,
        },
        links: HashMap::new(),
    };
    walk.directory(directory, &[]);
    walk.observed.hash = walk.hasher.finalize();
    walk.observed
}

struct Walk {
    hasher: Hasher,
    observed: Observed,
    /// Of inodes with several names, the number of the first one.
    links: HashMap<u64, usize>,
}

impl Walk {
    fn directory(&mut self, path: &Path, prefix: &[u8]) {
        let mut names = Vec::new();
        let read = fs::read_dir(path).and_then(|entries| {
            for entry in entries {
                names.push(entry?.file_name());
            }
            Ok(())
        });
        if let Err(error) = read {
            self.refused(prefix, &error);
        }
        names.sort_unstable();
        self.number(names.len() as u64);
        for name in names {
            let child = path.join(&name);
            let mut own = prefix.to_vec();
            if !own.is_empty() {
                own.push(b'/');
            }
            own.extend_from_slice(name.as_bytes());
            self.bytes(name.as_bytes());
            if let Err(error) = self.node(&child, &own) {
                self.refused(&own, &error);
            }
        }
    }

    fn node(&mut self, path: &Path, own: &[u8]) -> io::Result<()> {
        let meta = fs::symlink_metadata(path)?;
        for number in [
            u64::from(meta.mode()),
            u64::from(meta.uid()),
            u64::from(meta.gid()),
        ] {
            self.number(number);
        }
        self.attributes(path)?;
        let kind = meta.file_type();
        if kind.is_dir() {
            self.directory(path, own);
        } else {
            self.link(&meta);
            let held = if kind.is_file() {
                self.contents(path)?
            } else if kind.is_symlink() {
                let target = fs::read_link(path)?.as_os_str().as_bytes().to_vec();
                self.bytes(&target);
                Held::Symlink(target)
            } else {
                self.number(meta.rdev());
                Held::Other
            };
            self.observed.files.insert(own.to_vec(), held);
        }
        Ok(())
    }

    fn contents(&mut self, path: &Path) -> io::Result<Held> {
        let held = read_held(File::open(path)?)?;
        if let Held::Bytes { digest, size_bytes } = &held {
            self.number(*size_bytes);
            self.hasher.update(digest);
        }
        Ok(held)
    }

    /// Two names of one file are not two files.
    fn link(&mut self, meta: &Metadata) {
        if meta.nlink() > 1 {
            let next = self.links.len();
            let first = *self.links.entry(meta.ino()).or_insert(next);
            self.number(first as u64 + 1);
        }
    }

    fn attributes(&mut self, path: &Path) -> io::Result<()> {
        // Most files have none; a buffer for all costs the kernel as much memory (`listxattr`, fs/xattr.c).
        match llistxattr(path, &mut [0; 0]) {
            Ok(0) | Err(rustix::io::Errno::OPNOTSUPP) => return Ok(()),
            length => length?,
        };
        let mut names = vec![0; MOST_XATTR_BYTES];
        let length = llistxattr(path, &mut names)?;
        let mut value = vec![0; MOST_XATTR_BYTES];
        let mut names: Vec<&[u8]> = names[..length].split(|byte| *byte == 0).collect();
        names.sort_unstable();
        for name in names.into_iter().filter(|name| !name.is_empty()) {
            let length = lgetxattr(path, name, &mut value)?;
            self.bytes(name);
            let held = value[..length].to_vec();
            self.bytes(&held);
        }
        Ok(())
    }

    fn refused(&mut self, path: &[u8], error: &io::Error) {
        self.hasher.update(b"unreadable");
        let unreadable = &mut self.observed.unreadable;
        if unreadable.is_none() {
            *unreadable = Some((path.to_vec(), error.to_string()));
        }
    }

    fn number(&mut self, number: u64) {
        self.hasher.update(&number.to_le_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.hasher.update(bytes);
    }
}
