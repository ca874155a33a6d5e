//! `iostrata merge`: results of several machines as one, or parts of one crash as the whole.

use std::path::Path;
use std::process::ExitCode;

use iostrata_core::lab::{self, Input, LabResult};
use iostrata_report::terminal::lab_screen::{self, Parts, Screen};

use super::report::read::{self, Saved};
use crate::cli::Merge;
use crate::destination::Destination;
use crate::error::Failure;
use crate::outputs::{self, Named};
use crate::ui::Canvas;

pub(crate) fn run(options: &Merge) -> Result<ExitCode, Failure> {
    let output = Named::output("--json", options.json.as_deref());
    let inputs = options.paths.iter().map(|path| Named::input(path));
    outputs::check(inputs.chain(output))?;
    let saved = options.paths.iter().map(|path| read::saved(path));
    let saved = saved.collect::<Result<Vec<_>, _>>()?;
    if matches!(saved.first(), Some(Saved::Crash(_))) {
        return parts(options, &saved);
    }
    let results = options.paths.iter().zip(saved);
    let results = results.map(|(path, saved)| lab_result(path, saved));
    let results = results.collect::<Result<Vec<_>, _>>()?;
    let merged = merged(options, &results)?;
    let destination = Destination::open(options.json.as_deref())?;
    super::deliver(destination, &merged, || {
        let (width, colour) = (Canvas::Output.width(), Canvas::Output.colour());
        let screen = Screen {
            colour,
            parts: options.all_rows.then_some(Parts::ALL),
            all_rows: options.all_rows,
            ..Screen::default()
        };
        Ok(lab_screen::draw(&merged, width, &screen))
    })?;
    Ok(ExitCode::SUCCESS)
}

fn parts(options: &Merge, saved: &[Saved]) -> Result<ExitCode, Failure> {
    let results = options.paths.iter().zip(saved);
    let results = results.map(|(path, saved)| match saved {
        Saved::Crash(result) => Ok((path.as_path(), result.as_ref())),
        other => Err(other_kind(
            path,
            other,
            "parts of a crash can be merged with its other parts",
        )),
    });
    let results = results.collect::<Result<Vec<_>, _>>()?;
    let destination = Destination::open(options.json.as_deref())?;
    super::crash::merge(
        &results,
        options.from.as_deref(),
        destination,
        options.accept_partial,
    )
}

fn lab_result(path: &Path, saved: Saved) -> Result<LabResult, Failure> {
    match saved {
        Saved::Lab(result) => Ok(*result),
        other => Err(other_kind(
            path,
            &other,
            "lab results can be merged with lab results",
        )),
    }
}

fn other_kind(path: &Path, saved: &Saved, only: &str) -> Failure {
    Failure::Usage(format!(
        "{} is a result of {}, and only {only}; leave it out",
        path.display(),
        saved.kind()
    ))
}

fn merged(options: &Merge, results: &[LabResult]) -> Result<LabResult, Failure> {
    let (files, names) = (options.paths.len(), options.machine.len());
    if names > 0 && names != files {
        return Err(Failure::Usage(format!(
            "--machine names {names} of {files} files; give one name per file, in the same order"
        )));
    }
    let files: Vec<String> = options
        .paths
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    let named = options.machine.iter().map(|name| Some(name.as_str()));
    let inputs = files.iter().zip(results);
    let inputs = inputs.zip(named.chain(std::iter::repeat(None)));
    let inputs: Vec<Input<'_>> = inputs
        .map(|((file, result), machine)| Input {
            file,
            machine,
            result,
        })
        .collect();
    lab::merge(&inputs).map_err(Failure::usage)
}
