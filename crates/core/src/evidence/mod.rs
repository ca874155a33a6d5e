//! Evidence: counts and bytes per stratum for one case or one file.
//!
//! An unavailable value is `None`/`null` and named in [`Evidence::missing`]; it is never 0.

mod assemble;
mod cause;
mod device;
mod raw;

use std::iter::Sum;
use std::ops::AddAssign;

use litemap::LiteMap;
use serde::{Deserialize, Serialize};

use crate::gap::Gap;
pub use assemble::{Charge, assemble, foreign_requests};
pub use cause::Cause;
pub use device::{Claim, DeviceCounts, DeviceRange, RequestCount, RequestsPer};
pub use raw::{
    BlockRow, CacheRow, Life, Losses, Pages, Phase, RawEvidence, Sharing, Submitter, Summed,
    SyscallRow, Totals,
};

/// The kernel's work for one case, stratum by stratum.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Evidence {
    /// System calls by name; `null` when calls were not observed.
    #[serde(with = "calls")]
    #[cfg_attr(
        test,
        schemars(with = "Option<std::collections::BTreeMap<String, CallStats>>")
    )]
    pub syscalls: Option<CallCounts>,
    pub cache: Cache,
    /// Requests while the program ran; `null` when not observed.
    pub device: Option<DeviceRange>,
    /// Requests for the same files after the program had ended: work that it left behind. In an
    /// experiment until write-back had settled; a trace does not wait for it.
    pub device_after_exit: Option<DeviceRange>,
    pub faults: Faults,
    /// Time the program's threads ran on a CPU, seconds.
    pub on_cpu_s: Option<f64>,
    /// Time the program's threads were blocked inside system calls, seconds.
    pub blocked_s: Option<f64>,
    /// Lost events; the figures above may be too low by this many.
    pub lost_events: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<Gap>,
}

impl Evidence {
    /// The device requests, if all figures are exact.
    pub fn exact_device(&self) -> Option<&DeviceCounts> {
        self.device.as_ref()?.all_exact()
    }

    /// As [`Self::exact_device`], after the program had ended.
    pub fn exact_device_after_exit(&self) -> Option<&DeviceCounts> {
        self.device_after_exit.as_ref()?.all_exact()
    }
}

/// A `LiteMap` without entries would become a list.
mod calls {
    use std::collections::BTreeMap;

    use serde::{Deserialize as _, Deserializer, Serializer};

    use super::{CallCounts, CallStats};

    #[expect(clippy::ref_option, reason = "serde passes a reference")]
    pub(super) fn serialize<S: Serializer>(
        calls: &Option<CallCounts>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        match calls {
            Some(calls) => to.collect_map(calls),
            None => to.serialize_none(),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<CallCounts>, D::Error> {
        let calls = Option::<BTreeMap<String, CallStats>>::deserialize(from)?;
        Ok(calls.map(|calls| calls.into_iter().collect()))
    }
}

/// System calls by name. Each file of a trace has its own, most with a few calls, and a node of a
/// `BTreeMap` has room for eleven.
pub type CallCounts = LiteMap<String, CallStats>;

/// What calls did, summed.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct CallStats {
    pub count: u64,
    pub errors: u64,
    /// Bytes moved; 0 for calls that move none.
    pub bytes: u64,
    /// Time inside under observation, over all threads, seconds.
    pub time_s: f64,
}

impl AddAssign for CallStats {
    fn add_assign(&mut self, more: Self) {
        self.count = self.count.saturating_add(more.count);
        self.errors = self.errors.saturating_add(more.errors);
        self.bytes = self.bytes.saturating_add(more.bytes);
        self.time_s += more.time_s;
    }
}

impl Sum for CallStats {
    fn sum<I: Iterator<Item = Self>>(stats: I) -> Self {
        let mut sum = Self::default();
        stats.for_each(|more| sum += more);
        sum
    }
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Faults {
    /// Without I/O.
    pub minor: Option<u64>,
    /// That waited for I/O.
    pub major: Option<u64>,
}
