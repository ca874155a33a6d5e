//! Columns: a name, a type, and how a row gives the value.

use std::borrow::Cow;
use std::rc::Rc;

use serde::Serialize;
use serde_json::Value;

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
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

/// A value of a column's kind; `None` where it is unknown.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Cell<'a> {
    /// Of [`Kind::Text`].
    Text(Option<Cow<'a, str>>),
    /// Of [`Kind::Count`].
    Count(Option<u64>),
    /// Of [`Kind::Signed`].
    Signed(Option<i64>),
    /// Of [`Kind::Real`].
    Real(Option<f64>),
    /// Of [`Kind::Flag`].
    Flag(Option<bool>),
}

impl Cell<'_> {
    fn null(kind: Kind) -> Self {
        match kind {
            Kind::Text => Self::Text(None),
            Kind::Count => Self::Count(None),
            Kind::Signed => Self::Signed(None),
            Kind::Real => Self::Real(None),
            Kind::Flag => Self::Flag(None),
        }
    }
}

/// Gives the value of one row. It borrows from the result, not from the row, which may be a
/// view that was made for the table.
type Give<'a, R> = Box<dyn Fn(&R) -> Cell<'a> + 'a>;

/// A column of rows of type `R`.
pub(super) struct Column<'a, R> {
    pub(super) name: Cow<'static, str>,
    pub(super) kind: Kind,
    value: Give<'a, R>,
}

impl<'a, R> Column<'a, R> {
    pub(super) fn of(&self, row: &R) -> Cell<'a> {
        (self.value)(row)
    }
}

/// Columns in their order.
pub(super) struct Columns<'a, R>(Vec<Column<'a, R>>);

impl<'a, R> Columns<'a, R> {
    pub(super) fn new() -> Self {
        Self(Vec::new())
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Column<'a, R>> {
        self.0.iter()
    }

    fn add(mut self, name: &'static str, kind: Kind, value: impl Fn(&R) -> Cell<'a> + 'a) -> Self {
        self.0.push(Column {
            name: Cow::Borrowed(name),
            kind,
            value: Box::new(value),
        });
        self
    }

    /// A text that is always there.
    pub(super) fn text(self, name: &'static str, value: impl Fn(&R) -> &'a str + 'a) -> Self {
        self.maybe_text(name, move |row| Some(value(row)))
    }

    /// A text that may be unknown.
    pub(super) fn maybe_text(
        self,
        name: &'static str,
        value: impl Fn(&R) -> Option<&'a str> + 'a,
    ) -> Self {
        self.add(name, Kind::Text, move |row| {
            Cell::Text(value(row).map(Cow::Borrowed))
        })
    }

    /// A text that is put together.
    pub(super) fn made_text(
        self,
        name: &'static str,
        value: impl Fn(&R) -> Option<String> + 'a,
    ) -> Self {
        self.add(name, Kind::Text, move |row| {
            Cell::Text(value(row).map(Cow::Owned))
        })
    }

    /// The name that a value has in JSON; a list or a structure as JSON.
    pub(super) fn named<T: Serialize>(
        self,
        name: &'static str,
        value: impl Fn(&R) -> Option<T> + 'a,
    ) -> Self {
        self.made_text(name, move |row| {
            value(row).and_then(|value| json_name(&value))
        })
    }

    /// A count; `Option` where it may be unknown.
    pub(super) fn count<N: Into<Option<u64>>>(
        self,
        name: &'static str,
        value: impl Fn(&R) -> N + 'a,
    ) -> Self {
        self.add(name, Kind::Count, move |row| Cell::Count(value(row).into()))
    }

    /// A number that may be negative, or unknown.
    pub(super) fn signed(self, name: &'static str, value: impl Fn(&R) -> Option<i64> + 'a) -> Self {
        self.add(name, Kind::Signed, move |row| Cell::Signed(value(row)))
    }

    /// A fraction; `Option` where it may be unknown.
    pub(super) fn real<N: Into<Option<f64>>>(
        self,
        name: &'static str,
        value: impl Fn(&R) -> N + 'a,
    ) -> Self {
        self.add(name, Kind::Real, move |row| {
            // As in JSON, which has no other; and nothing has no sign.
            let value: Option<f64> = value(row).into();
            Cell::Real(
                value
                    .filter(|value| value.is_finite())
                    .map(|value| value + 0.0),
            )
        })
    }

    /// Yes or no; `Option` where it may be unknown.
    pub(super) fn flag<N: Into<Option<bool>>>(
        self,
        name: &'static str,
        value: impl Fn(&R) -> N + 'a,
    ) -> Self {
        self.add(name, Kind::Flag, move |row| Cell::Flag(value(row).into()))
    }

    /// Columns of a part of the row, their names behind `prefix`; null where the row lacks it.
    pub(super) fn within<S: 'a>(
        mut self,
        prefix: &str,
        columns: Columns<'a, S>,
        part: impl Fn(&R) -> Option<S> + 'a,
    ) -> Self {
        let part = Rc::new(part);
        self.0.extend(columns.0.into_iter().map(|column| {
            let part = Rc::clone(&part);
            let kind = column.kind;
            Column {
                name: Cow::Owned(format!("{prefix}{}", column.name)),
                kind,
                value: Box::new(move |row: &R| match part(row) {
                    Some(part) => (column.value)(&part),
                    None => Cell::null(kind),
                }),
            }
        }));
        self
    }
}

/// The name of a value in JSON.
pub(super) fn json_name(value: &impl Serialize) -> Option<String> {
    match serde_json::to_value(value).ok()? {
        Value::Null => None,
        Value::String(name) => Some(name),
        other => Some(other.to_string()),
    }
}
