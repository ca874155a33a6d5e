//! Device requests of a trace by cause.

use std::iter::once;

use iostrata_core::evidence::{Cause, Evidence};

use super::Numbered;
use crate::export::table::Table;
use crate::fields::Fields;

/// Requests of one cause: minimum and maximum of each figure, which are equal for exact figures.
pub(in crate::export) struct Requested {
    pub(in crate::export) after_exit: bool,
    pub(in crate::export) cause: &'static str,
    /// `None` when the device was not observed; flushes and discards carry no bytes, and
    /// discards are not timed.
    pub(in crate::export) count: Option<(u64, u64)>,
    pub(in crate::export) bytes: Option<(u64, u64)>,
    pub(in crate::export) time_s: Option<(f64, f64)>,
}

fn exact<T: PartialEq + Copy>(figure: Option<(T, T)>) -> Option<T> {
    figure
        .filter(|(least, most)| least == most)
        .map(|(least, _)| least)
}

/// Minimum and maximum of inexact figures.
fn shared_of<T: PartialEq + Copy>(figure: Option<(T, T)>) -> (Option<T>, Option<T>) {
    figure.filter(|(least, most)| least != most).unzip()
}

/// The requests of each run and each file, while it ran and after its end.
pub(super) fn requests<'a>(results: &'a Numbered<'a>) -> Table<'a> {
    /// Numbers of the result, and of the file; `None` for the whole run.
    type Row = (u64, Option<u64>, Requested);
    let columns = Fields::<Row>::new()
        .field("result", |row| row.0)
        .field("file", |row| row.1)
        .field("after_exit", |row| row.2.after_exit)
        .field("cause", |row| row.2.cause)
        .field("count", |row| exact(row.2.count))
        .field("bytes", |row| exact(row.2.bytes))
        .field("time_s", |row| exact(row.2.time_s))
        .field("count_at_least", |row| shared_of(row.2.count).0)
        .field("count_at_most", |row| shared_of(row.2.count).1)
        .field("bytes_at_least", |row| shared_of(row.2.bytes).0)
        .field("bytes_at_most", |row| shared_of(row.2.bytes).1)
        .field("time_at_least_s", |row| shared_of(row.2.time_s).0)
        .field("time_at_most_s", |row| shared_of(row.2.time_s).1);
    let rows = results.iter().flat_map(|(number, result)| {
        let files = result.files.iter().zip(1..);
        let files = files.map(|(file, place)| (Some(place), &file.evidence));
        let all = once((None, &result.evidence)).chain(files);
        all.flat_map(move |(file, evidence)| {
            requested(evidence).map(move |row| (*number, file, row))
        })
    });
    Table::new("requests", columns, rows)
}

pub(in crate::export) fn requested(evidence: &Evidence) -> impl Iterator<Item = Requested> {
    let phases = [(false, evidence.device), (true, evidence.device_after_exit)];
    phases.into_iter().flat_map(|(after_exit, device)| {
        Cause::ALL.into_iter().map(move |cause| Requested {
            after_exit,
            cause: cause.singular(),
            count: device.map(|device| device.of(|it| it.of(cause).count)),
            bytes: device
                .filter(|_| cause.has_data())
                .map(|device| device.of(|it| it.of(cause).bytes)),
            time_s: device
                .filter(|_| cause != Cause::Discard)
                .map(|device| device.of(|it| it.of(cause).time_s)),
        })
    })
}
