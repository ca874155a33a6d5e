//! Charts of the experiments: which values of a result stand where.

use iostrata_core::buffering::BufferingResult;
use iostrata_core::bytes;
use iostrata_core::copy::{CopyResult, CopyRow, Destination};
use iostrata_core::figures::duration;
use iostrata_core::lab::Row;
use iostrata_core::page_cache::{PageCacheResult, Parse, State};
use iostrata_core::sync::{Second, SyncResult, SyncRow};
use iostrata_core::timing::seconds;

use super::dots::{Dot, Dots};
use super::heat;
use super::scale::{number_tick, time_tick};
use super::timeline::{Lane, Lanes};
use crate::fields::lab::second;
use crate::fields::{Field, Group, Value};
use crate::format::{self, counted, number};
use crate::view::lab::Named as _;

/// Bars of a distribution for each tenfold of time.
const BARS_PER_DECADE: u32 = 20;

/// A value and its interval, in words: `row 3 · fsync on host: 288 ms (95 %: 21.5 ms–783 ms)`.
fn dot<C>(
    number: usize,
    name: &str,
    row: &Row<C>,
    value: f64,
    interval: (f64, f64),
    text: fn(f64) -> String,
    unit: &str,
) -> Option<Dot> {
    let ends = row.timing.as_ref()?.ends().as_str();
    Some(Dot {
        group: format!("on {}", row.target),
        label: name.to_owned(),
        series: 0,
        value,
        interval,
        text: text(value),
        words: format!(
            "row {number} · {name} on {}: {}{unit} ({ends}: {}–{})",
            row.target,
            text(value),
            text(interval.0),
            text(interval.1)
        ),
        limit: None,
    })
}

fn median<C>(number: usize, name: &str, row: &Row<C>) -> Option<Dot> {
    let timing = row.timing.as_ref()?;
    let interval = (timing.low_s, timing.high_s);
    dot(number, name, row, timing.median_s, interval, duration, "")
}

fn numbered<R>(rows: &[R]) -> impl Iterator<Item = (usize, &R)> {
    rows.iter().enumerate().map(|(index, row)| (index + 1, row))
}

fn times(id: &'static str, title: &'static str, series: Vec<&'static str>, each: Vec<Dot>) -> Dots {
    Dots {
        id,
        title,
        axis: "median time, with its spread",
        tick: time_tick,
        series,
        each,
        limit: None,
    }
}

/// Time of all records, by what is done to make them visible or durable.
pub(super) fn buffering(result: &BufferingResult) -> Dots {
    let each = numbered(&result.rows).filter_map(|(number, row)| {
        Some(Dot {
            group: format!("{} on {}", row.title(), row.row.target),
            ..median(number, &row.name(), &row.row)?
        })
    });
    let title = "Time of all records, by mode";
    times("buffering", title, vec!["median"], each.collect())
}

/// Time of a read, by reader and by what was in the page cache.
pub(super) fn page_cache(result: &PageCacheResult) -> Dots {
    let several = result.targets.len() > 1;
    let each = numbered(&result.rows).filter_map(|(number, row)| {
        let case = &row.row.case;
        let mut group = row.title();
        if case.parse != Parse::None {
            group = format!("{group}, {}", case.parse.as_str());
        }
        if several {
            group = format!("{group} on {}", row.row.target);
        }
        let name = format!("{} {}", case.state.as_str(), case.reader.as_str());
        Some(Dot {
            group,
            label: case.reader.as_str().to_owned(),
            series: State::ASKED.iter().position(|other| *other == case.state)?,
            ..median(number, &name, &row.row)?
        })
    });
    let states = State::ASKED.iter().map(|state| state.as_str());
    let title = "Time of a read, by reader";
    times("page-cache", title, states.collect(), each.collect())
}

/// Time of a copy, by method, beside the slowest step that it cannot leave out.
pub(super) fn copy(result: &CopyResult) -> Dots {
    let each = numbered(&result.rows).filter_map(|(number, row)| {
        let label = row.name();
        let mut dot = median(number, &label, &row.row)?;
        if row.figures.is_shared == Some(true) {
            dot.series = 1;
            dot.words.push_str(" · blocks shared, not copied");
        }
        dot.group = copy_group(row);
        dot.limit = row.figures.limit.map(|limit| {
            let words = format!(
                "limit of {label}: {} alone {}, {:.0} % of the row's time",
                limit.measure.as_str(),
                duration(limit.time_s),
                limit.share * 100.0
            );
            (limit.time_s, words)
        });
        Some(dot)
    });
    let each: Vec<Dot> = each.collect();
    let mut series = vec!["copied"];
    if each.iter().any(|dot| dot.series == 1) {
        series.push("blocks shared");
    }
    let limit = each.iter().any(|dot| dot.limit.is_some());
    Dots {
        limit: limit.then_some("limit: the slowest step, measured alone"),
        ..times("copy", "Time of a copy against its limit", series, each)
    }
}

fn copy_group(row: &CopyRow) -> String {
    let case = &row.row.case;
    let over = match case.destination {
        Destination::Fresh => "",
        Destination::Existing => ", over an existing file",
    };
    let durable = if case.durable { ", durable" } else { "" };
    format!("{}{over}{durable}, on {}", row.title(), row.row.target)
}

/// `fsync append 1 KiB`, `fsync append 1 KiB, 4 writers`.
fn sync_name(row: &SyncRow) -> String {
    let case = &row.row.case;
    let (call, write) = (case.call.as_str(), case.write.as_str());
    let size = bytes::exact(case.size_bytes);
    match case.writers {
        1 => format!("{call} {write} {size}"),
        writers => format!("{call} {write} {size}, {writers} writers"),
    }
}

pub(super) fn sync_rates(result: &SyncResult) -> Dots {
    let each = numbered(&result.rows).filter_map(|(at, row)| {
        let (value, interval) = (row.syncs_per_s?, row.syncs_per_s_interval?);
        let name = sync_name(row);
        dot(at, &name, &row.row, value, interval, number, " syncs/s")
    });
    Dots {
        id: "sync-rates",
        title: "Syncs per second",
        axis: "syncs per second, with its spread",
        tick: number_tick,
        series: vec!["median"],
        each: each.collect(),
        limit: None,
    }
}

pub(super) fn sync_latencies(result: &SyncResult) -> Vec<heat::Lane> {
    let lanes = result.rows.iter().map(|row| {
        let latency = &row.latency_s;
        let buckets = latency.buckets.iter();
        let buckets = buckets.map(|bucket| (seconds(bucket.upto_ns), bucket.count));
        heat::Lane {
            group: format!("on {}", row.row.target),
            label: sync_name(row),
            bars: heat::bars(buckets, BARS_PER_DECADE),
            marks: heat::marks(&[
                ("p50", latency.p50),
                ("p90", latency.p90),
                ("p99", latency.p99),
                ("p99.9", latency.p999),
                ("max", latency.max),
            ]),
        }
    });
    lanes.filter(|lane| !lane.bars.is_empty()).collect()
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Seconds {
    /// The row, as the tables number it.
    pub(super) number: usize,
    /// Its case, and whether the rate was steady.
    pub(super) words: String,
    pub(super) lanes: Lanes,
}

/// The first series of each target: the others are in the tables.
pub(super) fn sync_seconds(result: &SyncResult) -> Vec<Seconds> {
    let mut targets: Vec<&str> = Vec::new();
    let mut found = Vec::new();
    for (number, row) in numbered(&result.rows) {
        let target = row.row.target.as_str();
        if row.series.seconds.len() >= 2 && !targets.contains(&target) {
            targets.push(target);
            found.push(seconds_of(number, row));
        }
    }
    found
}

fn lane<'a>(field: &Field<'a, &'a Second>, seconds: &[&'a Second]) -> Lane {
    let rate = |second: &&'a Second| match field.of(second) {
        Value::Count(count) => Some(second.per_s(count)),
        _ => None,
    };
    let (group, class) = match &*field.name {
        "syncs" => ("syncs", "calls"),
        cause => ("device requests", cause),
    };
    let values = seconds.iter().map(rate).collect();
    Lane::new(group, &format!("{}/s", field.name), class, values)
}

fn seconds_of(number: usize, row: &SyncRow) -> Seconds {
    let seconds: Vec<&Second> = row.series.seconds.iter().collect();
    let fields = second();
    let lanes = fields.shown_in(Group::Seconds, &seconds);
    let lanes = lanes.map(|field| lane(field, &seconds));
    let lanes: Vec<Lane> = lanes.collect();
    let steady = row.series.steadiness.map(|found| {
        let rate = format::number(found.mean_per_s);
        match (found.steady, found.warm_up_seconds) {
            (true, 0) => format!(": steady at {rate} syncs/s"),
            (true, some) => {
                let some = counted(some, "second");
                format!(": steady at {rate} syncs/s after {some}")
            }
            (false, _) => format!(": not steady, on average {rate} syncs/s"),
        }
    });
    let (name, steady) = (sync_name(row), steady.unwrap_or_default());
    let words = format!("Row {number}, {name} on {}{steady}.", row.row.target);
    Seconds {
        number,
        words,
        lanes: Lanes {
            bucket_s: 1.0,
            buckets: seconds.len(),
            are_rates: true,
            each: lanes,
            tracks: Vec::new(),
        },
    }
}
