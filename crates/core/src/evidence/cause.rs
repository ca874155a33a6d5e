//! Why the device got a request: the causes, with their names.

use serde::{Deserialize, Serialize};

/// The cause of a block request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// Any read.
    #[serde(rename = "reads")]
    Read,
    /// File contents.
    Data,
    /// Journal or log blocks.
    Journal,
    /// The block that makes a transaction or a tree valid.
    Commit,
    /// File-system metadata written in its place.
    Metadata,
    /// A write of unknown cause.
    Unknown,
    /// A cache flush without data.
    #[serde(rename = "flushes")]
    Flush,
    /// Discard, secure erase or write-zeroes.
    #[serde(rename = "discards")]
    Discard,
}

impl Cause {
    /// In the order in which they are shown.
    pub const ALL: [Self; 8] = [
        Self::Read,
        Self::Data,
        Self::Journal,
        Self::Commit,
        Self::Metadata,
        Self::Unknown,
        Self::Flush,
        Self::Discard,
    ];

    /// Causes of requests that move data.
    pub fn with_data() -> impl Iterator<Item = Self> + Clone {
        Self::ALL.into_iter().filter(|cause| cause.has_data())
    }

    /// Causes of requests that write data.
    pub fn writes() -> impl Iterator<Item = Self> + Clone {
        Self::ALL.into_iter().filter(|cause| cause.is_write())
    }

    pub fn is_write(self) -> bool {
        !matches!(self, Self::Read | Self::Flush | Self::Discard)
    }

    /// Whether its requests move data.
    pub fn has_data(self) -> bool {
        self == Self::Read || self.is_write()
    }

    /// As JSON and the heads of columns name it, and several requests.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "reads",
            Self::Data => "data",
            Self::Journal => "journal",
            Self::Commit => "commit",
            Self::Metadata => "metadata",
            Self::Unknown => "unknown",
            Self::Flush => "flushes",
            Self::Discard => "discards",
        }
    }

    /// As metrics and tables name it, and one request.
    pub fn singular(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Flush => "flush",
            Self::Discard => "discard",
            other => other.name(),
        }
    }
}
