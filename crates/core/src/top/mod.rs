//! The result of `iostrata top`, interval by interval: `iostrata.top/1`.
//!
//! The observer passes what it [`Counted`]; [`assemble()`] makes an [`Interval`] of it.

mod assemble;
mod causes;
mod commits;
mod container;
mod counted;
mod disks;
mod figures;
mod process_io;
mod scope;
mod select;
mod sums;
#[cfg(test)]
pub(crate) mod tests;

use serde::{Deserialize, Serialize};

use crate::environment::{Backend, Way};
use crate::evidence::CallStats;
use crate::gap::Gap;

pub use assemble::assemble;
pub use causes::{Causes, Latencies, Latency, Requests};
pub use commits::{Awaited, CommitPart, CommitWait, Commits, Part, Transaction};
pub use container::{container_id, container_of};
pub use counted::{Actor, Counted, Disk, Named, Own, RequestRow, Share, Strata};
pub use figures::{CallFigures, Calls, FileRequests, Pages, RequestFigures, Work};
pub use process_io::{ProcessIo, Sample, Samples, of_samples};
pub use scope::Scope;
pub use select::{By, Selection, Sort};
pub use sums::{Did, FileKey, ProcessKey, Slots, Sums};

/// The schema name written into every interval.
pub const SCHEMA: &str = "iostrata.top/1";

/// What all processes of the machine did with files in one interval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Interval {
    pub schema: String,
    /// What observed: `ebpf`, or `none` for `/proc/PID/io` alone.
    pub backend: Backend,
    /// How each stratum was observed in the kernel; empty if nothing was loaded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ways: Vec<Way>,
    /// Begin of the interval, nanoseconds since 1970.
    pub started_ns: u64,
    /// Its length, seconds. Rates are counts by this.
    pub interval_s: f64,
    /// Of iostrata itself, which has a row among the processes, too.
    pub own: OwnCost,
    /// Calls and page cache of all processes, and all requests by their cause.
    pub totals: Totals,
    /// By process, most bytes of requests first, then most time in calls.
    pub processes: Vec<Process>,
    /// By file, in the same order.
    pub files: Vec<File>,
    /// By directory, of the files in it.
    pub directories: Vec<Directory>,
    /// By cgroup (version 2).
    pub cgroups: Vec<Cgroup>,
    /// By container, of the cgroups that engines name after one.
    pub containers: Vec<Container>,
    pub devices: Vec<Device>,
    /// Who waited for syncs, most time first, and what the file system did meanwhile.
    pub syncs: Vec<SyncWait>,
    pub lost_events: u64,
    pub missing: Vec<Gap>,
}

impl SyncWait {
    /// Time in syncs and in synchronous writes, seconds.
    pub fn time_s(&self) -> f64 {
        self.both().map(|stats| stats.time_s).sum()
    }

    /// Syncs and synchronous writes.
    pub fn count(&self) -> u64 {
        self.both()
            .map(|stats| stats.count)
            .fold(0, u64::saturating_add)
    }

    fn both(&self) -> impl Iterator<Item = CallStats> {
        let writes = self.synchronous_writes.into_iter();
        writes.chain([self.syncs]).map(|calls| calls.stats)
    }
}

impl Interval {
    /// So many in the interval, per second.
    pub fn per_second(&self, count: u64) -> f64 {
        self.share(count as f64)
    }

    /// Bytes in the interval, per second.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a cast to u64 saturates, and a rate is not negative"
    )]
    pub fn bytes_per_second(&self, bytes: u64) -> u64 {
        self.per_second(bytes).round() as u64
    }

    /// What part of the interval a time is; above 1 for that of several threads.
    pub fn share(&self, time_s: f64) -> f64 {
        if self.interval_s > 0.0 {
            time_s / self.interval_s
        } else {
            0.0
        }
    }
}

/// What iostrata costs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct OwnCost {
    pub pid: u32,
    /// CPU time of its threads in the interval, seconds. What its eBPF programs take is part of the
    /// calls that they count.
    pub cpu_s: f64,
    /// Most memory that was resident since its start, bytes.
    pub peak_resident_bytes: u64,
}

/// Sums of the interval.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Totals {
    /// System calls on files, directories and block devices; `null` where they were not observed.
    pub calls: Option<Calls>,
    /// Page cache; `null` where it was not observed.
    pub cache: Option<Pages>,
    /// Block requests; `null` where they were not observed.
    pub requests: Option<Causes>,
    /// Dirty at the end of the interval; `null` where the kernel did not say.
    pub dirty: Option<Dirty>,
}

/// Pages of files that differ from the disk, at one moment (`/proc/meminfo`, `proc_meminfo(5)`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Dirty {
    /// Waiting to be written.
    pub waiting_bytes: u64,
    /// Being written.
    pub writeback_bytes: u64,
}

/// One process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Process {
    /// Its number; 0 for all that are outside this PID namespace.
    pub pid: u32,
    /// Name of its first thread; `null` when unknown.
    pub name: Option<String>,
    /// Who started it; `null` when unknown.
    pub parent_pid: Option<u32>,
    /// Path of its cgroup (version 2); `null` when unknown.
    pub cgroup: Option<String>,
    pub is_iostrata: bool,
    /// The file of which it has most bytes of requests, then most time in calls; `null` when no file
    /// is known.
    pub busiest_file: Option<String>,
    #[serde(flatten)]
    pub work: Work,
    /// What `/proc/PID/io` says, where nothing else does.
    pub io: Option<ProcessIo>,
}

/// One file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct File {
    /// Absolute path; `null` when unknown, and in the row of all calls that name no open file.
    pub path: Option<String>,
    /// The path in hexadecimal, when `path` has replaced bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_hex: Option<String>,
    /// Device, `major:minor`; `null` in the row of all calls that name no open file.
    pub device_number: Option<String>,
    /// Inode number; `null` in the row of all calls that name no open file.
    pub inode: Option<u64>,
    /// Type of its file system; `null` when unknown.
    pub filesystem: Option<String>,
    /// The disk; `null` when there is none, or it is unknown.
    pub disk: Option<String>,
    /// Processes that used it, most time in calls first.
    pub pids: Vec<u32>,
    #[serde(flatten)]
    pub work: Work,
}

/// The files of one directory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Directory {
    /// Its path; `null` for all files whose path is unknown.
    pub path: Option<String>,
    /// Files that were used.
    pub files: u64,
    /// What was done with them.
    #[serde(flatten)]
    pub work: Work,
}

/// The processes of one cgroup.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Cgroup {
    /// Its path below the mount point; `null` for processes of which it is unknown.
    pub path: Option<String>,
    /// Processes that used files.
    pub processes: u64,
    #[serde(flatten)]
    pub work: Work,
}

/// The processes of one container.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Container {
    /// Its ID, 64 digits.
    pub id: String,
    /// Path of the cgroup of its busiest process: its own, or one below that.
    pub cgroup: String,
    /// Processes that used files.
    pub processes: u64,
    #[serde(flatten)]
    pub work: Work,
}

/// One disk.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Device {
    /// Kernel name: `vda`, `loop0`; its number, `major:minor`, where that is unknown.
    pub name: String,
    /// File systems on it.
    pub filesystems: Vec<FileSystem>,
    #[serde(flatten)]
    pub requests: Causes,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct FileSystem {
    pub kind: String,
    /// Where it is mounted, lossily decoded.
    pub mounted_on: String,
}

/// A process that waited for syncs of a file: in calls that sync, or in writes that do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct SyncWait {
    pub pid: u32,
    /// `null` when unknown.
    pub name: Option<String>,
    /// The file; `null` when unknown.
    pub path: Option<String>,
    #[serde(flatten)]
    pub syncs: CallFigures,
    /// Its synchronous writes: by a descriptor that was opened with `O_SYNC` or `O_DSYNC`, with `RWF_SYNC` or
    /// `RWF_DSYNC`, to a file with the attribute `S` or a file system that is mounted with `sync`; `null` where it
    /// is not known.
    pub synchronous_writes: Option<CallFigures>,
    /// The disk; `null` when unknown.
    pub disk: Option<String>,
    /// Commits of the journal on that disk in the interval; `null` when the disk is unknown.
    pub commits: Option<RequestFigures>,
    /// Flushes of that disk in the interval; `null` when the disk is unknown.
    pub flushes: Option<RequestFigures>,
    /// The commits that these syncs and synchronous writes waited for; `null` where that is not seen: on other file systems than
    /// ext4, or where the kernel does not report it.
    pub commit: Option<Awaited>,
    /// How many other processes wrote to or synced files of the same file system in the interval: a
    /// commit is for all who changed something, so their changes may have been waited for, too.
    pub beside: u64,
    /// Some of them.
    pub beside_pids: Vec<u32>,
}
