//! The experiment from end to end.

use std::cell::Cell;
use std::path::Path;

use iostrata_core::Gap;
use iostrata_core::buffering::Method;
use iostrata_core::observe::Observer;
use iostrata_core::page_cache::{self, Case, PageCacheResult, Reader};

use super::caveats::caveats;
use super::content::Content;
use super::item::Item;
use super::job::FileStep;
use super::possible::Refused;
use super::room::check;
use super::settings::{Plan, files};
use crate::engine::{Ledger, Progress, StoppingRule};
use crate::error::LabError;
use crate::session::{RunFile, RunSettings, Session, measure, until_stopped};
use crate::target::Target;

/// Runs that measure the loop itself.
const NOTHING_RUNS: usize = 3;

/// A file that was made, and where.
struct Made<'a> {
    target: &'a Target,
    size_bytes: u64,
    content: Content,
    file: RunFile,
}

/// Runs `lab page-cache` on `targets`.
///
/// `stop` is asked often; once it says yes, what is running is ended and the rows that
/// were timed are returned, with [`Method::interrupted`] set. Nothing is written when a
/// target has no room or cannot be written to.
pub fn run<'a>(
    plan: &'a Plan,
    run: &'a RunSettings,
    targets: &[Target],
    observer: Option<&'a mut dyn Observer>,
    progress: &'a mut dyn Progress,
    stop: &'a dyn Fn() -> bool,
) -> Result<PageCacheResult, LabError> {
    check(&plan.cases, targets)?;
    let files = files(&plan.cases).len() * targets.len();
    let rows = plan.cases.len() * targets.len();
    let steps = files + NOTHING_RUNS + rows * (2 + run.stopping.max_runs);
    let mut session = Session {
        run,
        observer,
        ledger: Ledger::new(progress, steps),
        stop,
    };
    let mut interrupted = false;
    let made = make_files(&mut session, plan, targets, &mut interrupted)?;
    let (items, mut missing) = items(plan, targets, &made)?;
    let own_cost_ns = own_cost_ns(&mut session, &items, &mut interrupted)?;
    let (mut rows, warm_up_runs) = measure(&mut session, &items, 0, &mut interrupted)?;
    missing.extend(session.gaps());
    for (index, figures) in page_cache::figures(&rows).into_iter().enumerate() {
        rows[index].figures = figures;
    }
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
    let mut result = PageCacheResult {
        question: page_cache::QUESTION.to_owned(),
        targets: targets.iter().map(Target::measured).collect(),
        caveats: caveats(targets, run.virtualization.as_deref(), &rows, &method),
        parsing: page_cache::parse_lines(&rows),
        rows,
        answers: Vec::new(),
        missing,
        method,
    };
    result.answers = page_cache::answers(&result);
    for made in made {
        if let Err(error) = made.file.remove() {
            session.ledger.failed(error);
        }
    }
    Ok(result)
}

fn make_files<'a>(
    session: &mut Session<'_>,
    plan: &Plan,
    targets: &'a [Target],
    interrupted: &mut bool,
) -> Result<Vec<Made<'a>>, LabError> {
    let mut made = Vec::new();
    for target in targets {
        for (size_bytes, content) in files(&plan.cases) {
            let stop = session.stop;
            session.ledger.step(&format!(
                "making {} on {}",
                iostrata_core::bytes::exact(size_bytes),
                target.name
            ));
            let make = || content.make(&target.dir, size_bytes, stop);
            let file = until_stopped(stop, interrupted, make)?.flatten();
            made.extend(file.map(|file| Made {
                target,
                size_bytes,
                content,
                file,
            }));
        }
    }
    Ok(made)
}

/// The cases that every target can have, and what is left out.
fn items<'a>(
    plan: &'a Plan,
    targets: &'a [Target],
    made: &'a [Made<'a>],
) -> Result<(Vec<Item<'a>>, Vec<Gap>), LabError> {
    let (mut items, mut missing) = (Vec::new(), Vec::new());
    for target in targets {
        let here = || made.iter().filter(|made| made.target.name == target.name);
        let Some(any) = here().next() else {
            continue;
        };
        let refused = Refused::by(target, any.file.path());
        missing.extend(refused.gaps(target, &plan.cases));
        let file = |case: &Case| -> Option<&'a Path> {
            let content = Content::of(case.parse);
            let made = here()
                .find(|made| (made.size_bytes, made.content) == (case.size_bytes, content))?;
            Some(made.file.path())
        };
        let possible = plan.cases.iter().filter(|case| refused.why(case).is_none());
        items.extend(possible.filter_map(|&case| {
            Some(Item {
                target,
                case,
                file: file(&case)?,
                plan,
            })
        }));
    }
    match missing.first() {
        Some(gap) if items.is_empty() => Err(LabError::Impossible(format!(
            "nothing can be measured: {}: {}; choose another --dir, --fs or --state",
            gap.what, gap.why
        ))),
        _ => Ok((items, missing)),
    }
}

/// Nanoseconds that the measuring loop costs for each read of `pread_random`: the
/// quickest of three runs around a read that does nothing. `None` when there is no such
/// case, or when interrupted.
fn own_cost_ns(
    session: &mut Session<'_>,
    items: &[Item<'_>],
    interrupted: &mut bool,
) -> Result<Option<f64>, LabError> {
    let random = items
        .iter()
        .filter(|item| item.case.reader == Reader::PreadRandom)
        .max_by_key(|item| item.case.size_bytes);
    let Some(item) = random else {
        return Ok(None);
    };
    let reads = item.case.size_bytes.div_ceil(page_cache::RANDOM_READ_BYTES);
    let reads = reads.min(item.plan.random_reads);
    let least_s = Cell::new(f64::INFINITY);
    for _ in 0..NOTHING_RUNS {
        session.ledger.step("timing the measuring loop itself");
        let stop = session.stop;
        let run = until_stopped(stop, interrupted, || {
            let mut workload = session.start(&item.job(vec![FileStep::Nothing]))?;
            let report = workload.go(stop)?;
            workload.exit()?;
            Ok(report.work.sample.real_s)
        })?;
        let Some(real_s) = run else {
            return Ok(None);
        };
        least_s.set(least_s.get().min(real_s));
    }
    Ok(Some(least_s.get() * 1e9 / reads as f64))
}
