//! Results as files that other programs read.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use iostrata_core::lab::LabResult;
use iostrata_core::trace::TraceResult;
use iostrata_report::export::{self, Content, Format, Recorded, Source, lab, prometheus, trace};

use super::log::{Log, Reading};
use super::read::Saved;
use super::tables::Directory;
use super::viewers;
use crate::cli::Report;
use crate::destination::To;
use crate::error::Failure;

/// Writes all that is asked for.
pub(super) fn run(options: &Report, results: &[Saved]) -> Result<(), Failure> {
    for (path, result) in options.paths.iter().zip(results) {
        if !matches!(result, Saved::Lab(_) | Saved::Trace(_) | Saved::Log(_)) {
            return Err(Failure::Usage(format!(
                "{} is a result of {}, which has no tables to export; leave it out",
                path.display(),
                result.kind()
            )));
        }
    }
    let exports = &options.exports;
    let parquet = exports.parquet.as_ref().map(|dir| (dir, Format::Parquet));
    let csv = exports.csv.as_ref().map(|dir| (dir, Format::Csv));
    for (dir, format) in parquet.into_iter().chain(csv) {
        write_tables(dir, format, options, results)?;
    }
    if exports.viewers.is_given() {
        viewers::write(options, results)?;
    }
    match &exports.prometheus {
        Some(path) => write_metrics(path, &sources(&options.paths, results, &[])),
        None => Ok(()),
    }
}

fn write_tables(
    dir: &Path,
    format: Format,
    options: &Report,
    results: &[Saved],
) -> Result<(), Failure> {
    let (paths, limits) = (&options.paths, options.limits.limits());
    let read = Read::of(results);
    let readings = read
        .logs
        .iter()
        .map(|(number, log)| log.read(*number, limits));
    let mut readings: Vec<Reading> = readings.collect::<Result<_, _>>()?;
    let mut files = Directory::open(dir, format)?;
    if !readings.is_empty() {
        let operations = readings.iter_mut().flat_map(Iterator::by_ref);
        files.write(export::operations(Box::new(operations)))?;
    }
    let finished = readings.into_iter().map(Reading::finish);
    let (recordings, failures): (Vec<_>, Vec<_>) = finished.unzip();
    let logs = read.logs.iter().map(|(number, _)| *number);
    let recordings: Vec<_> = logs.zip(recordings).collect();
    let sources = sources(paths, results, &recordings);
    let mut tables = vec![export::results(&sources), export::missing(&sources)];
    if !recordings.is_empty() {
        tables.push(export::recordings(&recordings));
    }
    if !read.lab.is_empty() {
        tables.extend(lab::tables(&read.lab));
    }
    if !read.trace.is_empty() {
        tables.extend(trace::tables(&read.trace));
    }
    for table in tables {
        files.write(table)?;
    }
    files.finish()?;
    // What could be read is written; the rest is reported to the user.
    let failed = read.logs.iter().zip(&failures);
    let mut failed = failed.filter_map(|((_, log), failure)| Some(log.failed(failure.as_ref()?)));
    failed.next().map_or(Ok(()), Err)
}

/// The results by kind, with the numbers of their files.
struct Read<'a> {
    lab: Vec<(u64, &'a LabResult)>,
    trace: Vec<(u64, &'a TraceResult)>,
    logs: Vec<(u64, &'a Log)>,
}

impl<'a> Read<'a> {
    fn of(results: &'a [Saved]) -> Self {
        let mut read = Self {
            lab: Vec::new(),
            trace: Vec::new(),
            logs: Vec::new(),
        };
        for (result, number) in results.iter().zip(1..) {
            match result {
                Saved::Lab(result) => read.lab.push((number, result)),
                Saved::Trace(result) => read.trace.push((number, result)),
                Saved::Log(log) => read.logs.push((number, log)),
                _ => {}
            }
        }
        read
    }
}

/// The files that the rows come from.
fn sources<'a>(
    paths: &'a [PathBuf],
    results: &'a [Saved],
    logs: &'a [(u64, Vec<Recorded>)],
) -> Vec<Source<'a>> {
    let files = paths.iter().zip(results).zip(1..);
    let sources = files.filter_map(|((path, result), number)| {
        let content = match result {
            Saved::Lab(result) => Content::Lab(result),
            Saved::Trace(result) => Content::Trace(result),
            Saved::Log(_) => {
                let (_, recordings) = logs.iter().find(|(known, _)| *known == number)?;
                Content::Log(recordings)
            }
            _ => return None,
        };
        Some(Source {
            number,
            path,
            content,
        })
    });
    sources.collect()
}

/// Writes the metrics of `sources` to `path`, or to standard output for `-`.
fn write_metrics(path: &Path, sources: &[Source<'_>]) -> Result<(), Failure> {
    check_metrics(sources)?;
    // A file is replaced, so that no reader sees half of it; a pipe or a device is written in place.
    let saved = To::open(path).and_then(|to| to.write_by(|to| prometheus::write(sources, to)));
    saved.map_err(|error| {
        Failure::Cannot(format!(
            "cannot write the metrics to {}: {error}; name a writable file",
            path.display()
        ))
    })
}

/// Metrics are distinguished by the names of the results.
fn check_metrics(sources: &[Source<'_>]) -> Result<(), Failure> {
    if sources.is_empty() {
        return Err(Failure::usage(
            "--prometheus is for results of lab and trace, and none of the files is one; export \
             an operation log with --parquet or --csv",
        ));
    }
    let mut names = HashSet::new();
    let twice = sources
        .iter()
        .map(|source| source.path)
        .find(|path| !names.insert(*path));
    twice.map_or(Ok(()), |path| {
        Err(Failure::Usage(format!(
            "{} is given twice, and its metrics would be ambiguous; give it once",
            path.display()
        )))
    })
}
