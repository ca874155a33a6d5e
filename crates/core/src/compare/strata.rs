//! The work of two traced runs at each stratum, as one list of figures with their ratios.

use serde::{Deserialize, Serialize};

use super::Sides;
use crate::evidence::{DeviceCounts, DeviceRange};
use crate::trace::{Bounds, Direction, TraceResult, direction, is_sync};

/// A figure of both runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Measure {
    /// Its name, such as `syncs` or `device written`.
    pub what: String,
    /// Whether it is a number of bytes; otherwise it is a count.
    pub is_bytes: bool,
    /// The figure, or its minimum and maximum if other programs shared the disk; `null` if it was
    /// not observed.
    #[serde(flatten)]
    pub sides: Sides<Option<Bounds>>,
    /// `new` over `base`; `null` if either is not known exactly, or if `base` is 0.
    pub ratio: Option<f64>,
}

/// The figures of two runs from the program down to the device. Figures that are 0 in both runs are
/// left out.
pub(super) fn strata(base: &TraceResult, new: &TraceResult) -> Vec<Measure> {
    let figures = FIGURES.iter().filter_map(|figure| {
        let sides = Sides::of(base, new, figure.of);
        let is_there = |side: Option<Bounds>| side.is_some_and(|bounds| bounds.at_most > 0);
        (is_there(sides.base) || is_there(sides.new)).then(|| Measure {
            what: figure.what.to_owned(),
            is_bytes: figure.is_bytes,
            sides,
            ratio: ratio(sides),
        })
    });
    figures.collect()
}

fn ratio(sides: Sides<Option<Bounds>>) -> Option<f64> {
    let (base, new) = (sides.base?, sides.new?);
    if base.at_least > 0 && new.at_most == 0 {
        return Some(0.0);
    }
    let base = base.exact().filter(|base| *base > 0)?;
    Some(new.exact()? as f64 / base as f64)
}

struct Figure {
    what: &'static str,
    is_bytes: bool,
    of: fn(&TraceResult) -> Option<Bounds>,
}

const fn count(what: &'static str, of: fn(&TraceResult) -> Option<Bounds>) -> Figure {
    Figure {
        what,
        is_bytes: false,
        of,
    }
}

const fn bytes(what: &'static str, of: fn(&TraceResult) -> Option<Bounds>) -> Figure {
    Figure {
        is_bytes: true,
        ..count(what, of)
    }
}

const FIGURES: [Figure; 13] = [
    count("system calls", |run| calls(run, |_| true)),
    count("reads", |run| {
        calls(run, |call| direction(call) == Some(Direction::Read))
    }),
    count("writes", |run| {
        calls(run, |call| direction(call) == Some(Direction::Write))
    }),
    count("syncs", |run| calls(run, is_sync)),
    bytes("bytes read", |run| of_calls(run, run.bytes.read_bytes)),
    bytes("bytes written", |run| {
        of_calls(run, run.bytes.written_bytes)
    }),
    count("cache misses", |run| exact(run.evidence.cache.missed_pages)),
    bytes("bytes dirtied", |run| exact(run.bytes.dirtied_bytes)),
    bytes("device read", |run| run.bytes.device_read()),
    bytes("device written", |run| run.bytes.device_written()),
    count("device requests", |run| {
        device(run, |counts| {
            counts.reads.count.saturating_add(counts.writes().count)
        })
    }),
    count("flushes", |run| device(run, |counts| counts.flushes)),
    bytes("dirty at exit", |run| run.bytes.dirty_at_exit()),
];

fn exact(figure: Option<u64>) -> Option<Bounds> {
    figure.map(Bounds::exactly)
}

fn calls(run: &TraceResult, wanted: impl Fn(&str) -> bool) -> Option<Bounds> {
    let calls = run.evidence.syscalls.as_ref()?.iter();
    let counts = calls.filter(|(name, _)| wanted(name));
    let sum = counts.fold(0_u64, |sum, (_, call)| sum.saturating_add(call.count));
    exact(Some(sum))
}

/// Bytes of calls, unless some calls were on files that found no room in the tables.
fn of_calls(run: &TraceResult, bytes: u64) -> Option<Bounds> {
    exact(Some(bytes).filter(|_| run.other_calls == 0 && run.evidence.syscalls.is_some()))
}

fn device(run: &TraceResult, of: impl Fn(&DeviceCounts) -> u64) -> Option<Bounds> {
    let range: DeviceRange = run.evidence.device?;
    Some(Bounds::from(range.of(of)))
}
