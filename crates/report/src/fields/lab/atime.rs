//! Fields of the rows of `lab atime`.

use iostrata_core::atime::{AtimeRow, LoopRow, Moved, Spread, TouchRow};

use crate::fields::{Fields, columns};

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
    columns!(
        Fields::<&'a TouchRow>::new();
        text: subject;
        flag: atime_changed atime_changed_when_fresh;
    )
    .within("directory_atime_", directory, |row| row.directory.as_ref())
}

fn cost<'a>() -> Fields<'a, &'a LoopRow> {
    let spread = columns!(Fields::<Spread>::new(); real: mean_s standard_deviation_s;);
    Fields::<&'a LoopRow>::new()
        .within("", spread, |row| row.spread)
        .count("sectors", |row| row.sectors)
}
