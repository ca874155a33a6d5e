//! `/proc/PID/io`: what any user may see of their own processes. Source: `proc_pid_io(5)`.

use std::collections::BTreeMap;
use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use super::{Dirty, Interval, Own, OwnCost, Process, SCHEMA, Sort, Totals, Work};
use crate::environment::Backend;
use crate::gap::{Countable, Gap, Missing, Reason};
use crate::timing::seconds;

/// What a process did in an interval, as `/proc/PID/io` counts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ProcessIo {
    /// Bytes that calls read, also from pipes and terminals.
    pub rchar_bytes: u64,
    /// Bytes that calls wrote, also to pipes and terminals.
    pub wchar_bytes: u64,
    /// Calls that read.
    pub syscr: u64,
    /// Calls that wrote.
    pub syscw: u64,
    /// Bytes that it had the disk read.
    pub read_bytes: u64,
    /// Bytes of pages that it turned dirty, which the disk is to write.
    pub write_bytes: u64,
    /// Bytes of these that were never written, as their file was truncated.
    pub cancelled_write_bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sample {
    /// Its start, clock ticks since boot: tells it from a later one with its number.
    pub started_ticks: u64,
    /// Name of its first thread.
    pub name: String,
    pub io: ProcessIo,
}

/// All processes that can be inspected, at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Samples {
    /// Nanoseconds since 1970.
    pub at_ns: u64,
    /// Clock ticks since boot.
    pub at_ticks: u64,
    /// By number.
    pub processes: BTreeMap<u32, Sample>,
    /// Processes that cannot be inspected.
    pub refused: u64,
    /// Dirty at that moment.
    pub dirty: Option<Dirty>,
    pub own: Own,
}

impl AddAssign for ProcessIo {
    fn add_assign(&mut self, more: Self) {
        *self = self.with(more, u64::saturating_add);
    }
}

impl ProcessIo {
    /// From the text of the file; `None` where a counter is missing.
    pub fn parse(text: &str) -> Option<Self> {
        let field = |name: &str| {
            let mut lines = text.lines();
            let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            value?.trim().parse().ok()
        };
        Some(Self {
            rchar_bytes: field("rchar")?,
            wchar_bytes: field("wchar")?,
            syscr: field("syscr")?,
            syscw: field("syscw")?,
            read_bytes: field("read_bytes")?,
            write_bytes: field("write_bytes")?,
            cancelled_write_bytes: field("cancelled_write_bytes")?,
        })
    }

    /// Each counter of both, joined.
    fn with(self, other: Self, join: fn(u64, u64) -> u64) -> Self {
        Self {
            rchar_bytes: join(self.rchar_bytes, other.rchar_bytes),
            wchar_bytes: join(self.wchar_bytes, other.wchar_bytes),
            syscr: join(self.syscr, other.syscr),
            syscw: join(self.syscw, other.syscw),
            read_bytes: join(self.read_bytes, other.read_bytes),
            write_bytes: join(self.write_bytes, other.write_bytes),
            cancelled_write_bytes: join(self.cancelled_write_bytes, other.cancelled_write_bytes),
        }
    }

    pub(super) fn weight(&self, sort: Sort) -> f64 {
        let sum = |one: u64, other: u64| one.saturating_add(other);
        let count = match sort {
            Sort::Calls => sum(self.syscr, self.syscw),
            Sort::Read => self.rchar_bytes,
            Sort::Written => self.wchar_bytes,
            Sort::Dirtied => self.write_bytes,
            Sort::Device | Sort::Time | Sort::Syncs | Sort::Missed => {
                sum(self.read_bytes, self.write_bytes)
            }
        };
        count as f64
    }
}

/// The interval between two moments, of processes that were there at both or have begun since.
pub fn of_samples(before: &Samples, now: &Samples, why: &str) -> Interval {
    let row = |(pid, sample): (&u32, &Sample)| {
        let same = before.processes.get(pid);
        let same = same.filter(|same| same.started_ticks == sample.started_ticks);
        // What a process that existed and could not be inspected did in this interval is unknown.
        let is_new = sample.started_ticks >= before.at_ticks;
        let earlier = same.map(|same| same.io);
        let earlier = earlier.or_else(|| is_new.then(ProcessIo::default))?;
        let io = sample.io.with(earlier, u64::saturating_sub);
        (io != ProcessIo::default()).then(|| Process {
            pid: *pid,
            name: Some(sample.name.clone()),
            parent_pid: None,
            cgroup: None,
            is_iostrata: *pid == now.own.process,
            busiest_file: None,
            work: Work::default(),
            io: Some(io),
        })
    };
    let mut processes: Vec<Process> = now.processes.iter().filter_map(row).collect();
    let weight = |row: &Process| row.io.map_or(0.0, |io| io.weight(Sort::Device));
    processes.sort_by(|one, other| weight(other).total_cmp(&weight(one)));
    let why = Reason::Error(why.to_owned());
    let mut missing = vec![Gap::new(Missing::StrataOfTop, why)];
    let others = Gap::counted(
        now.refused,
        Countable::OthersProcesses,
        Reason::ProcessIoDenied,
    );
    missing.extend(others);
    Interval {
        schema: SCHEMA.to_owned(),
        backend: Backend::None,
        ways: Vec::new(),
        started_ns: before.at_ns,
        interval_s: seconds(now.at_ns.saturating_sub(before.at_ns)),
        own: OwnCost {
            pid: now.own.process,
            cpu_s: seconds(now.own.cpu_ns.saturating_sub(before.own.cpu_ns)),
            peak_resident_bytes: now.own.peak_resident_bytes,
        },
        totals: Totals {
            dirty: now.dirty,
            ..Totals::default()
        },
        processes,
        files: Vec::new(),
        directories: Vec::new(),
        cgroups: Vec::new(),
        containers: Vec::new(),
        devices: Vec::new(),
        syncs: Vec::new(),
        lost_events: 0,
        missing,
    }
}
