//! Which file, names and bytes a change is about, whatever its kind.

use std::collections::HashMap;

use super::{Change, Durability, Operation, Payload};
use crate::op::FileId;

impl Change {
    /// Its kind in one or two words: `wrote`, `made_directory`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Found { .. } => "found",
            Self::Opened { .. } => "opened",
            Self::Wrote { .. } => "wrote",
            Self::Stored { .. } => "stored",
            Self::Resized { .. } => "resized",
            Self::Allocated { .. } => "allocated",
            Self::Renamed { .. } => "renamed",
            Self::Linked { .. } => "linked",
            Self::Unlinked { .. } => "unlinked",
            Self::MadeDirectory { .. } => "made_directory",
            Self::MadeSymlink { .. } => "made_symlink",
            Self::MadeNode { .. } => "made_node",
            Self::Synced { .. } => "synced",
            Self::Closed { .. } => "closed",
            Self::Mapped { .. } => "mapped",
            Self::Printed { .. } => "printed",
        }
    }

    /// The file it is about; `None` when it is about names, or no file.
    pub fn file(&self) -> Option<FileId> {
        match self {
            Self::Found { file, .. }
            | Self::Opened { file, .. }
            | Self::Wrote { file, .. }
            | Self::Stored { file, .. }
            | Self::Resized { file, .. }
            | Self::Allocated { file, .. }
            | Self::Closed { file }
            | Self::Mapped { file, .. } => Some(*file),
            Self::Synced { file, .. } => *file,
            _ => None,
        }
    }

    /// The path it names: of two the one that was there before.
    pub fn path(&self) -> Option<&[u8]> {
        match self {
            Self::Found { path, .. }
            | Self::Opened { path, .. }
            | Self::Unlinked { path, .. }
            | Self::MadeDirectory { path, .. }
            | Self::MadeSymlink { path, .. }
            | Self::MadeNode { path, .. } => Some(path),
            Self::Renamed { from, .. } | Self::Linked { from, .. } => Some(from),
            _ => None,
        }
    }

    /// The second path it names: a new name, or what a symbolic link says.
    pub fn other_path(&self) -> Option<&[u8]> {
        match self {
            Self::Renamed { to, .. } | Self::Linked { to, .. } => Some(to),
            Self::MadeSymlink { target, .. } => Some(target),
            _ => None,
        }
    }

    /// Where its bytes begin in the file.
    pub fn offset(&self) -> Option<u64> {
        match self {
            Self::Wrote { offset, .. }
            | Self::Stored { offset, .. }
            | Self::Allocated { offset, .. }
            | Self::Mapped { offset, .. }
            | Self::Synced {
                scope: Durability::Range { offset, .. },
                ..
            } => Some(*offset),
            _ => None,
        }
    }

    /// How many bytes it is about; of a file that was found or resized, its length.
    pub fn bytes(&self) -> Option<u64> {
        match self {
            Self::Found { size_bytes, .. } => Some(*size_bytes),
            Self::Resized { bytes, .. }
            | Self::Allocated { bytes, .. }
            | Self::Mapped { bytes, .. }
            | Self::Synced {
                scope: Durability::Range { bytes, .. },
                ..
            } => Some(*bytes),
            _ => self.payload().map(Payload::bytes),
        }
    }

    /// The bytes themselves, if the log has them.
    pub fn payload(&self) -> Option<&Payload> {
        match self {
            Self::Wrote { payload, .. }
            | Self::Stored { payload, .. }
            | Self::Printed { payload, .. } => Some(payload),
            Self::Found { contents, .. } => contents.as_ref(),
            _ => None,
        }
    }
}

impl Durability {
    /// What is made durable, in a word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Data => "data",
            Self::Range { .. } => "range",
            Self::Hint => "hint",
            Self::FileSystem => "file_system",
            Self::Everything => "everything",
        }
    }
}

/// By which path each file was found, opened or created last.
///
/// Grows with the files of a log, not with its operations.
#[derive(Debug, Clone, Default)]
pub struct Paths {
    by_file: HashMap<FileId, Vec<u8>>,
}

impl Paths {
    /// Follows an operation and gives the path that it names, or that of its file.
    pub fn of<'o>(&'o mut self, operation: &'o Operation) -> Option<&'o [u8]> {
        let named = operation.change.path();
        let file = operation.change.file();
        if let (Some(file), Some(path)) = (file, named)
            && operation.outcome.is_ok()
            && self.by_file.get(&file).is_none_or(|known| known != path)
        {
            self.by_file.insert(file, path.to_vec());
        }
        named.or_else(|| self.by_file.get(&file?).map(Vec::as_slice))
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;

    fn file(inode: u64) -> FileId {
        FileId {
            device: 1,
            inode,
            generation: 0,
        }
    }

    fn done(change: Change) -> Operation {
        Operation {
            id: 0,
            process: 1,
            thread: 1,
            started_ns: 0,
            took_ns: 0,
            call: Cow::Borrowed("call"),
            outcome: Ok(0),
            change,
        }
    }

    fn opened(inode: u64, path: &str) -> Change {
        Change::Opened {
            file: file(inode),
            path: path.into(),
            flags: 0,
            created: false,
            truncated: false,
        }
    }

    #[test]
    fn an_operation_has_the_path_it_names_or_that_of_its_file() {
        let mut paths = Paths::default();
        let closed = |inode| done(Change::Closed { file: file(inode) });
        assert_eq!(paths.of(&closed(1)), None);
        assert_eq!(paths.of(&done(opened(1, "/a"))), Some(&b"/a"[..]));
        assert_eq!(paths.of(&closed(1)), Some(&b"/a"[..]));
        assert_eq!(paths.of(&closed(2)), None);
        let failed = Operation {
            outcome: Err(2),
            ..done(opened(1, "/b"))
        };
        assert_eq!(paths.of(&failed), Some(&b"/b"[..]));
        assert_eq!(paths.of(&closed(1)), Some(&b"/a"[..]));
        let renamed = done(Change::Renamed {
            from: b"/a".to_vec(),
            to: b"/c".to_vec(),
            exchange: false,
        });
        assert_eq!(paths.of(&renamed), Some(&b"/a"[..]));
        assert_eq!(renamed.change.other_path(), Some(&b"/c"[..]));
        assert_eq!(paths.of(&done(opened(1, "/c"))), Some(&b"/c"[..]));
        assert_eq!(paths.of(&closed(1)), Some(&b"/c"[..]));
    }
}
