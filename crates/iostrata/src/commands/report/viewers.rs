//! `--perfetto` and `--folded`: one run, of its result, its operation log or both.

use std::iter;

use iostrata_core::trace::TraceResult;

use super::log::{Log, Reading};
use super::read::Saved;
use crate::cli::Report;
use crate::commands::written::Viewers;
use crate::error::Failure;

pub(super) fn write(options: &Report, results: &[Saved]) -> Result<(), Failure> {
    let viewers = &options.exports.viewers;
    let run = run(results)?;
    if viewers.folded.is_some() && run.0.is_none() {
        return Err(Failure::usage(
            "--folded is for a result of trace, and none of the files is one; an operation log has \
             no call sites",
        ));
    }
    let open = || Viewers::open(viewers);
    match run {
        (result, None) => open()?.save(result, &mut iter::empty()),
        (result, Some(log)) => {
            let mut reading = log.read(1, options.limits.limits())?;
            if let Some(result) = result
                && !is_log_of(&mut reading, result)
            {
                return Err(Failure::Usage(format!(
                    "{log} is not the operation log of this run; give them to --perfetto one by one"
                )));
            }
            save(open()?, result, log, reading)
        }
    }
}

/// Writes what can be read of a log, and tells the user about the rest.
pub(in crate::commands) fn save(
    viewers: Viewers,
    result: Option<&TraceResult>,
    log: &Log,
    mut reading: Reading,
) -> Result<(), Failure> {
    viewers.save(result, &mut reading)?;
    let (_, failure) = reading.finish();
    failure.map_or(Ok(()), |failure| Err(log.failed(&failure)))
}

/// The run that the files belong to.
fn run(results: &[Saved]) -> Result<(Option<&TraceResult>, Option<&Log>), Failure> {
    match results {
        [Saved::Trace(result)] => Ok((Some(result), None)),
        [Saved::Log(log)] => Ok((None, Some(log))),
        [Saved::Trace(result), Saved::Log(log)] | [Saved::Log(log), Saved::Trace(result)] => {
            Ok((Some(result), Some(log)))
        }
        _ => Err(Failure::usage(
            "--perfetto and --folded are for one run: a result of trace, its operation log, or both; \
             leave the other files out",
        )),
    }
}

/// Whether a log begins with the recording of this run.
fn is_log_of(reading: &mut Reading, result: &TraceResult) -> bool {
    let Some(recording) = reading.first() else {
        return false;
    };
    let command = recording.begin.command.iter();
    result.recording.is_some()
        && command
            .map(|word| String::from_utf8_lossy(word))
            .eq(result.command.iter().cloned())
        && recording.begin.started_ns <= result.started_ns
}
