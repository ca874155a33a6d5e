//! The purposes of system calls: by group, by the direction of bytes, and in a timeline.

use serde::{Deserialize, Serialize};

use super::FileKind;
use super::calls::{Effect, effect};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CallGroup {
    /// Moves bytes of a file to the program.
    Reads,
    /// Moves bytes of the program to a file.
    Writes,
    /// Moves bytes of one file to another, inside the kernel: a read and a write.
    Copies,
    /// Requests durability, or starts write-back.
    Syncs,
    /// Opens a path as a descriptor.
    Opens,
    /// Waits for something other than files: time, locks, children, other machines.
    Waits,
    /// Submits operations to a kernel queue (io_uring, libaio) and waits for them.
    Ring,
}

impl CallGroup {
    /// The group of a call by its name. `None` for all other calls.
    pub fn of(name: &str) -> Option<Self> {
        match effect(name)? {
            Effect::Reads => Some(Self::Reads),
            Effect::Writes => Some(Self::Writes),
            Effect::Copies => Some(Self::Copies),
            Effect::Syncs => Some(Self::Syncs),
            Effect::Opens => Some(Self::Opens),
            Effect::Waits => Some(Self::Waits),
            Effect::Queues => Some(Self::Ring),
            _ => None,
        }
    }

    /// Whether its calls move bytes from a file.
    pub fn reads(self) -> bool {
        matches!(self, Self::Reads | Self::Copies)
    }

    /// Whether its calls move bytes to a file.
    pub fn writes(self) -> bool {
        matches!(self, Self::Writes | Self::Copies)
    }
}

impl FileKind {
    /// Whether a file system or a disk stores its bytes. A read from anything else waits for
    /// another process, a person or a machine.
    pub fn is_stored(self) -> bool {
        match self {
            Self::Regular | Self::Directory | Self::Symlink | Self::BlockDevice => true,
            Self::Pipe | Self::Socket | Self::CharacterDevice | Self::Anonymous => false,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    Read,
    Write,
}

/// The direction in which the call moves bytes of its file; `None` for calls that do not return a
/// number of bytes.
pub fn direction(call: &str) -> Option<Direction> {
    match effect(call)? {
        Effect::Reads => Some(Direction::Read),
        Effect::Writes | Effect::Copies => Some(Direction::Write),
        _ => None,
    }
}

/// Whether the call makes data durable or requests it.
pub fn is_sync(call: &str) -> bool {
    effect(call) == Some(Effect::Syncs)
}

/// Whether the call changes a file's length or its blocks.
pub fn is_resize(call: &str) -> bool {
    effect(call) == Some(Effect::Resizes)
}

/// Whether it is an operation of io_uring or libaio, which no thread makes by a call of its own: `io_uring.read`.
pub(crate) fn is_operation(name: &str) -> bool {
    name.as_bytes().contains(&b'.')
}

pub fn is_open(call: &str) -> bool {
    effect(call) == Some(Effect::Opens)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Purpose {
    /// Moves bytes of a file to the program.
    Read,
    /// Moves bytes to a file, including copies inside the kernel.
    Write,
    /// Durability, or the start of write-back.
    Sync,
    /// Names, attributes, lengths: opening and closing, looking up, renaming, truncating.
    Metadata,
}

impl Purpose {
    pub const ALL: [Self; 4] = [Self::Read, Self::Write, Self::Sync, Self::Metadata];

    /// The purpose of a call by its name. `None` for calls that are not on files.
    pub fn of(name: &str) -> Option<Self> {
        match effect(name)? {
            Effect::Reads => Some(Self::Read),
            Effect::Writes | Effect::Copies => Some(Self::Write),
            Effect::Syncs => Some(Self::Sync),
            Effect::Opens
            | Effect::Closes
            | Effect::Resizes
            | Effect::Names
            | Effect::Attributes
            | Effect::Looks => Some(Self::Metadata),
            Effect::Maps
            | Effect::Handles
            | Effect::Mounts
            | Effect::Delegates
            | Effect::Queues
            | Effect::Waits
            | Effect::Nothing => None,
        }
    }

    /// Whether it counts only on regular files and disks: a read from a pipe waits for a writer,
    /// not for storage.
    pub fn moves(self) -> bool {
        matches!(self, Self::Read | Self::Write)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ring_operations_are_like_their_calls() {
        assert_eq!(CallGroup::of("io_uring.write"), Some(CallGroup::Writes));
        assert_eq!(CallGroup::of("pwrite64"), Some(CallGroup::Writes));
        assert_eq!(CallGroup::of("io_uring.fsync"), Some(CallGroup::Syncs));
        assert_eq!(CallGroup::of("io_uring_enter"), Some(CallGroup::Ring));
        assert_eq!(CallGroup::of("futex"), Some(CallGroup::Waits));
        assert_eq!(CallGroup::of("rename"), None);
    }

    #[test]
    fn a_copy_reads_and_writes() {
        let copy = CallGroup::of("copy_file_range").unwrap();
        assert!(copy.reads() && copy.writes());
        assert!(!CallGroup::Reads.writes() && !CallGroup::Syncs.reads());
    }
}
