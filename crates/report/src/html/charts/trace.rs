//! Charts of a trace: which values of a result stand where.

use iostrata_core::bytes::grouped;
use iostrata_core::duration;
use iostrata_core::evidence::{Cause, DeviceCounts, DeviceRange};
use iostrata_core::noun;
use iostrata_core::trace::timeline::{Purpose, Timeline};
use iostrata_core::trace::{CallRow, TraceResult};

use super::distribution::{self, Distributions};
use super::flow::{Arrow, Part, Stratum, Times, Way};
use super::lanes::{Lane, Lanes};
use super::strips::Strip;
use super::{bins, tracks};
use crate::format::{between, size};
use crate::view::cell::Cell;
use crate::view::trace::{device_read, device_written, of_calls};

/// Bytes down and up through the strata; a way on which nothing went is left out.
pub(super) fn ways(result: &TraceResult) -> Vec<Way> {
    let bytes = &result.bytes;
    let went = |calls: u64, device: Option<u64>| calls > 0 || device.unwrap_or(0) > 0;
    let mut ways = Vec::new();
    if went(bytes.written_bytes, device_written(bytes).most()) {
        ways.push(written(result));
    }
    if went(bytes.read_bytes, device_read(bytes).most()) {
        ways.push(read(result));
    }
    ways
}

fn written(result: &TraceResult) -> Way {
    let bytes = &result.bytes;
    let device = result.evidence.device_range();
    let mut cached = stratum("page cache", bytes.dirtied_bytes, "cache", "made dirty");
    // Beside what the device took: the rest is still there.
    let left = bytes.dirty_at_exit_bytes.filter(|left| *left > 0);
    if let Some((parts, left)) = cached.parts.as_mut().zip(left) {
        parts.push(Part {
            name: "dirty",
            class: "dirty",
            bytes: 0,
            words: format!("{} dirty at exit", size(left)),
        });
    }
    let times = |least: Option<u64>, most: Option<u64>| match (least, most, bytes.written_bytes) {
        _ if result.other_calls > 0 => Times::Unknown,
        (Some(_), Some(_), 0) => Times::None,
        (Some(least), Some(most), written) => {
            Times::Are(least as f64 / written as f64, most as f64 / written as f64)
        }
        _ => Times::Unknown,
    };
    let to_device = device_written(bytes);
    Way {
        title: "Written: bytes from program to device".to_owned(),
        strata: vec![
            Stratum {
                words: of_calls(result, bytes.written_bytes).into(),
                ..stratum("application", Some(bytes.written_bytes), "calls", "written")
            },
            cached,
            Stratum {
                name: "device",
                words: device_written(bytes).text(),
                parts: device.as_ref().map(causes),
            },
        ],
        arrows: vec![
            Arrow {
                by: "system calls",
                times: times(bytes.dirtied_bytes, bytes.dirtied_bytes),
            },
            Arrow {
                by: "write-back, syncs",
                times: times(to_device.least(), to_device.most()),
            },
        ],
    }
}

fn read(result: &TraceResult) -> Way {
    let bytes = &result.bytes;
    let cache = &result.evidence.cache;
    let read = device_read(bytes);
    let device = Stratum {
        words: read.text(),
        ..stratum("device", read.least(), "reads", "read")
    };
    let pages = [
        ("resident", "resident", cache.resident_pages()),
        ("prefetched", "prefetched", cache.prefetched_pages),
        ("missed", "missed", cache.missed_pages),
    ];
    let asked = cache.lookups_pages;
    let parts = asked.map(|_| {
        let seen = pages
            .iter()
            .filter_map(|(name, class, count)| Some((*name, *class, (*count)?)));
        seen.filter(|(.., count)| *count > 0)
            .map(|(name, class, count)| Part {
                name,
                class,
                bytes: of_pages(count),
                words: format!("{} {name}", counted_pages(count)),
            })
            .collect()
    });
    Way {
        title: "Read: bytes from device to program".to_owned(),
        strata: vec![
            device,
            Stratum {
                name: "page cache",
                words: Cell::seen(asked, |pages| {
                    format!("{}, {}", size(of_pages(pages)), counted_pages(pages))
                }),
                parts,
            },
            Stratum {
                words: of_calls(result, bytes.read_bytes).into(),
                ..stratum("application", Some(bytes.read_bytes), "calls", "read")
            },
        ],
        arrows: vec![
            Arrow {
                by: "requests",
                times: Times::None,
            },
            Arrow {
                by: "system calls",
                times: match bytes.device_read_bytes {
                    _ if result.other_calls > 0 => Times::Unknown,
                    None => Times::Unknown,
                    Some(0) => Times::None,
                    Some(device) => {
                        let times = bytes.read_bytes as f64 / device as f64;
                        Times::Are(times, times)
                    }
                },
            },
        ],
    }
}

fn counted_pages(pages: u64) -> String {
    noun::counted(pages, "page")
}

/// Bytes of a page: the kernels that iostrata knows have no other.
const PAGE_BYTES: u64 = 4096;

fn of_pages(pages: u64) -> u64 {
    pages.saturating_mul(PAGE_BYTES)
}

fn stratum(
    name: &'static str,
    bytes: Option<u64>,
    class: &'static str,
    what: &'static str,
) -> Stratum {
    let part = |bytes| Part {
        name: "",
        class,
        bytes,
        words: format!("{} {what}", size(bytes)),
    };
    Stratum {
        name,
        words: Cell::seen(bytes, size),
        parts: bytes.map(|bytes| vec![part(bytes)]),
    }
}

/// Device writes by cause: those that certainly belong to the run, and after all causes those that may
/// be other programs'.
fn causes(device: &DeviceRange) -> Vec<Part> {
    let causes = DeviceCounts::WRITES.map(|(name, part)| (name, device.of(part)));
    let causes = causes.into_iter().filter(|(_, (_, most))| most.count > 0);
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

fn requests_of(least: u64, most: u64) -> String {
    let noun = noun::noun_of(most, "request");
    format!("{} {noun}", between(least, most, grouped))
}

/// Calls of which the times are drawn: those that take most of the time.
const CALLS: usize = 12;

/// How long calls took, most time first.
pub(super) fn latencies(result: &TraceResult) -> Distributions {
    let lane = |call: &CallRow| {
        let marks = [("p50", call.p50_s), ("p99", call.p99_s)];
        distribution::Lane {
            group: String::new(),
            label: call.name.clone(),
            bars: distribution::octaves(&call.took),
            marks: marks
                .into_iter()
                .filter_map(|(name, value)| Some((name, value?)))
                .collect(),
        }
    };
    let timed = result.syscalls.iter().filter(|call| !call.took.is_empty());
    Distributions {
        lanes: timed.take(CALLS).map(lane).collect(),
        noun: "calls",
    }
}

/// Files whose pages are known, as the result has them: most time first.
pub(super) fn residency(result: &TraceResult) -> Vec<Strip> {
    let files = result.files.iter();
    let known = files.filter_map(|file| Some((file, file.residency.as_ref()?)));
    known
        .filter(|(_, map)| map.size_bytes > 0)
        .map(|(file, map)| Strip {
            path: file.path.clone(),
            map: map.clone(),
        })
        .collect()
}

/// Calls over device requests, then processes and files, on one axis. Without the former its length
/// is that of the run.
pub(super) fn over_time(result: &TraceResult) -> Lanes {
    let lanes = result.timeline.as_ref().map(lanes).unwrap_or_default();
    let longest = lanes.iter().map(|lane| lane.values.len()).max();
    let (buckets, bucket_s) = match (longest, &result.timeline) {
        (Some(buckets), Some(timeline)) => (buckets, timeline.bucket_s),
        _ if result.wall_s > 0.0 => (bins::MOST, result.wall_s / bins::MOST as f64),
        _ => (0, 0.0),
    };
    Lanes {
        bucket_s,
        buckets,
        adds: true,
        one_scale: false,
        each: lanes,
        tracks: tracks::tracks(result),
    }
}

/// The chart over time in words.
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
    let mut lanes = Vec::new();
    for calls in &timeline.calls {
        lanes.push(Lane::new(
            purpose(calls.group),
            "calls",
            counts(&calls.counts),
        ));
    }
    if let Some(first) = lanes.first_mut() {
        first.title = Some("calls on files");
    }
    let buckets = lanes.iter().map(|lane| lane.values.len()).max();
    let before = lanes.len();
    if let Some(requests) = &timeline.requests {
        lanes.extend(requests.iter().map(|requests| {
            let (label, class) = cause(requests.cause);
            Lane::new(label, class, counts(&requests.counts))
        }));
    } else {
        let values = vec![None; buckets.unwrap_or(0)];
        lanes.push(Lane::new("requests", "unknown", values));
    }
    if let Some(flushes) = &timeline.flushes {
        lanes.push(Lane::new("flushes", "flushes", counts(flushes)));
    }
    if let Some(first) = lanes.get_mut(before) {
        first.title = Some("device requests");
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

/// Name and colour.
fn cause(cause: Cause) -> (&'static str, &'static str) {
    match cause {
        Cause::Read => ("reads", "reads"),
        Cause::Data => ("data", "data"),
        Cause::Journal => ("journal", "journal"),
        Cause::Commit => ("commit", "commit"),
        Cause::Metadata => ("metadata", "metadata"),
        Cause::Flush => ("flushes", "flushes"),
        _ => ("unknown", "unknown"),
    }
}
