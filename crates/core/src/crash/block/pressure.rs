//! Who else makes the file system commit while the program runs.

use serde::{Deserialize, Serialize};

/// What a crash can leave depends on when the file system commits, and that on others too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Pressure {
    /// Somebody syncs another file of the file system after each change.
    Fsync,
    /// The file system commits every second.
    Timer,
    /// Nobody, until everything is written after the end of the program.
    None,
}

impl Pressure {
    /// All of them, the one that finds most first.
    pub const ALL: [Self; 3] = [Self::Fsync, Self::Timer, Self::None];

    /// `fsync`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Fsync => "fsync",
            Self::Timer => "timer",
            Self::None => "none",
        }
    }
}
