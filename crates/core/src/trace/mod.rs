//! The result of `iostrata trace`: `iostrata.trace/1`.

mod assemble;
mod attached;
mod audit;
pub mod budget;
pub mod calls;
mod event;
mod files;
mod finding;
#[cfg(test)]
pub(crate) mod fixture;
mod follow;
mod headline;
mod history;
mod lower;
mod purpose;
mod runs;
mod seen;
mod select;
mod shape;
mod sharing;
mod site;
mod spent;
pub mod tally;
mod tasks;
mod threads;
pub mod timeline;
mod together;

use serde::{Deserialize, Serialize};

use crate::cache::ResidencyMap;
use crate::environment::{Backend, Environment};
use crate::evidence::{CallStats, Evidence};
use crate::gap::{Gap, Stratum};
use crate::law::Law;
use crate::op::FileId;

pub use crate::op::FileKind;
pub use assemble::{Facts, assemble, percentile_s};
pub use attached::{Asked, AskedBy, Attached, Joined, Matched, MatchedBy};
pub use audit::{Judged, accounted_times};
pub use event::{Audience, Did, Event, Located, NameChange, NodeSeen, OpenFile, Writes};
pub use finding::{Basis, Cited, Confidence, Draft, Finding, Remedy, Replayed, Severity, worth_s};
pub use follow::{Followed, Follower, LeftOut};
pub use headline::{AllSyncs, Costs, Headline, Part, Saving, Split, headline};
#[cfg(test)]
pub(crate) use history::Span;
pub use history::{FileHistory, Happened, MOMENTS, NameHolder, Naming};
pub use lower::{AtExit, Lower, ProcessIo, Residency};
pub(crate) use purpose::is_operation;
pub use purpose::{CallGroup, Direction, direction, is_open, is_resize, is_sync};
pub use runs::{Cold, Doubt, Spread, Stayed, TimedRun, TimedRuns};
pub use seen::{Lived, NamedFile, Seen, Task, answers, stores};
pub use select::{Selection, Sort};
pub(crate) use shape::WORTH_A_BUFFER;
pub use shape::{SIZE_BUCKETS, Shape};
pub use sharing::Storage;
pub use site::{CallSites, Site, SiteRow, call_sites};
pub use spent::{InCalls, Spent, spent};
pub use tasks::by_process;
pub use threads::Threads;
pub use timeline::Timeline;
pub use together::{FileGroup, Together, together};

/// The schema name written into every trace result.
pub const SCHEMA: &str = "iostrata.trace/1";

/// A program's run, stratum by stratum.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct TraceResult {
    pub schema: String,
    /// Machine, and the storage of the working directory.
    pub environment: Environment,
    /// The program and its arguments; for an attached process, its command line.
    pub command: Vec<String>,
    /// Process that was adopted with `-p`; `null` when iostrata started the program, or attached to
    /// others than one process.
    pub adopted: Option<u32>,
    /// Running processes that iostrata attached to; `null` when it started the program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attached: Option<Attached>,
    /// Exit code; `null` if a signal ended it, or it was attached to.
    pub exit_code: Option<i32>,
    pub signal: Option<i32>,
    /// Its start, or the time of attaching, nanoseconds of `CLOCK_MONOTONIC`: the clock of the
    /// moments in [`FileHistory`].
    pub started_ns: u64,
    /// Seconds from its start, or from attaching, to its end.
    pub wall_s: f64,
    /// Timed runs before this one, without an observer; `null` when none were requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runs: Option<TimedRuns>,
    pub processes: u64,
    pub threads: u64,
    pub backend: Backend,
    /// Lost events; counts may be too low by this many.
    pub lost_events: u64,
    /// The whole run.
    pub evidence: Evidence,
    /// The laws that could be judged: figures that were counted in two ways.
    pub audit: Vec<Judged>,
    /// The kernel's accounting for the processes, when the events of the lower strata were not
    /// observed: figures of whole processes, not of files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accounts: Option<ProcessIo>,
    /// The operation log that was written; `null` when none was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recording: Option<RecordingRow>,
    pub bytes: Descent,
    /// Calls and requests over time; `null` if there were none.
    pub timeline: Option<Timeline>,
    /// Calls by name, most time first.
    pub syscalls: Vec<CallRow>,
    /// Files, most time first.
    pub files: Vec<FileRow>,
    /// Files missing in `files` because they found no room in the tables, by number of calls.
    pub other_calls: u64,
    /// Files missing in `files` because there were too many, as far as they are remembered: changed
    /// files, and those with the most time, are kept.
    pub summed_files: u64,
    /// Block requests for other programs' files on the same disks meanwhile. They are in no other
    /// figure. `null` when not observed.
    pub other_requests: Option<u64>,
    /// Threads, most time first.
    pub tasks: Vec<TaskRow>,
    /// Paths that were looked up and not found, most often first.
    pub not_found: Vec<NotFound>,
    /// Directories whose names changed.
    pub directories: Vec<DirectoryRow>,
    /// Problems, most severe first.
    pub findings: Vec<Finding>,
    pub missing: Vec<Gap>,
}

/// The same bytes at each stratum. `null` for a stratum that was not observed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Descent {
    /// Bytes that calls read from files and disks; not from pipes, terminals and files that the kernel
    /// makes up.
    pub read_bytes: u64,
    /// Bytes that calls wrote to files and disks, likewise.
    pub written_bytes: u64,
    /// Bytes of the page cache that were dirtied, in whole folios.
    pub dirtied_bytes: Option<u64>,
    pub device_read_bytes: Option<u64>,
    /// Minimum and maximum, when other programs shared the disk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_read_bytes_shared: Option<Bounds>,
    /// Bytes written to the device for it while it ran.
    pub device_written_bytes: Option<u64>,
    /// Minimum and maximum, when other programs shared the disk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_written_bytes_shared: Option<Bounds>,
    /// Bytes that it left dirty, which later programs wait for.
    pub dirty_at_exit_bytes: Option<u64>,
    /// Minimum and maximum, when others dirtied the same files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dirty_at_exit_bytes_shared: Option<Bounds>,
}

impl Descent {
    /// Bytes read from the device; `None` when not observed.
    pub fn device_read(&self) -> Option<Bounds> {
        let exact = self.device_read_bytes.map(Bounds::exactly);
        exact.or(self.device_read_bytes_shared)
    }

    /// Bytes written to the device; `None` when not observed.
    pub fn device_written(&self) -> Option<Bounds> {
        let exact = self.device_written_bytes.map(Bounds::exactly);
        exact.or(self.device_written_bytes_shared)
    }

    /// Bytes left dirty; `None` when not known.
    pub fn dirty_at_exit(&self) -> Option<Bounds> {
        let exact = self.dirty_at_exit_bytes.map(Bounds::exactly);
        exact.or(self.dirty_at_exit_bytes_shared)
    }
}

/// A figure known only as a range.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Bounds {
    /// The part that is certainly the run's.
    pub at_least: u64,
    /// Everything that may be the run's.
    pub at_most: u64,
}

impl Bounds {
    pub fn exactly(figure: u64) -> Self {
        Self {
            at_least: figure,
            at_most: figure,
        }
    }

    /// The figure, if minimum and maximum are equal.
    pub fn exact(self) -> Option<u64> {
        (self.at_least == self.at_most).then_some(self.at_least)
    }

    /// As a result has it: the figure, or where it is not exact its range.
    pub(crate) fn told(bounds: Option<Self>) -> (Option<u64>, Option<Self>) {
        let exact = bounds.and_then(Self::exact);
        (exact, bounds.filter(|_| exact.is_none()))
    }

    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            at_least: self.at_least.saturating_add(other.at_least),
            at_most: self.at_most.saturating_add(other.at_most),
        }
    }
}

impl From<(u64, u64)> for Bounds {
    fn from((at_least, at_most): (u64, u64)) -> Self {
        Self { at_least, at_most }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct RecordingRow {
    pub path: String,
    pub bytes: u64,
    pub operations: u64,
    /// Number of times that a process was stopped until its bytes had been read.
    pub stops: u64,
    /// Why it is not complete; empty when every change is in it.
    pub incomplete_because: Vec<Gap>,
}

/// One system call, over all files.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct CallRow {
    /// System call, or `io_uring.<operation>`.
    pub name: String,
    #[serde(flatten)]
    pub stats: CallStats,
    /// Part of its time blocked, seconds; `null` when not observed.
    pub blocked_s: Option<f64>,
    /// Part of it in which no other thread of the run ran, waited for a CPU, or slept for a time that
    /// it had set, seconds: without these calls the run is shorter by no more. `null` when not
    /// observed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alone_s: Option<f64>,
    /// Median time of one call, seconds, from a histogram in powers of two.
    pub p50_s: Option<f64>,
    /// 99th percentile, same source.
    pub p99_s: Option<f64>,
    /// That histogram: number of calls that took 2^n to 2^(n+1) - 1 ns at index n, up to the last
    /// that is not 0. Only in the sum over all files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub took: Vec<u64>,
    /// Begin of the first, seconds after the start of the run; absent when not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_s: Option<f64>,
    /// End of the last, seconds after the start of the run; absent when not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_s: Option<f64>,
}

impl CallRow {
    /// Adds the same call on another file; their percentiles cannot be joined.
    pub(crate) fn add(&mut self, more: &Self) {
        self.stats += more.stats;
        let blocked = self.blocked_s.zip(more.blocked_s);
        self.blocked_s = blocked.map(|(one, other)| one + other);
        let alone = self.alone_s.zip(more.alone_s);
        self.alone_s = alone.map(|(one, other)| one + other);
        (self.p50_s, self.p99_s) = (None, None);
        self.took.clear();
        let firsts = self.first_s.zip(more.first_s);
        self.first_s = firsts.map(|(one, other)| one.min(other));
        let lasts = self.last_s.zip(more.last_s);
        self.last_s = lasts.map(|(one, other)| one.max(other));
    }

    /// From the begin of the first to the end of the last, seconds after the start of the run.
    pub fn span_s(&self) -> Option<(f64, f64)> {
        self.first_s.zip(self.last_s)
    }
}

/// One call on one file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct FileCall {
    #[serde(flatten)]
    pub row: CallRow,
    /// Whether the call read from this file to write to another, where it is counted too.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_source: bool,
    /// The shape of the transfers; `null` for calls that move no bytes of a regular file.
    pub shape: Option<Box<Shape>>,
    /// Its call sites, most time first; empty when it took no time, and when sites were not
    /// requested.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub sites: Vec<Site>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_false(value: &bool) -> bool {
    !value
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct FileRow {
    /// Absolute path at the first use; invalid bytes are replaced.
    pub path: String,
    /// The path in hexadecimal, when `path` has replaced bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_hex: Option<String>,
    /// Last path it was renamed to.
    pub renamed_to: Option<String>,
    /// Whether no name led to it when the program first used it, nor later: another file may have that path.
    pub deleted: bool,
    pub kind: FileKind,
    /// Device, `major:minor`.
    pub device: String,
    pub inode: u64,
    /// Generation of that inode number.
    pub generation: u32,
    pub filesystem: String,
    /// Length at the first use, bytes.
    pub size_before_bytes: u64,
    pub opens: u64,
    pub reads: CallStats,
    pub writes: CallStats,
    pub syncs: CallStats,
    pub calls: Vec<FileCall>,
    /// Page cache and device, for this file.
    pub evidence: Evidence,
    /// Bytes of it that the program left dirty or under write-back; `null` when unknown.
    pub dirty_at_exit_bytes: Option<u64>,
    /// Minimum and maximum, when others dirtied it too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dirty_at_exit_bytes_shared: Option<Bounds>,
    /// Its page-cache residency after the program's end, for the regular files with the most time;
    /// `None` for others, and where no interface is permitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub residency: Option<ResidencyMap>,
    /// Its history; `null` when it was not changed.
    pub history: Option<Box<FileHistory>>,
}

impl FileRow {
    /// As the kernel side knows it; on overlayfs and btrfs it is shown as another.
    pub fn id(&self) -> Option<FileId> {
        let (major, minor) = self.device.split_once(':')?;
        Some(FileId {
            device: FileId::kernel_device(major.parse().ok()?, minor.parse().ok()?),
            inode: self.inode,
            generation: self.generation,
        })
    }

    /// Bytes left dirty; `None` when not known.
    pub fn dirty_at_exit(&self) -> Option<Bounds> {
        let exact = self.dirty_at_exit_bytes.map(Bounds::exactly);
        exact.or(self.dirty_at_exit_bytes_shared)
    }

    /// Time in all calls on it, seconds.
    pub fn time_s(&self) -> f64 {
        self.calls.iter().map(|call| call.row.stats.time_s).sum()
    }

    /// From the begin of the first call on it to the end of the last, seconds after the start of the
    /// run; `None` where it had none, or where that is not known of all.
    pub fn span_s(&self) -> Option<(f64, f64)> {
        let spans: Option<Vec<(f64, f64)>> =
            self.calls.iter().map(|call| call.row.span_s()).collect();
        spans?
            .into_iter()
            .reduce(|(first, last), (more, until)| (first.min(more), last.max(until)))
    }
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct TaskRow {
    pub thread: u32,
    pub process: u32,
    /// Process that created it.
    pub parent: u32,
    /// Its name; a program can set it to any text.
    pub name: String,
    /// Start, seconds after the run's.
    pub started_s: f64,
    /// End, seconds after the run's start; `null` when it outlived the observation.
    pub ended_s: Option<f64>,
    pub on_cpu_s: Option<f64>,
    pub calls: u64,
    /// Time in calls on files, seconds.
    pub time_s: f64,
    /// Part of it blocked, seconds.
    pub blocked_s: Option<f64>,
    pub read_bytes: u64,
    pub written_bytes: u64,
}

/// A path that was looked up and does not exist.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct NotFound {
    pub path: String,
    /// Calls that looked it up.
    pub count: u64,
}

/// A directory whose names changed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct DirectoryRow {
    pub path: String,
    /// Names created: files, directories, links.
    pub made: u64,
    /// Names renamed into or out of it.
    pub renamed: u64,
    /// Renames over an existing file whose new contents had not been synced.
    pub renamed_unsynced: u64,
    /// Names removed.
    pub removed: u64,
    /// `fsync` calls on the directory.
    pub syncs: u64,
    /// Names changed since the last `fsync` of the directory, at the end of the run.
    pub unsynced_names: u64,
    /// The last empty directory created in it whose creator reported something to the outside, and
    /// whose name was not durable at the end of the run.
    pub unsynced_directory: Option<String>,
}

impl TraceResult {
    /// Laws that do not hold.
    pub(crate) fn broken_laws(&self) -> impl Iterator<Item = Law> {
        let broken = self.audit.iter().filter(|judged| !judged.holds);
        broken.map(|judged| judged.law)
    }

    /// The first of them about this.
    pub fn broken_law(&self, about: Stratum) -> Option<Law> {
        let mut broken = self.broken_laws();
        broken.find(|law| audit::covers(*law) == about)
    }

    /// Bytes that the device wrote per byte that calls wrote. `None` unless both concern the same
    /// bytes: the device's writes are known exactly, most of what the run dirtied was written while
    /// it ran, and nothing else was written as file contents.
    ///
    /// A program that never syncs leaves its bytes to write-back; meanwhile the device writes
    /// earlier bytes of others, unrelated to its own.
    pub fn amplification(&self) -> Option<f64> {
        let bytes = &self.bytes;
        let device = self.evidence.exact_device()?;
        let (written, dirtied) = (bytes.written_bytes, bytes.dirtied_bytes?);
        let dirty = bytes.dirty_at_exit()?;
        let left = dirtied.saturating_sub(dirty.at_least);
        // A folio is dirtied as a whole, but only its dirty blocks are written.
        let is_written =
            dirty.at_most <= dirtied / 10 && device.data.bytes >= left.min(written) / 2;
        // Direct I/O dirties no page.
        let is_its_own = device.data.bytes <= dirtied.saturating_add(written);
        // Stores to a mapping are not bytes of calls.
        let is_mapped = self.files.iter().any(|file| {
            let history = file.history.as_deref();
            history.is_some_and(|history| history.mapped_to_write.is_any())
        });
        let is_known = self.other_calls == 0 && written > 0 && device.data.bytes > 0;
        (is_known && is_written && is_its_own && !is_mapped).then(|| {
            bytes
                .device_written_bytes
                .map(|all| all as f64 / written as f64)
        })?
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::{DeviceCounts, RequestCount};

    /// 1,000 bytes written by calls, one page, and a journal of two.
    fn synced() -> TraceResult {
        let request = |count, bytes| RequestCount {
            count,
            bytes,
            time_s: 0.0,
        };
        let mut run = fixture::result();
        run.evidence.device = Some(
            DeviceCounts {
                data: request(1, 4096),
                journal: request(1, 8192),
                ..DeviceCounts::default()
            }
            .into(),
        );
        run.bytes = Descent {
            written_bytes: 1000,
            dirtied_bytes: Some(4096),
            device_written_bytes: Some(12_288),
            dirty_at_exit_bytes: Some(0),
            dirty_at_exit_bytes_shared: None,
            ..Descent::default()
        };
        run
    }

    #[test]
    fn what_was_synced_is_amplified() {
        assert_eq!(synced().amplification(), Some(12.288));
    }

    #[test]
    fn bytes_of_others_are_no_amplification() {
        let mut shared = synced();
        let device = shared.evidence.device.as_mut().unwrap();
        device.at_least = DeviceCounts::default();
        assert_eq!(shared.amplification(), None, "a range");
        let mut earlier = synced();
        if let Some(device) = &mut earlier.evidence.device {
            device.at_least.data.bytes = 1_321_000;
            device.at_most.data.bytes = 1_321_000;
        }
        earlier.bytes.device_written_bytes = Some(1_321_000);
        assert_eq!(earlier.amplification(), None, "more than it made dirty");
    }

    #[test]
    fn what_is_still_dirty_or_was_removed_is_no_amplification() {
        let mut unpaid = synced();
        unpaid.bytes.dirty_at_exit_bytes = Some(4096);
        assert_eq!(unpaid.amplification(), None);
        let mut removed = synced();
        if let Some(device) = &mut removed.evidence.device {
            device.at_least.data = RequestCount::default();
            device.at_most.data = RequestCount::default();
        }
        assert_eq!(removed.amplification(), None, "metadata alone");
    }

    #[test]
    fn stores_to_a_mapping_are_no_writes() {
        let mut mapped = synced();
        let mut file = fixture::file("/srv/map");
        file.history = Some(Box::new(FileHistory {
            mapped_to_write: Happened {
                count: 1,
                ..Happened::default()
            },
            ..FileHistory::default()
        }));
        mapped.files = vec![file];
        assert_eq!(mapped.amplification(), None);
    }
}
