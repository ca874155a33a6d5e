//! iostrata: where a program's file I/O goes, layer by layer, and what each layer costs.
//!
//! This crate holds everything a user touches: arguments, output, errors with their
//! remedies, progress, exit codes. It is the only one that prints, reads the
//! environment or exits.
#![forbid(unsafe_code)]

mod cli;
mod commands;
mod desktop;
mod destination;
mod error;
mod outputs;
mod passwd;
mod progress;
mod replacement;
mod results;
mod signals;
mod ui;
mod visible;

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Hidden subcommand under which the program runs an experiment's work as a child.
const WORKLOAD: &str = "__workload";

/// Hidden subcommand that waits for the end of a lab, to remove its leftovers.
const GUARD: &str = "__guard";

/// Hidden subcommand that runs a command which ends with its parent.
const ATTENDED: &str = "__attended";

/// Hidden subcommand that starts checkers of crashed trees.
const STARTER: &str = "__starter";

/// Hidden subcommand that serves recorded devices.
const DEVICE: &str = "__device";

/// Hidden subcommand that looks at files of crashed trees.
const CHECK: &str = "__check";

fn main() -> ExitCode {
    iostrata_report::words::install();
    let first = std::env::args_os().nth(1).unwrap_or_default();
    if first == WORKLOAD {
        return u8::try_from(iostrata_lab::child_main()).map_or(ExitCode::FAILURE, ExitCode::from);
    }
    if first == GUARD {
        iostrata_lab::scratch::guard_main();
        return ExitCode::SUCCESS;
    }
    if first == ATTENDED {
        return commands::attended();
    }
    if first == STARTER {
        return commands::starter();
    }
    if first == DEVICE {
        iostrata_lab::device::server_main();
        return ExitCode::SUCCESS;
    }
    if first == CHECK {
        return commands::check();
    }
    // Tests make parts of it fail.
    #[cfg(debug_assertions)]
    if let Ok(stage) = std::env::var("IOSTRATA_FAIL") {
        iostrata_tracer::failure::inject(&stage);
    }
    signals::survive_file_limit();
    let arguments = match cli::parsed() {
        Ok(arguments) => arguments,
        Err(code) => return code,
    };
    ui::choose_color(arguments.color);
    match std::panic::catch_unwind(|| commands::run(arguments)) {
        Ok(Ok(code)) => code,
        Ok(Err(failure)) => failure.report(),
        // The panic hook has printed the message and place; unwinding has removed everything that was made.
        Err(_) => error::bug(),
    }
}
