//! Figures of a row: what was asked for by calls, what the page cache had, what the disk did.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use super::counted::Share;
use crate::evidence::{CallStats, Cause};

/// Calls of one purpose that ended in the interval.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct CallFigures {
    #[serde(flatten)]
    pub stats: CallStats,
    pub longest_s: f64,
}

/// Calls on files, by what they are for.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Calls {
    pub reads: CallFigures,
    pub writes: CallFigures,
    pub syncs: CallFigures,
    /// Calls on names and attributes: open, close, stat, rename, unlink.
    pub metadata: CallFigures,
}

impl Calls {
    pub fn count(&self) -> u64 {
        self.each().iter().map(|of| of.stats.count).sum()
    }

    pub fn time_s(&self) -> f64 {
        self.each().iter().map(|of| of.stats.time_s).sum()
    }

    fn each(&self) -> [&CallFigures; 4] {
        [&self.reads, &self.writes, &self.syncs, &self.metadata]
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Pages {
    /// Pages asked for.
    pub lookups_pages: u64,
    /// Pages that were not there and were waited for.
    pub missed_pages: u64,
    /// Pages brought in before anybody waited for them.
    pub prefetched_pages: u64,
    /// Bytes turned dirty, in folios.
    pub dirtied_bytes: u64,
}

/// Block requests of one cause.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct RequestFigures {
    /// Requests issued in the interval.
    pub count: u64,
    pub bytes: u64,
    /// Requests that ended in the interval, also those issued before it.
    pub ended: u64,
    /// From issue to completion of these, summed, seconds.
    pub time_s: f64,
    /// The longest of these, seconds.
    pub longest_s: f64,
}

impl RequestFigures {
    /// From issue to completion, on average, seconds; `None` where none ended.
    pub fn mean_s(&self) -> Option<f64> {
        (self.ended > 0).then(|| self.time_s / self.ended as f64)
    }
}

/// Requests for the contents of files.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct FileRequests {
    pub reads: RequestFigures,
    /// Requests that write.
    pub data: RequestFigures,
}

impl FileRequests {
    /// Bytes both ways.
    pub fn bytes(&self) -> u64 {
        self.reads.bytes.saturating_add(self.data.bytes)
    }
}

/// What was done, at each stratum; `None` where that was not observed.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Work {
    /// System calls on files, directories and block devices.
    pub calls: Option<Calls>,
    pub cache: Option<Pages>,
    /// Requests for the contents of files: of a process those that it submitted itself, of a file
    /// also those that the kernel's threads submitted.
    pub device: Option<FileRequests>,
}

impl Work {
    pub fn device_bytes(&self) -> u64 {
        self.device.map_or(0, |device| device.bytes())
    }

    /// Time in calls, seconds.
    pub fn time_s(&self) -> f64 {
        self.calls.map_or(0.0, |calls| calls.time_s())
    }

    pub(super) fn add_share(&mut self, share: &Share) {
        if let Some(calls) = &mut self.calls {
            *calls += share.calls;
        }
        if let Some(cache) = &mut self.cache {
            *cache += share.pages;
        }
    }

    pub(super) fn add_requests(&mut self, cause: Cause, sum: RequestFigures) {
        let Some(device) = &mut self.device else {
            return;
        };
        match cause {
            Cause::Read => device.reads += sum,
            _ => device.data += sum,
        }
    }
}

impl AddAssign for Work {
    fn add_assign(&mut self, more: Self) {
        fn add<T: AddAssign>(to: &mut Option<T>, more: Option<T>) {
            if let (Some(to), Some(more)) = (to, more) {
                *to += more;
            }
        }
        add(&mut self.calls, more.calls);
        add(&mut self.cache, more.cache);
        add(&mut self.device, more.device);
    }
}

impl AddAssign for Calls {
    fn add_assign(&mut self, more: Self) {
        self.reads += more.reads;
        self.writes += more.writes;
        self.syncs += more.syncs;
        self.metadata += more.metadata;
    }
}

impl AddAssign for FileRequests {
    fn add_assign(&mut self, more: Self) {
        self.reads += more.reads;
        self.data += more.data;
    }
}

impl AddAssign for CallFigures {
    fn add_assign(&mut self, more: Self) {
        self.stats += more.stats;
        self.longest_s = self.longest_s.max(more.longest_s);
    }
}

impl AddAssign for RequestFigures {
    fn add_assign(&mut self, more: Self) {
        self.count = self.count.saturating_add(more.count);
        self.bytes = self.bytes.saturating_add(more.bytes);
        self.ended = self.ended.saturating_add(more.ended);
        self.time_s += more.time_s;
        self.longest_s = self.longest_s.max(more.longest_s);
    }
}

impl AddAssign for Pages {
    fn add_assign(&mut self, more: Self) {
        self.lookups_pages = self.lookups_pages.saturating_add(more.lookups_pages);
        self.missed_pages = self.missed_pages.saturating_add(more.missed_pages);
        self.prefetched_pages = self.prefetched_pages.saturating_add(more.prefetched_pages);
        self.dirtied_bytes = self.dirtied_bytes.saturating_add(more.dirtied_bytes);
    }
}
