//! The experiment from end to end.

use iostrata_core::Gap;
use iostrata_core::lab::{Interference, Row};
use iostrata_core::observe::Observer;
use iostrata_core::sync::{
    self, Bucket, Calibration, Case, Counted, Figures, Latency, Method, SyncResult, SyncRow, Write,
};
use iostrata_tracer::machine;
use rustix::io::Errno;

use super::calibration::calibrate;
use super::item::{Item, Length};
use super::job::SyncReport;
use super::observed::{Observed, observe};
use super::{caveats, settings};
use crate::engine::{Ledger, Progress, Rules};
use crate::error::LabError;
use crate::session::{Pass, RunSettings, Session, Timed, time, until_stopped};
use crate::target::Target;

/// Runs `lab sync` on `targets`, and projects its requests to `devices`.
///
/// `stop` is asked often; once it says yes, what is running is ended and the
/// rows that were timed are returned, with [`Method::interrupted`] set. Nothing is
/// written when a target has no room or cannot be written to.
pub fn run<'a>(
    cases: &'a [Case],
    devices: &[Figures],
    run: &'a RunSettings,
    targets: &[Target],
    observer: Option<&'a mut dyn Observer>,
    progress: &'a mut dyn Progress,
    stop: &'a dyn Fn() -> bool,
) -> Result<SyncResult, LabError> {
    settings::check(run.effort, cases, targets)?;
    let (items, mut missing) = items(cases, targets)?;
    let after_timing = items.len() + targets.len();
    let steps = items.len() * (1 + run.rules.max_runs) + after_timing;
    let mut session = Session {
        run,
        observer,
        ledger: Ledger::new(progress, steps),
        stop,
    };
    let mut taken = vec![Taken::default(); items.len()];
    let labels: Vec<String> = items.iter().map(Item::label).collect();
    let pass = time(&mut session, &labels, after_timing, |session, index| {
        let report = items[index].run(session, taken[index].next(run))?;
        let sample = report.work.sample;
        taken[index].add(items[index].case.writers, report);
        Ok(sample)
    })?;
    let mut interrupted = pass.interrupted;
    let warm_up_runs = pass.warm_ups;
    let rows = rows(&mut session, &items, pass, taken, &mut interrupted)?;
    missing.extend(session.gaps());
    let calibrations = calibrations(&mut session, targets, &mut missing, &mut interrupted)?;

    let Rules {
        min_runs, max_runs, ..
    } = run.rules;
    let mut result = SyncResult {
        question: sync::QUESTION.to_owned(),
        targets: targets.iter().map(Target::measured).collect(),
        caveats: caveats::caveats(targets, run.virtualization.as_deref(), &rows),
        rows,
        calibrations,
        projections: Vec::new(),
        answers: Vec::new(),
        settings: machine_settings(targets, &mut missing),
        missing,
        method: Method {
            timing_runs: (min_runs, max_runs),
            warm_up_runs,
            interrupted,
            planned_rows: items.len(),
        },
    };
    result.projections = sync::projections(&result, devices);
    result.answers = sync::answers(&result);
    Ok(result)
}

/// Every case on every target; those that a target cannot have are missing.
fn items<'a>(cases: &[Case], targets: &'a [Target]) -> Result<(Vec<Item<'a>>, Vec<Gap>), LabError> {
    let mut items = Vec::new();
    let mut missing = Vec::new();
    let wanted = cases.iter().any(|case| case.write == Write::Preallocated);
    for target in targets {
        let refused = if wanted {
            settings::no_preallocation(target)?
        } else {
            None
        };
        let possible = |case: &&Case| refused.is_none() || case.write != Write::Preallocated;
        items.extend(
            cases
                .iter()
                .filter(possible)
                .map(|&case| Item { target, case }),
        );
        missing.extend(refused);
    }
    match missing.as_slice() {
        [gap, ..] if items.is_empty() => Err(LabError::io(
            format!("measure {} ({})", gap.what, gap.why),
            Errno::OPNOTSUPP,
        )),
        _ => Ok((items, missing)),
    }
}

/// What the timing runs of one item gave besides their samples.
#[derive(Default, Clone)]
struct Taken {
    /// Syncs of each writer in a timed run; known after the warm-up.
    syncs: Option<u64>,
    per_run: u64,
    latencies: Vec<Bucket>,
    max_ns: u64,
}

impl Taken {
    /// The warm-up takes some time; every run after it makes as many syncs as it did.
    fn next(&self, run: &RunSettings) -> Length {
        self.syncs.map_or_else(
            || Length::Time(settings::run_length(run.effort)),
            Length::Syncs,
        )
    }

    fn add(&mut self, writers: u64, report: SyncReport) {
        if self.syncs.is_none() {
            let each = report.syncs.div_ceil(writers.max(1));
            self.syncs = Some(each.max(settings::FEWEST_TIMED_SYNCS));
            return;
        }
        self.per_run = report.syncs;
        self.max_ns = self.max_ns.max(report.max_ns);
        self.latencies.extend(report.latencies);
    }
}

/// Observes every item that was timed often enough and makes its row.
fn rows(
    session: &mut Session<'_>,
    items: &[Item<'_>],
    pass: Pass,
    taken: Vec<Taken>,
    interrupted: &mut bool,
) -> Result<Vec<SyncRow>, LabError> {
    let mut rows: Vec<SyncRow> = Vec::new();
    let timed = items.iter().zip(pass.items).zip(taken);
    for ((item, timed), taken) in timed.filter(|((_, timed), _)| timed.enough) {
        let stop = session.stop;
        let leading = !rows.iter().any(|row| row.row.target == item.target.name);
        let effort = session.run.effort;
        let stretches = settings::stretches(effort, &item.case, leading, rows.is_empty());
        let watch = || observe(session, item, stretches);
        let observed = until_stopped(stop, interrupted, watch)?;
        let observed = observed.unwrap_or_else(Observed::interrupted);
        rows.push(row(item, timed, taken, observed, &session.run.rules));
    }
    Ok(rows)
}

fn row(item: &Item<'_>, timed: Timed, taken: Taken, observed: Observed, rules: &Rules) -> SyncRow {
    let mut notes = observed.notes;
    if let Some(timing) = &timed.timing {
        let width = timing.relative_width();
        if width > rules.target_width {
            notes.push(format!(
                "after {} runs the interval is still {:.0} % of the median wide",
                timing.samples_s.len(),
                width * 100.0
            ));
        }
    }
    let row = Row {
        case: item.case,
        target: item.target.name.clone(),
        timing: timed.timing,
        evidence: observed.evidence,
        interference: Interference {
            other_requests: observed.other_requests,
            ..timed.interference
        },
        notes,
    };
    let counted = Counted {
        syncs_per_run: taken.per_run,
        latency: Latency::from_buckets(taken.latencies, taken.max_ns),
        observed_syncs: observed.syncs,
        seconds: observed.seconds,
    };
    SyncRow::new(row, counted)
}

fn calibrations(
    session: &mut Session<'_>,
    targets: &[Target],
    missing: &mut Vec<Gap>,
    interrupted: &mut bool,
) -> Result<Vec<Calibration>, LabError> {
    let mut calibrations = Vec::new();
    for target in targets {
        let stop = session.stop;
        let measured = until_stopped(stop, interrupted, || calibrate(session, target))?;
        match measured {
            Some(Ok(calibration)) => calibrations.push(calibration),
            Some(Err(why)) => {
                let what = format!("latency of direct writes on {}", target.name);
                missing.push(Gap::new(what, why));
            }
            None => break,
        }
    }
    Ok(calibrations)
}

/// Settings of the storage under the first target.
fn machine_settings(
    targets: &[Target],
    missing: &mut Vec<Gap>,
) -> Vec<iostrata_core::doctor::Setting> {
    let read = targets.first().map(|target| machine::settings(&target.dir));
    match read {
        Some(Ok(settings)) => settings,
        Some(Err(error)) => {
            missing.push(Gap::new("settings of the storage", error.to_string()));
            Vec::new()
        }
        None => Vec::new(),
    }
}
