//! Tables of trace results.

mod files;
pub(super) mod requests;
mod time;

use iostrata_core::trace::{
    Asked, Cited, DirectoryRow, Finding, Judged, Matched, NotFound, TraceResult,
};

use super::table::Table;
use crate::fields::trace::{call, file, run, stayed, task, timed_run};
use crate::fields::{Fields, columns};

pub type Numbered<'a> = [(u64, &'a TraceResult)];

pub fn tables<'a>(results: &'a Numbered<'a>) -> Vec<Table<'a>> {
    vec![
        runs(results),
        listed("asked", "place", results, asked(), |result| {
            result
                .attached
                .as_ref()
                .map_or(&[], |attached| &attached.asked)
        }),
        listed("matched", "place", results, matched(), |result| {
            result
                .attached
                .as_ref()
                .map_or(&[], |attached| &attached.matched)
        }),
        listed("timed_runs", "run", results, timed_run(), |result| {
            result.runs.as_ref().map_or(&[], |runs| &runs.each)
        }),
        listed("stayed_cached", "place", results, stayed(), |result| {
            let cold = result.runs.as_ref().and_then(|runs| runs.cold.as_ref());
            cold.map_or(&[], |cold| &cold.left)
        }),
        listed("calls", "call", results, call(), |result| &result.syscalls),
        time::call_times(results),
        time::timeline(results),
        listed("files", "file", results, file(), |result| &result.files),
        files::file_calls(results),
        files::transfer_sizes(results),
        files::sites(results),
        files::residency(results),
        requests::requests(results),
        listed("tasks", "task", results, task(), |result| &result.tasks),
        listed("audit", "place", results, audit(), |result| &result.audit),
        listed("findings", "finding", results, finding(), |result| {
            &result.findings
        }),
        finding_evidence(results),
        listed("not_found", "place", results, not_found(), |result| {
            &result.not_found
        }),
        listed("directories", "place", results, directory(), |result| {
            &result.directories
        }),
    ]
}

type Place<'a, T> = (u64, u64, &'a T);

/// A table of a list in a result: the result's number, the index in the list from 1, the rest.
fn listed<'a, T: 'a>(
    name: &'static str,
    place: &'static str,
    results: &'a Numbered<'a>,
    rest: Fields<'a, &'a T>,
    list: fn(&'a TraceResult) -> &'a [T],
) -> Table<'a> {
    let columns = Fields::<Place<'a, T>>::new()
        .field("result", |row| row.0)
        .field(place, |row| row.1)
        .within("", rest, |row| Some(row.2));
    Table::new(name, columns, placed(results, list))
}

/// What is in a list of each result: the result's number, the index in the list from 1, the row.
fn placed<'a, T: 'a>(
    results: &'a Numbered<'a>,
    list: fn(&'a TraceResult) -> &'a [T],
) -> impl Iterator<Item = Place<'a, T>> {
    results.iter().flat_map(move |(number, result)| {
        let rows = list(result).iter().zip(1..);
        rows.map(|(row, place)| (*number, place, row))
    })
}

fn runs<'a>(results: &'a Numbered<'a>) -> Table<'a> {
    type Run<'a> = (u64, &'a TraceResult);
    let columns = Fields::<Run<'a>>::new()
        .field("result", |row| row.0)
        .within("", run(), |row| Some(row.1));
    Table::new("runs", columns, results.iter().copied())
}

fn asked<'a>() -> Fields<'a, &'a Asked> {
    columns!(Fields::<&'a Asked>::new(); text: by value cgroup;)
}

fn matched<'a>() -> Fields<'a, &'a Matched> {
    columns!(Fields::<&'a Matched>::new(); values: process; text: name by joined;)
}

fn audit<'a>() -> Fields<'a, &'a Judged> {
    columns!(Fields::<&'a Judged>::new(); text: law; values: holds;)
        .field("unit", |judged| judged.ours.unit())
        .field("ours", |judged| judged.ours.number())
        .field("witness", |judged| judged.witness.number())
}

fn finding<'a>() -> Fields<'a, &'a Finding> {
    columns!(
        Fields::<&'a Finding>::new();
        text: rule severity confidence title file;
        values: cost_s cost_threads alone_s saving_s;
        text: saving_basis advice crash_command no_crash_command_because;
    )
}

fn cited<'a>() -> Fields<'a, &'a Cited> {
    columns!(Fields::<&'a Cited>::new(); text: what call path; values: count at_s;)
}

fn finding_evidence<'a>(results: &'a Numbered<'a>) -> Table<'a> {
    let columns = Fields::<Place<'a, Cited>>::new()
        .field("result", |row| row.0)
        .field("finding", |row| row.1)
        .within("", cited(), |row| Some(row.2));
    let findings = placed(results, |result| &result.findings);
    let rows = findings.flat_map(|(number, place, finding)| {
        let evidence = finding.evidence.iter();
        evidence.map(move |cited| (number, place, cited))
    });
    Table::new("finding_evidence", columns, rows)
}

fn not_found<'a>() -> Fields<'a, &'a NotFound> {
    columns!(Fields::<&'a NotFound>::new(); text: path; values: count;)
}

fn directory<'a>() -> Fields<'a, &'a DirectoryRow> {
    columns!(
        Fields::<&'a DirectoryRow>::new();
        text: path;
        values: made renamed renamed_unsynced removed syncs unsynced_names;
        text: unsynced_directory;
    )
}
