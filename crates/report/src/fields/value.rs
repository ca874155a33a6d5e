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

/// A value of a field's type; `None` if it is unknown.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value<'a> {
    /// Makes a [`Kind::Text`].
    Text(Option<Cow<'a, str>>),
    /// Makes a [`Kind::Count`].
    Count(Option<u64>),
    /// Makes a [`Kind::Signed`].
    Signed(Option<i64>),
    /// Makes a [`Kind::Real`].
    Real(Option<f64>),
    /// Makes a [`Kind::Flag`].
    Flag(Option<bool>),
}

impl Value<'_> {
    pub(super) fn null(kind: Kind) -> Self {
        match kind {
            Kind::Text => Self::Text(None),
            Kind::Count => Self::Count(None),
            Kind::Signed => Self::Signed(None),
            Kind::Real => Self::Real(None),
            Kind::Flag => Self::Flag(None),
        }
    }

    /// Whether it is a number above 0.
    pub(super) fn is_something(&self) -> bool {
        match self {
            Self::Count(count) => count.is_some_and(|count| count > 0),
            Self::Real(real) => real.is_some_and(|real| real > 0.0),
            Self::Text(_) | Self::Signed(_) | Self::Flag(_) => false,
        }
    }
}

impl From<u64> for Value<'_> {
    fn from(count: u64) -> Self {
        Self::Count(Some(count))
    }
}

impl From<f64> for Value<'_> {
    fn from(real: f64) -> Self {
        // An empty sum is -0.0.
        Self::Real(Some(real + 0.0))
    }
}

/// A number of something; an `Option` if it may be unknown.
pub(crate) trait Count {
    fn count(self) -> Option<u64>;
}

impl Count for u64 {
    fn count(self) -> Option<u64> {
        Some(self)
    }
}

impl Count for u32 {
    fn count(self) -> Option<u64> {
        Some(self.into())
    }
}

impl<N: Count> Count for Option<N> {
    fn count(self) -> Option<u64> {
        self?.count()
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
