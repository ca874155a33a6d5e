//! The rows of one target, and what they can be asked.

use crate::buffering::{BufferingResult, BufferingRow, Mode, Timeline};
use crate::bytes;
use crate::evidence::DeviceCounts;
use crate::judge::{Compared, HOST, Missing};

/// Rows and timelines of one target.
pub(super) struct TargetRows<'a> {
    pub(super) name: &'a str,
    rows: Vec<Numbered<'a>>,
    pub(super) timelines: Vec<&'a Timeline>,
}

/// A row with its 1-based number in the result.
#[derive(Clone, Copy)]
pub(super) struct Numbered<'a> {
    pub(super) number: usize,
    row: &'a BufferingRow,
    /// Whether its file system lives in memory: no request is asked of a device, and
    /// a claim about requests means nothing.
    in_memory: bool,
}

impl<'a> TargetRows<'a> {
    /// The targets of a result: the host first, then in the order of the rows.
    pub(super) fn of(result: &'a BufferingResult) -> Vec<Self> {
        let from_rows = result.rows.iter().map(|row| row.row.target.as_str());
        let from_timelines = result
            .timelines
            .iter()
            .map(|timeline| timeline.target.as_str());
        let mut targets: Vec<Self> = Vec::new();
        for name in from_rows.chain(from_timelines) {
            if !targets.iter().any(|target| target.name == name) {
                targets.push(Self::named(result, name));
            }
        }
        // Stable: the others keep their order.
        targets.sort_by_key(|target| target.name != HOST);
        targets
    }

    fn named(result: &'a BufferingResult, name: &'a str) -> Self {
        let in_memory = result.targets.iter().any(|target| {
            target.name == name && matches!(target.storage.filesystem.as_str(), "tmpfs" | "ramfs")
        });
        let rows = result
            .rows
            .iter()
            .enumerate()
            .filter(|(_, row)| row.row.target == name);
        Self {
            name,
            rows: rows
                .map(|(index, row)| Numbered {
                    number: index + 1,
                    row,
                    in_memory,
                })
                .collect(),
            timelines: result
                .timelines
                .iter()
                .filter(|t| t.target == name)
                .collect(),
        }
    }

    /// Record sizes measured in all of the modes, ascending; never empty.
    pub(super) fn sizes(&self, modes: &[Mode]) -> Result<Vec<u64>, Missing> {
        for mode in modes {
            if !self.rows.iter().any(|row| row.row.row.case.mode == *mode) {
                return Err(Missing::Rows(format!(
                    "no row of {} on {}",
                    mode.as_str(),
                    self.name
                )));
            }
        }
        let mut sizes: Vec<u64> = self.rows.iter().map(Numbered::size_bytes).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes.retain(|size| modes.iter().all(|mode| self.row(*mode, *size).is_some()));
        if sizes.is_empty() {
            let names: Vec<&str> = modes.iter().map(|mode| mode.as_str()).collect();
            let why = format!(
                "no record size has rows of {} on {}",
                names.join(", "),
                self.name
            );
            return Err(Missing::Rows(why));
        }
        Ok(sizes)
    }

    /// The row of a mode and size.
    pub(super) fn row(&self, mode: Mode, size_bytes: u64) -> Option<Numbered<'a>> {
        let wanted = |row: &&Numbered<'_>| {
            row.row.row.case.mode == mode && row.row.row.case.size_bytes == size_bytes
        };
        self.rows.iter().find(wanted).copied()
    }

    /// One row of each mode, at the smallest size that all of them have.
    pub(super) fn smallest<const N: usize>(
        &self,
        modes: [Mode; N],
    ) -> Result<[Numbered<'a>; N], Missing> {
        let sizes = self.sizes(&modes)?;
        self.at(modes, sizes[0])
    }

    /// The smallest and the largest size that all modes have.
    pub(super) fn extremes(&self, modes: &[Mode]) -> Result<(u64, u64), Missing> {
        let sizes = self.sizes(modes)?;
        match sizes.as_slice() {
            [smallest, .., largest] => Ok((*smallest, *largest)),
            _ => Err(Missing::Rows(format!(
                "only one record size was measured on {}",
                self.name
            ))),
        }
    }

    /// One row of each mode, of the given size.
    pub(super) fn at<const N: usize>(
        &self,
        modes: [Mode; N],
        size_bytes: u64,
    ) -> Result<[Numbered<'a>; N], Missing> {
        let rows: Option<Vec<Numbered<'a>>> = modes
            .iter()
            .map(|mode| self.row(*mode, size_bytes))
            .collect();
        rows.and_then(|rows| rows.try_into().ok()).ok_or_else(|| {
            Missing::Rows(format!("no row of {} on {}", size(size_bytes), self.name))
        })
    }
}

impl<'a> Numbered<'a> {
    pub(super) fn size_bytes(&self) -> u64 {
        self.row.row.case.size_bytes
    }

    /// The record size as text.
    pub(super) fn size(&self) -> String {
        size(self.size_bytes())
    }

    pub(super) fn per_record(&self, count: u64) -> f64 {
        count as f64 / self.row.row.case.count as f64
    }

    /// Device requests while the program ran, if they were observed without loss.
    pub(super) fn device(&self) -> Result<&'a DeviceCounts, Missing> {
        let evidence = &self.row.row.evidence;
        if self.in_memory {
            let name = &self.row.row.target;
            return Err(Missing::Rows(format!("{name} has no device")));
        }
        if evidence.lost_events > 0 {
            let lost = bytes::grouped(evidence.lost_events);
            return Err(Missing::Evidence(format!(
                "{lost} events were lost in row {}",
                self.number
            )));
        }
        evidence.device.as_ref().ok_or_else(|| {
            // Where nothing was observed, every stratum has a gap with the same reason.
            let gap = evidence
                .missing
                .iter()
                .find(|gap| gap.what == "device requests")
                .or(evidence.missing.first());
            let gap = gap.map_or_else(String::new, |gap| format!(" ({}: {})", gap.what, gap.why));
            Missing::Evidence(format!(
                "the device requests of row {} were not observed{gap}",
                self.number
            ))
        })
    }

    /// Bytes that reached the device only after the program's end, per record.
    pub(super) fn unpaid_bytes(&self) -> Option<f64> {
        let after = self.row.row.evidence.device_after_exit.as_ref()?;
        Some(self.per_record(after.writes().bytes))
    }

    /// How many times as long a record of this row took as one of `other`.
    pub(super) fn time_over(&self, other: &Self) -> Result<Compared, Missing> {
        Compared::of(
            (self.number, &self.times_s()?),
            (other.number, &other.times_s()?),
        )
    }

    /// Seconds per record of every timing run.
    fn times_s(&self) -> Result<Vec<f64>, Missing> {
        let timing = self.row.row.timing.as_ref();
        let timing = timing
            .ok_or_else(|| Missing::Evidence(format!("row {} has no timing run", self.number)))?;
        let records = self.row.row.case.count as f64;
        Ok(timing
            .samples_s
            .iter()
            .map(|seconds| seconds / records)
            .collect())
    }
}

fn size(bytes: u64) -> String {
    bytes::exact(bytes)
}
