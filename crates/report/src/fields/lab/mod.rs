//! Fields of the rows of each experiment besides the common ones.

pub(crate) mod atime;
pub(crate) mod buffering;
pub(crate) mod copy;
pub(crate) mod page_cache;
pub(crate) mod sync;

pub(crate) use self::sync::second;
use super::{Fields, Group, Quantity};

/// Requests that write to the device, by cause, and flushes.
fn by_cause<'a, T>(
    before: Fields<'a, &'a T>,
    each: [fn(&T) -> Option<f64>; 6],
) -> Fields<'a, &'a T> {
    const CAUSES: [&str; 6] = [
        "data", "journal", "commit", "metadata", "unknown", "flushes",
    ];
    CAUSES
        .into_iter()
        .zip(each)
        .fold(before, |fields, (cause, pick)| {
            let fields = fields.real(cause, move |row| pick(row));
            usual_unless_unknown(fields.shown(Group::Shared, cause, Quantity::Rate), cause)
        })
}

/// Head of spreads; a table has what they are in its rows.
pub(crate) const SPREAD: &str = "spread";

/// The usual case is that every cause is known.
fn usual_unless_unknown<'a, T>(fields: Fields<'a, &'a T>, cause: &str) -> Fields<'a, &'a T> {
    match cause {
        "unknown" => fields.unusual(),
        _ => fields,
    }
}
