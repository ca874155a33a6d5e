//! Charts of a trace: which values of a result stand where.

use iostrata_core::bytes::grouped;
use iostrata_core::evidence::{Cause, DeviceRange};
use iostrata_core::figures::duration;
use iostrata_core::noun;
use iostrata_core::trace::timeline::{Purpose, Timeline};
use iostrata_core::trace::{Bounds, CallRow, TraceResult};

use super::flow::{Arrow, Part, Stratum, Way};
use super::heat;
use super::strips::Strip;
use super::timeline::{self, Lane, Lanes};
use crate::format::{between, number, size};
use crate::view::table::Cell;
use crate::view::trace::{moved, of_calls};

/// Bytes down and up through the strata; a way on which nothing went is left out.
pub(super) fn ways(result: &TraceResult) -> Vec<Way> {
    let bytes = &result.bytes;
    let went = |calls: u64, device: Option<u64>| calls > 0 || device.unwrap_or(0) > 0;
    let mut ways = Vec::new();
    if went(bytes.written_bytes, most(bytes.device_written())) {
        ways.push(written(result));
    }
    if went(bytes.read_bytes, most(bytes.device_read())) {
        ways.push(read(result));
    }
    ways
}

/// Bytes after an arrow for each byte at the start, at least and at most.
fn times(result: &TraceResult, start: Option<u64>, least: Option<u64>, most: Option<u64>) -> Cell {
    let Some(((start, least), most)) = start.zip(least).zip(most) else {
        return Cell::NotSeen;
    };
    if result.other_calls > 0 {
        return Cell::NotSeen;
    }
    if start == 0 {
        return Cell::NotApplicable;
    }
    let text = |bytes: u64| format!("×{}", number(bytes as f64 / start as f64));
    between(least, most, text).into()
}

fn written(result: &TraceResult) -> Way {
    let bytes = &result.bytes;
    let device = result.evidence.device;
    let dirtied = bytes.dirtied_bytes;
    let words = Cell::seen(dirtied, size);
    let mut cached = stratum("page cache", words, dirtied, "cache", "made dirty");
    // Beside what the device took: the rest is still there.
    let left = bytes.dirty_at_exit().filter(|left| left.at_most > 0);
    if let Some((parts, left)) = cached.parts.as_mut().zip(left) {
        parts.push(Part {
            name: "dirty",
            class: "dirty",
            bytes: 0,
            words: format!(
                "{} dirty at exit",
                between(left.at_least, left.at_most, size)
            ),
        });
    }
    let start = Some(bytes.written_bytes);
    let words = of_calls(result, bytes.written_bytes).into();
    let to_device = bytes.device_written();
    Way {
        title: "Written: bytes from program to device".to_owned(),
        strata: vec![
            stratum("application", words, start, "calls", "written"),
            cached,
            Stratum {
                name: "device",
                words: moved(to_device),
                parts: device.as_ref().map(causes),
            },
        ],
        arrows: vec![
            Arrow {
                by: "system calls",
                times: times(result, start, dirtied, dirtied),
            },
            Arrow {
                by: "write-back, syncs",
                times: times(result, start, least(to_device), most(to_device)),
            },
        ],
    }
}

fn read(result: &TraceResult) -> Way {
    let bytes = &result.bytes;
    let cache = &result.evidence.cache;
    let from_device = bytes.device_read();
    let asked = cache.lookups_pages;
    let pages = [
        ("resident", cache.resident_pages()),
        ("prefetched", cache.prefetched_pages),
        ("missed", cache.missed_pages),
    ];
    let part = |(name, count): (&'static str, Option<u64>)| {
        let count = count.filter(|count| *count > 0)?;
        Some(Part {
            name,
            class: name,
            bytes: of_pages(count),
            words: format!("{} {name}", noun::counted(count, "page")),
        })
    };
    let read = Some(bytes.read_bytes);
    let words = of_calls(result, bytes.read_bytes).into();
    let (device, device_words) = (least(from_device), moved(from_device));
    Way {
        title: "Read: bytes from device to program".to_owned(),
        strata: vec![
            stratum("device", device_words, device, "reads", "read"),
            Stratum {
                name: "page cache",
                words: Cell::seen(asked, |pages| {
                    let bytes = size(of_pages(pages));
                    format!("{bytes}, {}", noun::counted(pages, "page"))
                }),
                parts: asked.map(|_| pages.into_iter().filter_map(part).collect()),
            },
            stratum("application", words, read, "calls", "read"),
        ],
        arrows: vec![
            Arrow {
                by: "requests",
                times: Cell::NotApplicable,
            },
            Arrow {
                by: "system calls",
                times: times(result, bytes.device_read_bytes, read, read),
            },
        ],
    }
}

/// Bytes of a page: the kernels that iostrata knows have no other.
const PAGE_BYTES: u64 = 4096;

fn of_pages(pages: u64) -> u64 {
    pages.saturating_mul(PAGE_BYTES)
}

/// A stratum without parts.
fn stratum(
    name: &'static str,
    words: Cell,
    bytes: Option<u64>,
    class: &'static str,
    what: &str,
) -> Stratum {
    let part = |bytes| Part {
        name: "",
        class,
        bytes,
        words: format!("{} {what}", size(bytes)),
    };
    Stratum {
        name,
        words,
        parts: bytes.map(|bytes| vec![part(bytes)]),
    }
}

/// Device writes by cause: those that certainly belong to the run, and after all causes those that may
/// be other programs'.
fn causes(device: &DeviceRange) -> Vec<Part> {
    let causes = Cause::writes().map(|cause| {
        let range = device.of(|counts| counts.of(cause));
        (cause.name(), range)
    });
    let causes = causes.filter(|(_, (_, most))| most.count > 0);
    let mut perhaps = 0_u64;
    let parts = causes.map(|(name, (least, most))| {
        perhaps = perhaps.saturating_add(most.bytes.saturating_sub(least.bytes));
        Part {
            name,
            class: name,
            bytes: least.bytes,
            words: format!(
                "{name} {}, {}",
                between(least.bytes, most.bytes, size),
                requests_of(least.count, most.count)
            ),
        }
    });
    let mut parts: Vec<Part> = parts.collect();
    if perhaps > 0 {
        parts.push(Part {
            name: "perhaps",
            class: "perhaps",
            bytes: perhaps,
            words: format!("{} possibly of other programs", size(perhaps)),
        });
    }
    parts
}

fn least(bytes: Option<Bounds>) -> Option<u64> {
    bytes.map(|bytes| bytes.at_least)
}

fn most(bytes: Option<Bounds>) -> Option<u64> {
    bytes.map(|bytes| bytes.at_most)
}

fn requests_of(least: u64, most: u64) -> String {
    let noun = noun::noun_of(most, "request");
    format!("{} {noun}", between(least, most, grouped))
}

/// Calls of which the times are drawn: those that take most of the time.
const CALLS: usize = 12;

pub(super) fn latencies(result: &TraceResult) -> Vec<heat::Lane> {
    let lane = |call: &CallRow| heat::Lane {
        group: String::new(),
        label: call.name.clone(),
        bars: heat::octaves(&call.took),
        marks: heat::marks(&[("p50", call.p50_s), ("p99", call.p99_s)]),
    };
    let timed = result.syscalls.iter().filter(|call| !call.took.is_empty());
    timed.take(CALLS).map(lane).collect()
}

/// Files whose pages are known, as the result has them: most time first.
pub(super) fn residency(result: &TraceResult) -> Vec<Strip<'_>> {
    let known = result.files.iter().filter_map(|file| {
        let map = file.residency.as_ref()?;
        let path = &file.path;
        (map.size_bytes > 0).then_some(Strip { path, map })
    });
    known.collect()
}

/// Calls over device requests, then processes and files, on one axis. Without the former its length
/// is that of the run.
pub(super) fn over_time(result: &TraceResult) -> Lanes {
    let lanes = result.timeline.as_ref().map(lanes).unwrap_or_default();
    let longest = lanes.iter().map(|lane| lane.values.len()).max();
    let (buckets, bucket_s) = match (longest, &result.timeline) {
        (Some(buckets), Some(timeline)) => (buckets, timeline.bucket_s),
        _ if result.wall_s > 0.0 => (timeline::BINS, result.wall_s / timeline::BINS as f64),
        _ => (0, 0.0),
    };
    Lanes {
        bucket_s,
        buckets,
        are_rates: false,
        each: lanes,
        tracks: timeline::tracks(result),
    }
}

pub(super) fn words(result: &TraceResult, lanes: &Lanes) -> String {
    let mut words = Vec::new();
    if let Some(timeline) = &result.timeline {
        let bin = duration(lanes.bucket_s * lanes.step() as f64);
        words.push(format!(
            "Calls are counted at their end, requests when issued; bins of the whole run are {bin} long."
        ));
        if timeline.shared {
            words.push("Journal, metadata and flushes include those of other programs.".to_owned());
        }
    }
    if !lanes.tracks.is_empty() {
        words.push("Processes and files are those with most time in calls.".to_owned());
    }
    words.join(" ")
}

/// Calls by purpose, requests by cause, bucket by bucket.
fn lanes(timeline: &Timeline) -> Vec<Lane> {
    let counts = |counts: &[u64]| counts.iter().map(|count| Some(*count as f64)).collect();
    let calls = timeline.calls.iter().map(|calls| {
        let label = purpose(calls.group);
        Lane::new("calls on files", label, "calls", counts(&calls.counts))
    });
    let mut lanes: Vec<Lane> = calls.collect();
    let buckets = lanes.iter().map(|lane| lane.values.len()).max();
    let group = "device requests";
    if let Some(requests) = &timeline.requests {
        lanes.extend(requests.iter().map(|requests| {
            let cause = requests.cause.name();
            Lane::new(group, cause, cause, counts(&requests.counts))
        }));
    } else {
        let values = vec![None; buckets.unwrap_or(0)];
        lanes.push(Lane::new(group, "requests", "unknown", values));
    }
    if let Some(flushes) = &timeline.flushes {
        lanes.push(Lane::new(group, "flushes", "flushes", counts(flushes)));
    }
    lanes
}

fn purpose(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Read => "read",
        Purpose::Write => "write",
        Purpose::Sync => "sync",
        // Not to be taken for requests of that cause.
        Purpose::Metadata => "metadata calls",
    }
}
