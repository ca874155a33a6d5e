//! How a value is read: in which unit, and with how many digits.

use iostrata_core::bytes;

use super::value::Value;
use crate::format;
use crate::view::cell::Cell;

/// How a value is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quantity {
    /// A whole number of something.
    Count,
    /// A number as it is, without separators: that of a process.
    Number,
    /// Three digits.
    Figure,
    /// Three digits, and whole where it is whole.
    Rate,
    /// How many times something is; nothing times has no meaning.
    Times,
    /// A share, in per cent.
    Percent,
    /// A time, in microseconds.
    Microseconds,
    /// A time, in milliseconds.
    Milliseconds,
    /// A time, in the unit that suits it.
    Time,
    /// Bytes, in the unit that suits them.
    Size,
    /// Bytes, in MiB.
    Mebibytes,
    /// Bytes a second, in MiB a second.
    MebibytesPerSecond,
}

impl Quantity {
    /// The cell of a value; of an unknown one that it was not seen.
    pub(super) fn cell(self, value: Value<'_>) -> Cell {
        match value {
            Value::Text(text) => Cell::seen(text, std::borrow::Cow::into_owned),
            Value::Count(count) => Cell::seen(count, |count| self.of_count(count)),
            Value::Real(Some(real)) if self == Self::Times && real <= 0.0 => Cell::NotApplicable,
            Value::Real(real) => Cell::seen(real, |real| self.of_real(real)),
            Value::Signed(number) => Cell::seen(number, |number| number.to_string()),
            Value::Flag(flag) => Cell::seen(flag, |flag| flag.to_string()),
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
