//! Counts: exact, and so the same or not the same.

use std::collections::BTreeMap;
use std::iter;

use serde::{Deserialize, Serialize};

use super::Sides;
use crate::evidence::{Cache, CacheCount, CallCount, DeviceCounts, Evidence, OfCause};
use crate::trace::{direction, is_open, is_sync};

/// A count that differs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Count {
    /// Who decides it.
    pub part: Part,
    /// What is counted, such as `fsync calls` or `data bytes`.
    pub what: String,
    /// The count on either side: of the run, or of one sync where the run was as long as its
    /// time.
    #[serde(flatten)]
    pub sides: Sides<f64>,
}

impl Count {
    /// Whether it is one of calls that open, read, write or sync, or of their bytes: the work
    /// that a program has its files for.
    pub fn is_work(&self) -> bool {
        self.what.rsplit_once(' ').is_some_and(|(name, noun)| {
            let is_call = is_open(name) || is_sync(name) || direction(name).is_some();
            self.part == Part::Calls && is_call && noun != "errors"
        })
    }
}

/// Who decides a count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// The program: its calls and what they moved.
    Calls,
    /// The program and the time others take: calls that wait, as often as they are woken.
    Waits,
    /// The page cache and write-back: their timing is part of it.
    Cache,
    /// The file system.
    Filesystem,
    /// The file system's and write-back's timing, and others who use the disk, too.
    Device,
}

/// Counts of two runs, held against each other.
#[derive(Debug, Clone, Default)]
pub(super) struct Counts {
    pub(super) differing: Vec<Count>,
    pub(super) equal: usize,
    /// Whether calls were seen on both sides.
    pub(super) calls_seen: bool,
}

/// How counts are held against each other.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scale {
    /// What the counts of either side are divided by.
    pub(super) by: Sides<f64>,
    /// Quotients that differ by no more than this part are the same; below 1, by this much.
    pub(super) within: f64,
}

impl Scale {
    /// Counts of whole runs, which are the same or are not.
    pub(super) const RUN: Self = Self {
        by: Sides {
            base: 1.0,
            new: 1.0,
        },
        within: 0.0,
    };
}

impl Counts {
    /// Compares one count; one that was not seen on either side is not compared.
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

    /// Those that differ, the work of the program first.
    pub(super) fn sorted(mut self) -> Vec<Count> {
        self.differing.sort_by_key(|count| !count.is_work());
        self.differing
    }

    /// Compares all that was counted for two runs.
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
        if let (Some(base), Some(new)) = (&base.device, &new.device) {
            self.device(scale, base, new);
        }
    }

    /// Compares calls by name. A call that one side did not make is 0 there: calls were seen.
    pub(super) fn calls(
        &mut self,
        scale: Scale,
        base: &BTreeMap<String, CallCount>,
        new: &BTreeMap<String, CallCount>,
    ) {
        let later = new.keys().filter(|name| !base.contains_key(*name));
        for name in base.keys().chain(later) {
            let of = |calls: &BTreeMap<String, CallCount>| calls.get(name).copied();
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
        let read: (&str, OfCause) = ("read", |device| device.reads);
        for (cause, of) in iter::once(read).chain(DeviceCounts::WRITES) {
            let (base, new) = (of(base), of(new));
            for (noun, base, new) in [
                ("requests", base.count, new.count),
                ("bytes", base.bytes, new.bytes),
            ] {
                let what = || format!("{cause} {noun}");
                self.hold(Part::Device, scale, what, Some(base), Some(new));
            }
        }
        let flushes = || "flushes".to_owned();
        let (base, new) = (Some(base.flushes), Some(new.flushes));
        self.hold(Part::Device, scale, flushes, base, new);
    }
}

/// Whether a call waits for something to happen. How often it must be made to see it happen is a
/// matter of time: runs of the same program differ in it.
fn waits(call: &str) -> bool {
    matches!(
        call,
        "io_uring_enter"
            | "io_getevents"
            | "futex"
            | "futex_waitv"
            | "poll"
            | "ppoll"
            | "select"
            | "pselect6"
            | "epoll_wait"
            | "epoll_pwait"
            | "epoll_pwait2"
            | "wait4"
            | "waitid"
            | "nanosleep"
            | "clock_nanosleep"
            | "sched_yield"
            | "restart_syscall"
    )
}
