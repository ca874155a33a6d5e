//! Device requests that may include those of other programs, and their stored form: a value that is
//! not known exactly is `null`, with its minimum and maximum in `shared`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{BlockRow, Cache, CallCount, Claim, DeviceCounts, Evidence, Faults, RequestCount, add};
use crate::gap::Gap;

/// Requests of a run on disks that other programs used meanwhile. Causes known exactly are equal in
/// both.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct DeviceRange {
    /// The part that certainly belongs to the run.
    pub at_least: DeviceCounts,
    /// Everything that may belong to the run.
    pub at_most: DeviceCounts,
}

impl DeviceRange {
    /// A range of a single value.
    pub fn exactly(counts: DeviceCounts) -> Self {
        Self {
            at_least: counts,
            at_most: counts,
        }
    }

    /// Adds a request that belongs to the run as far as it has this claim to it.
    pub(crate) fn add(&mut self, row: &BlockRow, claim: Claim) {
        if claim == Claim::All {
            add(&mut self.at_least, row);
        }
        if claim != Claim::None {
            add(&mut self.at_most, row);
        }
    }

    /// Sum of both.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            at_least: self.at_least.plus(other.at_least),
            at_most: self.at_most.plus(other.at_most),
        }
    }

    /// As the evidence has it: exact counts, or else the range.
    pub(crate) fn split(self) -> (Option<DeviceCounts>, Option<Box<Self>>) {
        if self.at_least == self.at_most {
            (Some(self.at_least), None)
        } else {
            (None, Some(Box::new(self)))
        }
    }

    /// Minimum and maximum of one figure.
    pub fn of<T>(&self, figure: impl Fn(&DeviceCounts) -> T) -> (T, T) {
        (figure(&self.at_least), figure(&self.at_most))
    }

    /// The figure, if minimum and maximum are equal.
    pub fn exact<T: PartialEq>(&self, figure: impl Fn(&DeviceCounts) -> T) -> Option<T> {
        let (least, most) = self.of(figure);
        (least == most).then_some(least)
    }
}

/// [`Evidence`] in its stored form.
#[derive(Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(super) struct Stored {
    /// System calls by name; `null` when calls were not observed.
    syscalls: Option<BTreeMap<String, CallCount>>,
    cache: Cache,
    /// Requests while the program ran; `null` when not observed.
    device: Option<StoredDevice>,
    /// Requests for the same files after the program had ended, until write-back had settled.
    device_after_exit: Option<StoredDevice>,
    faults: Faults,
    /// Time the program's threads ran on a CPU, seconds.
    on_cpu_s: Option<f64>,
    /// Time the program's threads were blocked inside system calls, seconds.
    blocked_s: Option<f64>,
    /// Lost events; figures may be too low by this many.
    lost_events: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    missing: Vec<Gap>,
}

/// Requests by cause: `reads` are reads, all others write. When other programs shared the disk, a
/// count that may include theirs is `null`, and `shared` has its range.
#[derive(Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(rename = "DeviceRequests"))]
struct StoredDevice {
    reads: StoredRequests,
    data: StoredRequests,
    journal: StoredRequests,
    commit: StoredRequests,
    metadata: StoredRequests,
    unknown: StoredRequests,
    flushes: Option<u64>,
    flush_time_s: Option<f64>,
    discards: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shared: Option<DeviceRange>,
}

/// Requests of one cause; `null` when they may include those of other programs.
#[derive(Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(rename = "Requests"))]
struct StoredRequests {
    count: Option<u64>,
    bytes: Option<u64>,
    time_s: Option<f64>,
}

impl StoredRequests {
    fn of(range: &DeviceRange, part: impl Fn(&DeviceCounts) -> RequestCount) -> Self {
        let exact = range.exact(part);
        Self {
            count: exact.map(|exact| exact.count),
            bytes: exact.map(|exact| exact.bytes),
            time_s: exact.map(|exact| exact.time_s),
        }
    }

    fn exact(&self) -> Option<RequestCount> {
        Some(RequestCount {
            count: self.count?,
            bytes: self.bytes?,
            time_s: self.time_s?,
        })
    }
}

impl StoredDevice {
    fn of(exact: Option<DeviceCounts>, range: Option<&DeviceRange>) -> Option<Self> {
        let shared = range.copied().filter(|_| exact.is_none());
        let range = shared.or(exact.map(DeviceRange::exactly))?;
        Some(Self {
            reads: StoredRequests::of(&range, |device| device.reads),
            data: StoredRequests::of(&range, |device| device.data),
            journal: StoredRequests::of(&range, |device| device.journal),
            commit: StoredRequests::of(&range, |device| device.commit),
            metadata: StoredRequests::of(&range, |device| device.metadata),
            unknown: StoredRequests::of(&range, |device| device.unknown),
            flushes: range.exact(|device| device.flushes),
            flush_time_s: range.exact(|device| device.flush_time_s),
            discards: range.exact(|device| device.discards),
            shared,
        })
    }

    fn exact(&self) -> Option<DeviceCounts> {
        Some(DeviceCounts {
            reads: self.reads.exact()?,
            data: self.data.exact()?,
            journal: self.journal.exact()?,
            commit: self.commit.exact()?,
            metadata: self.metadata.exact()?,
            unknown: self.unknown.exact()?,
            flushes: self.flushes?,
            flush_time_s: self.flush_time_s?,
            discards: self.discards?,
        })
    }
}

impl From<Evidence> for Stored {
    fn from(evidence: Evidence) -> Self {
        Self {
            // A LiteMap without entries would become a list.
            syscalls: evidence.syscalls.map(|calls| calls.into_iter().collect()),
            cache: evidence.cache,
            device: StoredDevice::of(evidence.device, evidence.device_shared.as_deref()),
            device_after_exit: StoredDevice::of(
                evidence.device_after_exit,
                evidence.device_after_exit_shared.as_deref(),
            ),
            faults: evidence.faults,
            on_cpu_s: evidence.on_cpu_s,
            blocked_s: evidence.blocked_s,
            lost_events: evidence.lost_events,
            missing: evidence.missing,
        }
    }
}

type Device = (Option<DeviceCounts>, Option<Box<DeviceRange>>);

fn device_of(stored: Option<&StoredDevice>) -> Result<Device, &'static str> {
    match stored {
        None => Ok((None, None)),
        Some(StoredDevice {
            shared: Some(range),
            ..
        }) => Ok((None, Some(Box::new(*range)))),
        Some(stored) => match stored.exact() {
            None => Err("a figure of `device` is null, and no `shared` says how much it may be"),
            exact => Ok((exact, None)),
        },
    }
}

impl TryFrom<Stored> for Evidence {
    type Error = &'static str;

    fn try_from(stored: Stored) -> Result<Self, Self::Error> {
        let device = device_of(stored.device.as_ref())?;
        let after = device_of(stored.device_after_exit.as_ref())?;
        Ok(Self {
            syscalls: stored.syscalls.map(|calls| calls.into_iter().collect()),
            cache: stored.cache,
            device: device.0,
            device_shared: device.1,
            device_after_exit: after.0,
            device_after_exit_shared: after.1,
            faults: stored.faults,
            on_cpu_s: stored.on_cpu_s,
            blocked_s: stored.blocked_s,
            lost_events: stored.lost_events,
            missing: stored.missing,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn written(flushes: u64, journal: u64) -> DeviceCounts {
        DeviceCounts {
            data: RequestCount {
                count: 2,
                bytes: 8192,
                time_s: 0.5,
            },
            journal: RequestCount {
                count: journal,
                bytes: 4096 * journal,
                time_s: 0.0,
            },
            flushes,
            ..DeviceCounts::default()
        }
    }

    #[test]
    fn what_may_be_others_is_null_between_the_least_and_the_most() {
        let range = DeviceRange {
            at_least: written(0, 1),
            at_most: written(9, 4),
        };
        let evidence = Evidence {
            device_shared: Some(Box::new(range)),
            ..Evidence::default()
        };
        let stored = serde_json::to_value(&evidence).unwrap();
        let device = &stored["device"];
        assert_eq!(device["data"]["count"], 2);
        assert_eq!(
            device["journal"],
            json!({"count": null, "bytes": null, "time_s": null})
        );
        assert_eq!(device["flushes"], json!(null));
        assert_eq!(device["discards"], 0);
        assert_eq!(device["shared"]["at_least"]["flushes"], 0);
        assert_eq!(device["shared"]["at_most"]["journal"]["bytes"], 16384);
        assert_eq!(stored["device_after_exit"], json!(null));
        assert_eq!(
            serde_json::from_value::<Evidence>(stored).unwrap(),
            evidence
        );
    }

    #[test]
    fn exact_counts_are_stored_as_they_are() {
        let evidence = Evidence {
            device: Some(written(3, 1)),
            ..Evidence::default()
        };
        let mut stored = serde_json::to_value(&evidence).unwrap();
        assert_eq!(stored["device"].get("shared"), None);
        assert_eq!(stored["device"]["flushes"], 3);
        assert_eq!(
            serde_json::from_value::<Evidence>(stored.clone()).unwrap(),
            evidence
        );
        stored["device"]["flushes"] = json!(null);
        assert!(
            serde_json::from_value::<Evidence>(stored).is_err(),
            "null without a range"
        );
    }
}
