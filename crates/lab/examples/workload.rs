//! A workload process for the tests, which cannot use the shipped program.

use std::process::ExitCode;

fn main() -> ExitCode {
    u8::try_from(iostrata_lab::child_main()).map_or(ExitCode::FAILURE, ExitCode::from)
}
