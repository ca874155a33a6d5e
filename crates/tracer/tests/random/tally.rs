//! Calls and bytes of each file, from either side.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// The object of a call.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Thing {
    /// No object: no file, or a call that is compared only by its name.
    Nothing,
    /// A file. The generation is 0 where the file system reports none.
    File {
        device: u32,
        inode: u64,
        generation: u32,
    },
    /// The kernel's objects of one kind, which share an inode: `anon_inode:[eventfd]`.
    Kind(String),
}

impl Thing {
    /// In the form of stat(2), without the generation.
    pub(crate) fn without_generation(&self) -> Self {
        match self {
            Self::File { device, inode, .. } => Self::File {
                device: *device,
                inode: *inode,
                generation: 0,
            },
            other => other.clone(),
        }
    }
}

impl fmt::Display for Thing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("(no file)"),
            Self::File {
                device,
                inode,
                generation,
            } => write!(
                f,
                "{}:{} inode {inode} generation {generation}",
                device >> 20,
                device & 0xf_ffff
            ),
            Self::Kind(name) => f.write_str(name),
        }
    }
}

/// Calls with one name on one object; calls that read from it, but are counted for the file that
/// they write to, are separate.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) thing: Thing,
    pub(crate) call: String,
    pub(crate) is_source: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) count: u64,
    pub(crate) errors: u64,
    pub(crate) bytes: u64,
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            count,
            errors,
            bytes,
        } = self;
        write!(f, "{count} calls, {errors} failed, {bytes} bytes")
    }
}

/// The counts of one side.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) rows: BTreeMap<Key, Row>,
    /// Every path under which a file was seen.
    pub(crate) names: BTreeMap<Thing, BTreeSet<String>>,
    /// Files that got a second name, without their generation.
    pub(crate) linked: BTreeSet<Thing>,
}

impl Tally {
    pub(crate) fn add(&mut self, thing: &Thing, call: &str, is_source: bool, row: Row) {
        let acts_on = acts_on(call);
        let key = Key {
            thing: match acts_on {
                ActsOn::Nothing => Thing::Nothing,
                _ => thing.clone(),
            },
            call: call.to_owned(),
            is_source,
        };
        let sum = self.rows.entry(key).or_default();
        sum.count += row.count;
        sum.errors += row.errors;
        if moves(call) {
            sum.bytes += row.bytes;
        }
    }

    /// The same with other objects in place of these.
    pub(crate) fn translated(&self, thing: impl Fn(&Thing) -> Thing) -> Self {
        let mut translated = Self::default();
        for (key, row) in &self.rows {
            translated.add(&thing(&key.thing), &key.call, key.is_source, *row);
        }
        for (named, paths) in &self.names {
            let names = translated.names.entry(thing(named)).or_default();
            names.extend(paths.iter().cloned());
        }
        translated.linked = self.linked.iter().map(thing).collect();
        translated
    }

    pub(crate) fn name(&mut self, thing: &Thing, path: &str) {
        let names = self.names.entry(thing.clone()).or_default();
        names.insert(path.to_owned());
    }
}

/// The argument that identifies the object of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ActsOn {
    /// The descriptor at this position.
    Descriptor(usize),
    /// The descriptor at the first position; it reads from the one at the second.
    Copies(usize, usize),
    /// The descriptor that it returns.
    Returned,
    /// The file that is mapped at its first argument.
    Mapping,
    /// None, or the call is compared only by its name.
    Nothing,
}

/// The calls that are compared file by file, according to their manual pages.
pub(crate) fn acts_on(call: &str) -> ActsOn {
    match call {
        "read" | "pread64" | "readv" | "preadv" | "preadv2" | "write" | "pwrite64" | "writev"
        | "pwritev" | "pwritev2" | "fsync" | "fdatasync" | "sync_file_range" | "ftruncate"
        | "fallocate" | "fstat" | "lseek" | "ioctl" | "fcntl" | "dup" | "dup2" | "dup3"
        | "close" | "fadvise64" | "fchdir" | "io_uring.read" | "io_uring.write"
        | "io_uring.fsync" | "io_uring.fallocate" | "io_uring.ftruncate" | "aio.pread"
        | "aio.pwrite" | "aio.fsync" => ActsOn::Descriptor(0),
        "mmap" => ActsOn::Descriptor(4),
        "ioctl(FICLONE)" => ActsOn::Copies(0, 2),
        // Counted for the file whose mapping it makes writable.
        "mprotect(shared)" => ActsOn::Mapping,
        "sendfile" => ActsOn::Copies(0, 1),
        "splice" | "copy_file_range" => ActsOn::Copies(2, 0),
        "open" | "openat" | "openat2" | "creat" => ActsOn::Returned,
        _ => ActsOn::Nothing,
    }
}

/// Calls that return the number of bytes moved.
fn moves(call: &str) -> bool {
    matches!(
        call,
        "read"
            | "pread64"
            | "readv"
            | "preadv"
            | "preadv2"
            | "write"
            | "pwrite64"
            | "writev"
            | "pwritev"
            | "pwritev2"
            | "sendfile"
            | "splice"
            | "copy_file_range"
            | "io_uring.read"
            | "io_uring.write"
            | "aio.pread"
            | "aio.pwrite"
    )
}
