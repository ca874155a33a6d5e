//! Counts are exact, so they are equal or different.

use serde::{Deserialize, Serialize};

use super::Sides;
use crate::evidence::{Cache, CacheCount, CallCounts, Cause, DeviceCounts, Evidence};
use crate::is_one_of;
use crate::trace::{direction, is_open, is_sync};

/// A count that differs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Count {
    /// What determines it.
    pub part: Part,
    /// The count, such as `fsync calls` or `data bytes`.
    pub what: String,
    /// The count on either side: per run, or per sync if the run had a fixed duration.
    #[serde(flatten)]
    pub sides: Sides<f64>,
}

impl Count {
    /// Whether it counts calls that open, read, write or sync, or their bytes: the file work of a
    /// program.
    pub fn is_work(&self) -> bool {
        self.what.rsplit_once(' ').is_some_and(|(name, noun)| {
            let is_call = is_open(name) || is_sync(name) || direction(name).is_some();
            self.part == Part::Calls && is_call && noun != "errors"
        })
    }
}

/// What determines a count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// The program: its calls and the bytes moved.
    Calls,
    /// The program, and the timing of others: calls that wait are repeated after each wake-up.
    Waits,
    /// The page cache and write-back, including their timing.
    Cache,
    /// The file system.
    Filesystem,
    /// The timing of the file system and write-back, and other users of the disk.
    Device,
}

/// The counts of two runs, compared.
#[derive(Debug, Clone, Default)]
pub(super) struct Counts {
    pub(super) differing: Vec<Count>,
    pub(super) equal: usize,
    /// Whether calls were observed on both sides.
    pub(super) calls_seen: bool,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Scale {
    /// The divisor of either side's counts.
    pub(super) by: Sides<f64>,
    /// Quotients within this relative difference are equal; below 1, within this absolute
    /// difference.
    pub(super) within: f64,
}

impl Scale {
    /// Counts of whole runs, which are equal or different.
    pub(super) const RUN: Self = Self {
        by: Sides {
            base: 1.0,
            new: 1.0,
        },
        within: 0.0,
    };
}

impl Counts {
    /// Compares one count; a count missing on either side is not compared.
    pub(super) fn hold(
        &mut self,
        part: Part,
        scale: Scale,
        what: impl FnOnce() -> String,
        base: Option<u64>,
        new: Option<u64>,
    ) {
        let (Some(base), Some(new)) = (base, new) else {
            return;
        };
        let (base, new) = (base as f64 / scale.by.base, new as f64 / scale.by.new);
        if (base - new).abs() > scale.within * base.max(new).max(1.0) {
            let (what, sides) = (what(), Sides { base, new });
            self.differing.push(Count { part, what, sides });
        } else {
            self.equal += 1;
        }
    }

    /// Counts that differ, the program's work first.
    pub(super) fn sorted(mut self) -> Vec<Count> {
        self.differing.sort_by_key(|count| !count.is_work());
        self.differing
    }

    /// Compares all counts of two runs.
    pub(super) fn evidence(&mut self, scale: Scale, base: &Evidence, new: &Evidence) {
        if let (Some(base), Some(new)) = (&base.syscalls, &new.syscalls) {
            self.calls_seen = true;
            self.calls(scale, base, new);
        }
        for CacheCount { compared, of, .. } in Cache::COUNTS {
            if let Some(what) = compared {
                let (base, new) = (of(&base.cache), of(&new.cache));
                self.hold(Part::Cache, scale, || what.to_owned(), base, new);
            }
        }
        if let (Some(base), Some(new)) = (base.exact_device(), new.exact_device()) {
            self.device(scale, base, new);
        }
    }

    /// Compares calls by name. A call missing on one side counts as 0: calls were observed.
    pub(super) fn calls(&mut self, scale: Scale, base: &CallCounts, new: &CallCounts) {
        let later = new.keys().filter(|name| !base.contains_key(*name));
        for name in base.keys().chain(later) {
            let of = |calls: &CallCounts| calls.get(name).copied();
            let (base, new) = (of(base).unwrap_or_default(), of(new).unwrap_or_default());
            let part = if waits(name) {
                Part::Waits
            } else {
                Part::Calls
            };
            for (noun, base, new) in [
                ("calls", base.count, new.count),
                ("errors", base.errors, new.errors),
                ("bytes", base.bytes, new.bytes),
            ] {
                let what = || format!("{name} {noun}");
                self.hold(part, scale, what, Some(base), Some(new));
            }
        }
    }

    fn device(&mut self, scale: Scale, base: &DeviceCounts, new: &DeviceCounts) {
        for cause in Cause::with_data() {
            let (base, new) = (base.of(cause), new.of(cause));
            for (noun, base, new) in [
                ("requests", base.count, new.count),
                ("bytes", base.bytes, new.bytes),
            ] {
                let what = || format!("{} {noun}", cause.singular());
                self.hold(Part::Device, scale, what, Some(base), Some(new));
            }
        }
        let flushes = || "flushes".to_owned();
        let (base, new) = (Some(base.flushes), Some(new.flushes));
        self.hold(Part::Device, scale, flushes, base, new);
    }
}

/// Whether a call waits for an event. The number of repetitions depends on timing: runs of the same
/// program differ in it.
fn waits(call: &str) -> bool {
    is_one_of(
        "io_uring_enter io_getevents futex futex_waitv poll ppoll select pselect6 epoll_wait \
         epoll_pwait epoll_pwait2 wait4 waitid nanosleep clock_nanosleep sched_yield \
         restart_syscall",
        call,
    )
}
