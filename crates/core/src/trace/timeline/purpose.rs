//! The purposes of calls on files in a timeline.

use serde::{Deserialize, Serialize};

use crate::trace::calls::{Effect, effect};

/// The purpose of a call on files.
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
