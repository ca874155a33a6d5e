//! The values of fields, their types, and their formats: unit and number of digits.

use std::borrow::Cow;

use iostrata_core::bytes;
use serde::Serialize;
use serde_json::Value as Json;

use crate::format;
use crate::view::table::Cell;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    /// A count, from 0 to 2^64 - 1.
    Count,
    /// A number that may be negative.
    Signed,
    Real,
    Flag,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value<'a> {
    Null,
    Text(Cow<'a, str>),
    Count(u64),
    Signed(i64),
    Real(f64),
    Flag(bool),
}

impl Value<'_> {
    /// Whether it is a number above 0.
    pub(super) fn is_something(&self) -> bool {
        match *self {
            Self::Count(count) => count > 0,
            Self::Real(real) => real > 0.0,
            Self::Null | Self::Text(_) | Self::Signed(_) | Self::Flag(_) => false,
        }
    }
}

/// What can be the value of a field; an `Option` if it may be unknown.
pub(crate) trait Scalar<'a> {
    const KIND: Kind;

    fn value(self) -> Value<'a>;
}

macro_rules! scalars {
    ($($kind:ident: $($of:ty),+ => $value:expr;)+) => {$($(
        impl<'a> Scalar<'a> for $of {
            const KIND: Kind = Kind::$kind;

            fn value(self) -> Value<'a> {
                Value::$kind($value(self))
            }
        }
    )+)+};
}

scalars! {
    Text: &'a str, &'a String, String => Cow::from;
    Count: u64, u32 => u64::from;
    Signed: i64, i32 => i64::from;
    Flag: bool => bool::from;
}

impl<'a> Scalar<'a> for f64 {
    const KIND: Kind = Kind::Real;

    /// As in JSON, which has finite numbers only. 0 has no sign, and an empty sum is -0.0.
    fn value(self) -> Value<'a> {
        if self.is_finite() {
            Value::Real(self + 0.0)
        } else {
            Value::Null
        }
    }
}

impl<'a, V: Scalar<'a>> Scalar<'a> for Option<V> {
    const KIND: Kind = V::KIND;

    fn value(self) -> Value<'a> {
        self.map_or(Value::Null, V::value)
    }
}

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
    Microseconds,
    Milliseconds,
    /// A time, in a suitable unit.
    Time,
    /// Bytes, in a suitable unit.
    Size,
    Mebibytes,
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

pub(crate) fn json_name(value: &impl Serialize) -> Option<String> {
    match serde_json::to_value(value).ok()? {
        Json::Null => None,
        Json::String(name) => Some(name),
        other => Some(other.to_string()),
    }
}
