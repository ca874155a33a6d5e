//! `iostrata lab`.

mod targets;

use std::io::ErrorKind;
use std::path::Path;

use clap::ValueEnum as _;
use iostrata_core::environment::Backend;
use iostrata_core::gap::Reason;
use iostrata_core::lab::{Experiment, LabResult, SCHEMA};
use iostrata_core::noun::counted;
use iostrata_core::observe::Observer;
use iostrata_lab::engine::Launcher;
use iostrata_lab::experiment;
use iostrata_lab::interrupt::Interrupt;
use iostrata_lab::scratch::Guard;
use iostrata_lab::session::{Effort, RunSettings};
use iostrata_lab::target::Target;
use iostrata_report::html::Drawn;
use iostrata_report::terminal;
use iostrata_report::terminal::lab_screen::{Kept, Parts, Screen};
use iostrata_tracer::ebpf::{EbpfObserver, Limits};
use iostrata_tracer::machine;

use self::targets::Choice;
use super::written::{Markdown, Page};
use super::{deliver, json};
use crate::cli::{ExperimentName, Lab};
use crate::destination::Destination;
use crate::error::Failure;
use crate::outputs::{self, Named};
use crate::progress::Bar;
use crate::signals;
use crate::ui::{self, Canvas};
use crate::{GUARD, WORKLOAD, results};

/// An experiment, with its cases chosen.
type Planned = (ExperimentName, Box<dyn experiment::Experiment>);

/// Shorter runs are not worth a line, unless `--thorough` was given.
const WORTH_SAYING_S: f64 = 60.0;

pub(crate) fn run(options: &Lab) -> Result<(), Failure> {
    let effort = effort(options);
    let json = Named::output("--json", options.json.as_deref());
    let pages = [
        Page::named(&options.html),
        Markdown::named(&options.markdown),
    ];
    outputs::check(json.into_iter().chain(pages.into_iter().flatten()))?;
    let planned = plan(options, effort)?;
    let mut guard = guard(&options.dir);
    // This comes first: mounts become private to this process before it has threads.
    let mut choice = Choice::from_options(options, effort, &planned)?;
    let page = Page::open(&options.html)?;
    let issue = Markdown::open(&options.markdown)?;
    let destination = Destination::open(options.json.as_deref())?;
    let interrupt = signals::interrupt()?;
    // The working directory is the scratch directory from then on.
    let dir = std::path::absolute(&options.dir);
    let dir = dir.as_deref().unwrap_or(&options.dir);
    let prepared = choice.prepare(&options.dir, &planned, guard.as_mut(), &interrupt)?;
    choice.explain();
    let targets = choice.targets(&prepared)?;
    let (mut observer, unobserved_because) = open_observer();
    let backend = observer.as_ref().map_or(Backend::None, Observer::backend);
    let mut environment = machine::environment(dir, backend)?;
    environment.ways = observer.as_ref().map_or_else(Vec::new, EbpfObserver::ways);
    let settings = RunSettings {
        stopping: effort.stopping(),
        effort,
        scratch: prepared.host().to_owned(),
        launcher: Launcher::this_program(WORKLOAD),
        virtualization: environment.virtualization.clone(),
        unobserved_because,
    };
    if effort != Effort::Quick {
        announce(&planned, &choice, &settings, &targets);
    }
    let (experiments, failed) = measure(
        &planned,
        &choice,
        &settings,
        &targets,
        observer.as_mut(),
        &interrupt,
    );
    for leftover in prepared.close() {
        ui::say(&format!("warning: {leftover}"));
    }
    drop(guard);
    let rows = experiments.iter().map(Experiment::rows).sum();
    let interrupted = || {
        interrupt
            .check()
            .map_err(|by| Failure::Interrupted { by, rows })
    };
    let outcome = failed.map_or_else(interrupted, Err);
    if rows == 0 {
        return outcome;
    }
    let result = LabResult {
        schema: SCHEMA.to_owned(),
        environment,
        parts: Vec::new(),
        experiments,
    };
    finish(options, destination, (page, issue), &result)?;
    outcome
}

/// The process that removes the scratch directory if this one is killed. Without it the next run does so.
fn guard(dir: &Path) -> Option<Guard> {
    let error = match Guard::start(&Launcher::this_program(GUARD), dir) {
        Ok(guard) => return Some(guard),
        Err(error) => error,
    };
    // Using the directory will report if it is unusable.
    if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) {
        ui::say(&format!(
            "warning: no process watches over the scratch directory ({error}); if this run is \
             killed, the next run in the same directory removes it"
        ));
    }
    None
}

/// Saves the result, then draws it. A destination that cannot be written does not prevent the
/// others.
fn finish(
    options: &Lab,
    destination: Option<Destination>,
    (page, issue): (Option<Page>, Markdown),
    result: &LabResult,
) -> Result<(), Failure> {
    let text = json(result)?;
    let is_kept = !options.no_save && results::keep(results::Kind::Lab, &text);
    let is_page = page.as_ref().is_some_and(Page::is_standard_output);
    let delivered = match destination {
        Some(destination) if is_page || issue.is_standard_output() => destination.save_json(result),
        None if is_page || issue.is_standard_output() => Ok(()),
        destination => deliver(destination, result, || Ok(draw(options, is_kept, result))),
    };
    let written = issue.save(|| iostrata_report::markdown::lab(result, &[]));
    let json = options.json.as_deref();
    let drawn = page.map_or(Ok(()), |page| page.save_one(Drawn::Lab(result), json));
    delivered.and(written).and(drawn)
}

/// The requested experiments, each once: those named; otherwise those
/// whose options are given; otherwise all.
fn plan(options: &Lab, effort: Effort) -> Result<Vec<Planned>, Failure> {
    let all = ExperimentName::value_variants();
    let with_options = all
        .iter()
        .filter(|name| !options.options_of(**name).is_empty());
    let with_options: Vec<ExperimentName> = with_options.copied().collect();
    let wanted = match (options.names.as_slice(), with_options.as_slice()) {
        ([], []) => all,
        ([], of_options) => of_options,
        (named, _) => named,
    };
    if let Some(name) = with_options.iter().find(|name| !wanted.contains(name)) {
        let (name, given) = (name.as_str(), options.options_of(*name).join(" and "));
        return Err(Failure::Usage(format!(
            "{given} is for {name}, which was not selected; name it too, or leave {given} out"
        )));
    }
    if wanted == [ExperimentName::Atime] && !options.size.is_empty() {
        let why = "--size does not apply to atime, which reads files of fixed sizes; leave --size \
                   out";
        return Err(Failure::Usage(why.to_owned()));
    }
    let wanted = all.iter().filter(|name| wanted.contains(name));
    wanted
        .map(|name| Ok((*name, options.experiment(*name, effort)?)))
        .collect()
}

/// How long the run takes at most: a limit, since most cases need fewer runs.
fn announce(planned: &[Planned], choice: &Choice, run: &RunSettings, targets: &[Target]) {
    let (mut cases, mut most_s) = (0, 0.0);
    for (_, chosen) in planned {
        let targets = choice.targets_of(&**chosen, targets);
        let timed: usize = targets.iter().map(|target| chosen.timed_on(target)).sum();
        cases += timed;
        most_s += timed as f64 * chosen.stopping(run.stopping).budget_s;
    }
    if run.effort == Effort::Thorough || most_s >= WORTH_SAYING_S {
        let (unit, unit_s) = if most_s < 7200.0 {
            ("min", 60.0)
        } else {
            ("h", 3600.0)
        };
        let most = (most_s / unit_s).ceil();
        let cases = counted(cases as u64, "case");
        ui::say(&format!("timing {cases} takes at most about {most} {unit}"));
    }
}

/// When the user ends the run or one fails, earlier results are returned all the same.
fn measure(
    planned: &[Planned],
    choice: &Choice,
    settings: &RunSettings,
    targets: &[Target],
    mut observer: Option<&mut EbpfObserver>,
    interrupt: &Interrupt,
) -> (Vec<Experiment>, Option<Failure>) {
    let stop = || interrupt.check().is_err();
    let mut experiments = Vec::new();
    for (name, chosen) in planned {
        if stop() {
            break;
        }
        let mut bar = Bar::new(name.as_str());
        let observer = observer
            .as_mut()
            .map(|observer| &mut **observer as &mut dyn Observer);
        let chosen = &**chosen;
        let targets = choice.targets_of(chosen, targets);
        match experiment::run(chosen, settings, &targets, observer, &mut bar, &stop) {
            Ok(mut experiment) => {
                experiment.missing_mut().extend(choice.gaps_of(chosen));
                experiments.push(experiment);
                if let Some((label, error)) = bar.failed() {
                    return (experiments, Some(Failure::during(&label, error)));
                }
            }
            Err(error) => return (experiments, Some(Failure::during(bar.label(), error))),
        }
    }
    (experiments, None)
}

fn open_observer() -> (Option<EbpfObserver>, Reason) {
    let limits = Limits {
        without: super::without(),
        ..Limits::default()
    };
    match EbpfObserver::with_limits(limits) {
        Ok(observer) => (Some(observer), Reason::Error(String::new())),
        Err(error) => {
            ui::say(&format!("no kernel evidence: {error}"));
            (None, Reason::Error(error.to_string()))
        }
    }
}

fn effort(options: &Lab) -> Effort {
    match (options.quick, options.thorough) {
        (true, _) => Effort::Quick,
        (_, true) => Effort::Thorough,
        _ => Effort::Normal,
    }
}

fn draw(options: &Lab, is_kept: bool, result: &LabResult) -> String {
    let json = options.json.as_ref().map(|path| path.to_string_lossy());
    let kept = match json.as_deref() {
        Some(file) if file != "-" => Kept::File(file),
        _ if is_kept => Kept::Last,
        _ => Kept::Nowhere,
    };
    let screen = Screen {
        colour: Canvas::Output.colour(),
        names: &[],
        parts: options.all_rows.then_some(Parts::ALL),
        all_rows: options.all_rows,
        kept,
    };
    terminal::lab_screen::draw(result, Canvas::Output.width(), &screen)
}
