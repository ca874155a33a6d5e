//! `iostrata lab`.

use iostrata_core::environment::Backend;
use iostrata_core::lab::{Experiment, LabResult, SCHEMA};
use iostrata_core::observe::Observer;
use iostrata_lab::buffering::{self, Selection, Settings};
use iostrata_lab::engine::Launcher;
use iostrata_lab::interrupt::Interrupt;
use iostrata_lab::session::{Effort, RunSettings};
use iostrata_report::terminal;
use iostrata_tracer::ebpf::EbpfObserver;
use iostrata_tracer::machine;

use super::targets::Choice;
use super::{deliver, json};
use crate::WORKLOAD;
use crate::cli::Lab;
use crate::destination::Destination;
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
    let mut choice = Choice::from_options(options)?;
    let destination = options.json.clone().map(Destination::open).transpose()?;
    let interrupt = Interrupt::install()
        .map_err(|error| Failure::Cannot(format!("cannot catch signals: {error}")))?;
    let prepared = choice.prepare(&options.dir, buffering::needed_bytes(&cases), &interrupt)?;
    choice.explain();
    let targets = choice.targets(&prepared)?;
    let (mut observer, unobserved_because) = open_observer();
    let backend = if observer.is_some() {
        Backend::Ebpf
    } else {
        Backend::None
    };
    let environment = machine::environment(&options.dir, backend)?;
    let settings = Settings {
        cases,
        run: RunSettings {
            rules: selection.effort.rules(),
            effort: selection.effort,
            scratch: prepared.host().to_owned(),
            launcher: Launcher::this_program(WORKLOAD),
            virtualization: environment.virtualization.clone(),
            unobserved_because,
        },
    };
    let stop = || interrupt.check().is_err();
    let observer = observer
        .as_mut()
        .map(|observer| observer as &mut dyn Observer);
    let mut bar = ui::Bar::new();
    let measured = buffering::run(&settings, &targets, observer, &mut bar, &stop);
    for leftover in prepared.close() {
        ui::say(&format!("warning: {leftover}"));
    }
    let mut measured = measured.map_err(|error| Failure::during(bar.label(), error))?;
    measured.missing.extend(choice.gaps());
    let rows = measured.rows.len();
    let outcome = interrupt
        .check()
        .map_err(|by| Failure::Interrupted { by, rows });
    if rows == 0 {
        return outcome;
    }
    let result = LabResult {
        schema: SCHEMA.to_owned(),
        environment,
        experiments: vec![Experiment::Buffering(measured)],
    };
    let text = json(&result)?;
    deliver(destination, &text, || draw(options, &text))?;
    outcome
}

/// The observer, or why there is none.
fn open_observer() -> (Option<EbpfObserver>, String) {
    match EbpfObserver::open() {
        Ok(observer) => (Some(observer), String::new()),
        Err(error) => {
            ui::say(&format!("no kernel evidence: {error}"));
            (None, error.to_string())
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

/// Draws from what was saved, so that a drawn result can always be drawn again.
fn draw(options: &Lab, saved: &str) -> Result<String, Failure> {
    let saved: LabResult = serde_json::from_str(saved)
        .map_err(|error| Failure::Cannot(format!("cannot read the result back: {error}")))?;
    let style = terminal::lab::Style {
        colour: ui::colour(),
        all_rows: options.all_rows,
    };
    Ok(terminal::lab::draw(&saved, ui::width(), style))
}
