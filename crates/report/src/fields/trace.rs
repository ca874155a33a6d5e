//! Fields of a trace's rows: the run and the timed ones before it, its calls, files and tasks.

use iostrata_core::bytes::grouped;
use iostrata_core::evidence::{Cache, CallStats};
use iostrata_core::trace::{
    Bounds, CallGroup, CallRow, Cold, Descent, FileHistory, FileRow, Happened, ProcessIo,
    RecordingRow, Shape, Spread, Stayed, TaskRow, TimedRun, TimedRuns, TraceResult,
};

use super::evidence::{evidence, shared};
use super::{Fields, Group, Quantity, columns, json_name};
use crate::format::{size, time};
use crate::view::table::Cell;

/// Three figures in one column; separate columns would leave no room for others.
pub(crate) const PAGES: &str = "cache r/p/m";

pub(crate) fn run<'a>() -> Fields<'a, &'a TraceResult> {
    columns!(Fields::<&'a TraceResult>::new(); text: command; values: adopted;)
        .field("attached_unlisted", |result| {
            result.attached.as_ref().map(|attached| attached.unlisted)
        })
        .field("exit_code", |result| result.exit_code)
        .metric("trace_exit_code")
        .field("signal", |result| result.signal)
        .metric("trace_signal")
        .field("started_ns", |result| result.started_ns)
        .field("wall_s", |result| result.wall_s)
        .metric("trace_wall_seconds")
        .within("runs_", runs(), |result| result.runs.as_ref())
        .measure("trace_on_cpu_seconds", |result| result.evidence.on_cpu_s)
        .measure("trace_blocked_seconds", |result| result.evidence.blocked_s)
        .field("processes", |result| result.processes)
        .metric("trace_processes")
        .field("threads", |result| result.threads)
        .metric("trace_threads")
        .field("backend", |result| json_name(&result.backend))
        // The evidence has the lost events too, under the same name.
        .measure("trace_lost_events", |result| result.lost_events)
        .measure("trace_files", |result| result.files.len() as u64)
        .field("other_calls", |result| result.other_calls)
        .field("summed_files", |result| result.summed_files)
        .field("other_requests", |result| result.other_requests)
        .within("", descent(), |result| Some(&result.bytes))
        .within("", evidence(), |result| Some(&result.evidence))
        .within("", shared(), |result| Some(&result.evidence))
        .within("accounts_", accounts(), |result| result.accounts.as_ref())
        .within("recording_", recording(), |result| {
            result.recording.as_ref()
        })
}

fn runs<'a>() -> Fields<'a, &'a TimedRuns> {
    Fields::<&'a TimedRuns>::new()
        .field("warmup", |runs| runs.warmup)
        .within("wall_s_", spread(), |runs| runs.wall_s)
        .field("user_s", |runs| runs.user_s)
        .metric("trace_runs_user_seconds")
        .field("system_s", |runs| runs.system_s)
        .metric("trace_runs_system_seconds")
        .field("others_cpus", |runs| runs.others_cpus)
        .within("cold_", cold(), |runs| runs.cold.as_ref())
}

fn spread<'a>() -> Fields<'a, Spread> {
    Fields::<Spread>::new()
        .field("n", |spread| spread.n as u64)
        .metric("trace_runs")
        .field("median", |spread| spread.median)
        .metric("trace_runs_median_seconds")
        .field("low", |spread| spread.low)
        .metric("trace_runs_low_seconds")
        .field("high", |spread| spread.high)
        .metric("trace_runs_high_seconds")
        .field("min", |spread| spread.min)
        .field("max", |spread| spread.max)
}

fn cold<'a>() -> Fields<'a, &'a Cold> {
    columns!(Fields::<&'a Cold>::new(); values: files evicted_bytes left_bytes;)
        .field("left_files", |cold| cold.left.len() as u64)
}

pub(crate) fn timed_run<'a>() -> Fields<'a, &'a TimedRun> {
    columns!(
        Fields::<&'a TimedRun>::new();
        values: wall_s user_s system_s max_resident_bytes exit_code signal;
    )
}

pub(crate) fn stayed<'a>() -> Fields<'a, &'a Stayed> {
    columns!(Fields::<&'a Stayed>::new(); text: path; values: bytes; text: why;)
}

fn descent<'a>() -> Fields<'a, &'a Descent> {
    Fields::<&'a Descent>::new()
        .field("read_bytes", |bytes| bytes.read_bytes)
        .metric("trace_read_bytes")
        .field("written_bytes", |bytes| bytes.written_bytes)
        .metric("trace_written_bytes")
        .field("dirtied_bytes", |bytes| bytes.dirtied_bytes)
        .metric("trace_dirtied_bytes")
        .field("device_read_bytes", |bytes| bytes.device_read_bytes)
        .metric("trace_device_read_bytes")
        .within("device_read_bytes_shared_", bounds(), |bytes| {
            bytes.device_read_bytes_shared
        })
        .field("device_written_bytes", |bytes| bytes.device_written_bytes)
        .metric("trace_device_written_bytes")
        .within("device_written_bytes_shared_", bounds(), |bytes| {
            bytes.device_written_bytes_shared
        })
        .field("dirty_at_exit_bytes", |bytes| bytes.dirty_at_exit_bytes)
        .metric("trace_dirty_at_exit_bytes")
        .within("dirty_at_exit_bytes_shared_", bounds(), |bytes| {
            bytes.dirty_at_exit_bytes_shared
        })
}

fn bounds<'a>() -> Fields<'a, Bounds> {
    columns!(Fields::<Bounds>::new(); values: at_least at_most;)
}

fn accounts<'a>() -> Fields<'a, &'a ProcessIo> {
    columns!(
        Fields::<&'a ProcessIo>::new();
        values: processes read_bytes written_bytes read_calls write_calls device_read_bytes
            dirtied_bytes cancelled_bytes;
    )
}

fn recording<'a>() -> Fields<'a, &'a RecordingRow> {
    columns!(Fields::<&'a RecordingRow>::new(); text: path; values: bytes operations stops;)
        .field("complete", |row| row.incomplete_because.is_empty())
}

pub(crate) fn call<'a>() -> Fields<'a, &'a CallRow> {
    use Quantity::{Count, Time};
    Fields::<&'a CallRow>::new()
        .field("name", |call| &call.name)
        .field("count", |call| call.stats.count)
        .shown(Group::Calls, "count", Count)
        .metric("trace_calls")
        .field("errors", |call| call.stats.errors)
        .shown(Group::Calls, "errors", Count)
        .rank(2)
        .metric("trace_call_errors")
        .field("bytes", |call| call.stats.bytes)
        .metric("trace_call_bytes")
        .cell(Group::Calls, "bytes", |call| moves(call))
        .field("time_s", |call| call.stats.time_s)
        .shown(Group::Calls, "time", Time)
        .metric("trace_call_seconds")
        .field("blocked_s", |call| call.blocked_s)
        .shown(Group::Calls, "blocked", Time)
        .metric("trace_call_blocked_seconds")
        .field("alone_s", |call| call.alone_s)
        .field("p50_s", |call| call.p50_s)
        .shown(Group::Calls, "p50", Time)
        .rank(3)
        .field("p99_s", |call| call.p99_s)
        .shown(Group::Calls, "p99", Time)
        .rank(1)
        .field("first_s", |call| call.first_s)
        .field("last_s", |call| call.last_s)
}

fn moves(call: &CallRow) -> Cell {
    let moves = CallGroup::of(&call.name).is_some_and(|group| group.reads() || group.writes());
    Cell::applicable(
        (moves || call.stats.bytes > 0).then_some(call.stats.bytes),
        size,
    )
}

pub(crate) fn task<'a>() -> Fields<'a, &'a TaskRow> {
    use Quantity::{Count, Number, Size, Time};
    Fields::<&'a TaskRow>::new()
        .field("thread", |task| task.thread)
        .shown(Group::Thread, "thread", Number)
        .field("process", |task| task.process)
        .shown(Group::Process, "process", Number)
        .field("parent", |task| task.parent)
        .shown(Group::Task, "parent", Number)
        .rank(3)
        .field("name", |task| &task.name)
        .label(Group::Name, "name", |task| task.name.as_str())
        .field("started_s", |task| task.started_s)
        .shown(Group::Task, "start", Time)
        .rank(4)
        .field("ended_s", |task| task.ended_s)
        .cell(Group::Task, "end", |task| {
            let ended = task.ended_s.map(time);
            ended.map_or_else(|| "running".into(), Cell::from)
        })
        .rank(4)
        .field("on_cpu_s", |task| task.on_cpu_s)
        .shown(Group::Task, "on CPU", Time)
        .field("calls", |task| task.calls)
        .shown(Group::Task, "calls", Count)
        .field("time_s", |task| task.time_s)
        .shown(Group::Task, "in calls", Time)
        .field("blocked_s", |task| task.blocked_s)
        .shown(Group::Task, "blocked", Time)
        .rank(2)
        .field("read_bytes", |task| task.read_bytes)
        .shown(Group::Task, "read", Size)
        .rank(1)
        .field("written_bytes", |task| task.written_bytes)
        .shown(Group::Task, "written", Size)
        .rank(1)
}

pub(crate) fn file<'a>() -> Fields<'a, &'a FileRow> {
    use Quantity::{Count, Size, Time};
    let identity = columns!(
        Fields::<&'a FileRow>::new();
        text: path path_hex renamed_to;
        values: deleted;
        text: kind device;
        values: inode generation;
        text: filesystem;
        values: size_before_bytes;
    );
    let requested = identity
        .figure(Group::Above, "time", Time, |file| file.time_s())
        .metric("trace_file_seconds")
        .field("opens", |file| file.opens)
        .shown(Group::Above, "opens", Count)
        .rank(5)
        .metric("trace_file_opens")
        .figure(Group::AboveInFull, "reads", Count, |file| file.reads.count)
        .figure(Group::Above, "read", Size, |file| file.reads.bytes)
        .metric("trace_file_read_bytes")
        .figure(Group::AboveInFull, "writes", Count, |file| {
            file.writes.count
        })
        .figure(Group::Above, "written", Size, |file| file.writes.bytes)
        .metric("trace_file_written_bytes")
        .figure(Group::Above, "syncs", Count, |file| file.syncs.count)
        .metric("trace_file_syncs");
    columns!(requested; [stats()]: reads writes syncs;)
        .within("", below_calls(), |file| Some(*file))
        .within("", evidence(), |file| Some(&file.evidence))
        .within("history_", history(), |file| file.history.as_deref())
}

fn below_calls<'a>() -> Fields<'a, &'a FileRow> {
    Fields::<&'a FileRow>::new()
        .cell(Group::Below, PAGES, |file| {
            below(file, pages(&file.evidence.cache))
        })
        .rank(4)
        .cell(Group::BelowInFull, "dirtied", |file| {
            below(file, bytes(file.evidence.cache.dirtied_bytes))
        })
        .rank(3)
        .field("dirty_at_exit_bytes", |file| file.dirty_at_exit_bytes)
        .metric("trace_file_dirty_at_exit_bytes")
        .within("dirty_at_exit_bytes_shared_", bounds(), |file| {
            file.dirty_at_exit_bytes_shared
        })
        .cell(Group::BelowInFull, "left dirty", |file| {
            below(file, bytes(file.dirty_at_exit_bytes))
        })
        .rank(2)
        .cell(Group::Below, "dev read", |file| {
            let device = file.evidence.exact_device();
            below(file, bytes(device.map(|device| device.reads.bytes)))
        })
        .rank(2)
        .cell(Group::Below, "dev written", |file| {
            let device = file.evidence.exact_device();
            below(file, bytes(device.map(|device| device.writes().bytes)))
        })
        .rank(1)
}

/// Only files stored by a file system have anything below their calls.
fn below(file: &FileRow, cell: Cell) -> Cell {
    if file.kind.is_stored() {
        cell
    } else {
        Cell::NotApplicable
    }
}

fn bytes(bytes: Option<u64>) -> Cell {
    Cell::seen(bytes, size)
}

/// `40/3,031/1`.
fn pages(cache: &Cache) -> Cell {
    let pages = [
        cache.resident_pages(),
        cache.prefetched_pages,
        cache.missed_pages,
    ];
    if pages.iter().all(Option::is_none) {
        return Cell::NotSeen;
    }
    let pages = pages.map(|count| Cell::seen(count, grouped).to_string());
    pages.join("/").into()
}

fn stats<'a>() -> Fields<'a, &'a CallStats> {
    columns!(Fields::<&'a CallStats>::new(); values: count errors bytes time_s;)
}

fn history<'a>() -> Fields<'a, &'a FileHistory> {
    columns!(
        Fields::<&'a FileHistory>::new();
        values: created opened_to_write writes written_bytes appends allocated written_by synced_by
            data_syncs msyncs writes_after_failed_sync first_written_ns overwritten_bytes answered_bytes answered_after_ns
            answer_synced_after_ns name_acknowledged
            name_journalled removed_by removal_unsynced unsynced_bytes synchronous mapping_synced;
        text: renamed_over name_unsynced;
        values: synced_since_named unlinked uncertain;
        [happened()]: overwritten acknowledged answered removed emptied rewritten syncs syncs_of_nothing
            steady_syncs growing_syncs failed_syncs syncs_after_failed_sync hints closed_unsynced
            mapped_to_write renamed_unsynced took_removed_name;
    )
}

/// Count and duration; the single moments stay in the JSON.
fn happened<'a>() -> Fields<'a, &'a Happened> {
    columns!(Fields::<&'a Happened>::new(); values: count took_ns;)
}

pub(crate) fn shape<'a>() -> Fields<'a, &'a Shape> {
    columns!(
        Fields::<&'a Shape>::new();
        values: pairs sequential backward empty furthest_bytes;
    )
}
