//! Fields of every kind of result: evidence and times.

use iostrata_core::evidence::{
    Cache, DeviceCounts, DeviceRange, Evidence, Faults, OfCause, RequestCount,
};
use iostrata_core::timing::Timing;

use super::{Fields, columns};

/// Everything but the calls, which are rows of their own.
pub(crate) fn evidence<'a>() -> Fields<'a, &'a Evidence> {
    let device = columns!(Fields::<&'a Evidence>::new(); [cache()]: cache;)
        .within("device_", device(), |evidence| evidence.device_range())
        .within("device_after_exit_", device(), |evidence| {
            evidence.device_after_exit_range()
        });
    columns!(device; [faults()]: faults; real: on_cpu_s blocked_s; count: lost_events;)
}

fn cache<'a>() -> Fields<'a, &'a Cache> {
    columns!(
        Fields::<&'a Cache>::new();
        count: lookups_pages missed_pages prefetched_pages dirtied_bytes resident_before_bytes
            resident_after_bytes;
    )
}

/// Minimum and maximum, if other programs shared the disk.
pub(crate) fn shared<'a>() -> Fields<'a, &'a Evidence> {
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
    let fields = Fields::<&'a Evidence>::new();
    phases
        .into_iter()
        .fold(fields, |fields, (least, most, range)| {
            fields
                .within(least, device(), move |evidence| {
                    range(evidence).map(|range| DeviceRange::exactly(range.at_least))
                })
                .within(most, device(), move |evidence| {
                    range(evidence).map(|range| DeviceRange::exactly(range.at_most))
                })
        })
}

fn device<'a>() -> Fields<'a, DeviceRange> {
    let reads: [(&str, OfCause); 1] = [("reads", |device| device.reads)];
    let causes = reads.into_iter().chain(DeviceCounts::WRITES);
    let fields = Fields::<DeviceRange>::new();
    let fields = causes.fold(fields, |fields, (cause, part)| {
        let prefix = format!("{cause}_");
        fields.within(&prefix, requests(), move |device| device.exact(part))
    });
    fields
        .count("flushes", |device| device.exact(|exact| exact.flushes))
        .real("flush_time_s", |device| {
            device.exact(|exact| exact.flush_time_s)
        })
        .count("discards", |device| device.exact(|exact| exact.discards))
}

fn requests<'a>() -> Fields<'a, RequestCount> {
    columns!(Fields::<RequestCount>::new(); count: count bytes; real: time_s;)
}

fn faults<'a>() -> Fields<'a, &'a Faults> {
    columns!(Fields::<&'a Faults>::new(); count: minor major;)
}

/// Times, without the single samples.
pub(crate) fn timing<'a>() -> Fields<'a, &'a Timing> {
    let runs = Fields::<&'a Timing>::new().count("runs", |timing| timing.samples_s.len() as u64);
    columns!(runs; real: median_s low_s high_s user_s system_s;)
}
