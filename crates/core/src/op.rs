//! Operations as a program asked for them, and how completely they were seen.

use serde::{Deserialize, Serialize};

/// The life of one inode: unlike a path it survives a rename, and unlike an
/// inode number it is not reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct FileId {
    /// `st_dev`, in the kernel's encoding (`major << 20 | minor`): of btrfs the subvolume's. A
    /// file of overlayfs is that of the layer which held it first.
    pub device: u32,
    /// Inode number.
    pub inode: u64,
    /// `i_generation`: changes when the file system reuses the number.
    pub generation: u32,
}

impl FileId {
    /// The kernel's `dev_t` for a user-space `st_dev` (which has another encoding).
    pub fn kernel_device(major: u32, minor: u32) -> u32 {
        (major << 20) | (minor & 0xf_ffff)
    }

    /// `major:minor` of the device, as `/proc` and `/sys` write it.
    pub fn device_numbers(device: u32) -> (u32, u32) {
        (device >> 20, device & 0xf_ffff)
    }
}

/// Why something was not seen whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    /// What is missing.
    pub what: String,
    /// Why it could not be had.
    pub why: String,
}

impl Gap {
    /// A gap from its two sentences.
    pub fn new(what: impl Into<String>, why: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            why: why.into(),
        }
    }

    /// A number of things that are missing, by the word for one of them and for several.
    pub fn counted(count: u64, one: &str, several: &str, why: impl Into<String>) -> Self {
        let things = if count == 1 { one } else { several };
        Self::new(format!("{count} {things}"), why)
    }
}

/// A value together with how completely it was captured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Captured<T> {
    /// All of it.
    Whole(T),
    /// A part, and what is missing.
    Partial(T, Gap),
    /// Nothing, and why.
    Missing(Gap),
}

impl<T> Captured<T> {
    /// The captured value, whole or partial.
    pub fn value(&self) -> Option<&T> {
        match self {
            Self::Whole(value) | Self::Partial(value, _) => Some(value),
            Self::Missing(_) => None,
        }
    }

    /// What is missing, if anything is.
    pub fn gap(&self) -> Option<&Gap> {
        match self {
            Self::Whole(_) => None,
            Self::Partial(_, gap) | Self::Missing(gap) => Some(gap),
        }
    }
}

/// What an operation asked the kernel to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Call {
    /// `write`, `pwrite64`, `writev`, `pwritev`, `pwritev2`.
    Write {
        /// The system call's name.
        name: &'static str,
        /// The file written to.
        file: FileId,
        /// Length of each buffer handed over, in order: one for `write`.
        pieces: Captured<Vec<u64>>,
    },
    /// `fsync`, `fdatasync`, `sync_file_range`.
    Sync {
        /// The system call's name.
        name: &'static str,
        /// The file made durable.
        file: FileId,
    },
    /// Any other call on a file.
    Other {
        /// The system call's name.
        name: &'static str,
        /// The file it names, if it names one.
        file: Option<FileId>,
    },
}

impl Call {
    /// The system call's name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Write { name, .. } | Self::Sync { name, .. } | Self::Other { name, .. } => name,
        }
    }

    /// The file the call acts on, if it names one.
    pub fn file(&self) -> Option<FileId> {
        match self {
            Self::Write { file, .. } | Self::Sync { file, .. } => Some(*file),
            Self::Other { file, .. } => *file,
        }
    }
}

/// One operation as the program asked for it and as the kernel answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Op {
    /// Position in the order of completion, from 0.
    pub id: u64,
    /// Process (thread group).
    pub process: u32,
    /// Thread.
    pub thread: u32,
    /// Start, nanoseconds of `CLOCK_MONOTONIC`.
    pub started_ns: u64,
    /// Time inside the call, nanoseconds.
    pub took_ns: u64,
    /// What was asked.
    pub call: Call,
    /// Return value, or the `errno`.
    pub outcome: Result<u64, i32>,
}
