//! Charts of the experiments: which values of a result stand where.

use iostrata_core::buffering::{BufferingResult, BufferingRow};
use iostrata_core::copy::{CopyResult, CopyRow, Destination};
use iostrata_core::lab::Row;
use iostrata_core::page_cache::{PageCacheResult, PageCacheRow, Parse, State};
use iostrata_core::sync::{Second, SyncResult, SyncRow};
use iostrata_core::{bytes, duration};

use super::distribution::{self, Distributions};
use super::intervals::{Entry, Intervals, Limit, Point, Unit, grouped};
use super::lanes::{Lane, Lanes};
use crate::fields::lab::second;
use crate::fields::{Field, Group, Value};
use crate::format::{self, counted, number};
use crate::lab::Named as _;

/// Bars of a distribution for each tenfold of time.
const BARS_PER_DECADE: u32 = 20;

/// The median and its interval, in words: `row 3 · fsync on host: 288 ms (95 %: 21.5 ms–783 ms)`.
fn point<C>(number: usize, series: usize, name: &str, row: &Row<C>) -> Option<Point> {
    let timing = row.timing.as_ref()?;
    let (value, interval) = (timing.median_s, (timing.low_s, timing.high_s));
    let words = format!(
        "row {number} · {name} on {}: {} ({}: {}–{})",
        row.target,
        duration(value),
        timing.ends().as_str(),
        duration(interval.0),
        duration(interval.1)
    );
    Some(Point {
        series,
        value,
        interval,
        text: duration(value),
        words,
    })
}

/// Rows with the numbers that the tables give them.
fn numbered<R>(rows: &[R]) -> impl Iterator<Item = (usize, &R)> {
    rows.iter().enumerate().map(|(index, row)| (index + 1, row))
}

fn times(series: Vec<&'static str>, entries: Vec<Entry>) -> Intervals {
    Intervals {
        axis: "median time, with its spread".to_owned(),
        unit: Unit::Time,
        series,
        groups: grouped(entries),
        limit: None,
    }
}

/// Time of all records, by what is done to make them visible or durable.
pub(super) fn buffering(result: &BufferingResult) -> Intervals {
    let entry = |(number, row): (usize, &BufferingRow)| {
        Some(Entry {
            group: format!("{} on {}", row.title(), row.row.target),
            point: point(number, 0, &row.name(), &row.row)?,
            label: row.name(),
            limit: None,
        })
    };
    let entries = numbered(&result.rows).filter_map(entry).collect();
    times(vec!["median"], entries)
}

/// Time of a read, by reader and by what was in the page cache.
pub(super) fn page_cache(result: &PageCacheResult) -> Intervals {
    let several = result.targets.len() > 1;
    let entry = |(number, row): (usize, &PageCacheRow)| {
        let case = &row.row.case;
        let state = case.state;
        let series = State::ASKED.iter().position(|other| *other == state)?;
        let mut group = row.title();
        if case.parse != Parse::None {
            group = format!("{group}, {}", case.parse.as_str());
        }
        if several {
            group = format!("{group} on {}", row.row.target);
        }
        let name = format!("{} {}", state.as_str(), case.reader.as_str());
        Some(Entry {
            group,
            point: point(number, series, &name, &row.row)?,
            label: case.reader.as_str().to_owned(),
            limit: None,
        })
    };
    let entries = numbered(&result.rows).filter_map(entry).collect();
    times(
        State::ASKED.iter().map(|state| state.as_str()).collect(),
        entries,
    )
}

/// Time of a copy, by method, beside the slowest step that it cannot leave out.
pub(super) fn copy(result: &CopyResult) -> Intervals {
    let entry = |(number, row): (usize, &CopyRow)| {
        let label = row.name();
        let shared = row.figures.is_shared == Some(true);
        let mut point = point(number, usize::from(shared), &label, &row.row)?;
        if shared {
            point.words.push_str(" · blocks shared, not copied");
        }
        let limit = row.figures.limit.map(|limit| Limit {
            value: limit.time_s,
            words: format!(
                "limit of {label}: {} alone {}, {:.0} % of the row's time",
                limit.measure.as_str(),
                duration(limit.time_s),
                limit.share * 100.0
            ),
        });
        Some(Entry {
            group: copy_group(row),
            label,
            point,
            limit,
        })
    };
    let entries: Vec<Entry> = numbered(&result.rows).filter_map(entry).collect();
    let is_shared = |entry: &Entry| entry.point.series == 1;
    let series = if entries.iter().any(is_shared) {
        vec!["copied", "blocks shared"]
    } else {
        vec!["copied"]
    };
    let limit = entries.iter().any(|entry| entry.limit.is_some());
    Intervals {
        limit: limit.then_some("limit: the slowest step, measured alone"),
        ..times(series, entries)
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

/// Syncs a second of every case.
pub(super) fn sync_rates(result: &SyncResult) -> Intervals {
    let entry = |(row_number, row): (usize, &SyncRow)| {
        let (value, interval) = (row.syncs_per_s?, row.syncs_per_s_interval?);
        let label = sync_name(row);
        let words = format!(
            "row {row_number} · {label} on {}: {} syncs/s ({}: {}–{})",
            row.row.target,
            number(value),
            row.row.timing.as_ref()?.ends().as_str(),
            number(interval.0),
            number(interval.1)
        );
        Some(Entry {
            group: format!("on {}", row.row.target),
            label,
            point: Point {
                series: 0,
                value,
                interval,
                text: number(value),
                words,
            },
            limit: None,
        })
    };
    let entries = numbered(&result.rows).filter_map(entry).collect();
    Intervals {
        axis: "syncs per second, with its spread".to_owned(),
        unit: Unit::Number,
        ..times(vec!["median"], entries)
    }
}

/// How long single syncs took.
pub(super) fn sync_latencies(result: &SyncResult) -> Distributions {
    let lane = |(_, row): (usize, &SyncRow)| {
        let latency = &row.latency_s;
        let buckets = latency.buckets.iter();
        let buckets = buckets.map(|bucket| (bucket.upto_ns as f64 / 1e9, bucket.count));
        let marks = [
            ("p50", latency.p50),
            ("p90", latency.p90),
            ("p99", latency.p99),
            ("p99.9", latency.p999),
            ("max", latency.max),
        ];
        let marks = marks.into_iter();
        distribution::Lane {
            group: format!("on {}", row.row.target),
            label: sync_name(row),
            bars: distribution::bars(buckets, BARS_PER_DECADE),
            marks: marks
                .filter_map(|(name, value)| Some((name, value?)))
                .collect(),
        }
    };
    let lanes = numbered(&result.rows).map(lane);
    Distributions {
        lanes: lanes.filter(|lane| !lane.bars.is_empty()).collect(),
        noun: "syncs",
    }
}

/// An observed run second by second, with what is to be known of it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Seconds {
    /// The row, as the tables number it.
    pub(super) number: usize,
    /// Its case.
    pub(super) name: String,
    /// Whether the rate was steady, in words.
    pub(super) steady: Option<String>,
    /// Rates.
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

/// The unit of the rate.
fn lane<'a>(field: &Field<'a, &'a Second>, seconds: &[&'a Second]) -> Lane {
    let what = &*field.name;
    let rate = |second: &&'a Second| match field.of(second) {
        Value::Count(count) => Some(second.per_s(count?)),
        _ => None,
    };
    let class = if what == "syncs" { "calls" } else { what };
    let values = seconds.iter().map(rate);
    Lane::new(&format!("{what}/s"), class, values.collect())
}

fn seconds_of(number: usize, row: &SyncRow) -> Seconds {
    let seconds: Vec<&Second> = row.series.seconds.iter().collect();
    let fields = second();
    let lanes = fields.shown_in(Group::Seconds, &seconds);
    let lanes = lanes.map(|field| lane(field, &seconds));
    let mut lanes: Vec<Lane> = lanes.collect();
    lanes[0].title = Some("syncs");
    lanes[1].title = Some("device requests");
    let steady = row.series.steadiness.map(|found| {
        let rate = format::number(found.mean_per_s);
        match (found.steady, found.warm_up_seconds) {
            (true, 0) => format!("steady at {rate} syncs/s"),
            (true, some) => format!("steady at {rate} syncs/s after {}", counted(some, "second")),
            (false, _) => format!("not steady, on average {rate} syncs/s"),
        }
    });
    Seconds {
        number,
        name: format!("{} on {}", sync_name(row), row.row.target),
        steady,
        lanes: Lanes {
            bucket_s: 1.0,
            buckets: seconds.len(),
            adds: false,
            one_scale: true,
            each: lanes,
            tracks: Vec::new(),
        },
    }
}
