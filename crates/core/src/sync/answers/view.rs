//! The rows of one target, and what they can be asked.

use crate::bytes;
use crate::environment::Device;
use crate::evidence::DeviceCounts;
use crate::judge::figures::requests;
use crate::judge::{Compared, HOST, Missing};
use crate::lab::MeasuredTarget;
use crate::sync::{Call, SyncResult, SyncRow, Write};

/// Rows of one target.
pub(super) struct TargetRows<'a> {
    pub(super) name: &'a str,
    pub(super) rows: Vec<Numbered<'a>>,
    pub(super) result: &'a SyncResult,
}

/// A row with its 1-based number in the result.
#[derive(Clone, Copy)]
pub(super) struct Numbered<'a> {
    pub(super) number: usize,
    pub(super) row: &'a SyncRow,
    target: Option<&'a MeasuredTarget>,
}

/// A case without its size.
pub(super) type Kind = (Call, Write, u64);

impl<'a> TargetRows<'a> {
    /// The targets of a result: the host first, then in the order of the rows.
    pub(super) fn of(result: &'a SyncResult) -> Vec<Self> {
        let mut targets: Vec<Self> = Vec::new();
        for (index, row) in result.rows.iter().enumerate() {
            let name = row.row.target.as_str();
            let numbered = Numbered {
                number: index + 1,
                row,
                target: result.targets.iter().find(|target| target.name == name),
            };
            match targets.iter_mut().find(|target| target.name == name) {
                Some(known) => known.rows.push(numbered),
                None => targets.push(Self {
                    name,
                    rows: vec![numbered],
                    result,
                }),
            }
        }
        // Stable: the others keep their order.
        targets.sort_by_key(|target| target.name != HOST);
        targets
    }

    /// One row of each kind, at the smallest size that all of them have.
    pub(super) fn at<const N: usize>(
        &self,
        kinds: [Kind; N],
    ) -> Result<[Numbered<'a>; N], Missing> {
        let mut sizes: Vec<u64> = self.rows.iter().map(Numbered::size_bytes).collect();
        sizes.sort_unstable();
        let all = |size: &u64| -> Option<[Numbered<'a>; N]> {
            let rows: Option<Vec<_>> = kinds.iter().map(|kind| self.row(*kind, *size)).collect();
            rows?.try_into().ok()
        };
        sizes.iter().find_map(all).ok_or_else(|| {
            let names = kinds.map(|(call, write, writers)| {
                format!("{} {} of {writers}", call.as_str(), write.as_str())
            });
            Missing::Rows(format!("no rows of {} on {}", names.join(", "), self.name))
        })
    }

    fn row(&self, (call, write, writers): Kind, size_bytes: u64) -> Option<Numbered<'a>> {
        let wanted = |row: &&Numbered<'_>| {
            let case = row.row.row.case;
            (case.call, case.write, case.writers, case.size_bytes)
                == (call, write, writers, size_bytes)
        };
        self.rows.iter().find(wanted).copied()
    }
}

impl<'a> Numbered<'a> {
    pub(super) fn size_bytes(&self) -> u64 {
        self.row.row.case.size_bytes
    }

    /// The size of a write as text.
    pub(super) fn size(&self) -> String {
        bytes::exact(self.size_bytes())
    }

    /// Disks from the file system down to the hardware.
    pub(super) fn devices(&self) -> &'a [Device] {
        self.target
            .map_or(&[], |target| target.storage.devices.as_slice())
    }

    /// Device requests of the observed run, if they were observed without loss.
    pub(super) fn device(&self) -> Result<&'a DeviceCounts, Missing> {
        let evidence = &self.row.row.evidence;
        let number = self.number;
        if self
            .target
            .is_some_and(|target| matches!(target.storage.filesystem.as_str(), "tmpfs" | "ramfs"))
        {
            let name = &self.row.row.target;
            return Err(Missing::Rows(format!("{name} has no device")));
        }
        if evidence.lost_events > 0 {
            let lost = bytes::grouped(evidence.lost_events);
            return Err(Missing::Evidence(format!(
                "{lost} events were lost in row {number}"
            )));
        }
        if let Some(why) = self.row.disturbed() {
            return Err(Missing::Evidence(format!("{why} (row {number})")));
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
                "the device requests of row {number} were not observed{gap}"
            ))
        })
    }

    /// Requests per sync by cause; see [`Self::device`].
    pub(super) fn requests(&self) -> Result<Requests, Missing> {
        self.device()?;
        self.row.per_sync.requests().map(Requests).ok_or_else(|| {
            Missing::Evidence(format!("no sync of row {} was observed", self.number))
        })
    }

    /// How many times as long a sync of this row took as one of `other`.
    pub(super) fn time_over(&self, other: &Self) -> Result<Compared, Missing> {
        for row in [self, other] {
            if row.row.row.timing.is_none() {
                let number = row.number;
                return Err(Missing::Evidence(format!("row {number} has no timing run")));
            }
        }
        Compared::of(
            (self.number, &self.row.times_s()),
            (other.number, &other.row.times_s()),
        )
    }
}

/// What one sync asks of the device.
pub(super) struct Requests([(&'static str, f64); 6]);

/// Requests per sync may differ by this much and count as the same: checkpoints and
/// allocations fall where they like.
const SAME_REQUESTS: f64 = 0.1;

impl Requests {
    /// Whether each cause is asked for as often, within a tenth of a request or
    /// of the count.
    pub(super) fn same_as(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).all(|((_, ours), (_, theirs))| {
            (ours - theirs).abs() <= SAME_REQUESTS * f64::max(1.0, f64::max(*ours, *theirs))
        })
    }

    /// All of them, flushes included.
    pub(super) fn sum(&self) -> f64 {
        self.0.iter().map(|(_, each)| each).sum()
    }

    /// Requests of a cause.
    pub(super) fn of(&self, cause: &str) -> f64 {
        let wanted = |(name, _): &&(&str, f64)| *name == cause;
        self.0.iter().find(wanted).map_or(0.0, |(_, each)| *each)
    }
}

impl std::fmt::Display for Requests {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&requests(&self.0))
    }
}
