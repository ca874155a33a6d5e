//! One file per command.

mod cache;
mod compare;
mod completions;
mod doctor;
pub(crate) mod explain;
mod glossary;
mod html;
mod lab;
mod man;
mod report;
mod trace;

use std::process::ExitCode;

use crate::cli::{Arguments, Command};
use crate::destination::Destination;
use crate::error::Failure;
use crate::ui;

/// Runs the command that was asked for.
pub(crate) fn run(arguments: Arguments) -> Result<ExitCode, Failure> {
    match arguments.command {
        Command::Lab(options) => lab::run(&options),
        Command::Trace(options) => return trace::run(&options),
        Command::Cache(options) => return cache::run(&options),
        Command::Doctor(options) => doctor::run(&options),
        Command::Report(options) => report::run(&options),
        Command::Compare(options) => return compare::run(&options),
        Command::Explain(options) => explain::run(&options),
        Command::Completions(options) => completions::run(&options),
        Command::Man(options) => man::run(&options),
    }
    .map(|()| ExitCode::SUCCESS)
}

/// A result as it is saved.
fn json(result: &impl serde::Serialize) -> Result<String, Failure> {
    saved(serde_json::to_string_pretty(result))
}

/// As [`json`], on one line: a trace has as many rows as the program had files.
fn json_line(result: &impl serde::Serialize) -> Result<String, Failure> {
    saved(serde_json::to_string(result))
}

fn saved(text: serde_json::Result<String>) -> Result<String, Failure> {
    text.map(|text| text + "\n")
        .map_err(|error| Failure::Cannot(format!("cannot write the result as JSON: {error}")))
}

/// Saves a result and draws it, unless it was saved to standard output.
fn deliver(
    destination: Option<Destination>,
    json: &str,
    draw: impl FnOnce() -> Result<String, Failure>,
) -> Result<(), Failure> {
    let instead = destination
        .as_ref()
        .is_some_and(Destination::is_standard_output);
    let saved = destination.map_or(Ok(()), |destination| destination.save(json));
    if instead {
        return saved;
    }
    // Also when it could not be saved: the measurement has been paid for.
    ui::print(&draw()?)?;
    saved
}
