//! The format of a value: its unit and number of digits.

use iostrata_core::bytes;

use super::value::Value;
use crate::format;
use crate::view::table::Cell;

/// The format of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quantity {
    /// A whole number of something.
    Count,
    /// A number without separators, such as a process id.
    Number,
    /// Three digits.
    Figure,
    /// Three digits, or a whole number.
    Rate,
    /// A ratio; a ratio of 0 has no meaning.
    Times,
    /// A share, in per cent.
    Percent,
    /// A time, in microseconds.
    Microseconds,
    /// A time, in milliseconds.
    Milliseconds,
    /// A time, in a suitable unit.
    Time,
    /// Bytes, in a suitable unit.
    Size,
    /// Bytes, in MiB.
    Mebibytes,
    /// Bytes a second, in MiB a second.
    MebibytesPerSecond,
}

impl Quantity {
    /// The cell of a value; for an unknown value, that it was not measured.
    pub(super) fn cell(self, value: Value<'_>) -> Cell {
        match value {
            Value::Null => Cell::NotSeen,
            Value::Text(text) => text.into_owned().into(),
            Value::Count(count) => self.of_count(count).into(),
            Value::Real(real) if self == Self::Times && real <= 0.0 => Cell::NotApplicable,
            Value::Real(real) => self.of_real(real).into(),
            Value::Signed(number) => number.to_string().into(),
            Value::Flag(flag) => flag.to_string().into(),
        }
    }

    fn of_count(self, count: u64) -> String {
        match self {
            Self::Count => bytes::grouped(count),
            Self::Size => format::size(count),
            Self::Mebibytes => format::mebibytes(count),
            Self::Number => count.to_string(),
            _ => self.of_real(count as f64),
        }
    }

    fn of_real(self, real: f64) -> String {
        match self {
            Self::Rate => format::rate(real),
            Self::Percent => format::number(real * 100.0),
            Self::Microseconds => format::microseconds(real),
            Self::Milliseconds => format::milliseconds(real),
            Self::Time => format::time(real),
            Self::MebibytesPerSecond => format::number(real / f64::from(1 << 20)),
            _ => format::number(real),
        }
    }
}
