//! One file per command.

mod doctor;
mod lab;
mod targets;

use crate::cli::{Arguments, Command};
use crate::error::Failure;

/// Runs the command that was asked for.
pub(crate) fn run(arguments: Arguments) -> Result<(), Failure> {
    match arguments.command {
        Command::Lab(options) => lab::run(&options),
        Command::Doctor(options) => doctor::run(&options),
    }
}

/// A result as it is saved.
fn json(result: &impl serde::Serialize) -> Result<String, Failure> {
    serde_json::to_string_pretty(result)
        .map(|text| text + "\n")
        .map_err(|error| Failure::Cannot(format!("cannot write the result as JSON: {error}")))
}
