//! Evidence: counts and bytes per stratum for one case or one file.
//!
//! An unavailable value is `None`/`null` and named in [`Evidence::missing`]; it is never 0.

mod assemble;
mod range;
mod raw;

use litemap::LiteMap;
use serde::{Deserialize, Serialize};

use crate::gap::Gap;
pub(crate) use assemble::add;
pub use assemble::{Charge, Claim, assemble, foreign_requests};
pub use range::DeviceRange;
pub use raw::{
    BlockRow, CacheRow, Cause, Life, Losses, Pages, Phase, RawEvidence, Sharing, Submitter, Summed,
    SyscallRow, Totals,
};

/// The kernel's work for one case, stratum by stratum.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(try_from = "range::Stored", into = "range::Stored")]
pub struct Evidence {
    /// System calls by name; `None` when calls were not observed.
    pub syscalls: Option<CallCounts>,
    pub cache: Cache,
    /// Device requests by cause while the program ran; `None` when not observed, and when some may
    /// belong to other programs.
    pub device: Option<DeviceCounts>,
    /// The same when some may belong to other programs. Stored in `device`.
    pub device_shared: Option<Box<DeviceRange>>,
    /// Device requests for the same files after the program had ended, until write-back had
    /// settled: work that the program left behind.
    pub device_after_exit: Option<DeviceCounts>,
    /// The same when some may belong to other programs. Stored in `device_after_exit`.
    pub device_after_exit_shared: Option<Box<DeviceRange>>,
    pub faults: Faults,
    /// Time the program's threads ran on a CPU, seconds.
    pub on_cpu_s: Option<f64>,
    /// Time the program's threads were blocked inside system calls, seconds.
    pub blocked_s: Option<f64>,
    /// Lost events; the figures above may be too low by this many.
    pub lost_events: u64,
    pub missing: Vec<Gap>,
}

impl Evidence {
    /// The device requests, exact or as a range; `None` when they were not observed.
    pub fn device_range(&self) -> Option<DeviceRange> {
        let exact = self.device.map(DeviceRange::exactly);
        exact.or(self.device_shared.as_deref().copied())
    }

    /// As [`Self::device_range`], after the program had ended.
    pub fn device_after_exit_range(&self) -> Option<DeviceRange> {
        let exact = self.device_after_exit.map(DeviceRange::exactly);
        exact.or(self.device_after_exit_shared.as_deref().copied())
    }
}

/// System calls by name. Each file of a trace has its own, most with a few calls, and a node of a
/// `BTreeMap` has room for eleven.
pub type CallCounts = LiteMap<String, CallCount>;

/// One system call, aggregated.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct CallCount {
    pub count: u64,
    pub errors: u64,
    /// Sum of the returned byte counts; 0 for calls that do not return one.
    pub bytes: u64,
    /// Time inside the call under observation, seconds.
    pub time_s: f64,
}

/// Page-cache evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Cache {
    /// Pages that the program's reads looked up, each once per call.
    pub lookups_pages: Option<u64>,
    /// Pages that a read waited for because they were not resident.
    pub missed_pages: Option<u64>,
    /// Pages filled by read-ahead before they were requested.
    pub prefetched_pages: Option<u64>,
    /// Bytes turned from clean to dirty, in whole folios.
    pub dirtied_bytes: Option<u64>,
    /// Bytes of the case's files resident before the run (`cachestat`).
    pub resident_before_bytes: Option<u64>,
    /// Bytes of the case's files resident after the run (`cachestat`).
    pub resident_after_bytes: Option<u64>,
}

pub struct CacheCount {
    /// In JSON, and behind `cache_` in tables.
    pub name: &'static str,
    /// What comparisons call it; `None` where it is not compared.
    pub compared: Option<&'static str>,
    pub of: fn(&Cache) -> Option<u64>,
}

impl Cache {
    /// Every count, in the order of the fields.
    pub const COUNTS: [CacheCount; 6] = [
        CacheCount {
            name: "lookups_pages",
            compared: Some("pages looked up"),
            of: |cache| cache.lookups_pages,
        },
        CacheCount {
            name: "missed_pages",
            compared: Some("pages missed"),
            of: |cache| cache.missed_pages,
        },
        CacheCount {
            name: "prefetched_pages",
            compared: Some("pages prefetched"),
            of: |cache| cache.prefetched_pages,
        },
        CacheCount {
            name: "dirtied_bytes",
            compared: Some("bytes dirtied"),
            of: |cache| cache.dirtied_bytes,
        },
        CacheCount {
            name: "resident_before_bytes",
            compared: None,
            of: |cache| cache.resident_before_bytes,
        },
        CacheCount {
            name: "resident_after_bytes",
            compared: None,
            of: |cache| cache.resident_after_bytes,
        },
    ];

    /// Pages that were asked for and resident before the run brought any in, at least:
    /// pages prefetched and never asked for count as if they had been.
    pub fn resident_pages(&self) -> Option<u64> {
        let brought_in = self.missed_pages?.saturating_add(self.prefetched_pages?);
        Some(self.lookups_pages?.saturating_sub(brought_in))
    }

    /// Sum of two files. The sum is unknown if a part is unknown.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        let both = |of: fn(&Self) -> Option<u64>| Some(of(self)?.saturating_add(of(other)?));
        Self {
            lookups_pages: both(|cache| cache.lookups_pages),
            missed_pages: both(|cache| cache.missed_pages),
            prefetched_pages: both(|cache| cache.prefetched_pages),
            dirtied_bytes: both(|cache| cache.dirtied_bytes),
            resident_before_bytes: both(|cache| cache.resident_before_bytes),
            resident_after_bytes: both(|cache| cache.resident_after_bytes),
        }
    }
}

/// Block requests of one cause.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct RequestCount {
    /// Requests issued to the device.
    pub count: u64,
    pub bytes: u64,
    /// Sum of the times from issue to completion, seconds.
    pub time_s: f64,
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
pub struct DeviceCounts {
    /// Reads, of any cause.
    pub reads: RequestCount,
    /// File contents.
    pub data: RequestCount,
    /// Journal or log blocks.
    pub journal: RequestCount,
    /// Commit blocks: the write that makes a journal transaction or a tree valid.
    pub commit: RequestCount,
    /// File-system metadata written in place.
    pub metadata: RequestCount,
    /// Writes of unknown cause.
    pub unknown: RequestCount,
    /// Cache flushes requested from the device.
    pub flushes: u64,
    /// Time from issue to completion of the flushes, seconds.
    pub flush_time_s: f64,
    /// Discard and write-zeroes requests.
    pub discards: u64,
}

/// Requests without data of one kind.
pub struct WithoutData {
    pub one: &'static str,
    pub several: &'static str,
    pub count: fn(&DeviceCounts) -> u64,
    /// Total time from issue to completion, seconds, where measured.
    pub time_s: Option<fn(&DeviceCounts) -> f64>,
}

pub type OfCause = fn(&DeviceCounts) -> RequestCount;

impl DeviceCounts {
    pub const WRITES: [(&'static str, OfCause); 5] = [
        ("data", |device| device.data),
        ("journal", |device| device.journal),
        ("commit", |device| device.commit),
        ("metadata", |device| device.metadata),
        ("unknown", |device| device.unknown),
    ];

    pub const WITHOUT_DATA: [WithoutData; 2] = [
        WithoutData {
            one: "flush",
            several: "flushes",
            count: |device| device.flushes,
            time_s: Some(|device| device.flush_time_s),
        },
        WithoutData {
            one: "discard",
            several: "discards",
            count: |device| device.discards,
            time_s: None,
        },
    ];

    /// Requests with data.
    pub fn by_cause(&self) -> [(Cause, RequestCount); 6] {
        [
            (Cause::Read, self.reads),
            (Cause::Data, self.data),
            (Cause::Journal, self.journal),
            (Cause::Commit, self.commit),
            (Cause::Metadata, self.metadata),
            (Cause::Unknown, self.unknown),
        ]
    }

    /// Writes of every cause.
    pub fn writes(&self) -> RequestCount {
        let causes = Self::WRITES.iter().map(|(_, of)| of(self));
        causes.fold(RequestCount::default(), RequestCount::plus)
    }

    /// Sum of both.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            reads: self.reads.plus(other.reads),
            data: self.data.plus(other.data),
            journal: self.journal.plus(other.journal),
            commit: self.commit.plus(other.commit),
            metadata: self.metadata.plus(other.metadata),
            unknown: self.unknown.plus(other.unknown),
            flushes: self.flushes.saturating_add(other.flushes),
            flush_time_s: self.flush_time_s + other.flush_time_s,
            discards: self.discards.saturating_add(other.discards),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Faults {
    /// Without I/O.
    pub minor: Option<u64>,
    /// That waited for I/O.
    pub major: Option<u64>,
}
