//! Fields of the rows of `lab atime`.

use iostrata_core::atime::{AtimeRow, LoopRow, Moved, TouchRow};

use crate::fields::Fields;

pub(crate) fn rows<'a>() -> Fields<'a, &'a AtimeRow> {
    Fields::<&'a AtimeRow>::new()
        .within("", touch(), |row| match row {
            AtimeRow::Touch(row) => Some(row.as_ref()),
            AtimeRow::Loop(_) => None,
        })
        .within("", cost(), |row| match row {
            AtimeRow::Touch(_) => None,
            AtimeRow::Loop(row) => Some(row.as_ref()),
        })
}

fn touch<'a>() -> Fields<'a, &'a TouchRow> {
    let directory = Fields::<&'a Moved>::new()
        .flag("changed", |moved| moved.due)
        .flag("changed_when_fresh", |moved| moved.fresh);
    Fields::<&'a TouchRow>::new()
        .named("subject", |row| Some(row.subject))
        .flag("atime_changed", |row| row.atime_changed)
        .flag("atime_changed_when_fresh", |row| {
            row.atime_changed_when_fresh
        })
        .within("directory_atime_", directory, |row| row.directory.as_ref())
}

fn cost<'a>() -> Fields<'a, &'a LoopRow> {
    Fields::<&'a LoopRow>::new()
        .real("mean_s", |row| Some(row.spread?.mean_s))
        .real("standard_deviation_s", |row| {
            Some(row.spread?.standard_deviation_s)
        })
        .count("sectors", |row| row.sectors)
}
