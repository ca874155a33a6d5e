//! Fields of the rows of `lab copy`.

use iostrata_core::copy::{self, CopyRow, Measure};

use crate::fields::{Fields, Group, Quantity};
use crate::format::number;
use crate::view::cell::Cell;

pub(crate) fn rows<'a>() -> Fields<'a, &'a CopyRow> {
    use Quantity::{Count, Mebibytes, MebibytesPerSecond, Milliseconds, Rate};
    Fields::<&'a CopyRow>::new()
        .flag("verified", |row| row.verified)
        .real("bytes_per_s", |row| row.figures.bytes_per_s)
        .shown(Group::Times, "MiB/s", MebibytesPerSecond)
        .words(Group::Times, "of limit", |row| limit(row))
        .count("calls", |row| row.figures.calls)
        .shown(Group::Counts, "calls", Count)
        .count("errors", |row| row.figures.errors)
        .shown(Group::Counts, "errors", Count)
        .rank(2)
        .real("in_calls_s", |row| row.figures.in_calls_s)
        .shown(Group::Counts, "in calls ms", Milliseconds)
        .rank(1)
        .count("faults", |row| row.figures.faults)
        .shown(Group::Counts, "faults", Count)
        .count("user_bytes", |row| row.figures.user_bytes)
        .real("", |row| {
            Some(row.figures.user_bytes? as f64 / row.row.case.size_bytes as f64)
        })
        .shown(Group::Counts, "user ×", Rate)
        .count("device_bytes", |row| row.figures.device_bytes)
        .shown(Group::Counts, "device MiB", Mebibytes)
        .count("unpaid_bytes", |row| row.figures.unpaid_bytes)
        .shown(Group::Counts, "later MiB", Mebibytes)
        .count("data_bytes", |row| row.figures.data_bytes)
        .flag("is_shared", |row| row.figures.is_shared)
        .named("limit_measure", |row| Some(row.figures.limit?.measure))
        .real("limit_s", |row| Some(row.figures.limit?.time_s))
        .real("limit_share", |row| Some(row.figures.limit?.share))
}

/// `62 % memory`.
fn limit(row: &CopyRow) -> Cell {
    let figures = &row.figures;
    if row.row.case.method == copy::CopyMethod::Reflink || figures.is_shared == Some(true) {
        return Cell::NotApplicable;
    }
    Cell::seen(figures.limit, |limit| {
        let step = match limit.measure {
            Measure::MemoryCopy => "memory",
            Measure::DeviceRead => "reading",
            Measure::DeviceWrite => "writing",
            other => other.as_str(),
        };
        format!("{} % {step}", number(limit.share * 100.0))
    })
}
