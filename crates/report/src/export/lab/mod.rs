//! Tables of lab results.

mod samples;

use std::rc::Rc;

use iostrata_core::answer::Answer;
use iostrata_core::evidence::CallStats;
use iostrata_core::lab::{
    Experiment, Facts, LabResult, MeasuredTarget, Shared, machine_of, target_of,
};
use iostrata_core::sync::SyncRow;
use serde_json::{Map, Value};

use super::results::target;
use super::table::Table;
use crate::fields::evidence::{evidence, timing};
use crate::fields::{self, Fields, json_name};

pub type Numbered<'a> = [(u64, &'a LabResult)];

#[derive(Clone)]
pub(super) struct LabRow<'a> {
    pub(super) result: u64,
    pub(super) experiment: &'static str,
    /// The case's keys as in the JSON.
    pub(super) case: Rc<Map<String, Value>>,
    pub(super) facts: Facts<'a>,
}

pub fn tables<'a>(results: &'a Numbered<'a>) -> Vec<Table<'a>> {
    let all = all(results).flat_map(|(result, one)| rows(result, one));
    let calls_of = all.clone();
    vec![
        targets(results),
        Table::new("rows", columns(), all),
        calls(calls_of),
        samples::timings(results),
        samples::samples(results),
        answers(results),
        table("buffering", results, fields::lab::buffering()),
        table("page_cache", results, fields::lab::page_cache()),
        table("sync", results, fields::lab::sync()),
        table("atime", results, fields::lab::atime()),
        table("copy", results, fields::lab::copy()),
        parts("sync_latencies", results, fields::lab::bucket(), |row| {
            &row.latency_s.buckets
        }),
        parts("sync_seconds", results, fields::lab::second(), |row| {
            &row.series.seconds
        }),
    ]
}

/// Every experiment, with the number of its result.
fn all<'a>(results: &'a Numbered<'a>) -> impl Iterator<Item = (u64, &'a Experiment)> + Clone {
    let results = results.iter();
    results.flat_map(|(number, result)| result.experiments.iter().map(|one| (*number, one)))
}

pub(super) fn rows(result: u64, experiment: &Experiment) -> Vec<LabRow<'_>> {
    let rows = experiment.facts().into_iter().map(|facts| LabRow {
        result,
        experiment: experiment.shared().id,
        case: Rc::new(facts.case()),
        facts,
    });
    rows.collect()
}

/// The place of a row and its case: what every table of rows begins with.
fn keys<'a>() -> Fields<'a, LabRow<'a>> {
    Fields::<LabRow<'a>>::new()
        .field("result", |row| row.result)
        .within("", case(), |row| Some(row.clone()))
}

/// The same without the result.
fn case<'a>() -> Fields<'a, LabRow<'a>> {
    let mut columns = Fields::<LabRow<'a>>::new()
        .field("experiment", |row| row.experiment)
        .field("row", |row| row.facts.number as u64)
        .field("target", |row| row.facts.target)
        .field("machine", |row| row.facts.machine);
    for key in TEXT_KEYS.split_ascii_whitespace() {
        columns = columns.field(key, move |row| {
            Some(row.case.get(key)?.as_str()?.to_owned())
        });
    }
    for key in COUNT_KEYS {
        columns = columns.field(key, move |row| row.case.get(key)?.as_u64());
    }
    columns.field("durable", |row| row.case.get("durable")?.as_bool())
}

const TEXT_KEYS: &str = "mode call write state reader parse operation loop reading mount \
                         filesystem method source destination";

const COUNT_KEYS: [&str; 5] = ["size_bytes", "buffer_bytes", "count", "writers", "reads"];

fn columns<'a>() -> Fields<'a, LabRow<'a>> {
    keys().within("", facts(), |row| Some(row.facts))
}

fn facts<'a>() -> Fields<'a, Facts<'a>> {
    Fields::<Facts<'a>>::new()
        .within("", timing(), |row| row.timing)
        .within("", evidence(), |row| Some(row.evidence))
        .field("steal_s", |row| row.interference.steal_s)
        .field("other_cpu_s", |row| row.interference.other_cpu_s)
        .field("other_requests", |row| row.interference.other_requests)
        .field("notes", |row| json_name(&row.notes))
        .field("id", Facts::id)
}

fn calls<'a>(rows: impl Iterator<Item = LabRow<'a>> + 'a) -> Table<'a> {
    type CallOf<'a> = (LabRow<'a>, &'a str, CallStats);
    let columns = Fields::<CallOf<'a>>::new()
        .within("", keys(), |(row, _, _)| Some(row.clone()))
        .field("name", |(_, name, _)| *name)
        .field("calls", |(_, _, call)| call.count)
        .field("errors", |(_, _, call)| call.errors)
        .field("bytes", |(_, _, call)| call.bytes)
        .field("time_s", |(_, _, call)| call.time_s);
    let calls = rows.flat_map(|row| {
        let calls = row.facts.evidence.syscalls.iter().flatten();
        calls
            .map(move |(name, call)| (row.clone(), name.as_str(), *call))
            .collect::<Vec<_>>()
    });
    Table::new("row_calls", columns, calls)
}

fn targets<'a>(results: &'a Numbered<'a>) -> Table<'a> {
    type TargetOf<'a> = (u64, &'static str, &'a MeasuredTarget);
    let columns = Fields::<TargetOf<'a>>::new()
        .field("result", |row| row.0)
        .field("experiment", |row| row.1)
        .field("target", |row| target_of(&row.2.name))
        .field("machine", |row| machine_of(&row.2.name))
        .field("image", |row| row.2.image)
        .within("", target(), |row| Some(&row.2.storage));
    let rows = all(results).flat_map(|(number, experiment)| {
        let Shared { id, targets, .. } = experiment.shared();
        targets.iter().map(move |target| (number, id, target))
    });
    Table::new("targets", columns, rows)
}

/// Claims and what the rows say of them.
fn answers<'a>(results: &'a Numbered<'a>) -> Table<'a> {
    type AnswerOf<'a> = (u64, &'static str, u64, &'a Answer);
    let columns = Fields::<AnswerOf<'a>>::new()
        .field("result", |row| row.0)
        .field("experiment", |row| row.1)
        .field("answer", |row| row.2)
        .field("claim", |row| &row.3.claim)
        .field("verdict", |row| row.3.verdict.as_str())
        .field("because", |row| &row.3.because)
        .field("rows", |row| serde_json::to_string(&row.3.rows).ok())
        .field("row_ids", |row| serde_json::to_string(&row.3.row_ids).ok())
        .field("machine", |row| row.3.machine.as_deref());
    let rows = all(results).flat_map(|(number, experiment)| {
        let Shared { id, answers, .. } = experiment.shared();
        let answers = answers.iter().zip(1..);
        answers.map(move |(answer, place)| (number, id, place, answer))
    });
    Table::new("answers", columns, rows)
}

fn table<'a, R: 'static>(
    name: &'static str,
    results: &'a Numbered<'a>,
    figures: Fields<'a, &'a R>,
) -> Table<'a> {
    let columns = Fields::<(LabRow<'a>, &'a R)>::new()
        .within("", keys(), |(row, _)| Some(row.clone()))
        .within("", figures, |(_, whole)| Some(*whole));
    Table::new(name, columns, rows_of(results))
}

/// Rows of one experiment, with what all have.
fn rows_of<'a, R: 'static>(results: &'a Numbered<'a>) -> impl Iterator<Item = (LabRow<'a>, &'a R)> {
    all(results).flat_map(|(number, experiment)| match experiment.rows_of::<R>() {
        [] => Vec::new(),
        own => rows(number, experiment).into_iter().zip(own).collect(),
    })
}

fn parts<'a, T: 'a>(
    name: &'static str,
    results: &'a Numbered<'a>,
    part: Fields<'a, &'a T>,
    pick: fn(&'a SyncRow) -> &'a [T],
) -> Table<'a> {
    type PartOf<'a, T> = (LabRow<'a>, u64, &'a T);
    let columns = Fields::<PartOf<'a, T>>::new()
        .within("", keys(), |(row, _, _)| Some(row.clone()))
        .field("part", |(_, place, _)| *place)
        .within("", part, |(_, _, part)| Some(*part));
    let parts = rows_of::<SyncRow>(results).flat_map(move |(row, sync)| {
        let parts = pick(sync).iter().zip(1..);
        parts.map(move |(part, place)| (row.clone(), place, part))
    });
    Table::new(name, columns, parts)
}
