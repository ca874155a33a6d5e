//! Which metrics there are, and what their samples say.

use std::fmt::Result;
use std::ops::AddAssign;

use iostrata_core::environment::Backend;
use iostrata_core::evidence::Cause;
use iostrata_core::top::{
    CallFigures, Calls, Did, FileKey, Pages, ProcessIo, ProcessKey, RequestFigures, Slots, Sums,
    container_of,
};

use super::families::{Families, Labels};
use crate::fields::{Scalar as _, Value};
use crate::words::help;

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
    families.counter("calls", of_calls(|of| of.stats.count.value()))?;
    families.counter("call_errors", of_calls(|of| of.stats.errors.value()))?;
    families.counter("call_bytes", of_calls(|of| of.stats.bytes.value()))?;
    families.counter("call_seconds", of_calls(|of| of.stats.time_s.value()))?;
    if let Some(cache) = sums.totals.cache {
        let whole = |count: u64| [(Labels::new(), count.value())];
        families.counter("page_cache_lookup_pages", whole(cache.lookups_pages))?;
        families.counter("page_cache_missed_pages", whole(cache.missed_pages))?;
        families.counter("page_cache_prefetched_pages", whole(cache.prefetched_pages))?;
        families.counter("page_cache_dirtied_bytes", whole(cache.dirtied_bytes))?;
    }
    let dirty = sums.dirty().into_iter().flat_map(|dirty| {
        [
            (vec![("state", "waiting")], dirty.waiting_bytes.value()),
            (vec![("state", "writeback")], dirty.writeback_bytes.value()),
        ]
    });
    families.gauge("page_cache_dirty_bytes", dirty)
}

pub(super) fn disks(families: &mut Families<'_, '_>, sums: &Sums) -> Result {
    let own = sums.disks.own();
    let own = own.map(|(name, of)| (vec![("disk", name.as_str())], of));
    let disks = with_others("disk", own, sums.disks.others());
    // Also causes that have not occurred: a rate needs a begin.
    let of_requests = |value: fn(&RequestFigures) -> Value<'static>| {
        disks.iter().flat_map(move |(labels, of)| {
            Cause::ALL.into_iter().map(move |cause| {
                let mut labels = labels.clone();
                labels.push(("cause", cause.singular()));
                (labels, value(&of.of(cause)))
            })
        })
    };
    if sums.totals.requests.is_none() {
        return Ok(());
    }
    families.counter("disk_requests", of_requests(|of| of.count.value()))?;
    families.counter("disk_request_bytes", of_requests(|of| of.bytes.value()))?;
    families.counter("disk_requests_ended", of_requests(|of| of.ended.value()))?;
    families.counter("disk_request_seconds", of_requests(|of| of.time_s.value()))
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
    let mut counter = |name: &str, samples: Vec<_>| {
        let help = format!("{} {bounded}", help(&format!("each_{name}")));
        families.described_counter(&format!("{of}_{name}"), &help, samples)
    };
    counter("calls", calls(|of| of.stats.count.value()).collect())?;
    counter("call_bytes", calls(|of| of.stats.bytes.value()).collect())?;
    counter(
        "call_seconds",
        calls(|of| of.stats.time_s.value()).collect(),
    )?;
    let pages = |value: fn(&Pages) -> u64| {
        let each = each.iter();
        let each = each.filter_map(|(labels, did)| Some((labels, did.work.cache?)));
        each.map(|(labels, cache)| (labels.clone(), value(&cache).value()))
            .collect()
    };
    counter("missed_pages", pages(|cache| cache.missed_pages))?;
    counter("dirtied_bytes", pages(|cache| cache.dirtied_bytes))?;
    let requests = |value: fn(&RequestFigures) -> u64| {
        let each = each.iter();
        let each = each.filter_map(|(labels, did)| Some((labels, did.work.device?)));
        let each = each.flat_map(|(labels, device)| {
            [("read", device.reads), ("write", device.data)].map(|(direction, of)| {
                let labels = labels.iter().copied().chain([("direction", direction)]);
                (labels.collect(), value(&of).value())
            })
        });
        each.collect()
    };
    counter("disk_requests", requests(|of| of.count))?;
    counter("disk_bytes", requests(|of| of.bytes))
}

/// Where the kernel side is not permitted.
fn of_proc(families: &mut Families<'_, '_>, each: &[(Labels<'_>, &Did)]) -> Result {
    let of_io = |value: fn(&ProcessIo) -> u64| {
        each.iter().filter_map(move |(labels, did)| {
            let value = value(did.io.as_ref()?);
            Some((labels.clone(), value.value()))
        })
    };
    families.counter("process_io_rchar_bytes", of_io(|io| io.rchar_bytes))?;
    families.counter("process_io_wchar_bytes", of_io(|io| io.wchar_bytes))?;
    families.counter("process_io_syscr", of_io(|io| io.syscr))?;
    families.counter("process_io_syscw", of_io(|io| io.syscw))?;
    families.counter("process_io_read_bytes", of_io(|io| io.read_bytes))?;
    families.counter("process_io_write_bytes", of_io(|io| io.write_bytes))
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
    families.gauge("places", by_kind(0))?;
    families.gauge("others", by_kind(1))?;
    families.counter("displaced", by_kind(2))
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
    families.gauge("observed", observed)?;
    families.counter("lost_events", one(sums.lost_events.value()))?;
    families.counter("intervals", one(sums.intervals.value()))?;
    families.counter("covered_seconds", one(sums.covered_s.value()))?;
    let until_s = one(sums.until_s.value());
    families.gauge("last_interval_timestamp_seconds", until_s)?;
    families.counter("own_cpu_seconds", one(sums.own_cpu_s.value()))?;
    families.gauge("own_peak_resident_bytes", one(sums.own_peak_bytes.value()))
}

fn purposes(calls: &Calls) -> [(&'static str, CallFigures); 4] {
    [
        ("read", calls.reads),
        ("write", calls.writes),
        ("sync", calls.syncs),
        ("metadata", calls.metadata),
    ]
}
