//! Joins the parts of one exploration: explores again, with what the parts have looked at known already.
//!
//! So a merged result is that of one run in one place: nothing depends on how the states were shared out. Only
//! what no part came to is looked at now: smaller states, and the tries of a fix.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use iostrata_core::crash::{CrashResult, Settings, whole};
use iostrata_lab::interrupt::Interrupt;

use super::checks::Checks;
use super::explore::{Explored, Task, budget, explore};
use super::look::{Judge, locked};
use super::named::There;
use super::{command, deliver, named, recorded, scratch};
use crate::cli::{self, Crash};
use crate::destination::Destination;
use crate::error::Failure;

/// Merges results that were saved in these files.
pub(crate) fn merge(
    results: &[(&Path, &CrashResult)],
    from: Option<&Path>,
    destination: Option<Destination>,
    accepts_partial: bool,
) -> Result<ExitCode, Failure> {
    let files = results.iter();
    let inputs = files.map(|(file, result)| (file.display().to_string(), *result));
    let inputs: Vec<_> = inputs.collect();
    let (parts, known) = whole(&inputs).map_err(Failure::usage)?;
    let (_, first) = &inputs[0];
    let settings = first.settings.clone();
    let options = options(first, &settings, from)?;
    let checker = named(&options)?;
    let (guard, scratch) = scratch()?;
    // A signal ends this process at once.
    let log = recorded(&options, scratch.path(), &Interrupt::never())?;
    if first.recording.as_ref().map(|one| &one.log_blake3) != Some(&locked(&log).blake3) {
        return Err(Failure::usage(
            "the recording is another one than that of the parts; name theirs with --from",
        ));
    }
    let command = command(&options, checker.as_ref(), |path| {
        locked(&log).history.began_with(path).map(There::from)
    })?;
    let checks = Checks::find(&options, command, scratch.path(), &log)?;
    let judge = Judge::new(&options, &checks, scratch.path(), &log)?;
    let task = Task {
        options: &options,
        budget: budget(&settings, None, &log)?,
        settings,
        share: None,
        recovering: None,
        log,
        scratch: scratch.path(),
        keep: None,
        known,
        formats: checks.formats,
    };
    let explored = explore(&task, judge)?;
    drop((scratch, guard));
    let result = CrashResult {
        parts,
        ..explored.result
    };
    let explored = Explored { result, ..explored };
    deliver(destination, None, None, explored, accepts_partial)
}

/// The options of a run that has all parts.
fn options(
    result: &CrashResult,
    settings: &Settings,
    from: Option<&Path>,
) -> Result<Crash, Failure> {
    let kept = result.recording.as_ref().and_then(|one| one.path.as_ref());
    let from = from.map(Path::to_owned).or_else(|| kept.map(PathBuf::from));
    let from = from.filter(|from| from.is_dir()).ok_or_else(|| {
        Failure::usage(
            "the recording that the parts are of is not here; name its directory with --from",
        )
    })?;
    Ok(cli::crash_from(&from, result, settings))
}
