//! Which metrics there are, and what their samples say.

use std::fmt::Result;
use std::ops::AddAssign;

use iostrata_core::environment::Backend;
use iostrata_core::evidence::Cause;
use iostrata_core::top::{
    CallFigures, Calls, Did, FileKey, ProcessIo, ProcessKey, Slots, Sums, container_of,
};

use super::families::{Families, Labels};
use crate::fields::{Scalar as _, Value};

/// The value of the label of a row that has no place of its own; `others="true"` tells it from a
/// program or file of this name.
const OTHERS: &str = "(others)";

type CallMetric = fn(&CallFigures) -> Value<'static>;

pub(super) fn machine(families: &mut Families<'_, '_>, sums: &Sums) -> Result {
    let calls = sums.totals.calls.as_ref();
    let of_calls = |value: CallMetric| {
        let each = calls.into_iter().flat_map(purposes);
        each.map(move |(purpose, of)| (vec![("purpose", purpose)], value(&of)))
    };
    let metrics: [(&str, &str, CallMetric); 4] = [
        (
            "calls",
            "System calls on files, directories and block devices that have ended.",
            |of| of.stats.count.value(),
        ),
        ("call_errors", "Of these, calls that have failed.", |of| {
            of.stats.errors.value()
        }),
        ("call_bytes", "Bytes that these calls moved.", |of| {
            of.stats.bytes.value()
        }),
        (
            "call_seconds",
            "Time inside these calls, over all threads.",
            |of| of.stats.time_s.value(),
        ),
    ];
    for (name, help, value) in metrics {
        families.counter(name, help, of_calls(value))?;
    }
    let cache = sums.totals.cache.map_or_else(Vec::new, |cache| {
        vec![
            (
                "lookup_pages",
                "Pages of files that were asked for.",
                cache.lookups_pages,
            ),
            (
                "missed_pages",
                "Pages that were not there and were waited for.",
                cache.missed_pages,
            ),
            (
                "prefetched_pages",
                "Pages that were read before anybody waited for them.",
                cache.prefetched_pages,
            ),
            (
                "dirtied_bytes",
                "Bytes of pages turned dirty, in whole folios.",
                cache.dirtied_bytes,
            ),
        ]
    });
    for (name, help, value) in cache {
        let samples = [(Labels::new(), value.value())];
        families.counter(&format!("page_cache_{name}"), help, samples)?;
    }
    let dirty = sums.dirty().into_iter().flat_map(|dirty| {
        [
            (vec![("state", "waiting")], dirty.waiting_bytes.value()),
            (vec![("state", "writeback")], dirty.writeback_bytes.value()),
        ]
    });
    families.gauge(
        "page_cache_dirty_bytes",
        "Bytes that are dirty now: waiting to be written, or being written.",
        dirty,
    )
}

pub(super) fn disks(families: &mut Families<'_, '_>, sums: &Sums) -> Result {
    let own = sums.disks.own();
    let own = own.map(|(name, of)| (vec![("disk", name.as_str())], of));
    let disks = with_others("disk", own, sums.disks.others());
    // Also causes that have not occurred: a rate needs a begin.
    let each = || {
        disks.iter().flat_map(|(labels, of)| {
            Cause::ALL.into_iter().map(move |cause| {
                let mut labels = labels.clone();
                labels.push(("cause", cause.singular()));
                (labels, of.of(cause))
            })
        })
    };
    if sums.totals.requests.is_none() {
        return Ok(());
    }
    families.counter(
        "disk_requests",
        "Block requests issued, by cause. Those of the journal, of metadata and flushes are the file system's, and are in no process's metrics.",
        each().map(|(labels, of)| (labels, of.count.value())),
    )?;
    families.counter(
        "disk_request_bytes",
        "Bytes that these requests carried.",
        each().map(|(labels, of)| (labels, of.bytes.value())),
    )?;
    families.counter(
        "disk_requests_ended",
        "Block requests that have ended.",
        each().map(|(labels, of)| (labels, of.ended.value())),
    )?;
    families.counter(
        "disk_request_seconds",
        "Time from issue to completion of the requests that have ended.",
        each().map(|(labels, of)| (labels, of.time_s.value())),
    )
}

pub(super) fn processes(families: &mut Families<'_, '_>, slots: &Slots<ProcessKey, Did>) -> Result {
    let own = slots.own().map(|(key, did)| {
        let name = key.name.as_deref().unwrap_or_default();
        let cgroup = key.cgroup.as_deref().unwrap_or_default();
        (vec![("process", name), ("cgroup", cgroup)], did)
    });
    let each = with_others("process", own, slots.others());
    work(families, "process", &each)?;
    of_proc(families, &each)
}

pub(super) fn files(families: &mut Families<'_, '_>, slots: &Slots<FileKey, Did>) -> Result {
    let keys: Vec<(String, &Did)> = slots.own().map(|(key, did)| (told(key), did)).collect();
    let own = keys.iter();
    let own = own.map(|(key, did)| (vec![("file", key.as_str())], *did));
    work(families, "file", &with_others("file", own, slots.others()))
}

fn told(key: &FileKey) -> String {
    match key {
        FileKey::Path(path) => path.clone(),
        FileKey::Inode(device, inode) => format!("inode {inode} on {device}"),
    }
}

pub(super) fn cgroups(
    families: &mut Families<'_, '_>,
    slots: &Slots<Option<String>, Did>,
) -> Result {
    let own = slots.own().map(|(path, did)| {
        let path = path.as_deref().unwrap_or_default();
        let mut labels = vec![("cgroup", path)];
        labels.extend(container_of(path).map(|id| ("container", id)));
        (labels, did)
    });
    let each = with_others("cgroup", own, slots.others());
    work(families, "cgroup", &each)
}

/// Rows, and after them the sum of all that have no place of their own.
fn with_others<'l, V>(
    of: &'static str,
    own: impl Iterator<Item = (Labels<'l>, &'l V)>,
    others: Option<&'l V>,
) -> Vec<(Labels<'l>, &'l V)> {
    let labels = vec![(of, OTHERS), ("others", "true")];
    own.chain(others.map(|others| (labels, others))).collect()
}

/// The same for processes, files and cgroups.
fn work(families: &mut Families<'_, '_>, of: &str, each: &[(Labels<'_>, &Did)]) -> Result {
    let bounded = format!(
        "Only the {of} rows that did most have samples of their own, all others are summed with others=\"true\"; \
         iostrata_others and iostrata_places say how many."
    );
    let calls = |value: CallMetric| {
        each.iter().flat_map(move |(labels, did)| {
            let each = did.work.calls.as_ref().into_iter().flat_map(purposes);
            each.map(move |(purpose, of)| {
                let mut labels = labels.clone();
                labels.push(("purpose", purpose));
                (labels, value(&of))
            })
        })
    };
    let mut counter = |name: &str, help: &str, samples: Vec<_>| {
        let (name, help) = (format!("{of}_{name}"), format!("{help} {bounded}"));
        families.counter(&name, &help, samples)
    };
    counter(
        "calls",
        "System calls that have ended.",
        calls(|of| of.stats.count.value()).collect(),
    )?;
    counter(
        "call_bytes",
        "Bytes that these calls moved.",
        calls(|of| of.stats.bytes.value()).collect(),
    )?;
    counter(
        "call_seconds",
        "Time inside these calls, over all threads.",
        calls(|of| of.stats.time_s.value()).collect(),
    )?;
    let cache = each.iter();
    let cache = cache.filter_map(|(labels, did)| Some((labels, did.work.cache?)));
    let (mut missed, mut dirtied) = (Vec::new(), Vec::new());
    for (labels, cache) in cache {
        missed.push((labels.clone(), cache.missed_pages.value()));
        dirtied.push((labels.clone(), cache.dirtied_bytes.value()));
    }
    counter(
        "missed_pages",
        "Pages that were not in the page cache and were waited for.",
        missed,
    )?;
    counter(
        "dirtied_bytes",
        "Bytes of pages turned dirty, in whole folios.",
        dirtied,
    )?;
    let device = each.iter();
    let device = device.filter_map(|(labels, did)| Some((labels, did.work.device?)));
    let (mut requests, mut bytes) = (Vec::new(), Vec::new());
    for (labels, device) in device {
        for (direction, of) in [("read", device.reads), ("write", device.data)] {
            let mut labels = labels.clone();
            labels.push(("direction", direction));
            requests.push((labels.clone(), of.count.value()));
            bytes.push((labels, of.bytes.value()));
        }
    }
    counter(
        "disk_requests",
        "Block requests for contents of files.",
        requests,
    )?;
    counter("disk_bytes", "Bytes that these requests carried.", bytes)
}

/// Where the kernel side is not permitted.
fn of_proc(families: &mut Families<'_, '_>, each: &[(Labels<'_>, &Did)]) -> Result {
    type Counter = fn(&ProcessIo) -> u64;
    const METRICS: [(&str, &str, Counter); 6] = [
        (
            "rchar_bytes",
            "Bytes that calls read, also from pipes and terminals",
            |io| io.rchar_bytes,
        ),
        (
            "wchar_bytes",
            "Bytes that calls wrote, also to pipes and terminals",
            |io| io.wchar_bytes,
        ),
        ("syscr", "Calls that read", |io| io.syscr),
        ("syscw", "Calls that wrote", |io| io.syscw),
        ("read_bytes", "Bytes that the disk was made to read", |io| {
            io.read_bytes
        }),
        ("write_bytes", "Bytes of pages turned dirty", |io| {
            io.write_bytes
        }),
    ];
    for (name, help, value) in METRICS {
        let name = format!("process_io_{name}");
        let help = format!("{help}, by /proc/PID/io.");
        let samples = each.iter().filter_map(|(labels, did)| {
            let value = value(did.io.as_ref()?);
            Some((labels.clone(), value.value()))
        });
        families.counter(&name, &help, samples)?;
    }
    Ok(())
}

/// How much is summed, and how many rows may have samples of their own.
pub(super) fn places(families: &mut Families<'_, '_>, sums: &Sums) -> Result {
    let kinds = [
        ("process", places_of(&sums.processes)),
        ("file", places_of(&sums.files)),
        ("cgroup", places_of(&sums.cgroups)),
        ("disk", places_of(&sums.disks)),
    ];
    let by_kind =
        |which: usize| kinds.map(|(of, counts)| (vec![("of", of)], counts[which].value()));
    families.gauge(
        "places",
        "Most rows of this kind that have samples of their own.",
        by_kind(0),
    )?;
    families.gauge(
        "others",
        "Rows of this kind that were summed with others=\"true\" in the last interval.",
        by_kind(1),
    )?;
    families.counter(
        "displaced",
        "Rows of this kind whose samples ended, as another one did more.",
        by_kind(2),
    )
}

/// Rows with samples of their own, rows summed, and rows displaced.
fn places_of<K: Ord + Clone, V: AddAssign + Copy>(slots: &Slots<K, V>) -> [u64; 3] {
    let [most, others] = [slots.most(), slots.others_now()].map(|rows| rows as u64);
    [most, others, slots.displaced()]
}

/// What stands behind all others.
pub(super) fn observer(families: &mut Families<'_, '_>, sums: &Sums) -> Result {
    let one = |value: Value<'static>| [(Labels::new(), value)];
    let totals = &sums.totals;
    let observed = [
        ("calls", totals.calls.is_some()),
        ("page_cache", totals.cache.is_some()),
        ("requests", totals.requests.is_some()),
        ("proc_io", sums.backend == Some(Backend::None)),
    ];
    let observed = observed.map(|(what, is)| (vec![("what", what)], u64::from(is).value()));
    families.gauge(
        "observed",
        "1 for what is counted; what is not counted has no metrics. Operations of io_uring and libaio are not counted as calls.",
        observed,
    )?;
    families.counter(
        "lost_events",
        "Events that were lost: counts may be too low by as many.",
        one(sums.lost_events.value()),
    )?;
    families.counter(
        "intervals",
        "Intervals counted so far.",
        one(sums.intervals.value()),
    )?;
    families.counter(
        "covered_seconds",
        "Time that these cover.",
        one(sums.covered_s.value()),
    )?;
    families.gauge(
        "last_interval_timestamp_seconds",
        "End of the last interval; counts are those at that time.",
        one(sums.until_s.value()),
    )?;
    families.counter(
        "own_cpu_seconds",
        "CPU time of iostrata itself.",
        one(sums.own_cpu_s.value()),
    )?;
    families.gauge(
        "own_peak_resident_bytes",
        "Most memory of iostrata that was resident.",
        one(sums.own_peak_bytes.value()),
    )
}

fn purposes(calls: &Calls) -> [(&'static str, CallFigures); 4] {
    [
        ("read", calls.reads),
        ("write", calls.writes),
        ("sync", calls.syncs),
        ("metadata", calls.metadata),
    ]
}
