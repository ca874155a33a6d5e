//! The nodes, names and bytes of a change, for any kind.

use super::{Change, Description, Durability, Name, Payload, Place, Was};
use crate::op::FileId;

impl Change {
    /// Its kind in one or two words: `wrote`, `made`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Found { .. } => "found",
            Self::Described { .. } => "described",
            Self::Opened { .. } => "opened",
            Self::Wrote { .. } => "wrote",
            Self::Stored { .. } => "stored",
            Self::Resized { .. } => "resized",
            Self::Allocated { .. } => "allocated",
            Self::Cloned { .. } => "cloned",
            Self::Deduplicated { .. } => "deduplicated",
            Self::Made { .. } => "made",
            Self::Renamed { .. } => "renamed",
            Self::Linked { .. } => "linked",
            Self::Unlinked { .. } => "unlinked",
            Self::Changed { .. } => "changed",
            Self::Synced { .. } => "synced",
            Self::Mapped { .. } => "mapped",
            Self::Closed { .. } => "closed",
            Self::Read { .. } => "read",
            Self::Printed { .. } => "printed",
            Self::Attempted { .. } => "attempted",
            Self::Before { .. } => "before",
            Self::MappedToRead { .. } => "mapped_to_read",
            Self::Touched { .. } => "touched",
        }
    }

    pub fn node(&self) -> Option<FileId> {
        match self {
            Self::Found { node, .. }
            | Self::Described { node, .. }
            | Self::Opened { node, .. }
            | Self::Wrote { node, .. }
            | Self::Stored { node, .. }
            | Self::Resized { node, .. }
            | Self::Allocated { node, .. }
            | Self::Cloned { node, .. }
            | Self::Deduplicated { node, .. }
            | Self::Made { node, .. }
            | Self::Renamed { node, .. }
            | Self::Linked { node, .. }
            | Self::Unlinked { node, .. }
            | Self::Changed { node, .. }
            | Self::Mapped { node, .. }
            | Self::Closed { node, .. }
            | Self::Read { node, .. }
            | Self::Before { node, .. }
            | Self::MappedToRead { node, .. }
            | Self::Touched { node, .. } => Some(*node),
            Self::Synced { node, .. } => *node,
            Self::Printed { .. } | Self::Attempted { .. } => None,
        }
    }

    /// The node that it created.
    pub fn made(&self) -> Option<FileId> {
        match self {
            Self::Made { node, .. }
            | Self::Opened {
                node,
                created: Some(_),
                ..
            } => Some(*node),
            _ => None,
        }
    }

    /// The open file description that it used.
    pub fn description(&self) -> Option<Description> {
        match self {
            Self::Described { description, .. }
            | Self::Opened { description, .. }
            | Self::Closed { description, .. } => Some(*description),
            Self::Wrote { description, .. }
            | Self::Resized { description, .. }
            | Self::Allocated { description, .. }
            | Self::Cloned { description, .. }
            | Self::Synced { description, .. }
            | Self::Read { description, .. } => *description,
            _ => None,
        }
    }

    /// The same, with an open file description where the change has one.
    #[must_use]
    pub fn through(mut self, through: Description) -> Self {
        match &mut self {
            Self::Described { description, .. }
            | Self::Opened { description, .. }
            | Self::Closed { description, .. } => *description = through,
            Self::Wrote { description, .. }
            | Self::Resized { description, .. }
            | Self::Allocated { description, .. }
            | Self::Cloned { description, .. }
            | Self::Synced { description, .. }
            | Self::Read { description, .. } => *description = Some(through),
            _ => {}
        }
        self
    }

    /// Its name: of two the previous one.
    pub fn name(&self) -> Option<&Name> {
        match self {
            Self::Found {
                place: Place::Name(name),
                ..
            }
            | Self::Opened {
                created: Some(Place::Name(name)),
                ..
            }
            | Self::Made { name, .. }
            | Self::Linked { name, .. }
            | Self::Unlinked { name, .. } => Some(name),
            Self::Renamed { from, .. } => Some(from),
            _ => None,
        }
    }

    /// Its second name: the new one of a rename.
    pub fn other_name(&self) -> Option<&Name> {
        match self {
            Self::Renamed { to, .. } => Some(to),
            _ => None,
        }
    }

    /// Its second node: the source of a clone, the node replaced by a rename.
    pub fn other_node(&self) -> Option<FileId> {
        match self {
            Self::Cloned { source, .. } | Self::Deduplicated { source, .. } => Some(*source),
            Self::Renamed { other, .. } => *other,
            _ => None,
        }
    }

    pub fn offset(&self) -> Option<u64> {
        match self {
            Self::Wrote { offset, .. }
            | Self::Stored { offset, .. }
            | Self::Allocated { offset, .. }
            | Self::Cloned { offset, .. }
            | Self::Deduplicated { offset, .. }
            | Self::Mapped { offset, .. }
            | Self::MappedToRead { offset, .. }
            | Self::Touched { offset, .. }
            | Self::Read { offset, .. }
            | Self::Before {
                was: Was::Bytes { offset, .. },
                ..
            }
            | Self::Synced {
                scope: Durability::Range { offset, .. },
                ..
            } => Some(*offset),
            _ => None,
        }
    }

    /// Bytes that it put into its file, and their offset there.
    pub fn written(&self) -> Option<(u64, &Payload)> {
        let is_write = matches!(
            self,
            Self::Wrote { .. } | Self::Stored { .. } | Self::Cloned { .. }
        );
        self.offset().zip(self.payload()).filter(|_| is_write)
    }

    /// Number of its bytes; for a found or resized file, its length.
    pub fn bytes(&self) -> Option<u64> {
        match self {
            Self::Found { size_bytes, .. } => Some(*size_bytes),
            Self::Resized { bytes, .. }
            | Self::Allocated { bytes, .. }
            | Self::Deduplicated { bytes, .. }
            | Self::Mapped { bytes, .. }
            | Self::MappedToRead { bytes, .. }
            | Self::Touched { bytes, .. }
            | Self::Read { bytes, .. }
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
            | Self::Cloned { payload, .. }
            | Self::Printed { payload, .. }
            | Self::Before {
                was: Was::Bytes { payload, .. },
                ..
            } => Some(payload),
            Self::Found { contents, .. } => contents.as_ref(),
            _ => None,
        }
    }
}

impl Durability {
    /// The scope of a sync, in a word.
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
