//! Facts about a whole run that precede its replies: the number of runs, and reasons to doubt them.

use crate::environment::Backend;
use crate::lab::{Facts, LabResult};

/// A row whose interval is wider than this share of its median is noisy: beyond it the ratio of two
/// such rows says little.
const NOISY: f64 = 0.5;

/// For all experiments of a run together.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Overview {
    /// Timing runs of a row: fewest and most; `None` when nothing was timed.
    pub runs: Option<(usize, usize)>,
    pub timed_rows: usize,
    /// Those whose interval is wider than half of their median.
    pub noisy_rows: usize,
    /// Events that were lost, and rows affected.
    pub lost: (u64, usize),
    /// Rows during whose timing the hypervisor took CPU time.
    pub stolen_rows: usize,
    /// Rows during whose observation other programs used the same disk.
    pub disturbed_rows: usize,
    /// Rows present, and rows requested, if the run was interrupted.
    pub interrupted: Option<(usize, usize)>,
    /// Whether the kernel observed nothing.
    pub unobserved: bool,
    pub is_virtual: bool,
    /// Whether the run created file systems on loop devices.
    pub has_images: bool,
}

/// Summarises a run.
pub fn overview(result: &LabResult) -> Overview {
    let environment = &result.environment;
    let is_virtual = environment.virtualization.as_ref();
    let mut all = Overview {
        unobserved: environment.backend == Backend::None,
        is_virtual: is_virtual.is_some_and(|name| name.contains("virtual machine")),
        ..Overview::default()
    };
    for experiment in &result.experiments {
        let shared = experiment.shared();
        all.has_images |= shared.targets.iter().any(|target| target.image);
        if shared.interrupted {
            let (done, planned) = all.interrupted.unwrap_or_default();
            all.interrupted = Some((done + shared.rows, planned + shared.planned_rows));
        }
        for row in experiment.facts() {
            all.add(&row);
        }
    }
    all
}

impl Overview {
    fn add(&mut self, row: &Facts<'_>) {
        if let Some(timing) = row.timing {
            let runs = timing.samples_s.len();
            let (fewest, most) = self.runs.unwrap_or((runs, runs));
            self.runs = Some((fewest.min(runs), most.max(runs)));
            self.timed_rows += 1;
            self.noisy_rows += usize::from(timing.relative_width() > NOISY);
        }
        if row.evidence.lost_events > 0 {
            let (lost, rows) = self.lost;
            self.lost = (lost.saturating_add(row.evidence.lost_events), rows + 1);
        }
        self.stolen_rows += usize::from(row.interference.steal_s > Some(0.0));
        self.disturbed_rows += usize::from(row.interference.other_requests > Some(0));
    }
}
