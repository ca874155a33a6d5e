//! Disks, with their requests by cause.

use iostrata_core::evidence::Cause;
use iostrata_core::top::{Device, Interval, RequestFigures};

use super::{count_rate, size_rate};
use crate::format::milliseconds;
use crate::view::page::Page;
use crate::view::table::{Cell, Column, Table};

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
    let rows = &interval.devices;
    let names = rows.iter().map(|row| row.name.as_str());
    let mut columns = vec![Column::label("IOPS", names)];
    for cause in Cause::ALL {
        if rank(cause) > 0 && rows.iter().all(|row| row.requests.of(cause).count == 0) {
            continue;
        }
        let cells = rows
            .iter()
            .map(|row| count_rate(interval, row.requests.of(cause).count));
        columns.push(Column::number(cause.name(), cells).rank(rank(cause)));
    }
    let written = |row: &Device| {
        let all = row.requests.sum().bytes;
        let not_written = row
            .requests
            .reads
            .bytes
            .saturating_add(row.requests.discards.bytes);
        all.saturating_sub(not_written)
    };
    let read = rows
        .iter()
        .map(|row| size_rate(interval, row.requests.reads.bytes));
    let wrote = rows.iter().map(|row| size_rate(interval, written(row)));
    columns.push(Column::number("read/s", read));
    columns.push(Column::number("written/s", wrote));
    let sums: Vec<RequestFigures> = rows.iter().map(|row| row.requests.sum()).collect();
    let means = sums
        .iter()
        .map(|sum| Cell::applicable(sum.mean_s(), milliseconds));
    columns.push(Column::number("ms", means).rank(4));
    let longest = sums.iter().map(|sum| {
        let ended = (sum.ended > 0).then_some(sum.longest_s);
        Cell::applicable(ended, milliseconds)
    });
    columns.push(Column::number("longest ms", longest).rank(5));
    columns.push(Column::text("file systems", rows.iter().map(filesystems)).rank(1));
    Table::new(0, columns)
}

/// Mean and longest latency of each cause.
pub(super) fn latency(page: &mut Page, interval: &Interval) {
    let rows = &interval.devices;
    if rows.iter().all(|row| row.requests.sum().ended == 0) {
        return;
    }
    let names = rows.iter().map(|row| row.name.as_str());
    let mut columns = vec![Column::label("ms, longest", names)];
    for cause in Cause::ALL {
        if rows.iter().all(|row| row.requests.of(cause).ended == 0) {
            continue;
        }
        let cells = rows.iter().map(|row| {
            let of = row.requests.of(cause);
            Cell::applicable(of.mean_s(), |mean_s| {
                format!("{}, {}", milliseconds(mean_s), milliseconds(of.longest_s))
            })
        });
        columns.push(Column::number(cause.name(), cells));
    }
    page.blank();
    Table::new(0, columns).draw(page);
}

fn filesystems(row: &Device) -> String {
    let names = row.filesystems.iter();
    let names = names.map(|one| format!("{} {}", one.kind, one.mounted_on));
    names.collect::<Vec<_>>().join(", ")
}
