//! `iostrata lab`.

use iostrata_core::environment::Backend;
use iostrata_core::lab::{Experiment, LabResult, SCHEMA};
use iostrata_core::observe::Observer;
use iostrata_lab::buffering::{self, Effort, Selection, Settings};
use iostrata_lab::engine::Launcher;
use iostrata_lab::interrupt::Interrupt;
use iostrata_report::terminal;
use iostrata_tracer::ebpf::EbpfObserver;
use iostrata_tracer::machine;

use super::json;
use super::targets::Choice;
use crate::WORKLOAD;
use crate::cli::Lab;
use crate::error::Failure;
use crate::ui;

/// Runs experiments, saves the result and draws what was saved.
pub(crate) fn run(options: &Lab) -> Result<(), Failure> {
    let selection = Selection {
        modes: options.mode.clone(),
        sizes_bytes: options.size.clone(),
        count: options.count,
        effort: effort(options),
    };
    let cases = selection.cases()?;
    // First of all: mounts become private to this process before it has threads.
    let choice = Choice::from_options(options)?;
    choice.explain();
    let interrupt = Interrupt::install()
        .map_err(|error| Failure::Cannot(format!("cannot catch signals: {error}")))?;
    let (mut observer, unobserved_because) = match EbpfObserver::open() {
        Ok(observer) => (Some(observer), String::new()),
        Err(error) => (None, error.to_string()),
    };
    if observer.is_none() {
        ui::say(&format!("no kernel evidence: {unobserved_because}; `iostrata doctor` has the remedy"));
    }

    let prepared = choice.prepare(&options.dir, buffering::needed_bytes(&cases), &interrupt)?;
    let targets = choice.targets(&prepared)?;
    let backend = if observer.is_some() { Backend::Ebpf } else { Backend::None };
    let environment = machine::environment(&options.dir, backend)?;
    let settings = Settings {
        cases,
        rules: selection.effort.rules(),
        effort: selection.effort,
        scratch: prepared.host().to_owned(),
        launcher: Launcher::this_program(WORKLOAD),
        virtualization: environment.virtualization.clone(),
        unobserved_because,
    };
    let stop = || interrupt.check().is_err();
    let observer = observer.as_mut().map(|observer| observer as &mut dyn Observer);
    let measured = buffering::run(&settings, &targets, observer, &mut ui::Bar::new(), &stop);
    for leftover in prepared.close() {
        ui::say(&format!("warning: {leftover}"));
    }
    let result = LabResult {
        schema: SCHEMA.to_owned(),
        environment,
        experiments: vec![Experiment::Buffering(measured?)],
    };
    show(options, &result)?;
    interrupt.check().map_err(|interrupted| Failure::Interrupted(interrupted.signal))
}

fn effort(options: &Lab) -> Effort {
    match (options.quick, options.thorough) {
        (true, _) => Effort::Quick,
        (_, true) => Effort::Thorough,
        _ => Effort::Normal,
    }
}

/// Saves, then draws from what was saved, so that a drawn result can always be drawn again.
fn show(options: &Lab, result: &LabResult) -> Result<(), Failure> {
    let text = json(result)?;
    if let Some(path) = &options.json {
        ui::save(path, &text)?;
        if path.as_os_str() == "-" {
            return Ok(());
        }
    }
    let saved: LabResult = serde_json::from_str(&text)
        .map_err(|error| Failure::Cannot(format!("cannot read the result back: {error}")))?;
    let style = terminal::lab::Style { colour: ui::colour(), all_rows: options.all_rows };
    ui::print(&terminal::lab::draw(&saved, ui::width(), style))
}
