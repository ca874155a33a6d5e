//! The subjects of a log: nodes of file systems, their names and their attributes.

use serde::{Deserialize, Serialize};

use super::Payload;
use crate::op::FileId;

/// An entry of a directory.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Name {
    pub parent: FileId,
    /// The name in it: bytes, neither empty nor `.` nor `..`, without `/` and NUL.
    pub name: Vec<u8>,
}

impl Name {
    pub fn new(parent: FileId, name: impl Into<Vec<u8>>) -> Self {
        Self {
            parent,
            name: name.into(),
        }
    }

    /// Whether a file system could have such a name. A log is untrusted input.
    pub fn is_possible(&self) -> bool {
        let name = self.name.as_slice();
        !matches!(name, b"" | b"." | b"..")
            && name.len() <= LONGEST_NAME
            && !name.iter().any(|byte| matches!(byte, b'/' | 0))
    }
}

/// `NAME_MAX` (include/uapi/linux/limits.h).
const LONGEST_NAME: usize = 255;

/// Where a node was found. The order of the variants is part of the format.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Place {
    /// It is the root of all paths.
    Root,
    Name(Name),
    /// It has no name: it was removed, or never had one (`O_TMPFILE`, `memfd_create`).
    Nowhere,
}

/// A change of a node's attributes. The order of the variants is part of the format.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Attribute {
    /// Permission bits (`chmod`).
    Mode {
        /// The twelve low bits of the mode.
        mode: u32,
    },
    /// Owner and group (`chown`); `None` is unchanged.
    Owner {
        user: Option<u32>,
        group: Option<u32>,
    },
    /// Access and modification time (`utimensat` and related calls).
    Times { accessed: Time, modified: Time },
    Extended {
        /// With its namespace: `user.mime_type`.
        name: Vec<u8>,
        /// `None` when it was removed.
        value: Option<Vec<u8>>,
        /// `XATTR_CREATE`, `XATTR_REPLACE`.
        flags: u32,
    },
    /// Flags of the inode (`FS_IOC_SETFLAGS`): append-only, immutable and others.
    Flags {
        /// `FS_*_FL` (include/uapi/linux/fs.h).
        flags: u32,
    },
    /// Flags of the inode (`FS_IOC_FSSETXATTR`).
    ExtendedFlags {
        /// `FS_XFLAG_*` (include/uapi/linux/fs.h).
        flags: u32,
    },
}

/// The state of a node before the program began. The order of the variants is part of the format.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Was {
    /// A regular file contained these bytes, after a hole; ranges in no such entry are zero.
    Bytes {
        offset: u64,
        payload: Payload,
    },
    Attribute(Attribute),
    /// A symbolic link had this target.
    Target(Vec<u8>),
    /// A device had this number, as `st_rdev` is encoded.
    DeviceNumber(u64),
    /// All names of a directory have been recorded.
    Listed,
}

impl Was {
    /// In one or two words: `device_number`.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Bytes { .. } => "bytes",
            Self::Attribute(attribute) => attribute.as_str(),
            Self::Target(_) => "target",
            Self::DeviceNumber(_) => "device_number",
            Self::Listed => "listed",
        }
    }
}

/// A time set on a node. The order of the variants is part of the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Time {
    Now,
    /// Unchanged.
    Kept,
    /// This time, since 1970.
    At {
        seconds: i64,
        nanoseconds: u32,
    },
}

impl Attribute {
    /// In a word: `mode`.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Mode { .. } => "mode",
            Self::Owner { .. } => "owner",
            Self::Times { .. } => "times",
            Self::Extended { .. } => "extended",
            Self::Flags { .. } => "flags",
            Self::ExtendedFlags { .. } => "extended_flags",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_lead_elsewhere_are_impossible() {
        let parent = FileId {
            device: 1,
            inode: 2,
            generation: 0,
        };
        let possible = |name: &[u8]| Name::new(parent, name).is_possible();
        assert!(possible(b"a") && possible(b"...") && possible(&[0xff; 255]));
        for name in [&b""[..], b".", b"..", b"/", b"a/b", b"a\0", &[b'a'; 256]] {
            assert!(!possible(name), "{name:?}");
        }
    }
}
