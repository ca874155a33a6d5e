//! `lab sync`: what does one sync cost, and what does the device do for it?

mod answers;
mod latency;
mod projection;
mod series;

use serde::{Deserialize, Serialize};

use crate::bytes;
use crate::evidence::RequestsPer;
use crate::gap::{Missing, Reason};
use crate::judge::Judged;
use crate::lab::{self, ExperimentResult, Joined, Row, Stamp, Stamped};
pub use answers::{answers, replies};
pub use latency::{Bucket, Latency};
pub use projection::{
    Calibration, DEVICES, Device, DeviceError, Figures, Projection, calibrated, parse_device,
    projections, withheld,
};
pub use series::{Second, Series, Steadiness};

/// Requests of others for each sync up to which the counts of a row are its own.
pub(crate) const DISTURBED: f64 = 0.05;

/// The question the experiment answers.
pub const QUESTION: &str = "what does one sync cost, and what does the device do for it?";

names! {
    /// How durability is asked for.
    pub enum SyncCall {
        /// `fsync`(2) after each write.
        Fsync = "fsync",
        /// `fdatasync`(2) after each write.
        Fdatasync = "fdatasync",
        /// File opened with `O_DSYNC`.
        ODsync = "o_dsync",
        /// File opened with `O_SYNC`.
        OSync = "o_sync",
        /// `sync`(2) after each write: every file system of the machine.
        Sync = "sync",
        /// `syncfs`(2) after each write: the whole file system of the file.
        Syncfs = "syncfs",
    }
}

names! {
    /// The state of the blocks before the write. It decides what a sync must make durable
    /// besides the contents, so no row leaves it out.
    pub enum Write {
        /// The file grows by each write.
        Append = "append",
        /// The blocks were written before, and synced.
        Overwrite = "overwrite",
        /// The blocks were allocated by `fallocate`(2) and never written.
        Preallocated = "preallocated",
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(rename = "SyncCase"))]
pub struct Case {
    /// How durability is asked for.
    pub call: SyncCall,
    /// The state of the blocks before the write.
    pub write: Write,
    /// Bytes per write.
    pub size_bytes: u64,
    /// Threads that write and sync at the same time, each its own file.
    pub writers: u64,
}

impl lab::Case for Case {
    const EXPERIMENT: &'static str = "sync";

    fn label(&self) -> String {
        let (call, write) = (self.call.as_str(), self.write.as_str());
        let writers = match self.writers {
            1 => "1 writer".to_owned(),
            several => format!("{} writers", bytes::grouped(several)),
        };
        format!(
            "{call} {write} {}, {writers}",
            bytes::short(self.size_bytes)
        )
    }
}

impl Case {
    /// The article's case: one writer that appends 1 KiB and calls `fsync`.
    pub const ARTICLE: Self = Self {
        call: SyncCall::Fsync,
        write: Write::Append,
        size_bytes: 1024,
        writers: 1,
    };
}

pub type SyncResult = ExperimentResult<SyncRow, Projected>;

/// The parts of the result besides rows and answers.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Projected {
    /// Cost of one write and of one flush on each target, for the projection.
    pub calibrations: Vec<Calibration>,
    /// Rates that other devices would give.
    pub projections: Vec<Projection>,
}

/// A row with its derived figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct SyncRow {
    #[serde(flatten)]
    pub row: Row<Case>,
    /// Syncs of each timing run, all writers together.
    pub syncs_per_run: u64,
    /// Syncs a second, all writers together, from the median time.
    pub syncs_per_s: Option<f64>,
    /// 95 % interval of `syncs_per_s`, lower and upper end.
    pub syncs_per_s_interval: Option<(f64, f64)>,
    /// From one sync's end to the next one's, of every sync of the timing runs.
    pub latency_s: Latency,
    /// Syncs of the observed run, which `per_sync` divides by.
    pub observed_syncs: u64,
    /// Device requests of one sync.
    pub per_sync: PerSync,
    /// The observed run second by second.
    pub series: Series,
}

/// Device requests of the observed run divided by its syncs. `null` where the
/// evidence is missing.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct PerSync {
    #[serde(flatten)]
    pub requests: RequestsPer<f64>,
    /// Bytes written to the device.
    pub bytes: Option<f64>,
    /// Requests that read: blocks a write had to fetch first.
    pub reads: Option<f64>,
}

impl PerSync {
    fn of(row: &Row<Case>, syncs: u64) -> Self {
        let Some(device) = row.evidence.exact_device().filter(|_| syncs > 0) else {
            return Self::default();
        };
        let each = |count: u64| Some(count as f64 / syncs as f64);
        Self {
            requests: RequestsPer::new(|cause| each(device.of(cause).count)),
            bytes: each(device.writes().bytes),
            reads: each(device.reads.count),
        }
    }
}

/// Counts of the two passes besides times and evidence.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Counted {
    pub syncs_per_run: u64,
    pub latency: Latency,
    pub observed_syncs: u64,
    pub seconds: Vec<Second>,
}

impl SyncRow {
    /// Computes the derived figures.
    pub fn new(mut row: Row<Case>, counted: Counted) -> Self {
        let rate = |run_s: f64| (run_s > 0.0).then(|| counted.syncs_per_run as f64 / run_s);
        let series = Series::of(counted.seconds);
        row.evidence.missing.extend(counted.latency.missing());
        row.evidence.missing.extend(series.missing());
        let timing = row.timing.as_ref();
        Self {
            syncs_per_s: timing.and_then(|timing| rate(timing.median_s)),
            syncs_per_s_interval: timing.and_then(|t| rate(t.high_s).zip(rate(t.low_s))),
            per_sync: PerSync::of(&row, counted.observed_syncs),
            series,
            syncs_per_run: counted.syncs_per_run,
            latency_s: counted.latency,
            observed_syncs: counted.observed_syncs,
            row,
        }
    }

    /// Why the counts of requests may include those of others; `None` if they are
    /// the case's. Requests without a file cannot be told from those of others, who
    /// made requests for other files on the same disk.
    pub fn disturbance(&self) -> Option<Reason> {
        let requests = self.row.interference.other_requests?;
        let syncs = self.observed_syncs;
        let is_much = requests as f64 > syncs as f64 * DISTURBED;
        is_much.then_some(Reason::Disturbed { requests, syncs })
    }

    /// Seconds per sync of every timing run; with several writers, of all of them
    /// together.
    pub fn times_s(&self) -> Vec<f64> {
        let samples = self.row.timing.iter().flat_map(|timing| &timing.samples_s);
        let syncs = self.syncs_per_run.max(1) as f64;
        samples.map(|run_s| run_s / syncs).collect()
    }
}

impl Judged for SyncRow {
    type Case = Case;
    /// A case without its size.
    type Kind = (SyncCall, Write, u64);
    const UNIT: &'static str = "sync";

    fn row(&self) -> &Row<Case> {
        &self.row
    }

    fn kind(&self) -> Self::Kind {
        let case = self.row.case;
        (case.call, case.write, case.writers)
    }

    fn size_bytes(&self) -> u64 {
        self.row.case.size_bytes
    }

    fn name(&self) -> String {
        self.row.case.call.as_str().to_owned()
    }

    fn timed(&self) -> u64 {
        self.syncs_per_run.max(1)
    }

    fn observed(&self) -> u64 {
        self.observed_syncs
    }

    fn disturbed(&self) -> Option<String> {
        self.disturbance().map(|why| why.text())
    }
}

impl Stamped for SyncRow {
    fn put_on(&mut self, stamp: &Stamp<'_>) {
        self.row.put_on(stamp);
    }
}

impl Stamped for Projected {
    fn put_on(&mut self, stamp: &Stamp<'_>) {
        for calibration in &mut self.calibrations {
            stamp.target(&mut calibration.target);
        }
        for projection in &mut self.projections {
            stamp.number(&mut projection.row);
        }
    }
}

impl Joined for Projected {
    fn join(&mut self, other: Self) -> Option<Missing> {
        self.calibrations.extend(other.calibrations);
        self.projections.extend(other.projections);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::answers::fixture::{made, result};
    use super::*;

    #[test]
    fn figures_are_per_sync() {
        let row = made(SyncCall::Fsync, Write::Append)
            .timed(&[70.0, 72.0, 71.0])
            .asking([1, 1, 1, 0, 2]);
        let row = result(vec![row]).rows.remove(0);
        assert!(
            row.syncs_per_s
                .is_some_and(|rate| (rate - 1e6 / 71.0).abs() < 1e-6)
        );
        let (low, high) = row.syncs_per_s_interval.unwrap();
        assert!((low - 1e6 / 72.0).abs() < 1e-6 && (high - 1e6 / 70.0).abs() < 1e-6);
        let each = row.per_sync;
        assert_eq!(
            (each.requests.data, each.requests.metadata),
            (Some(1.0), Some(0.0))
        );
        assert_eq!(
            (each.requests.flushes, each.bytes),
            (Some(2.0), Some(12_288.0))
        );
    }

    #[test]
    fn what_was_not_seen_is_not_zero() {
        let row = result(vec![made(SyncCall::Fsync, Write::Append)])
            .rows
            .remove(0);
        assert_eq!(row.per_sync, PerSync::default());
        assert_eq!((row.syncs_per_s, row.syncs_per_s_interval), (None, None));
    }

    #[test]
    fn a_result_comes_back_as_it_was_saved() {
        let row = made(SyncCall::ODsync, Write::Preallocated)
            .timed(&[1.0 / 3.0, 70.1])
            .asking([1, 0, 0, 3, 1]);
        let mut before = result(vec![row]);
        before.rows[0].latency_s = Latency::from_buckets(
            vec![Bucket {
                upto_ns: 7,
                count: 30,
            }],
            7,
        );
        before.own.calibrations = vec![calibrated("host", 0.1 + 0.2, 0.7, 3)];
        before.own.projections = projections(&before, &[DEVICES[0].figures()]);
        before.answers = answers(&before);
        let saved = serde_json::to_string(&before).unwrap();
        assert_eq!(serde_json::from_str::<SyncResult>(&saved).unwrap(), before);
        let json: serde_json::Value = serde_json::from_str(&saved).unwrap();
        let row = &json["rows"][0];
        assert_eq!(row["case"]["call"], "o_dsync");
        assert_eq!(row["case"]["write"], "preallocated");
        assert_eq!(row["per_sync"]["metadata"], 3.0);
        assert!(row["latency_s"]["p50"].is_f64() && row["latency_s"]["p90"].is_null());
    }
}
