//! The operation log of a traced program.

use iostrata_core::noun::counted;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

use iostrata_core::crash::CallStack;
use iostrata_core::gap::{Gap, Missing, Reason};
use iostrata_core::record::{Begin, Check, Completeness};
use iostrata_core::trace::{RecordingRow, Seen, TraceResult};
use iostrata_tracer::clock::now_ns;
use iostrata_tracer::ebpf::Limits;
use iostrata_tracer::record::{Before, Presser, Recording, Unfinished};
use iostrata_tracer::signals::Held;

use super::super::without;
use super::ending::unless_arrived;
use super::itself;
use crate::cli::Trace;
use crate::error::Failure;
use crate::ui;
use iostrata_report::words;

/// Room for payloads, only if they are recorded.
pub(super) fn limits(options: &Trace) -> Limits {
    if options.record.is_some() {
        Limits {
            reads: options.record_reads,
            every_site: options.stacks.is_some(),
            without: without(),
            ..Limits::record()
        }
    } else {
        Limits {
            joins: !options.attach.name.is_empty() || !options.attach.has_no_groups(),
            without: without(),
            ..Limits::trace()
        }
    }
}

/// Creates the log, if requested, before the program is started. A signal ends the reading of what is there before.
pub(super) fn begin(options: &Trace, held: Held) -> Result<(Option<Recording>, Held), Failure> {
    let Some(path) = &options.record else {
        return Ok((None, held));
    };
    let words = options.command.iter();
    let directory = std::env::current_dir().map_err(itself)?;
    let begin = Begin {
        command: words.map(|word| word.as_bytes().to_vec()).collect(),
        directory: directory.into_os_string().into_vec(),
        started_ns: now_ns(),
        reads: options.record_reads,
    };
    let before = Before {
        directories: options.record_before.clone(),
        limit_bytes: options.record_before_limit,
    };
    let recording = match Recording::with_before(path, &begin, &before) {
        Ok(recording) => recording.with_stacks(options.stacks.is_some()),
        Err(error) => {
            unless_arrived(held)?;
            return Err(itself(error));
        }
    };
    let Some(press) = &options.press else {
        return Ok((Some(recording), held));
    };
    let presser = Presser::open(press).map_err(itself)?;
    Ok((Some(recording.pressed_by(presser)), held))
}

/// Writes where the calls came from, for the one who reads the log. A back end that took no stacks leaves no file.
pub(super) fn stacks(options: &Trace, seen: Option<&Seen>) -> Result<(), Failure> {
    let (Some(path), Some(seen)) = (&options.stacks, seen) else {
        return Ok(());
    };
    let all = CallStack::all(&seen.sites);
    if all.is_empty() {
        return Ok(());
    }
    let written = serde_json::to_vec(&all)
        .map_err(std::io::Error::from)
        .and_then(|text| std::fs::write(path, text));
    written.map_err(itself)
}

/// Removes the log of a program that did not run: it is empty, and the next run may use its
/// name.
pub(super) fn discard(options: &Trace) {
    if let Some(path) = &options.record {
        drop(std::fs::remove_file(path));
    }
}

/// Tells the result and the user what the log contains.
pub(super) fn told(
    options: &Trace,
    recorded: Option<Unfinished>,
    result: &mut TraceResult,
) -> Result<(), Failure> {
    let Some(path) = &options.record else {
        return Ok(());
    };
    let cut_off = || format!("the operation log {} was truncated", path.display());
    let recorded = recorded
        .ok_or_else(cut_off)
        .and_then(|recorded| recorded.finish().map_err(|error| error.to_string()));
    let recorded = recorded.map_err(|error| {
        let missing = Gap::new(Missing::OperationLog, Reason::Error(error.clone()));
        result.missing.push(missing);
        itself(error)
    })?;
    let incomplete_because = match recorded.completeness {
        Completeness::Complete => Vec::new(),
        Completeness::Incomplete { because } => because,
    };
    let state = if incomplete_because.is_empty() {
        "complete".to_owned()
    } else {
        let because = incomplete_because.iter();
        let because: Vec<String> = because.map(|gap| words::gap(gap).to_string()).collect();
        format!("incomplete: {}", because.join("; "))
    };
    if options.runs.purpose.is_none() {
        ui::say(&format!(
            "recorded {} in {} ({} B, {}), {}; {state}",
            counted(recorded.operations, "operation"),
            path.display(),
            recorded.log_bytes,
            counted(recorded.stops, "stop"),
            checked(&recorded.check),
        ));
    }
    result.recording = Some(RecordingRow {
        path: path.to_string_lossy().into_owned(),
        bytes: recorded.log_bytes,
        operations: recorded.operations,
        stops: recorded.stops,
        incomplete_because,
    });
    Ok(())
}

fn checked(check: &Check) -> String {
    match check {
        Check::Compared {
            nodes,
            differing,
            skipped,
        } => {
            let skipped = match skipped {
                0 => String::new(),
                skipped => format!(", {skipped} could not be"),
            };
            format!(
                "compared with {}: {differing} different{skipped}",
                counted(*nodes, "file")
            )
        }
        Check::Skipped { because } => format!("not checked: {}", words::reason(because)),
    }
}
