//! The experiment from end to end.

use iostrata_core::Gap;
use iostrata_core::buffering::{self, BufferingResult, BufferingRow, Case, Method, Timeline};
use iostrata_core::lab::{Interference, Row};
use iostrata_core::observe::Observer;

use super::item::{Item, own_cost_ns};
use super::observed::{Observed, observe};
use super::runtimes::{self, Language};
use super::timeline::timeline;
use super::{caveats, settings};
use crate::engine::{Ledger, Progress, Rules};
use crate::error::LabError;
use crate::session::{Pass, RunSettings, Session, Timed, time, until_stopped};
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
    let labels: Vec<String> = items.iter().map(Item::label).collect();
    let pass = time(
        &mut session,
        &labels,
        steps.after_timing,
        |session, index| items[index].run(session),
    )?;
    let mut interrupted = pass.interrupted;
    let warm_up_runs = pass.warm_ups;
    let rows = rows(&mut session, &items, pass, &mut interrupted)?;
    let mut missing = session.gaps();
    let timelines = timelines(&mut session, cases, targets, &mut missing, &mut interrupted)?;
    let table = until_stopped(stop, &mut interrupted, || runtimes::table(&mut session))?;
    let table = table.unwrap_or_default();
    missing.extend(table.missing);

    let Rules {
        min_runs, max_runs, ..
    } = run.rules;
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

/// Steps of the passes, for the time left.
struct Steps {
    timing: usize,
    after_timing: usize,
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
            timing: NULL_RUNS + items * (1 + run.rules.max_runs),
            after_timing: items + targets.len() * modes + languages,
        }
    }

    fn all(&self) -> usize {
        self.timing + self.after_timing
    }
}

/// Observes every item that was timed often enough and makes its row.
fn rows(
    session: &mut Session<'_>,
    items: &[Item<'_>],
    pass: Pass,
    interrupted: &mut bool,
) -> Result<Vec<BufferingRow>, LabError> {
    let mut rows = Vec::new();
    for (item, timed) in items
        .iter()
        .zip(pass.items)
        .filter(|(_, timed)| timed.enough)
    {
        let stop = session.stop;
        let observed = until_stopped(stop, interrupted, || observe(session, item))?;
        let observed = observed.unwrap_or_else(Observed::interrupted);
        rows.push(row(item, timed, observed, &session.run.rules));
    }
    Ok(rows)
}

fn row(item: &Item<'_>, timed: Timed, observed: Observed, rules: &Rules) -> BufferingRow {
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
    if item.case.mode == buffering::Mode::SyncFileRange {
        notes.push("not durable: neither metadata nor a device flush is asked for".to_owned());
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
    BufferingRow::new(row, observed.memory)
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
            let stop = session.stop;
            let step = || timeline(session, target, mode);
            let Some((timeline, gap)) = until_stopped(stop, interrupted, step)? else {
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
