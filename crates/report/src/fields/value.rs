//! Values in the form of exported tables' columns.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value as Json;

/// The type of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Text in UTF-8.
    Text,
    /// A count, from 0 to 2^64 - 1.
    Count,
    /// A number that may be negative.
    Signed,
    /// A fraction.
    Real,
    /// Yes or no.
    Flag,
}

/// A value of a field.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value<'a> {
    /// It is unknown.
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

/// The name of a value in JSON.
pub(crate) fn json_name(value: &impl Serialize) -> Option<String> {
    match serde_json::to_value(value).ok()? {
        Json::Null => None,
        Json::String(name) => Some(name),
        other => Some(other.to_string()),
    }
}
