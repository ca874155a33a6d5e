//! One file per command.

mod cache;
mod compare;
mod completions;
mod crash;
mod doctor;
pub(crate) mod explain;
mod glossary;
mod lab;
mod man;
pub(crate) mod mark;
mod merge;
mod rebuild;
mod report;
mod serve;
mod top;
mod trace;
mod written;

pub(crate) use crash::{attended, check, starter};

use std::process::ExitCode;

use iostrata_report::Json;
use iostrata_tracer::{machine, memory};

use crate::cli::{Arguments, Command};
use crate::destination::Destination;
use crate::error::Failure;
use crate::signals;
use crate::ui;

pub(crate) fn run(arguments: Arguments) -> Result<ExitCode, Failure> {
    if arguments.command.observes() {
        memory::return_at_once();
    }
    if arguments.command.only_moves_data() {
        signals::end_in_order().map_err(|error| Failure::no_signals(&error))?;
    }
    match arguments.command {
        Command::Lab(options) => lab::run(&options),
        Command::Trace(options) => return trace::run(&options),
        Command::Top(options) => return top::run(&options),
        Command::Serve(options) => serve::run(&options),
        Command::Cache(options) => return cache::run(&options),
        Command::Doctor(options) => doctor::run(&options),
        Command::Report(options) => report::run(options),
        Command::Rebuild(options) => rebuild::run(&options),
        Command::Crash(options) => return crash::run(&options),
        Command::Compare(options) => return compare::run(&options),
        Command::Mark(options) => mark::run(&options),
        Command::Merge(options) => return merge::run(&options),
        Command::Explain(options) => explain::run(&options),
        Command::Completions(options) => completions::run(&options),
        Command::Man(options) => man::run(&options),
    }
    .map(|()| ExitCode::SUCCESS)
}

fn check_proc() -> Result<(), Failure> {
    if machine::has_own_proc() {
        return Ok(());
    }
    let why = "/proc is not that of this PID namespace, and what it says of a process would be another's; \
               mount it (mount -t proc proc /proc, or unshare --mount-proc)";
    Err(Failure::Cannot(why.to_owned()))
}

/// What of the kernel's is not used, for tests of what takes its place.
fn without() -> &'static [&'static str] {
    #[cfg(debug_assertions)]
    if let Ok(names) = std::env::var("IOSTRATA_WITHOUT") {
        let names: &'static str = names.leak();
        return names.split(',').collect::<Vec<_>>().leak();
    }
    &[]
}

fn json(result: &impl Json) -> Result<String, Failure> {
    result
        .to_json()
        .map_err(|error| Failure::Cannot(format!("cannot write the result as JSON: {error}")))
}

/// Saves a result and draws it, unless it was saved to standard output.
fn deliver(
    destination: Option<Destination>,
    result: &impl Json,
    draw: impl FnOnce() -> Result<String, Failure>,
) -> Result<(), Failure> {
    let instead = destination
        .as_ref()
        .is_some_and(Destination::is_standard_output);
    let saved = destination.map_or(Ok(()), |destination| destination.save_json(result));
    if instead {
        return saved;
    }
    // Also when it could not be saved: the measurement has been paid for.
    ui::print(&draw()?)?;
    saved
}
