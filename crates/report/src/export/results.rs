//! The sources of the other tables' rows, and their gaps.

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use iostrata_core::bytes::hex_unless_text;
use iostrata_core::environment::{Environment, Storage};
use iostrata_core::gap::Gap;
use iostrata_core::lab::{Experiment, LabResult};
use iostrata_core::trace::TraceResult;

use super::log::Recorded;
use super::table::Table;
use crate::fields::{Fields, columns};
use crate::words;

#[derive(Debug, Clone, Copy)]
pub enum Content<'a> {
    Lab(&'a LabResult),
    Trace(&'a TraceResult),
    Log(&'a [Recorded]),
}

impl Content<'_> {
    fn kind(self) -> &'static str {
        match self {
            Self::Lab(_) => "lab",
            Self::Trace(_) => "trace",
            Self::Log(_) => "operation log",
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// Its number in the rows of other tables, from 1.
    pub number: u64,
    /// The path as typed.
    pub path: &'a Path,
    pub content: Content<'a>,
}

impl<'a> Source<'a> {
    fn environment(&self) -> Option<&'a Environment> {
        match self.content {
            Content::Lab(result) => Some(&result.environment),
            Content::Trace(result) => Some(&result.environment),
            Content::Log(_) => None,
        }
    }
}

pub fn results<'a>(sources: &'a [Source<'a>]) -> Table<'a> {
    let columns = Fields::<Source<'a>>::new()
        .field("result", |source| source.number)
        .field("file", |source| source.path.to_string_lossy().into_owned())
        .field("file_hex", |source| {
            hex_unless_text(source.path.as_os_str().as_bytes())
        })
        .field("kind", |source| source.content.kind())
        .within("", environment(), Source::environment);
    Table::new("results", columns, sources.iter().copied())
}

fn environment<'a>() -> Fields<'a, &'a Environment> {
    columns!(
        Fields::<&'a Environment>::new();
        text: iostrata_version machine kernel;
        values: cpus;
        text: cpu_model;
        values: memory_bytes;
        text: virtualization backend ways;
        [target()]: target;
    )
}

/// A stack of devices is one value: its order is meaningful.
pub(super) fn target<'a>() -> Fields<'a, &'a Storage> {
    columns!(
        Fields::<&'a Storage>::new();
        text: path filesystem mount_options;
        values: journal;
        text: devices;
    )
}

struct MissingRow<'a> {
    result: u64,
    experiment: Option<&'static str>,
    row: Option<u64>,
    file: Option<u64>,
    recording: Option<u64>,
    gap: &'a Gap,
}

/// Missing information, and why: the reasons for the nulls in the other tables.
pub fn missing<'a>(sources: &'a [Source<'a>]) -> Table<'a> {
    let columns = columns!(
        Fields::<MissingRow<'a>>::new();
        values: result;
        text: experiment;
        values: row file recording;
    )
    .field("what", |row| words::missing(&row.gap.what).to_string())
    .field("why", |row| words::reason(&row.gap.why).to_string());
    Table::new("missing", columns, sources.iter().flat_map(gaps))
}

fn gaps<'a>(source: &'a Source<'a>) -> Vec<MissingRow<'a>> {
    let row = |gap| MissingRow {
        result: source.number,
        experiment: None,
        row: None,
        file: None,
        recording: None,
        gap,
    };
    match source.content {
        Content::Lab(result) => lab_gaps(result, row),
        Content::Trace(result) => {
            let whole = result.missing.iter().chain(&result.evidence.missing);
            let files = result.files.iter().zip(1..).flat_map(|(file, number)| {
                let gaps = file.evidence.missing.iter();
                gaps.map(move |gap| MissingRow {
                    file: Some(number),
                    ..row(gap)
                })
            });
            whole.map(row).chain(files).collect()
        }
        Content::Log(recordings) => {
            let recordings = recordings.iter().zip(1..);
            let gaps = recordings.flat_map(|(recording, number)| {
                let gaps = recording.missing.iter();
                gaps.map(move |gap| MissingRow {
                    recording: Some(number),
                    ..row(gap)
                })
            });
            gaps.collect()
        }
    }
}

/// Those of the experiments, then those of their rows.
fn lab_gaps<'a>(
    result: &'a LabResult,
    empty: impl Fn(&'a Gap) -> MissingRow<'a> + Copy,
) -> Vec<MissingRow<'a>> {
    let of = |experiment: &'a Experiment, row, gap| MissingRow {
        experiment: Some(experiment.shared().id),
        row,
        ..empty(gap)
    };
    let of_wholes = result.experiments.iter().flat_map(|experiment| {
        let gaps = experiment.shared().missing.iter();
        gaps.map(move |gap| of(experiment, None, gap))
    });
    let of_rows = result.experiments.iter().flat_map(|experiment| {
        experiment.facts().into_iter().flat_map(move |row| {
            let gaps = row.evidence.missing.iter();
            gaps.map(move |gap| of(experiment, Some(row.number as u64), gap))
        })
    });
    of_wholes.chain(of_rows).collect()
}
