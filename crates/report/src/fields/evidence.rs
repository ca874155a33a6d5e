//! Fields of every kind of result: evidence and times.

use iostrata_core::evidence::{
    Cache, CacheCount, Cause, DeviceRange, Evidence, Faults, RequestCount,
};
use iostrata_core::timing::Timing;

use super::{Fields, columns};

/// Everything but the calls, which are rows of their own.
pub(crate) fn evidence<'a>() -> Fields<'a, &'a Evidence> {
    let device = columns!(Fields::<&'a Evidence>::new(); [cache()]: cache;)
        .within("device_", device(), |evidence| evidence.device)
        .within("device_after_exit_", device(), |evidence| {
            evidence.device_after_exit
        });
    columns!(device; [faults()]: faults; values: on_cpu_s blocked_s lost_events;)
}

fn cache<'a>() -> Fields<'a, &'a Cache> {
    let counts = Cache::COUNTS.into_iter();
    counts.fold(Fields::new(), |fields, CacheCount { name, of, .. }| {
        fields.field(name, move |cache| of(cache))
    })
}

/// Minimum and maximum, if other programs shared the disk.
pub(crate) fn shared<'a>() -> Fields<'a, &'a Evidence> {
    let range = || {
        Fields::<&'a DeviceRange>::new()
            .within("at_least_", device(), |range| {
                Some(DeviceRange::from(range.at_least))
            })
            .within("at_most_", device(), |range| {
                Some(DeviceRange::from(range.at_most))
            })
    };
    Fields::<&'a Evidence>::new()
        .within("device_shared_", range(), |evidence| {
            inexact(evidence.device.as_ref())
        })
        .within("device_after_exit_shared_", range(), |evidence| {
            inexact(evidence.device_after_exit.as_ref())
        })
}

fn inexact(range: Option<&DeviceRange>) -> Option<&DeviceRange> {
    range.filter(|range| range.all_exact().is_none())
}

fn device<'a>() -> Fields<'a, DeviceRange> {
    let fields = Fields::<DeviceRange>::new();
    let fields = Cause::with_data().fold(fields, |fields, cause| {
        let prefix = format!("{}_", cause.name());
        fields.within(&prefix, requests(), move |device| {
            device.exact(|exact| exact.of(cause))
        })
    });
    fields
        .field("flushes", |device| device.exact(|exact| exact.flushes))
        .field("flush_time_s", |device| {
            device.exact(|exact| exact.flush_time_s)
        })
        .field("discards", |device| device.exact(|exact| exact.discards))
}

fn requests<'a>() -> Fields<'a, RequestCount> {
    columns!(Fields::<RequestCount>::new(); values: count bytes time_s;)
}

fn faults<'a>() -> Fields<'a, &'a Faults> {
    columns!(Fields::<&'a Faults>::new(); values: minor major;)
}

/// Times, without the single samples.
pub(crate) fn timing<'a>() -> Fields<'a, &'a Timing> {
    let runs = Fields::<&'a Timing>::new().field("runs", |timing| timing.samples_s.len() as u64);
    columns!(runs; values: median_s low_s high_s user_s system_s;)
}
