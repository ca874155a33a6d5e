//! The experiment from end to end.

use iostrata_core::Gap;
use iostrata_core::buffering::{self, BufferingResult, Case, Method, Timeline};
use iostrata_core::observe::Observer;

use super::item::{Item, own_cost_ns};
use super::runtimes::{self, Language};
use super::timeline::timeline;
use super::{caveats, settings};
use crate::engine::{Ledger, Progress, StoppingRule};
use crate::error::LabError;
use crate::session::{RunSettings, Session, measure, unless_failed};
use crate::target::Target;

/// Runs that measure the loop itself.
const NULL_RUNS: usize = 3;

/// Runs `lab buffering` on `targets`.
///
/// `stop` is asked often; once it says yes, what is running is ended and the
/// rows that were timed are returned, with [`Method::interrupted`] set. Nothing is
/// written when a target has no room or cannot be written to.
pub fn run<'a>(
    cases: &'a [Case],
    run: &'a RunSettings,
    targets: &[Target],
    observer: Option<&'a mut dyn Observer>,
    progress: &'a mut dyn Progress,
    stop: &'a dyn Fn() -> bool,
) -> Result<BufferingResult, LabError> {
    settings::check(cases, targets)?;
    let items: Vec<Item<'_>> = targets
        .iter()
        .flat_map(|target| cases.iter().map(move |&case| Item { target, case }))
        .collect();
    let steps = Steps::new(cases, run, targets, items.len(), observer.is_some());
    let ledger = Ledger::new(progress, steps.all());
    let mut session = Session {
        run,
        observer,
        ledger,
        stop,
    };

    let smallest = cases.iter().map(|case| case.size_bytes).min().unwrap_or(1);
    let own_cost_ns = own_cost_ns(&mut session, smallest)?;
    let mut interrupted = false;
    let (rows, warm_up_runs) = measure(&mut session, &items, steps.after, &mut interrupted)?;
    let mut missing = session.gaps();
    let timelines = timelines(&mut session, cases, targets, &mut missing, &mut interrupted)?;
    let table = unless_failed(&mut session, &mut interrupted, runtimes::table)?;
    let table = table.unwrap_or_default();
    missing.extend(table.missing);

    let StoppingRule {
        min_runs, max_runs, ..
    } = run.stopping;
    let method = Method {
        timing_runs: (min_runs, max_runs),
        warm_up_runs,
        own_cost_ns,
        interrupted,
        planned_rows: items.len(),
    };
    let mut result = BufferingResult {
        question: buffering::QUESTION.to_owned(),
        targets: targets.iter().map(Target::measured).collect(),
        caveats: caveats::caveats(targets, run.virtualization.as_deref(), &rows, &method),
        rows,
        timelines,
        runtimes: table.rows,
        answers: Vec::new(),
        missing,
        method,
    };
    result.answers = buffering::answers(&result);
    Ok(result)
}

/// Steps for the time left.
struct Steps {
    passes: usize,
    /// After the passes.
    after: usize,
}

impl Steps {
    fn new(
        cases: &[Case],
        run: &RunSettings,
        targets: &[Target],
        items: usize,
        observed: bool,
    ) -> Self {
        let modes = timeline_modes(cases).len();
        let languages = if observed { Language::ALL.len() } else { 0 };
        Self {
            passes: NULL_RUNS + items * (2 + run.stopping.max_runs),
            after: targets.len() * modes + languages,
        }
    }

    fn all(&self) -> usize {
        self.passes + self.after
    }
}

fn timelines(
    session: &mut Session<'_>,
    cases: &[Case],
    targets: &[Target],
    missing: &mut Vec<Gap>,
    interrupted: &mut bool,
) -> Result<Vec<Timeline>, LabError> {
    let mut timelines = Vec::new();
    for target in targets {
        for mode in timeline_modes(cases) {
            let done = unless_failed(session, interrupted, |session| {
                timeline(session, target, mode)
            })?;
            let Some((timeline, gap)) = done else {
                return Ok(timelines);
            };
            timelines.push(timeline);
            missing.extend(gap.filter(|gap| !missing.contains(gap)));
        }
    }
    Ok(timelines)
}

fn timeline_modes(cases: &[Case]) -> Vec<buffering::Mode> {
    let chosen = |mode: &buffering::Mode| cases.iter().any(|case| case.mode == *mode);
    buffering::Mode::ALL.into_iter().filter(chosen).collect()
}
