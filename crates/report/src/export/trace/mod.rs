//! Tables of trace results.

mod files;
mod residency;
mod time;

use iostrata_core::evidence::{DeviceCounts, Evidence, RequestCount};
use iostrata_core::trace::{
    Bounds, CallRow, Cited, Descent, DirectoryRow, Finding, NotFound, ProcessIo, RecordingRow,
    TaskRow, TraceResult,
};

use super::column::{Columns, json_name};
use super::evidence::{evidence, shared};
use super::table::Table;

/// Trace results with their numbers.
pub type Numbered<'a> = [(u64, &'a TraceResult)];

/// All tables of trace results.
pub fn tables<'a>(results: &'a Numbered<'a>) -> Vec<Table<'a>> {
    vec![
        runs(results),
        listed("calls", "call", results, call(), |result| &result.syscalls),
        time::call_times(results),
        time::timeline(results),
        files::files(results),
        files::file_calls(results),
        files::transfer_sizes(results),
        files::sites(results),
        residency::residency(results),
        requests(results),
        listed("tasks", "task", results, task(), |result| &result.tasks),
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

/// A table of a list that a result has: its number, the place in the list from 1, the rest.
fn listed<'a, T: 'a>(
    name: &'static str,
    place: &'static str,
    results: &'a Numbered<'a>,
    rest: Columns<'a, &'a T>,
    list: fn(&'a TraceResult) -> &'a [T],
) -> Table<'a> {
    type Place<'a, T> = (u64, u64, &'a T);
    let columns = Columns::<Place<'a, T>>::new()
        .count("result", |row| row.0)
        .count(place, |row| row.1)
        .within("", rest, |row| Some(row.2));
    let rows = results.iter().flat_map(move |(number, result)| {
        let rows = list(result).iter().zip(1..);
        rows.map(|(row, place)| (*number, place, row))
    });
    Table::new(name, columns, rows)
}

/// One row for each result.
fn runs<'a>(results: &'a Numbered<'a>) -> Table<'a> {
    type Run<'a> = (u64, &'a TraceResult);
    let columns = Columns::<Run<'a>>::new()
        .count("result", |row| row.0)
        .within("", run(), |row| Some(row.1));
    Table::new("runs", columns, results.iter().copied())
}

fn run<'a>() -> Columns<'a, &'a TraceResult> {
    Columns::<&'a TraceResult>::new()
        .made_text("command", |result| json_name(&result.command))
        .count("adopted", |result| result.adopted.map(u64::from))
        .signed("exit_code", |result| result.exit_code.map(i64::from))
        .signed("signal", |result| result.signal.map(i64::from))
        .count("started_ns", |result| result.started_ns)
        .real("wall_s", |result| result.wall_s)
        .count("processes", |result| result.processes)
        .count("threads", |result| result.threads)
        .named("backend", |result| Some(result.backend))
        // Events that were lost are in the evidence too, under the same name.
        .count("other_calls", |result| result.other_calls)
        .count("summed_files", |result| result.summed_files)
        .count("other_requests", |result| result.other_requests)
        .within("", descent(), |result| Some(&result.bytes))
        .within("", evidence(), |result| Some(&result.evidence))
        .within("", shared(), |result| Some(&result.evidence))
        .within("accounts_", accounts(), |result| result.accounts.as_ref())
        .within("recording_", recording(), |result| {
            result.recording.as_ref()
        })
}

fn descent<'a>() -> Columns<'a, &'a Descent> {
    Columns::<&'a Descent>::new()
        .count("read_bytes", |bytes| bytes.read_bytes)
        .count("written_bytes", |bytes| bytes.written_bytes)
        .count("dirtied_bytes", |bytes| bytes.dirtied_bytes)
        .count("device_read_bytes", |bytes| bytes.device_read_bytes)
        .within("device_read_bytes_shared_", bounds(), |bytes| {
            bytes.device_read_bytes_shared
        })
        .count("device_written_bytes", |bytes| bytes.device_written_bytes)
        .within("device_written_bytes_shared_", bounds(), |bytes| {
            bytes.device_written_bytes_shared
        })
        .count("dirty_at_exit_bytes", |bytes| bytes.dirty_at_exit_bytes)
}

fn bounds<'a>() -> Columns<'a, Bounds> {
    Columns::<Bounds>::new()
        .count("at_least", |bounds| bounds.at_least)
        .count("at_most", |bounds| bounds.at_most)
}

fn accounts<'a>() -> Columns<'a, &'a ProcessIo> {
    Columns::<&'a ProcessIo>::new()
        .count("processes", |io| io.processes)
        .count("read_bytes", |io| io.read_bytes)
        .count("written_bytes", |io| io.written_bytes)
        .count("read_calls", |io| io.read_calls)
        .count("write_calls", |io| io.write_calls)
        .count("device_read_bytes", |io| io.device_read_bytes)
        .count("dirtied_bytes", |io| io.dirtied_bytes)
        .count("cancelled_bytes", |io| io.cancelled_bytes)
}

fn recording<'a>() -> Columns<'a, &'a RecordingRow> {
    Columns::<&'a RecordingRow>::new()
        .text("path", |row| &row.path)
        .count("bytes", |row| row.bytes)
        .count("operations", |row| row.operations)
        .count("stops", |row| row.stops)
        .flag("complete", |row| row.incomplete_because.is_empty())
}

fn call<'a>() -> Columns<'a, &'a CallRow> {
    Columns::<&'a CallRow>::new()
        .text("name", |call| &call.name)
        .count("count", |call| call.count)
        .count("errors", |call| call.errors)
        .count("bytes", |call| call.bytes)
        .real("time_s", |call| call.time_s)
        .real("blocked_s", |call| call.blocked_s)
        .real("p50_s", |call| call.p50_s)
        .real("p99_s", |call| call.p99_s)
}

fn task<'a>() -> Columns<'a, &'a TaskRow> {
    Columns::<&'a TaskRow>::new()
        .count("thread", |task| u64::from(task.thread))
        .count("process", |task| u64::from(task.process))
        .count("parent", |task| u64::from(task.parent))
        .text("name", |task| &task.name)
        .real("started_s", |task| task.started_s)
        .real("ended_s", |task| task.ended_s)
        .real("on_cpu_s", |task| task.on_cpu_s)
        .count("calls", |task| task.calls)
        .real("time_s", |task| task.time_s)
        .real("blocked_s", |task| task.blocked_s)
        .count("read_bytes", |task| task.read_bytes)
        .count("written_bytes", |task| task.written_bytes)
}

fn finding<'a>() -> Columns<'a, &'a Finding> {
    Columns::<&'a Finding>::new()
        .text("rule", |finding| &finding.rule)
        .named("severity", |finding| Some(finding.severity))
        .named("confidence", |finding| Some(finding.confidence))
        .text("title", |finding| &finding.title)
        .maybe_text("file", |finding| finding.file.as_deref())
        .real("cost_s", |finding| finding.cost_s)
        .count("cost_threads", |finding| finding.cost_threads)
        .real("saving_s", |finding| finding.saving_s)
        .named("saving_basis", |finding| finding.saving_basis)
        .text("advice", |finding| &finding.advice)
}

fn finding_evidence<'a>(results: &'a Numbered<'a>) -> Table<'a> {
    type Row<'a> = (u64, u64, &'a Cited);
    let columns = Columns::<Row<'a>>::new()
        .count("result", |row| row.0)
        .count("finding", |row| row.1)
        .text("what", |row| &row.2.what)
        .maybe_text("call", |row| row.2.call.as_deref())
        .maybe_text("path", |row| row.2.path.as_deref())
        .count("count", |row| row.2.count)
        .real("at_s", |row| row.2.at_s);
    let rows = results.iter().flat_map(|(number, result)| {
        let findings = result.findings.iter().zip(1..);
        findings.flat_map(move |(finding, place)| {
            let evidence = finding.evidence.iter();
            evidence.map(move |cited| (*number, place, cited))
        })
    });
    Table::new("finding_evidence", columns, rows)
}

fn not_found<'a>() -> Columns<'a, &'a NotFound> {
    Columns::<&'a NotFound>::new()
        .text("path", |row| &row.path)
        .count("count", |row| row.count)
}

fn directory<'a>() -> Columns<'a, &'a DirectoryRow> {
    Columns::<&'a DirectoryRow>::new()
        .text("path", |row| &row.path)
        .count("made", |row| row.made)
        .count("renamed", |row| row.renamed)
        .count("renamed_unsynced", |row| row.renamed_unsynced)
        .count("removed", |row| row.removed)
        .count("syncs", |row| row.syncs)
        .count("unsynced_names", |row| row.unsynced_names)
        .maybe_text("unsynced_directory", |row| {
            row.unsynced_directory.as_deref()
        })
}

/// Requests of one cause: the least and the most of each figure, which are the same where it is
/// exact.
struct Requested {
    result: u64,
    /// `None` for the whole run.
    file: Option<u64>,
    after_exit: bool,
    cause: &'static str,
    /// `None` when the device was not observed; flushes and discards carry no bytes, and
    /// discards are not timed.
    count: Option<(u64, u64)>,
    bytes: Option<(u64, u64)>,
    time_s: Option<(f64, f64)>,
}

fn exact<T: PartialEq + Copy>(figure: Option<(T, T)>) -> Option<T> {
    figure
        .filter(|(least, most)| least == most)
        .map(|(least, _)| least)
}

/// The least and the most of what is not exact.
fn shared_of<T: PartialEq + Copy>(figure: Option<(T, T)>) -> (Option<T>, Option<T>) {
    figure.filter(|(least, most)| least != most).unzip()
}

/// Device requests by cause, of each run and each file, while it ran and after its end.
fn requests<'a>(results: &'a Numbered<'a>) -> Table<'a> {
    let columns = Columns::<Requested>::new()
        .count("result", |row| row.result)
        .count("file", |row| row.file)
        .flag("after_exit", |row| row.after_exit)
        .text("cause", |row| row.cause)
        .count("count", |row| exact(row.count))
        .count("bytes", |row| exact(row.bytes))
        .real("time_s", |row| exact(row.time_s))
        .count("count_at_least", |row| shared_of(row.count).0)
        .count("count_at_most", |row| shared_of(row.count).1)
        .count("bytes_at_least", |row| shared_of(row.bytes).0)
        .count("bytes_at_most", |row| shared_of(row.bytes).1)
        .real("time_at_least_s", |row| shared_of(row.time_s).0)
        .real("time_at_most_s", |row| shared_of(row.time_s).1);
    let rows = results.iter().flat_map(|(number, result)| {
        let files = result.files.iter().zip(1..);
        let files = files.map(|(file, place)| (Some(place), &file.evidence));
        let all = std::iter::once((None, &result.evidence)).chain(files);
        all.flat_map(|(file, evidence)| requested(*number, file, evidence))
    });
    Table::new("requests", columns, rows)
}

fn requested(result: u64, file: Option<u64>, evidence: &Evidence) -> Vec<Requested> {
    let phases = [
        (false, evidence.device_range()),
        (true, evidence.device_after_exit_range()),
    ];
    let row = |after_exit, cause, count, bytes, time_s| Requested {
        result,
        file,
        after_exit,
        cause,
        count,
        bytes,
        time_s,
    };
    let of_phase = phases.into_iter().flat_map(|(after_exit, device)| {
        let mut rows: Vec<_> = CAUSES
            .iter()
            .map(|(cause, part)| {
                let count = device.map(|device| device.of(|it| part(it).count));
                let bytes = device.map(|device| device.of(|it| part(it).bytes));
                let time_s = device.map(|device| device.of(|it| part(it).time_s));
                row(after_exit, *cause, count, bytes, time_s)
            })
            .collect();
        let flushes = device.map(|device| device.of(|it| it.flushes));
        let flush_s = device.map(|device| device.of(|it| it.flush_time_s));
        rows.push(row(after_exit, "flush", flushes, None, flush_s));
        let discards = device.map(|device| device.of(|it| it.discards));
        rows.push(row(after_exit, "discard", discards, None, None));
        rows
    });
    of_phase.collect()
}

/// The requests of one cause.
type OfCause = fn(&DeviceCounts) -> RequestCount;

/// Causes of requests that carry bytes. Those of `read` read, the others write.
pub(super) const CAUSES: [(&str, OfCause); 6] = [
    ("read", |device| device.reads),
    ("data", |device| device.data),
    ("journal", |device| device.journal),
    ("commit", |device| device.commit),
    ("metadata", |device| device.metadata),
    ("unknown", |device| device.unknown),
];
