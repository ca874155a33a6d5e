//! Columns of what every kind of result has: evidence and times.

use iostrata_core::evidence::{Cache, DeviceCounts, DeviceRange, Evidence, Faults, RequestCount};
use iostrata_core::timing::Timing;

use super::column::Columns;

/// Everything but the calls, which are rows of their own.
pub(super) fn evidence<'a>() -> Columns<'a, &'a Evidence> {
    Columns::<&'a Evidence>::new()
        .within("cache_", cache(), |evidence| Some(&evidence.cache))
        .within("device_", device(), |evidence| evidence.device_range())
        .within("device_after_exit_", device(), |evidence| {
            evidence.device_after_exit_range()
        })
        .within("faults_", faults(), |evidence| Some(&evidence.faults))
        .real("on_cpu_s", |evidence| evidence.on_cpu_s)
        .real("blocked_s", |evidence| evidence.blocked_s)
        .count("lost_events", |evidence| evidence.lost_events)
}

fn cache<'a>() -> Columns<'a, &'a Cache> {
    Columns::<&'a Cache>::new()
        .count("lookups_pages", |cache| cache.lookups_pages)
        .count("missed_pages", |cache| cache.missed_pages)
        .count("prefetched_pages", |cache| cache.prefetched_pages)
        .count("dirtied_bytes", |cache| cache.dirtied_bytes)
        .count("resident_before_bytes", |cache| cache.resident_before_bytes)
        .count("resident_after_bytes", |cache| cache.resident_after_bytes)
}

/// The least and the most where other programs shared the disk.
pub(super) fn shared<'a>() -> Columns<'a, &'a Evidence> {
    type Range = fn(&Evidence) -> Option<DeviceRange>;
    let phases: [(&str, &str, Range); 2] = [
        ("device_shared_at_least_", "device_shared_at_most_", |it| {
            it.device_shared.as_deref().copied()
        }),
        (
            "device_after_exit_shared_at_least_",
            "device_after_exit_shared_at_most_",
            |it| it.device_after_exit_shared.as_deref().copied(),
        ),
    ];
    let columns = Columns::<&'a Evidence>::new();
    phases
        .into_iter()
        .fold(columns, |columns, (least, most, range)| {
            columns
                .within(least, device(), move |evidence| {
                    range(evidence).map(|range| DeviceRange::exactly(range.at_least))
                })
                .within(most, device(), move |evidence| {
                    range(evidence).map(|range| DeviceRange::exactly(range.at_most))
                })
        })
}

fn device<'a>() -> Columns<'a, DeviceRange> {
    let parts: [(&str, Part); 6] = [
        ("reads_", |device| device.reads),
        ("data_", |device| device.data),
        ("journal_", |device| device.journal),
        ("commit_", |device| device.commit),
        ("metadata_", |device| device.metadata),
        ("unknown_", |device| device.unknown),
    ];
    let parts = parts.into_iter();
    let columns = Columns::<DeviceRange>::new();
    let columns = parts.fold(columns, |columns, (prefix, part)| {
        columns.within(prefix, requests(), move |device| device.exact(part))
    });
    columns
        .count("flushes", |device| device.exact(|exact| exact.flushes))
        .real("flush_time_s", |device| {
            device.exact(|exact| exact.flush_time_s)
        })
        .count("discards", |device| device.exact(|exact| exact.discards))
}

/// Requests of one cause.
type Part = fn(&DeviceCounts) -> RequestCount;

fn requests<'a>() -> Columns<'a, RequestCount> {
    Columns::<RequestCount>::new()
        .count("count", |requests| requests.count)
        .count("bytes", |requests| requests.bytes)
        .real("time_s", |requests| requests.time_s)
}

fn faults<'a>() -> Columns<'a, &'a Faults> {
    Columns::<&'a Faults>::new()
        .count("minor", |faults| faults.minor)
        .count("major", |faults| faults.major)
}

/// Times, without the single samples.
pub(super) fn timing<'a>() -> Columns<'a, &'a Timing> {
    Columns::<&'a Timing>::new()
        .count("runs", |timing| timing.samples_s.len() as u64)
        .real("median_s", |timing| timing.median_s)
        .real("low_s", |timing| timing.low_s)
        .real("high_s", |timing| timing.high_s)
        .real("user_s", |timing| timing.user_s)
        .real("system_s", |timing| timing.system_s)
}
