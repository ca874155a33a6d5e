//! Tables of lab results.

mod figures;
mod samples;

use std::rc::Rc;

use iostrata_core::answer::Answer;
use iostrata_core::atime::AtimeRow;
use iostrata_core::evidence::{CallCount, Evidence};
use iostrata_core::lab::{Experiment, Interference, LabResult, MeasuredTarget, Row};
use iostrata_core::timing::Timing;
use serde::Serialize;
use serde_json::{Map, Value};

use super::column::{Columns, json_name};
use super::evidence::{evidence, timing};
use super::results::target;
use super::table::Table;

/// Lab results with their numbers.
pub type Numbered<'a> = [(u64, &'a LabResult)];

/// What every row of every experiment has.
#[derive(Debug, Clone)]
pub(super) struct LabRow<'a> {
    pub(super) result: u64,
    pub(super) experiment: &'static str,
    /// From 1, as verdicts cite it.
    pub(super) row: u64,
    /// The case's keys as in the JSON.
    pub(super) case: Rc<Map<String, Value>>,
    pub(super) target: &'a str,
    pub(super) timing: Option<&'a Timing>,
    pub(super) evidence: &'a Evidence,
    interference: &'a Interference,
    notes: &'a [String],
    whole: Whole<'a>,
}

/// A row with what only its experiment has.
#[derive(Debug, Clone, Copy)]
enum Whole<'a> {
    Buffering(&'a iostrata_core::buffering::BufferingRow),
    PageCache(&'a iostrata_core::page_cache::PageCacheRow),
    Sync(&'a iostrata_core::sync::SyncRow),
    Atime(&'a AtimeRow),
    Copy(&'a iostrata_core::copy::CopyRow),
}

/// All tables of lab results.
pub fn tables<'a>(results: &'a Numbered<'a>) -> Vec<Table<'a>> {
    let all = || {
        results
            .iter()
            .flat_map(|(number, result)| rows(*number, result))
    };
    let mut tables = vec![
        targets(results),
        Table::new("rows", columns(), all()),
        calls(all()),
        samples::timings(results),
        samples::samples(results),
        answers(results),
    ];
    tables.extend(figures::tables(results));
    tables
}

/// The name of an experiment, as in the JSON.
pub(super) fn name(experiment: &Experiment) -> &'static str {
    match experiment {
        Experiment::Buffering(_) => "buffering",
        Experiment::PageCache(_) => "page-cache",
        Experiment::Sync(_) => "sync",
        Experiment::Atime(_) => "atime",
        Experiment::Copy(_) => "copy",
    }
}

/// The rows of a result in their order.
pub(super) fn rows(result: u64, lab: &LabResult) -> Vec<LabRow<'_>> {
    let experiments = lab.experiments.iter();
    experiments
        .flat_map(|one| of_experiment(result, one))
        .collect()
}

fn of_experiment(result: u64, experiment: &Experiment) -> Vec<LabRow<'_>> {
    let mut rows: Vec<LabRow<'_>> = match experiment {
        Experiment::Buffering(one) => {
            let rows = one.rows.iter();
            rows.map(|row| LabRow::new(&row.row, Whole::Buffering(row)))
                .collect()
        }
        Experiment::PageCache(one) => {
            let rows = one.rows.iter();
            rows.map(|row| LabRow::new(&row.row, Whole::PageCache(row)))
                .collect()
        }
        Experiment::Sync(one) => {
            let rows = one.rows.iter();
            rows.map(|row| LabRow::new(&row.row, Whole::Sync(row)))
                .collect()
        }
        Experiment::Atime(one) => {
            let rows = one.rows.iter().map(|row| match row {
                AtimeRow::Touch(touch) => LabRow::new(&touch.row, Whole::Atime(row)),
                AtimeRow::Loop(cost) => LabRow::new(&cost.row, Whole::Atime(row)),
            });
            rows.collect()
        }
        Experiment::Copy(one) => {
            let rows = one.rows.iter();
            rows.map(|row| LabRow::new(&row.row, Whole::Copy(row)))
                .collect()
        }
    };
    for (row, number) in rows.iter_mut().zip(1..) {
        row.result = result;
        row.experiment = name(experiment);
        row.row = number;
    }
    rows
}

impl<'a> LabRow<'a> {
    /// A row without its place, which the caller knows.
    fn new<C: Serialize>(row: &'a Row<C>, whole: Whole<'a>) -> Self {
        Self {
            result: 0,
            experiment: "",
            row: 0,
            case: match serde_json::to_value(&row.case) {
                Ok(Value::Object(case)) => Rc::new(case),
                _ => Rc::default(),
            },
            target: &row.target,
            timing: row.timing.as_ref(),
            evidence: &row.evidence,
            interference: &row.interference,
            notes: &row.notes,
            whole,
        }
    }
}

/// The place of a row and its case: what every table of rows begins with.
fn keys<'a>() -> Columns<'a, LabRow<'a>> {
    Columns::<LabRow<'a>>::new()
        .count("result", |row| row.result)
        .within("", case(), |row| Some(row.clone()))
}

/// The same without the result.
fn case<'a>() -> Columns<'a, LabRow<'a>> {
    let mut columns = Columns::<LabRow<'a>>::new()
        .text("experiment", |row| row.experiment)
        .count("row", |row| row.row)
        .text("target", |row| row.target);
    for key in TEXT_KEYS {
        columns = columns.made_text(key, move |row| {
            Some(row.case.get(key)?.as_str()?.to_owned())
        });
    }
    for key in COUNT_KEYS {
        columns = columns.count(key, move |row| row.case.get(key)?.as_u64());
    }
    columns.flag("durable", |row| row.case.get("durable")?.as_bool())
}

/// Keys of cases that are names.
const TEXT_KEYS: [&str; 14] = [
    "mode",
    "call",
    "write",
    "state",
    "reader",
    "parse",
    "operation",
    "loop",
    "reading",
    "mount",
    "filesystem",
    "method",
    "source",
    "destination",
];

/// Keys of cases that are numbers.
const COUNT_KEYS: [&str; 5] = ["size_bytes", "buffer_bytes", "count", "writers", "reads"];

fn columns<'a>() -> Columns<'a, LabRow<'a>> {
    keys()
        .within("", timing(), |row| row.timing)
        .within("", evidence(), |row| Some(row.evidence))
        .real("steal_s", |row| row.interference.steal_s)
        .real("other_cpu_s", |row| row.interference.other_cpu_s)
        .count("other_requests", |row| row.interference.other_requests)
        .made_text("notes", |row| json_name(&row.notes))
}

/// The calls of each row's observed run.
fn calls<'a>(rows: impl Iterator<Item = LabRow<'a>> + 'a) -> Table<'a> {
    type CallOf<'a> = (LabRow<'a>, &'a str, CallCount);
    let columns = Columns::<CallOf<'a>>::new()
        .within("", keys(), |(row, _, _)| Some(row.clone()))
        .text("name", |(_, name, _)| name)
        .count("calls", |(_, _, call)| call.count)
        .count("errors", |(_, _, call)| call.errors)
        .count("bytes", |(_, _, call)| call.bytes)
        .real("time_s", |(_, _, call)| call.time_s);
    let calls = rows.flat_map(|row| {
        let calls = row.evidence.syscalls.iter().flatten();
        calls
            .map(move |(name, call)| (row.clone(), name.as_str(), *call))
            .collect::<Vec<_>>()
    });
    Table::new("row_calls", columns, calls)
}

/// The file systems that were measured.
fn targets<'a>(results: &'a Numbered<'a>) -> Table<'a> {
    type TargetOf<'a> = (u64, &'static str, &'a MeasuredTarget);
    let columns = Columns::<TargetOf<'a>>::new()
        .count("result", |row| row.0)
        .text("experiment", |row| row.1)
        .text("target", |row| &row.2.name)
        .flag("image", |row| row.2.image)
        .within("", target(), |row| Some(&row.2.storage));
    let rows = results.iter().flat_map(|(number, result)| {
        result.experiments.iter().flat_map(|experiment| {
            let targets = match experiment {
                Experiment::Buffering(one) => &one.targets,
                Experiment::PageCache(one) => &one.targets,
                Experiment::Sync(one) => &one.targets,
                Experiment::Atime(one) => &one.targets,
                Experiment::Copy(one) => &one.targets,
            };
            let targets = targets.iter();
            targets.map(|target| (*number, name(experiment), target))
        })
    });
    Table::new("targets", columns, rows)
}

/// Claims and what the rows say of them.
fn answers<'a>(results: &'a Numbered<'a>) -> Table<'a> {
    type AnswerOf<'a> = (u64, &'static str, u64, &'a Answer);
    let columns = Columns::<AnswerOf<'a>>::new()
        .count("result", |row| row.0)
        .text("experiment", |row| row.1)
        .count("answer", |row| row.2)
        .text("claim", |row| &row.3.claim)
        .text("verdict", |row| row.3.verdict.as_str())
        .text("because", |row| &row.3.because)
        .made_text("rows", |row| serde_json::to_string(&row.3.rows).ok());
    let rows = results.iter().flat_map(|(number, result)| {
        result.experiments.iter().flat_map(|experiment| {
            let answers = match experiment {
                Experiment::Buffering(one) => &one.answers,
                Experiment::PageCache(one) => &one.answers,
                Experiment::Sync(one) => &one.answers,
                Experiment::Atime(one) => &one.answers,
                Experiment::Copy(one) => &one.answers,
            };
            let answers = answers.iter().zip(1..);
            answers.map(|(answer, place)| (*number, name(experiment), place, answer))
        })
    });
    Table::new("answers", columns, rows)
}
