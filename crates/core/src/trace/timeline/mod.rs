//! Times of calls and requests.
//!
//! A back end adds to *moments*: the first are 131 µs long, and from then on each is a 2,048th to
//! a 4,096th of the time since the start. So a run of any length has its moments in little
//! memory, none is ever moved, and at the end they fold into buckets of one length.

use serde::{Deserialize, Serialize};

pub use super::purpose::Purpose;
use crate::evidence::{Cause, Claim};
use crate::gap::Gap;
use crate::timing::seconds;

/// Length of the first moments: `2^17` ns.
const FIRST_POWER: u32 = 17;
/// Moments until their length is first doubled: `2^12`.
const FIRST_MOMENTS_POWER: u32 = 12;
/// Moments from one doubling to the next.
const PER_DOUBLING: u32 = 1 << (FIRST_MOMENTS_POWER - 1);
/// Times that the length is doubled: the last moments are over 9 hours after the start, and
/// what comes later is added to the very last.
const DOUBLINGS: u32 = 16;

pub const MOMENTS: u32 = (1 << FIRST_MOMENTS_POWER) + DOUBLINGS * PER_DOUBLING;

/// The moment of a time, nanoseconds since the start.
pub fn moment_of(since_start_ns: u64) -> u32 {
    let power = since_start_ns.checked_ilog2().unwrap_or(0);
    let doubled = FIRST_POWER + FIRST_MOMENTS_POWER;
    let moment = if power < doubled {
        since_start_ns >> FIRST_POWER
    } else {
        let doublings = power - doubled;
        let within = (since_start_ns >> (FIRST_POWER + 1 + doublings)) - u64::from(PER_DOUBLING);
        u64::from((1 << FIRST_MOMENTS_POWER) + doublings * PER_DOUBLING) + within
    };
    u32::try_from(moment).unwrap_or(MOMENTS).min(MOMENTS - 1)
}

/// The start of a moment, nanoseconds since the start.
pub fn begins_ns(moment: u32) -> u64 {
    let first = 1 << FIRST_MOMENTS_POWER;
    if moment < first {
        return u64::from(moment) << FIRST_POWER;
    }
    let (doublings, within) = (
        (moment - first) / PER_DOUBLING,
        (moment - first) % PER_DOUBLING,
    );
    u64::from(PER_DOUBLING + within) << (FIRST_POWER + 1 + doublings)
}

/// Calls of one purpose that ended in one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallMoment {
    /// [`moment_of`] their ends.
    pub moment: u32,
    pub purpose: Purpose,
    pub count: u64,
    pub bytes: u64,
    pub time_ns: u64,
}

/// Requests of one cause to one disk that were issued in one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestMoment {
    /// [`moment_of`] their issue.
    pub moment: u32,
    /// Disk, kernel `dev_t`.
    pub disk: u32,
    pub cause: Cause,
    pub count: u64,
    pub bytes: u64,
}

/// A back end's observation over time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Moments {
    pub calls: Vec<CallMoment>,
    /// Those that may belong to the tree; `None` when not observed.
    pub requests: Option<Vec<RequestMoment>>,
    pub missing: Vec<Gap>,
}

/// Calls and requests over time, in buckets of one length. All series are equally long.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Timeline {
    /// Length of a bucket, seconds. The first begins with the run.
    pub bucket_s: f64,
    /// Calls on files by purpose, at their end.
    pub calls: Vec<CallSeries>,
    /// Device requests by cause, at their issue; `null` when not observed.
    pub requests: Option<Vec<RequestSeries>>,
    /// Flushes requested from the device; `null` when not observed.
    pub flushes: Option<Vec<u64>>,
    /// Whether some (journal, commit, metadata, flushes, or data of files that others write too) may belong to other
    /// programs.
    pub shared: bool,
}

/// Calls of one purpose over time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct CallSeries {
    pub group: Purpose,
    /// Calls in each bucket.
    pub counts: Vec<u64>,
    pub bytes: Vec<u64>,
    /// Time inside, seconds. A call longer than a bucket is in that of its end.
    pub time_s: Vec<f64>,
}

/// Requests of one cause over time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct RequestSeries {
    pub cause: Cause,
    /// Requests in each bucket.
    pub counts: Vec<u64>,
    pub bytes: Vec<u64>,
}

/// Folds the observation of a run of this many nanoseconds, with the requests to `disks`. `claim`
/// returns the run's claim to requests of a cause. `None` when no call on a file was made and
/// no request issued.
pub fn timeline(
    seen: &Moments,
    wall_ns: u64,
    disks: &[u32],
    claim: impl Fn(u32, Cause) -> Claim,
) -> Option<Timeline> {
    let claim_of = |one: &RequestMoment| claim(one.disk, one.cause);
    let requests = seen.requests.as_ref().map(|requests| {
        let charged = requests.iter().filter(|one| disks.contains(&one.disk));
        let charged = charged.filter(|one| claim_of(one) != Claim::None);
        charged.copied().collect::<Vec<_>>()
    });
    let shared = requests
        .iter()
        .flatten()
        .any(|one| claim_of(one) == Claim::Some);
    if seen.calls.is_empty() && requests.as_ref().is_none_or(Vec::is_empty) {
        return None;
    }
    let buckets = Buckets::of(wall_ns);
    let calls = Purpose::ALL.into_iter().filter_map(|purpose| {
        let of_it = seen.calls.iter().filter(|one| one.purpose == purpose);
        buckets.calls(purpose, of_it)
    });
    let flushes = requests.as_ref().map(|requests| {
        let flushes = requests.iter().filter(|one| one.cause == Cause::Flush);
        buckets.sum(flushes.map(|one| (one.moment, one.count)))
    });
    Some(Timeline {
        bucket_s: seconds(buckets.length_ns),
        calls: calls.collect(),
        requests: requests.map(|requests| buckets.requests(&requests)),
        flushes,
        shared,
    })
}

struct Buckets {
    length_ns: u64,
    count: usize,
}

impl Buckets {
    /// As long as the longest moment of the run, so that every shorter one is in one bucket.
    fn of(wall_ns: u64) -> Self {
        let last = moment_of(wall_ns);
        let length_ns = if last + 1 < MOMENTS {
            begins_ns(last + 1) - begins_ns(last)
        } else {
            begins_ns(last) - begins_ns(last - 1)
        };
        let count = begins_ns(last) / length_ns + 1;
        Self {
            length_ns,
            count: usize::try_from(count).unwrap_or(usize::MAX),
        }
    }

    fn sum(&self, of: impl Iterator<Item = (u32, u64)>) -> Vec<u64> {
        let mut sums = vec![0; self.count];
        for (moment, value) in of {
            // Calls that ended after the measured end are in the last bucket.
            let bucket = usize::try_from(begins_ns(moment) / self.length_ns);
            let sum: &mut u64 = &mut sums[bucket.unwrap_or(usize::MAX).min(self.count - 1)];
            *sum = sum.saturating_add(value);
        }
        sums
    }

    fn calls<'a>(
        &self,
        purpose: Purpose,
        of_it: impl Iterator<Item = &'a CallMoment> + Clone,
    ) -> Option<CallSeries> {
        of_it.clone().next()?;
        let time_ns = self.sum(of_it.clone().map(|one| (one.moment, one.time_ns)));
        Some(CallSeries {
            group: purpose,
            counts: self.sum(of_it.clone().map(|one| (one.moment, one.count))),
            bytes: self.sum(of_it.map(|one| (one.moment, one.bytes))),
            time_s: time_ns.into_iter().map(seconds).collect(),
        })
    }

    fn requests(&self, requests: &[RequestMoment]) -> Vec<RequestSeries> {
        let series = |cause| {
            let of_it = requests.iter().filter(move |one| one.cause == cause);
            of_it.clone().next()?;
            Some(RequestSeries {
                cause,
                counts: self.sum(of_it.clone().map(|one| (one.moment, one.count))),
                bytes: self.sum(of_it.map(|one| (one.moment, one.bytes))),
            })
        };
        Cause::with_data().filter_map(series).collect()
    }
}

#[cfg(test)]
mod tests;
