//! Disks, with their requests by cause.

use iostrata_core::evidence::Cause;
use iostrata_core::top::{Device, Interval};

use super::{count_rate, size_rate};
use crate::format::{join, milliseconds};
use crate::view::page::Page;
use crate::view::table::{Cell, Rows, Table};

/// What is not there on most machines gives way first.
fn rank(cause: Cause) -> u8 {
    match cause {
        Cause::Discard => 3,
        Cause::Unknown => 2,
        _ => 0,
    }
}

pub(super) fn draw(page: &mut Page, interval: &Interval) {
    if interval.devices.is_empty() {
        page.paragraph(0, no_requests(interval));
    } else {
        table(interval).draw(page);
    }
}

/// In place of disks.
pub(super) fn no_requests(interval: &Interval) -> &'static str {
    match interval.totals.requests {
        Some(_) => "no requests to any disk",
        None => "requests to disks are not observed",
    }
}

pub(super) fn table(interval: &Interval) -> Table {
    let devices = &interval.devices;
    let mut rows = Rows::of(devices).label("IOPS", |row| row.name.as_str());
    for cause in Cause::ALL {
        let count = |row: &Device| row.requests.of(cause).count;
        if rank(cause) == 0 || devices.iter().any(|row| count(row) > 0) {
            let rate = |row| count_rate(interval, count(row));
            rows = rows.number(cause.name(), rate).rank(rank(cause));
        }
    }
    let written = |row: &Device| {
        let all = row.requests.sum().bytes;
        let (read, discarded) = (row.requests.reads.bytes, row.requests.discards.bytes);
        all.saturating_sub(read.saturating_add(discarded))
    };
    rows.number("read/s", |row| {
        size_rate(interval, row.requests.reads.bytes)
    })
    .number("written/s", |row| size_rate(interval, written(row)))
    .number("ms", |row| {
        Cell::applicable(row.requests.sum().mean_s(), milliseconds)
    })
    .rank(4)
    .number("longest ms", |row| {
        let sum = row.requests.sum();
        let ended = (sum.ended > 0).then_some(sum.longest_s);
        Cell::applicable(ended, milliseconds)
    })
    .rank(5)
    .text("file systems", filesystems)
    .rank(1)
    .table(0)
}

/// Mean and longest latency of each cause.
pub(super) fn latency(page: &mut Page, interval: &Interval) {
    let rows = &interval.devices;
    if rows.iter().all(|row| row.requests.sum().ended == 0) {
        return;
    }
    let has_ended = |cause: &Cause| rows.iter().any(|row| row.requests.of(*cause).ended > 0);
    let table = Rows::of(rows).label("ms, longest", |row| row.name.as_str());
    let causes = Cause::ALL.into_iter().filter(has_ended);
    let table = causes.fold(table, |table, cause| {
        table.number(cause.name(), |row| {
            let of = row.requests.of(cause);
            Cell::applicable(of.mean_s(), |mean_s| {
                format!("{}, {}", milliseconds(mean_s), milliseconds(of.longest_s))
            })
        })
    });
    page.blank();
    table.table(0).draw(page);
}

fn filesystems(row: &Device) -> String {
    let names = row.filesystems.iter();
    let names = names.map(|one| format!("{} {}", one.kind, one.mounted_on));
    join(names, ", ")
}
