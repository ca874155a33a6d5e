//! The timing pass: no observer, all cases of all targets interleaved.

use std::cell::Cell;

use iostrata_core::buffering::Case;
use iostrata_core::lab::Interference;
use iostrata_core::timing::Timing;

use super::session::{RunFile, Session};
use super::{BufferingError, Settings};
use crate::engine::{Job, Ledger, Measured, Meter, NullJob, Reading, Round, WriteJob, measure};
use crate::target::Target;

/// A case on a target.
#[derive(Clone, Copy)]
pub(super) struct Item<'a> {
    pub(super) target: &'a Target,
    pub(super) case: Case,
}

impl Item<'_> {
    /// For progress: `fsync 1 B on ext4`.
    pub(super) fn label(&self) -> String {
        let Case {
            mode, size_bytes, ..
        } = self.case;
        format!("{} {size_bytes} B on {}", mode.as_str(), self.target.name)
    }

    /// The file of the next run.
    pub(super) fn file(&self) -> RunFile {
        let Case {
            mode, size_bytes, ..
        } = self.case;
        RunFile::new(&self.target.dir, &format!("{}-{size_bytes}", mode.as_str()))
    }
}

/// What the timing pass gave for one item.
pub(super) struct Timed {
    pub(super) timing: Option<Timing>,
    pub(super) interference: Interference,
    /// Whether the item has as many runs as it should.
    pub(super) enough: bool,
}

/// The timing pass.
pub(super) struct Pass {
    pub(super) items: Vec<Timed>,
    pub(super) warm_ups: usize,
    pub(super) interrupted: bool,
}

/// Times all items. `steps_after` are the steps that other passes will need.
pub(super) fn time(
    session: &mut Session<'_>,
    items: &[Item<'_>],
    steps_after: usize,
) -> Result<Pass, BufferingError> {
    let mut meters = vec![Meter::default(); items.len()];
    let mut rounds = Rounds::new(session.settings, items.len(), steps_after);
    let (rules, stop) = (session.settings.rules, session.stop);
    let run = |index: usize, round| {
        let item = &items[index];
        rounds.enter(round, &mut session.ledger);
        session.ledger.step(&format!("timing {}", item.label()));
        let file = item.file();
        let job = Job::Write(WriteJob {
            case: item.case,
            path: file.path().into(),
        });
        let before = Reading::now();
        let work = session.work(&job)?;
        if round != Round::WarmUp {
            meters[index].add(&before, &Reading::now());
        }
        file.remove()?;
        Ok::<_, BufferingError>(work.sample)
    };
    let Measured {
        samples,
        warm_ups,
        enough,
        interrupted,
    } = measure(items.len(), &rules, run, stop)?;
    session.ledger.remaining(steps_after);
    let items = samples
        .iter()
        .zip(enough)
        .zip(&meters)
        .map(|((samples, enough), meter)| Timed {
            timing: Timing::from_samples(samples),
            interference: meter.interference(),
            enough,
        })
        .collect();
    Ok(Pass {
        items,
        warm_ups,
        interrupted,
    })
}

/// Keeps the ledger's total in step with the cases that still run: a round is
/// taken to have as many runs as the one before it.
struct Rounds {
    current: Round,
    runs: usize,
    max_runs: usize,
    steps_after: usize,
}

impl Rounds {
    fn new(settings: &Settings, items: usize, steps_after: usize) -> Self {
        Self {
            current: Round::WarmUp,
            runs: items,
            max_runs: settings.rules.max_runs,
            steps_after,
        }
    }

    fn enter(&mut self, round: Round, ledger: &mut Ledger<'_>) {
        if let Round::Timed(number) = round
            && round != self.current
        {
            let rounds = self.max_runs - number;
            ledger.remaining(self.runs * rounds + self.steps_after);
            self.runs = 0;
            self.current = round;
        }
        if round != Round::WarmUp {
            self.runs += 1;
        }
    }
}

/// Nanoseconds per record of the loop itself: the quickest of three runs around a
/// write that does nothing. `None` when interrupted.
pub(super) fn own_cost_ns(
    session: &mut Session<'_>,
    size_bytes: u64,
) -> Result<Option<f64>, BufferingError> {
    let count = session.settings.effort.null_records();
    let job = Job::Null(NullJob { size_bytes, count });
    let least_s = Cell::new(f64::INFINITY);
    for _ in 0..3 {
        session.ledger.step("timing the measuring loop itself");
        match session.work(&job) {
            Ok(work) => least_s.set(least_s.get().min(work.sample.real_s)),
            Err(_) if (session.stop)() => return Ok(None),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Some(least_s.get() * 1e9 / count as f64))
}
