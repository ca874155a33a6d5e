//! Calls and requests over time, as the kernel side summed them (`bpf/moments.h`).

use aya::maps::{Array, MapError};
use iostrata_core::gap::{Countable, Gap, Reason};
use iostrata_core::trace::timeline::{
    CallMoment, MOMENTS, Moments, Purpose, RequestMoment, moment_of,
};

use super::entries::{each, first};
use super::made::Ebpf;
use super::object::Object;
use super::readout::{clear_hash, lost, map, map_mut};
use super::stream::cause;
use super::wire::{self, Moment, PURPOSES, RequestMomentKey, loss};
use crate::clock;
use iostrata_core::gap::Stratum;

/// Purposes by their number on the kernel side, from 1 on (`enum purpose`).
const NUMBERED: [Purpose; PURPOSES] = [
    Purpose::Read,
    Purpose::Write,
    Purpose::Sync,
    Purpose::Metadata,
];

/// The purpose of a call, for the kernel side; 0 for calls that are not on files.
pub(super) fn number_of(call: &str) -> u8 {
    let place = Purpose::of(call).and_then(|of| NUMBERED.iter().position(|one| *one == of));
    place.map_or(0, |place| u8::try_from(place + 1).unwrap_or(0))
}

/// All moments of a session that began at `started_ns`.
pub(super) fn read(object: &Object, started_ns: u64) -> Result<Moments, MapError> {
    let ebpf = &object.ebpf;
    let requests = object.seen.contains(&Stratum::Device);
    let left_out = lost(ebpf, loss::MOMENTS)?;
    let missing = Gap::counted(left_out, Countable::TimelineRequests, Reason::MomentsFull);
    Ok(Moments {
        calls: calls(ebpf, started_ns)?,
        requests: requests.then(|| request_moments(ebpf)).transpose()?,
        missing: missing.into_iter().collect(),
    })
}

fn calls(ebpf: &Ebpf, started_ns: u64) -> Result<Vec<CallMoment>, MapError> {
    let table = map(ebpf, "moments")?;
    let mut calls = Vec::new();
    first(table, used(started_ns), |moment, sums: &Moment| {
        for (purpose, sum) in NUMBERED.into_iter().zip(sums.of) {
            if sum.count > 0 {
                calls.push(CallMoment {
                    moment,
                    purpose,
                    count: sum.count,
                    bytes: sum.bytes,
                    time_ns: sum.time_ns,
                });
            }
        }
    })?;
    Ok(calls)
}

fn request_moments(ebpf: &Ebpf) -> Result<Vec<RequestMoment>, MapError> {
    let mut requests = Vec::new();
    let add = |key: &RequestMomentKey, value: &wire::RequestMoment| {
        for (code, (count, bytes)) in (0_u8..).zip(value.count.into_iter().zip(value.bytes)) {
            // A request of several files counts for the first, and its bytes for each.
            if count > 0 || bytes > 0 {
                requests.push(RequestMoment {
                    moment: key.moment,
                    disk: key.disk,
                    cause: cause(code),
                    count,
                    bytes,
                });
            }
        }
    };
    each(map(ebpf, "request_moments")?, add)?;
    Ok(requests)
}

/// Moments from the start until now.
fn used(started_ns: u64) -> u32 {
    moment_of(clock::now_ns().saturating_sub(started_ns)).saturating_add(1)
}

/// Clears the moments of the session that began at `started_ns`; 0 if there was none.
pub(super) fn clear(ebpf: &mut Ebpf, started_ns: u64) -> Result<(), MapError> {
    clear_hash::<RequestMomentKey, wire::RequestMoment>(ebpf, "request_moments")?;
    if started_ns == 0 {
        return Ok(());
    }
    let mut table = Array::<_, Moment>::try_from(map_mut(ebpf, "moments")?)?;
    for moment in 0..used(started_ns).min(table.len()) {
        table.set(moment, Moment::default(), 0)?;
    }
    Ok(())
}

/// Room for the moments of a run; a session without a history does not use them.
pub(super) fn room(history: bool) -> u32 {
    if history { MOMENTS } else { 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_kernel_side() {
        assert_eq!(number_of("pread64"), 1);
        assert_eq!(number_of("io_uring.writev"), 2);
        assert_eq!(number_of("fdatasync"), 3);
        assert_eq!(number_of("openat"), 4);
        assert_eq!(number_of("futex"), 0);
    }
}
