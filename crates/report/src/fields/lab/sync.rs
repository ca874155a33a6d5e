//! Fields of the rows of `lab sync`.

use iostrata_core::sync::{Bucket, Latency, PerSync, Second, SyncRow};

use super::{SPREAD, by_cause, usual_unless_unknown};
use crate::fields::{Fields, Group, Quantity};
use crate::format::number;
use crate::view::cell::Cell;

pub(crate) fn rows<'a>() -> Fields<'a, &'a SyncRow> {
    use Quantity::Figure;
    Fields::<&'a SyncRow>::new()
        .count("syncs_per_run", |row| row.syncs_per_run)
        .real("syncs_per_s", |row| row.syncs_per_s)
        .shown(Group::Times, "syncs/s", Figure)
        .shown(Group::Compared, "syncs/s", Figure)
        .words(Group::Times, SPREAD, |row| rates(row))
        .rank(1)
        .real("syncs_low_per_s", |row| Some(row.syncs_per_s_interval?.0))
        .real("syncs_high_per_s", |row| Some(row.syncs_per_s_interval?.1))
        .count("observed_syncs", |row| row.observed_syncs)
        .flag("steady", |row| Some(row.series.steadiness?.steady))
        .count("warm_up_seconds", |row| {
            Some(row.series.steadiness?.warm_up_seconds as u64)
        })
        .real("steady_syncs_per_s", |row| {
            Some(row.series.steadiness?.mean_per_s)
        })
        .within("latency_", latency(), |row| Some(&row.latency_s))
        .within("per_sync_", per_sync(), |row| Some(&row.per_sync))
}

fn rates(row: &SyncRow) -> Cell {
    let runs = row.row.timing.as_ref().map(|timing| timing.samples_s.len());
    match runs {
        // One run has no spread.
        Some(0 | 1) => Cell::NotApplicable,
        _ => Cell::seen(row.syncs_per_s_interval, |(low, high)| {
            format!("{}–{}", number(low), number(high))
        }),
    }
}

fn latency<'a>() -> Fields<'a, &'a Latency> {
    use Quantity::Microseconds;
    Fields::<&'a Latency>::new()
        .real("p50_s", |latency| latency.p50)
        .shown(Group::Times, "p50 µs", Microseconds)
        .shown(Group::Compared, "p50 µs", Microseconds)
        .rank(2)
        .real("p90_s", |latency| latency.p90)
        .shown(Group::Times, "p90", Microseconds)
        .rank(2)
        .real("p99_s", |latency| latency.p99)
        .shown(Group::Times, "p99", Microseconds)
        .shown(Group::Compared, "p99", Microseconds)
        .rank(5)
        .real("p999_s", |latency| latency.p999)
        .shown(Group::Times, "p99.9", Microseconds)
        .real("max_s", |latency| latency.max)
        .shown(Group::Times, "max", Microseconds)
        .count("count", |latency| latency.samples)
}

fn per_sync<'a>() -> Fields<'a, &'a PerSync> {
    use Quantity::{Figure, Rate};
    by_cause(
        Fields::<&'a PerSync>::new(),
        [
            |each| each.data,
            |each| each.journal,
            |each| each.commit,
            |each| each.metadata,
            |each| each.unknown,
            |each| each.flushes,
        ],
    )
    .real("bytes", |each| each.bytes)
    .shown(Group::Shared, "bytes", Figure)
    .rank(3)
    .real("reads", |each| each.reads)
    .shown(Group::Shared, "reads", Rate)
    .rank(4)
    .unusual()
}

/// Syncs by their latency.
pub(crate) fn bucket<'a>() -> Fields<'a, &'a Bucket> {
    Fields::<&'a Bucket>::new()
        .count("upto_ns", |bucket| bucket.upto_ns)
        .count("syncs", |bucket| bucket.count)
}

/// A second of an observed run: syncs, and the device requests.
pub(crate) fn second<'a>() -> Fields<'a, &'a Second> {
    type Counted = fn(&Second) -> Option<u64>;
    let counted: [(&str, &str, Counted); 7] = [
        ("syncs", "syncs/s", |second| Some(second.syncs)),
        ("data", "data/s", |second| second.data),
        ("journal", "journal/s", |second| second.journal),
        ("commit", "commit/s", |second| second.commit),
        ("metadata", "metadata/s", |second| second.metadata),
        ("unknown", "unknown/s", |second| second.unknown),
        ("flushes", "flushes/s", |second| second.flushes),
    ];
    let lasted = Fields::<&'a Second>::new().real("lasted_s", |second| second.lasted_s);
    counted
        .into_iter()
        .fold(lasted, |fields, (name, head, pick)| {
            let fields = fields.count(name, move |second| pick(second)).shown_as(
                Group::Seconds,
                head,
                move |second| Cell::seen(pick(second), |count| number(second.per_s(count))),
            );
            usual_unless_unknown(fields, name)
        })
}
