//! The content of a table cell: a text, or the reason for its absence.

use std::fmt;

use crate::format::printable;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Cell {
    /// Text of a value, safe to be drawn.
    Is(String),
    /// The value is unavailable.
    NotSeen,
    /// A value would be meaningless.
    NotApplicable,
}

impl Cell {
    /// The text of a value, or that it was not measured.
    pub(crate) fn seen<T>(value: Option<T>, text: impl FnOnce(T) -> String) -> Self {
        value.map_or(Self::NotSeen, |value| text(value).into())
    }

    /// The text of a value, or that a value would be meaningless.
    pub(crate) fn applicable<T>(value: Option<T>, text: impl FnOnce(T) -> String) -> Self {
        value.map_or(Self::NotApplicable, |value| text(value).into())
    }

    /// The drawn text.
    pub(crate) fn as_str(&self) -> &str {
        match self {
            Self::Is(text) => text,
            Self::NotSeen => "n/a",
            Self::NotApplicable => "—",
        }
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Is(printable(&text))
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Is(printable(text))
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}
