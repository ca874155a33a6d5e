//! Device requests by their cause: exact, or between two bounds where other programs used the disk.

use serde::{Deserialize, Serialize};

use super::{BlockRow, Cause};
use crate::timing::seconds;

/// Block requests of one cause.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(rename = "{N}_requests"))]
pub struct RequestCount<N = u64, S = f64> {
    /// Requests issued to the device.
    pub count: N,
    pub bytes: N,
    /// Sum of the times from issue to completion, seconds.
    pub time_s: S,
}

impl RequestCount {
    /// Sum of both.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            count: self.count.saturating_add(other.count),
            bytes: self.bytes.saturating_add(other.bytes),
            time_s: self.time_s + other.time_s,
        }
    }
}

/// Block requests by cause. `reads` are reads of any cause; all others write.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct DeviceCounts<N = u64, S = f64> {
    /// Reads, of any cause.
    pub reads: RequestCount<N, S>,
    /// File contents.
    pub data: RequestCount<N, S>,
    /// Journal or log blocks.
    pub journal: RequestCount<N, S>,
    /// Commit blocks: the write that makes a journal transaction or a tree valid.
    pub commit: RequestCount<N, S>,
    /// File-system metadata written in place.
    pub metadata: RequestCount<N, S>,
    /// Writes of unknown cause.
    pub unknown: RequestCount<N, S>,
    /// Cache flushes requested from the device.
    pub flushes: N,
    /// Time from issue to completion of the flushes, seconds.
    pub flush_time_s: S,
    /// Discard and write-zeroes requests.
    pub discards: N,
}

impl DeviceCounts {
    pub fn of(&self, cause: Cause) -> RequestCount {
        let without_data = |count, time_s| RequestCount {
            count,
            bytes: 0,
            time_s,
        };
        match cause {
            Cause::Read => self.reads,
            Cause::Data => self.data,
            Cause::Journal => self.journal,
            Cause::Commit => self.commit,
            Cause::Metadata => self.metadata,
            Cause::Unknown => self.unknown,
            Cause::Flush => without_data(self.flushes, self.flush_time_s),
            // How long they take is not kept.
            Cause::Discard => without_data(self.discards, 0.0),
        }
    }

    pub fn add(&mut self, cause: Cause, more: RequestCount) {
        let into = match cause {
            Cause::Read => &mut self.reads,
            Cause::Data => &mut self.data,
            Cause::Journal => &mut self.journal,
            Cause::Commit => &mut self.commit,
            Cause::Metadata => &mut self.metadata,
            Cause::Unknown => &mut self.unknown,
            Cause::Flush => {
                self.flushes = self.flushes.saturating_add(more.count);
                self.flush_time_s += more.time_s;
                return;
            }
            Cause::Discard => {
                self.discards = self.discards.saturating_add(more.count);
                return;
            }
        };
        *into = into.plus(more);
    }

    pub(crate) fn add_row(&mut self, row: &BlockRow) {
        let more = RequestCount {
            count: row.count,
            bytes: row.bytes,
            time_s: seconds(row.time_ns),
        };
        self.add(row.cause, more);
    }

    /// Writes of every cause.
    pub fn writes(&self) -> RequestCount {
        let causes = Cause::writes().map(|cause| self.of(cause));
        causes.fold(RequestCount::default(), RequestCount::plus)
    }

    /// Sum of both.
    #[must_use]
    pub fn plus(mut self, other: Self) -> Self {
        for cause in Cause::ALL {
            self.add(cause, other.of(cause));
        }
        self
    }
}

/// Requests that write, and flushes, of a record, a sync or a second. `null` where the device was not
/// observed.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct RequestsPer<T> {
    /// Requests with file contents.
    pub data: Option<T>,
    /// Requests with journal or log blocks.
    pub journal: Option<T>,
    /// Commit blocks.
    pub commit: Option<T>,
    /// Requests with metadata in its place.
    pub metadata: Option<T>,
    /// Writes of unknown cause.
    pub unknown: Option<T>,
    pub flushes: Option<T>,
}

impl<T: Copy> RequestsPer<T> {
    pub fn new(of: impl Fn(Cause) -> Option<T>) -> Self {
        Self {
            data: of(Cause::Data),
            journal: of(Cause::Journal),
            commit: of(Cause::Commit),
            metadata: of(Cause::Metadata),
            unknown: of(Cause::Unknown),
            flushes: of(Cause::Flush),
        }
    }

    pub fn each(&self) -> [(Cause, Option<T>); 6] {
        [
            (Cause::Data, self.data),
            (Cause::Journal, self.journal),
            (Cause::Commit, self.commit),
            (Cause::Metadata, self.metadata),
            (Cause::Unknown, self.unknown),
            (Cause::Flush, self.flushes),
        ]
    }

    /// Of these causes alone.
    pub fn of(&self, cause: Cause) -> Option<T> {
        let mut each = self.each().into_iter();
        each.find(|(of, _)| *of == cause)?.1
    }
}

/// How much of a disk's requests without a file, and not submitted by the tree, belongs to the run,
/// from the most to the least.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Claim {
    /// All: no other program used the disk.
    All,
    /// Some; the number is unknown.
    Some,
    /// None: the run left no work for the submitters.
    None,
}

/// Requests of a run by cause. Those that may be of other programs have two bounds; in JSON they
/// are `null`, and `shared` has the bounds.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(try_from = "Stored", into = "Stored")]
pub struct DeviceRange {
    /// The part that certainly belongs to the run.
    pub at_least: DeviceCounts,
    /// Everything that may belong to the run.
    pub at_most: DeviceCounts,
}

impl From<DeviceCounts> for DeviceRange {
    fn from(counts: DeviceCounts) -> Self {
        Self {
            at_least: counts,
            at_most: counts,
        }
    }
}

impl DeviceRange {
    /// Adds a request that belongs to the run as far as it has this claim to it.
    pub(crate) fn add(&mut self, row: &BlockRow, claim: Claim) {
        if claim == Claim::All {
            self.at_least.add_row(row);
        }
        if claim != Claim::None {
            self.at_most.add_row(row);
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

    /// Minimum and maximum of one figure.
    pub fn of<T>(&self, figure: impl Fn(&DeviceCounts) -> T) -> (T, T) {
        (figure(&self.at_least), figure(&self.at_most))
    }

    /// The figure, if minimum and maximum are equal.
    pub fn exact<T: PartialEq>(&self, figure: impl Fn(&DeviceCounts) -> T) -> Option<T> {
        let (least, most) = self.of(figure);
        (least == most).then_some(least)
    }

    /// All of them, if each is exact.
    pub fn all_exact(&self) -> Option<&DeviceCounts> {
        (self.at_least == self.at_most).then_some(&self.at_least)
    }
}

/// [`DeviceRange`] in JSON.
#[derive(Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
struct Stored {
    #[serde(flatten)]
    exact: DeviceCounts<Option<u64>, Option<f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shared: Option<Bounds>,
}

/// Minimum and maximum, which are equal for what is known exactly.
#[derive(Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(rename = "DeviceBounds"))]
struct Bounds {
    /// The part that certainly belongs to the run.
    at_least: DeviceCounts,
    /// Everything that may belong to the run.
    at_most: DeviceCounts,
}

impl From<DeviceRange> for Stored {
    fn from(range: DeviceRange) -> Self {
        let requests = |cause| {
            let exact = range.exact(|device| device.of(cause));
            RequestCount {
                count: exact.map(|exact| exact.count),
                bytes: exact.map(|exact| exact.bytes),
                time_s: exact.map(|exact| exact.time_s),
            }
        };
        let DeviceRange { at_least, at_most } = range;
        Self {
            exact: DeviceCounts {
                reads: requests(Cause::Read),
                data: requests(Cause::Data),
                journal: requests(Cause::Journal),
                commit: requests(Cause::Commit),
                metadata: requests(Cause::Metadata),
                unknown: requests(Cause::Unknown),
                flushes: range.exact(|device| device.flushes),
                flush_time_s: range.exact(|device| device.flush_time_s),
                discards: range.exact(|device| device.discards),
            },
            shared: (at_least != at_most).then_some(Bounds { at_least, at_most }),
        }
    }
}

impl TryFrom<Stored> for DeviceRange {
    type Error = &'static str;

    fn try_from(Stored { exact, shared }: Stored) -> Result<Self, Self::Error> {
        if let Some(Bounds { at_least, at_most }) = shared {
            return Ok(Self { at_least, at_most });
        }
        let requests = |stored: RequestCount<Option<u64>, Option<f64>>| {
            Some(RequestCount {
                count: stored.count?,
                bytes: stored.bytes?,
                time_s: stored.time_s?,
            })
        };
        let all = || {
            Some(DeviceCounts {
                reads: requests(exact.reads)?,
                data: requests(exact.data)?,
                journal: requests(exact.journal)?,
                commit: requests(exact.commit)?,
                metadata: requests(exact.metadata)?,
                unknown: requests(exact.unknown)?,
                flushes: exact.flushes?,
                flush_time_s: exact.flush_time_s?,
                discards: exact.discards?,
            })
        };
        let all =
            all().ok_or("a figure of `device` is null, and no `shared` says how much it may be");
        all.map(Self::from)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::evidence::Evidence;

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
            device: Some(range),
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
            device: Some(written(3, 1).into()),
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
