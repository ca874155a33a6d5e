//! Calls of a program, their files, and gaps in the observation.

use serde::{Deserialize, Serialize};

/// The life of one inode: unlike a path it survives a rename, and unlike an
/// inode number it is not reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct FileId {
    /// `st_dev`, in the kernel's encoding (`major << 20 | minor`): for btrfs the subvolume's. A
    /// file of overlayfs has that of the layer which held it first.
    pub device: u32,
    pub inode: u64,
    /// `i_generation`: changes when the file system reuses the number.
    pub generation: u32,
}

impl FileId {
    /// No file has it.
    pub const NONE: Self = Self {
        device: 0,
        inode: 0,
        generation: 0,
    };
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

/// The kind of a node, or of a descriptor's file. The order of the variants is part of the format
/// of the operation log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FileKind {
    /// File contents.
    Regular,
    /// Directory.
    Directory,
    /// Symbolic link.
    Symlink,
    /// FIFO, or pipe.
    Pipe,
    /// Socket.
    Socket,
    /// Terminal, `/dev/null` and the like.
    CharacterDevice,
    /// A disk or a part of one.
    BlockDevice,
    /// Another kind, or a file outside all file systems: epoll, eventfd, timers, io_uring.
    Anonymous,
}

impl FileKind {
    /// From the type bits of an inode's mode (`S_IFMT`, include/uapi/linux/stat.h).
    pub fn from_mode(mode: u32) -> Self {
        match mode & 0o170_000 {
            0o100_000 => Self::Regular,
            0o040_000 => Self::Directory,
            0o120_000 => Self::Symlink,
            0o010_000 => Self::Pipe,
            0o140_000 => Self::Socket,
            0o020_000 => Self::CharacterDevice,
            0o060_000 => Self::BlockDevice,
            _ => Self::Anonymous,
        }
    }

    /// Its name in the operation log.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Regular => "regular",
            Self::Directory => "directory",
            Self::Symlink => "symlink",
            Self::Pipe => "fifo",
            Self::Socket => "socket",
            Self::CharacterDevice => "character_device",
            Self::BlockDevice => "block_device",
            Self::Anonymous => "other",
        }
    }
}

/// One observed system call, or one operation of io_uring or libaio.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call {
    pub process: u32,
    pub thread: u32,
    /// Its begin, nanoseconds of `CLOCK_MONOTONIC`.
    pub started_ns: u64,
    /// Its end, same clock; for consecutive writes, the end of the last.
    pub ended_ns: u64,
    /// The system call, `io_uring.<operation>` or `aio.<operation>`.
    pub name: &'static str,
    /// Its result, or the `errno`.
    pub outcome: Result<u64, i32>,
}

impl Call {
    /// Time inside, nanoseconds.
    pub fn took_ns(&self) -> u64 {
        self.ended_ns.saturating_sub(self.started_ns)
    }
}

/// A write or a sync, with its buffers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Op {
    pub call: Call,
    /// `None` when unknown.
    pub file: Option<FileId>,
    /// Length of each buffer, in order: one for `write`, none for a sync. Buffers after the eighth,
    /// and unreadable ones, are left out.
    pub pieces_bytes: Vec<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_told_by_the_type_bits() {
        assert_eq!(FileKind::from_mode(0o100_644), FileKind::Regular);
        assert_eq!(FileKind::from_mode(0o041_777), FileKind::Directory);
        assert_eq!(FileKind::from_mode(0o140_600), FileKind::Socket);
        assert_eq!(FileKind::from_mode(0o644), FileKind::Anonymous);
    }
}
