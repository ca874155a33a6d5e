//! `iostrata crash`: the states that a power failure could leave of a program's files.

mod look;
mod place;

use std::cell::RefCell;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::process::ExitCode;
use std::time::Instant;

use iostrata_core::crash::{
    Budget, CrashResult, Fault, Found, History, ModeRow, Model, SCHEMA, States, Verdict, Verdicts,
    findings, fix, fix_rows, search,
};
use iostrata_core::environment::Backend;
use iostrata_core::op::Gap;
use iostrata_lab::crash::{Log, LogError};
use iostrata_lab::interrupt::Interrupt;
use iostrata_lab::scratch::Scratch;
use iostrata_report::terminal;
use iostrata_tracer::machine;

use self::look::Judge;
use self::place::Place;
use crate::cli::Crash;
use crate::destination::Destination;
use crate::error::Failure;
use crate::ui::Canvas;

pub(crate) fn run(options: &Crash) -> Result<ExitCode, Failure> {
    let destination = options.json.clone().map(Destination::open).transpose()?;
    let interrupt = Interrupt::install().map_err(|error| Failure::no_signals(&error))?;
    let scratch = Scratch::create(&std::env::temp_dir(), 0)?;
    let place = Place::prepare(options, scratch.path())?;
    let printed = place.record(options)?;
    let mut log = Log::read(&place.log, &place.work, interrupt).map_err(failure)?;
    log.keep_printed(&printed).map_err(failure)?;
    let result = explore(options, &place, log)?;
    let json = super::json(&result)?;
    super::deliver(destination, &json, || {
        let result: CrashResult = super::read_back(&json)?;
        let canvas = Canvas::Output;
        Ok(terminal::crash::draw(
            &result,
            canvas.width(),
            canvas.colour(),
        ))
    })?;
    Ok(ExitCode::from(match result.verdict {
        Verdict::Clean => 0,
        Verdict::Failing => 1,
        Verdict::Incomplete => 3,
    }))
}

fn cannot(what: &str, error: &io::Error) -> Failure {
    Failure::Cannot(format!("cannot {what}: {error}"))
}

fn failure(error: LogError) -> Failure {
    match error {
        LogError::Interrupted(by) => Failure::Interrupted { by, rows: 0 },
        other => Failure::Cannot(other.to_string()),
    }
}

fn explore(options: &Crash, place: &Place, log: Log) -> Result<CrashResult, Failure> {
    let history = log.history.clone();
    let (operations, gaps) = (log.operations, log.incomplete_because.clone());
    let log = RefCell::new(log);
    let mut judge = Judge::new(options, place, &history, &log)?;
    accept_both_ends(&history, &mut judge)?;
    let budget = Budget {
        states: options.states,
        seed: options.seed,
        ..Budget::default()
    };
    let models = options.model.models();
    let mut verdicts = Verdicts::default();
    let mut check = |tree: &_, told| judge.check(tree, told);
    let (mut found, mut modes) = (Vec::new(), Vec::new());
    for model in models {
        let begun = Instant::now();
        let of_model = search(&history, *model, budget, &mut verdicts, &mut check);
        let of_model = of_model.map_err(failure)?;
        let seconds = begun.elapsed().as_secs_f64();
        modes.push(mode(*model, &of_model, (operations, &gaps), seconds));
        found.push((*model, of_model));
    }
    let faults = found.iter().flat_map(|(_, found)| found.faults.clone());
    let faults: Vec<Fault> = faults.collect();
    let fixed = fix(&history, models, budget, &faults, &mut verdicts, &mut check);
    let fixed = fixed.map_err(failure)?;
    let kept_in = judge.kept_in();
    judge.finish();
    let directory = place.work.as_os_str().as_bytes();
    let findings = findings(&history, &found, directory);
    let environment = machine::environment(&place.scratch, Backend::None);
    let words = options.command.iter();
    Ok(CrashResult {
        schema: SCHEMA.to_owned(),
        environment: environment.map_err(|error| Failure::Cannot(error.to_string()))?,
        command: words
            .map(|word| word.to_string_lossy().into_owned())
            .collect(),
        check: options.check.clone(),
        check_kept_in: kept_in.map(str::to_owned),
        modes,
        verdict: match (findings.is_empty(), gaps.is_empty()) {
            (false, _) => Verdict::Failing,
            (true, false) => Verdict::Incomplete,
            (true, true) => Verdict::Clean,
        },
        findings,
        fix: fixed.map(|added| {
            fix_rows(&history, &added, directory, |one| {
                history.path_at(one.node, one.before)
            })
        }),
    })
}

/// A checker that refuses what was there before, or what is there without a crash, says nothing about one.
fn accept_both_ends(history: &History, judge: &mut Judge<'_>) -> Result<(), Failure> {
    let (base, end) = history.ends();
    let told = history.told();
    for (tree, told, when) in [
        (&base, 0, "before the program runs"),
        (&end, told, "after the program has ended without a crash"),
    ] {
        if let Some(message) = judge.check(tree, told).map_err(failure)? {
            return Err(Failure::Usage(format!(
                "the checker refuses the directory as it is {when}: {message}; it has to accept that"
            )));
        }
    }
    Ok(())
}

fn mode(model: Model, found: &Found, (operations, gaps): (u64, &[Gap]), seconds: f64) -> ModeRow {
    let coverage = &found.coverage;
    ModeRow {
        mode: "syscall".to_owned(),
        model,
        operations,
        states: States {
            explored: coverage.states,
            distinct: found.distinct,
            failing: found.failing,
            points: coverage.points,
            sampled_points: coverage.sampled,
            limit_reached: coverage.limit_reached,
        },
        complete: gaps.is_empty(),
        incomplete_because: gaps.to_vec(),
        seconds,
    }
}
