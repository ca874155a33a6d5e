//! The timing pass: no observer, all cases interleaved.

use iostrata_core::lab::Interference;
use iostrata_core::timing::{Sample, Timing};

use super::Session;
use crate::engine::{Ledger, Meter, Reading, Round, StoppingRule, measure};
use crate::error::LabError;

/// The result of the timing pass for one item.
pub(crate) struct Timed {
    pub(crate) timing: Option<Timing>,
    pub(crate) interference: Interference,
    /// Whether the item has all its runs.
    pub(crate) enough: bool,
    pub(crate) stopping: StoppingRule,
}

/// Times cases by calling `run` with the case's index for one run of it. `labels` name them for
/// progress; `steps_after` is the number of steps of later passes.
pub(crate) fn time(
    session: &mut Session<'_>,
    labels: &[String],
    steps_after: usize,
    mut run: impl FnMut(&mut Session<'_>, usize) -> Result<Sample, LabError>,
) -> Result<Vec<Timed>, LabError> {
    let mut meters = vec![Meter::default(); labels.len()];
    let (stopping, stop) = (session.run.stopping, session.stop);
    session
        .ledger
        .remaining(labels.len() * (1 + stopping.max_runs) + steps_after);
    let mut rounds = Rounds::new(&stopping, labels.len(), steps_after);
    let one = |index: usize, round| {
        rounds.enter(round, &mut session.ledger);
        session.ledger.step(&format!("timing {}", labels[index]));
        let before = Reading::now();
        let sample = run(session, index)?;
        if round != Round::WarmUp {
            meters[index].add(&before, &Reading::now());
        }
        Ok::<_, LabError>(sample)
    };
    let measured = measure(labels.len(), &stopping, one, stop)?;
    session.ledger.remaining(steps_after);
    session.warm_up_runs += measured.warm_ups;
    session.interrupted |= measured.interrupted;
    let runs = measured.samples.iter().zip(measured.enough).zip(&meters);
    let items = runs.map(|((samples, enough), meter)| Timed {
        timing: Timing::from_samples(samples),
        interference: meter.interference(),
        enough,
        stopping,
    });
    Ok(items.collect())
}

/// Reports that the runs differ more than the requested width.
pub(crate) fn wide(timing: Option<&Timing>, stopping: &StoppingRule) -> Option<String> {
    let timing = timing?;
    let width = timing.relative_width();
    (width > stopping.target_width).then(|| {
        format!(
            "noisy: after {} runs the interval spans {:.0} % of the median",
            timing.samples_s.len(),
            width * 100.0
        )
    })
}

/// Keeps the ledger's total consistent with the cases that still run: a round is assumed to have as
/// many runs as the previous one.
struct Rounds {
    current: Round,
    runs: usize,
    max_runs: usize,
    steps_after: usize,
}

impl Rounds {
    fn new(stopping: &StoppingRule, items: usize, steps_after: usize) -> Self {
        Self {
            current: Round::WarmUp,
            runs: items,
            max_runs: stopping.max_runs,
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
