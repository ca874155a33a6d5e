//! What calls on files are for, as a timeline tells them apart.

use serde::{Deserialize, Serialize};

use crate::trace::CallGroup;

/// What a call on files is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Purpose {
    /// Bytes of a file to the program.
    Read,
    /// Bytes to a file; copies inside the kernel are among them.
    Write,
    /// Durability, or the start of write-back.
    Sync,
    /// Names, attributes, lengths: opening and closing, looking up, renaming, truncating.
    Metadata,
}

impl Purpose {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Read, Self::Write, Self::Sync, Self::Metadata];

    /// What a call is for by its name, `io_uring.<operation>` like the call of that name.
    /// `None` for calls that are not on files.
    pub fn of(name: &str) -> Option<Self> {
        match CallGroup::of(name) {
            Some(CallGroup::Reads) => Some(Self::Read),
            Some(CallGroup::Writes | CallGroup::Copies) => Some(Self::Write),
            Some(CallGroup::Syncs) => Some(Self::Sync),
            Some(CallGroup::Opens) => Some(Self::Metadata),
            Some(CallGroup::Waits | CallGroup::Ring) => None,
            None => {
                let call = name.strip_prefix("io_uring.").unwrap_or(name);
                is_metadata(call).then_some(Self::Metadata)
            }
        }
    }

    /// Whether it counts only on regular files and disks: a read from a pipe waits for
    /// somebody, not for storage.
    pub fn moves(self) -> bool {
        matches!(self, Self::Read | Self::Write)
    }
}

fn is_metadata(call: &str) -> bool {
    matches!(
        call,
        "access"
            | "chmod"
            | "chown"
            | "close"
            | "faccessat"
            | "faccessat2"
            | "fallocate"
            | "fchmod"
            | "fchmodat"
            | "fchmodat2"
            | "fchown"
            | "fchownat"
            | "fgetxattr"
            | "fsetxattr"
            | "fstat"
            | "fstatfs"
            | "ftruncate"
            | "futimesat"
            | "getdents"
            | "getdents64"
            | "getxattr"
            | "lchown"
            | "lgetxattr"
            | "link"
            | "linkat"
            | "lsetxattr"
            | "lstat"
            | "mkdir"
            | "mkdirat"
            | "mknod"
            | "mknodat"
            | "newfstatat"
            | "readlink"
            | "readlinkat"
            | "rename"
            | "renameat"
            | "renameat2"
            | "rmdir"
            | "setxattr"
            | "stat"
            | "statfs"
            | "statx"
            | "symlink"
            | "symlinkat"
            | "truncate"
            | "unlink"
            | "unlinkat"
            | "utime"
            | "utimensat"
            | "utimes"
    )
}
