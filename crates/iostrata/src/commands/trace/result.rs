//! From an observed run to its result.

use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;

use iostrata_core::trace::{Facts, TraceResult, assemble as join};
use iostrata_tracer::{aftermath, machine};

use super::Run;
use crate::cli::Trace;
use crate::error::Failure;

/// Joins what was observed with what is left to ask the kernel for.
pub(super) fn assemble(options: &Trace, run: Run) -> Result<TraceResult, Failure> {
    let raw = run.observation.raw;
    let mut seen = run.observation.seen.unwrap_or_default();
    aftermath::name_mapped(&mut seen, raw.cache.as_deref().unwrap_or(&[]));
    // First of all: the kernel writes it back meanwhile.
    let dirty_bytes = aftermath::dirty_bytes(&seen, raw.cache.as_deref().unwrap_or(&[]));
    let residency = aftermath::residency(&seen, raw.syscalls.as_deref().unwrap_or(&[]));
    let facts = Facts {
        environment: machine::environment(Path::new("."), run.backend)?,
        command: command(options),
        adopted: options.pid,
        exit_code: run.status.and_then(|status| status.code()),
        signal: run.status.and_then(|status| status.signal()),
        started_ns: run.started_ns,
        wall_s: (run.ended_ns - run.started_ns) as f64 / 1e9,
        storage: aftermath::storage(&seen.names, raw.sharing.as_ref()),
        dirty_bytes,
        residency,
        lower: run.lower,
        missing: Vec::new(),
    };
    Ok(join(&raw, &seen, facts))
}

/// As it was typed, or as `/proc` shows it.
fn command(options: &Trace) -> Vec<String> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match options.pid {
        None => {
            let words = options.command.iter();
            words.map(|word| text(word.as_bytes())).collect()
        }
        Some(pid) => {
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let words = line.split(|byte| *byte == 0);
            words.filter(|word| !word.is_empty()).map(text).collect()
        }
    }
}
