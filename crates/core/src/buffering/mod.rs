//! `lab buffering`: when do written bytes leave the program, and when are they durable?

mod answers;
mod runtime;
mod timeline;

use serde::{Deserialize, Serialize};

use crate::bytes;
use crate::evidence::RequestsPer;
use crate::gap::Missing;
use crate::judge::Judged;
use crate::lab::{self, ExperimentResult, Joined, OwnCost, Row, Stamp, Stamped};
pub use answers::{answers, replies};
pub use runtime::{Buffer, RuntimeBuffer, RuntimeCall, calls_on, user_buffer};
pub use timeline::{Step, Timeline, Written, durable_bytes};

/// The question the experiment answers.
pub const QUESTION: &str = "when do written bytes leave the program, and when are they durable?";

/// Size of the user-space buffer of the buffered modes, bytes: what Ruby and
/// Python (before 3.14) use.
pub const APPLICATION_BUFFER_BYTES: u64 = 8192;

/// Writes per sync in `group_fsync`.
pub const GROUP_WRITES: u64 = 100;

names! {
    /// How each record is written.
    pub enum Mode {
        /// Into a user-space buffer that is written when full and at the end.
        Buffered = "buffered",
        /// The buffer is flushed after every record: one `write` each.
        Flush = "flush",
        /// `write` and `fsync` each.
        Fsync = "fsync",
        /// `write` and `fdatasync` each.
        Fdatasync = "fdatasync",
        /// File opened with `O_SYNC`.
        OSync = "o_sync",
        /// File opened with `O_DSYNC`.
        ODsync = "o_dsync",
        /// `pwritev2` with `RWF_DSYNC`.
        RwfDsync = "rwf_dsync",
        /// `write` and `sync_file_range` each: starts and awaits write-back, but
        /// asks for neither metadata nor a device flush, so it is **not durable**.
        SyncFileRange = "sync_file_range",
        /// Buffered, then one `fsync` at the end.
        FinalFsync = "final_fsync",
        /// Group commit: buffered, one `fsync` per [`GROUP_WRITES`] records.
        GroupFsync = "group_fsync",
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(rename = "BufferingCase"))]
pub struct Case {
    pub mode: Mode,
    /// Bytes per record.
    pub size_bytes: u64,
    /// Records.
    pub count: u64,
}

impl lab::Case for Case {
    const EXPERIMENT: &'static str = "buffering";

    fn label(&self) -> String {
        let (mode, size) = (self.mode.as_str(), bytes::short(self.size_bytes));
        format!("{mode}, {} × {size}", bytes::grouped(self.count))
    }
}

/// The result of the experiment; runtimes that are not installed are listed as missing.
pub type BufferingResult = ExperimentResult<BufferingRow, Seen, OwnCost>;

/// The parts of the result besides rows and answers.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Seen {
    /// When bytes became visible and durable, per mode and target.
    pub timelines: Vec<Timeline>,
    /// The buffering of the language runtimes found here.
    pub runtimes: Vec<RuntimeBuffer>,
}

/// A row with its derived figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct BufferingRow {
    #[serde(flatten)]
    pub row: Row<Case>,
    /// Figures per record, computed from timing and evidence.
    pub per_write: PerWrite,
    /// System memory before and after the observed run.
    pub memory: Option<MemoryChange>,
}

/// Figures of a row divided by its records. `null` where the evidence is missing.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct PerWrite {
    /// Median elapsed time, seconds.
    pub real_s: Option<f64>,
    /// Records per second, from the median time.
    pub writes_per_s: Option<f64>,
    /// Bytes per writing system call.
    pub bytes_per_syscall: Option<f64>,
    pub dirtied_pages: Option<f64>,
    #[serde(flatten)]
    pub requests: RequestsPer<f64>,
    /// Bytes written to the device while the program ran.
    pub device_bytes: Option<f64>,
    /// `device_bytes` over record size.
    pub amplification: Option<f64>,
    /// Bytes written to the device after the program had ended, per record.
    pub unpaid_bytes: Option<f64>,
}

/// `/proc/meminfo` and the block device's own pages, bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Memory {
    /// `Dirty`.
    pub dirty_bytes: u64,
    /// `Writeback`.
    pub writeback_bytes: u64,
    /// `Buffers`: pages of block devices, which hold metadata.
    pub buffers_bytes: u64,
    /// `Cached` and `SReclaimable`, what `free -w` calls cache.
    pub cache_bytes: u64,
    /// Resident pages of the target's block device (`cachestat`), a part of `Buffers`.
    pub device_pages_bytes: Option<u64>,
}

/// Memory around the observed run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct MemoryChange {
    /// Before the first write.
    pub before: Memory,
    /// After the last write, before write-back.
    pub after: Memory,
}

impl BufferingRow {
    /// Computes the figures per record.
    pub fn new(row: Row<Case>, memory: Option<MemoryChange>) -> Self {
        let per_write = per_write(&row);
        Self {
            row,
            per_write,
            memory,
        }
    }
}

impl Judged for BufferingRow {
    type Case = Case;
    type Kind = Mode;
    const UNIT: &'static str = "record";

    fn row(&self) -> &Row<Case> {
        &self.row
    }

    fn kind(&self) -> Mode {
        self.row.case.mode
    }

    fn size_bytes(&self) -> u64 {
        self.row.case.size_bytes
    }

    fn name(&self) -> String {
        self.row.case.mode.as_str().to_owned()
    }

    fn timed(&self) -> u64 {
        self.row.case.count
    }

    fn observed(&self) -> u64 {
        self.row.case.count
    }
}

fn per_write(row: &Row<Case>) -> PerWrite {
    let records = row.case.count as f64;
    let evidence = &row.evidence;
    let device = evidence.exact_device();
    let each = |count: u64| count as f64 / records;
    let device_bytes = device.map(|d| each(d.writes().bytes));
    let writes = evidence.syscalls.as_ref().map(|calls| {
        calls
            .iter()
            .filter(|(name, _)| is_write(name))
            .fold((0, 0), |(count, bytes), (_, call)| {
                (count + call.count, bytes + call.bytes)
            })
    });
    PerWrite {
        real_s: row.timing.as_ref().map(|timing| timing.median_s / records),
        writes_per_s: row
            .timing
            .as_ref()
            .filter(|t| t.median_s > 0.0)
            .map(|t| records / t.median_s),
        bytes_per_syscall: writes
            .filter(|(count, _)| *count > 0)
            .map(|(count, bytes)| bytes as f64 / count as f64),
        dirtied_pages: evidence
            .cache
            .dirtied_bytes
            .map(|bytes| bytes as f64 / 4096.0 / records),
        requests: RequestsPer::new(|cause| Some(each(device?.of(cause).count))),
        device_bytes,
        amplification: device_bytes.map(|bytes| bytes / row.case.size_bytes as f64),
        unpaid_bytes: evidence
            .exact_device_after_exit()
            .map(|d| each(d.writes().bytes)),
    }
}

fn is_write(name: &str) -> bool {
    matches!(
        name,
        "write" | "pwrite64" | "writev" | "pwritev" | "pwritev2"
    )
}

impl Stamped for BufferingRow {
    fn put_on(&mut self, stamp: &Stamp<'_>) {
        self.row.put_on(stamp);
    }
}

impl Stamped for Seen {
    fn put_on(&mut self, stamp: &Stamp<'_>) {
        for timeline in &mut self.timelines {
            stamp.target(&mut timeline.target);
        }
        for runtime in &mut self.runtimes {
            stamp.machine(&mut runtime.machine);
        }
    }
}

impl Joined for Seen {
    fn join(&mut self, other: Self) -> Option<Missing> {
        self.timelines.extend(other.timelines);
        self.runtimes.extend(other.runtimes);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::answers::fixture::{made, result};
    use super::*;

    #[test]
    fn figures_are_per_record() {
        let row = made(Mode::Fsync, 1)
            .records(500)
            .timed(&[70.0, 72.0, 71.0])
            .asking([1, 2, 1, 0, 2])
            .after_exit([0, 0, 0, 1, 1]);
        let row = result(vec![row]).rows.remove(0);
        let each = row.per_write;
        assert!(each.real_s.is_some_and(|s| (s - 71e-6).abs() < 1e-12));
        assert!(
            each.writes_per_s
                .is_some_and(|rate| (rate - 1e6 / 71.0).abs() < 1e-6)
        );
        assert_eq!(
            (
                each.requests.data,
                each.requests.journal,
                each.requests.commit
            ),
            (Some(1.0), Some(2.0), Some(1.0))
        );
        assert_eq!(
            (each.requests.metadata, each.requests.flushes),
            (Some(0.0), Some(2.0))
        );
        assert_eq!(
            (each.device_bytes, each.amplification),
            (Some(16384.0), Some(16384.0))
        );
        assert_eq!(each.unpaid_bytes, Some(4096.0));
    }

    #[test]
    fn what_was_not_seen_is_not_zero() {
        let row = result(vec![made(Mode::Fsync, 1)]).rows.remove(0);
        assert_eq!(row.per_write, PerWrite::default());
    }
}
