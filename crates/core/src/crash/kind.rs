//! The kinds of findings, each with a page in docs/rules.

use serde::{Deserialize, Serialize};

/// How a crash breaks something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FaultKind {
    /// Something was reported and is lost.
    LostAfterAck,
    /// A later operation is on disk, an earlier one is not.
    Ordering,
    /// A part of an operation is on disk.
    Atomicity,
    /// Everything up to an operation is on disk, and that is not enough.
    Prefix,
}

impl FaultKind {
    /// Each of them.
    pub const ALL: [Self; 4] = [
        Self::LostAfterAck,
        Self::Ordering,
        Self::Atomicity,
        Self::Prefix,
    ];

    /// Its name, as in JSON and after `iostrata explain`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::LostAfterAck => "lost-after-ack",
            Self::Ordering => "ordering",
            Self::Atomicity => "atomicity",
            Self::Prefix => "prefix",
        }
    }

    /// What a crash leaves, in one line.
    pub fn leaves(self) -> &'static str {
        match self {
            Self::LostAfterAck => "less than the program had reported",
            Self::Ordering => "a later operation without an earlier one",
            Self::Atomicity => "a part of one operation",
            Self::Prefix => "all operations up to one, and none after it",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_json() {
        for kind in FaultKind::ALL {
            let json = serde_json::to_value(kind).unwrap();
            assert_eq!(json, kind.as_str());
        }
    }
}
