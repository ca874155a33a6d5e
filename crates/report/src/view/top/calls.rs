//! The calls of one process, by their purpose.

use iostrata_core::top::{CallFigures, Interval};

use super::{count_rate, size_rate};
use crate::format::{milliseconds, number};
use crate::view::table::{Cell, Column, Table};

pub(super) fn table(interval: &Interval) -> Table {
    let calls = interval.processes.first().and_then(|row| row.work.calls);
    let rows: Vec<(&str, CallFigures)> = calls.map_or_else(Vec::new, |calls| {
        vec![
            ("read", calls.reads),
            ("write", calls.writes),
            ("sync", calls.syncs),
            ("metadata", calls.metadata),
        ]
    });
    let column = |head: &str, text: &dyn Fn(&CallFigures) -> Cell| {
        Column::number(head, rows.iter().map(|(_, calls)| text(calls)))
    };
    let time = |calls: &CallFigures, time_s: f64| {
        Cell::applicable((calls.count > 0).then_some(time_s), milliseconds)
    };
    Table::new(
        0,
        vec![
            Column::label("calls", rows.iter().map(|(name, _)| *name)),
            column("calls/s", &|calls| count_rate(interval, calls.count).into()),
            column("bytes/s", &|calls| size_rate(interval, calls.bytes).into()),
            column("errors/s", &|calls| {
                count_rate(interval, calls.errors).into()
            }),
            column("in calls %", &|calls| {
                number(interval.share(calls.time_s) * 100.0).into()
            }),
            column("mean ms", &|calls| {
                time(calls, calls.time_s / calls.count.max(1) as f64)
            }),
            column("longest ms", &|calls| time(calls, calls.longest_s)),
        ],
    )
}
