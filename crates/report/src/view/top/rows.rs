//! The rows that were asked for.

use iostrata_core::bytes::grouped;
use iostrata_core::evidence::CallStats;
use iostrata_core::top::{By, CallFigures, File, Interval, Process, ProcessIo, Work, container_of};

use super::{Level, count_rate, devices, size_rate};
use crate::format::{ending, milliseconds, number};
use crate::view::page::Page;
use crate::view::table::{Cell, Rows, Table};

/// Of longer paths the end is shown.
const LONGEST_PATH: usize = 30;
/// The same beside a process.
const LONGEST_FILE: usize = 22;

pub(super) fn draw(page: &mut Page, interval: &Interval, by: By) {
    if by == By::Device {
        return;
    }
    let table = table(interval, by);
    if table.rows() == 0 {
        page.paragraph(0, no_rows(interval, Level::Rows(by)));
        return;
    }
    page.blank();
    table.draw(page);
}

/// In place of rows.
pub(super) fn no_rows(interval: &Interval, level: Level) -> &'static str {
    if level == Level::Rows(By::Device) {
        return devices::no_requests(interval);
    }
    let totals = &interval.totals;
    let is_seen = (totals.calls.is_some(), totals.requests.is_some());
    match (is_seen, level) {
        ((true, true), Level::Rows(By::Container)) => {
            "no container used a file: no cgroup is named after the ID of one"
        }
        ((true, true), _) => "no calls on files, and no requests for them",
        ((true, false), _) => "no calls on files; requests to disks are not observed",
        ((false, true), _) => "no requests for files; calls are not observed",
        ((false, false), Level::Rows(By::Process)) => "no I/O of the processes that /proc shows",
        ((false, false), _) => "calls on files and requests for them are not observed",
    }
}

pub(super) fn table(interval: &Interval, by: By) -> Table {
    match by {
        By::Process => processes(interval),
        By::File => files(interval),
        By::Directory => directories(interval),
        By::Cgroup => cgroups(interval),
        By::Container => containers(interval),
        By::Device => devices::table(interval),
    }
}

fn processes(interval: &Interval) -> Table {
    let processes = &interval.processes;
    let rows = Rows::of(processes)
        .number("PID", |row| row.pid.to_string())
        .label("process", name_of);
    if processes.iter().any(|row| row.io.is_some()) {
        return with_io(rows, interval).table(0);
    }
    with_work(rows, interval, |row| &row.work)
        .label("most of it on", |row| {
            let file = row.busiest_file.as_ref();
            Cell::applicable(file, |path| ending(path, LONGEST_FILE))
        })
        .rank(2)
        .table(0)
}

fn name_of(row: &Process) -> Cell {
    match (&row.name, row.is_iostrata) {
        (Some(name), true) => format!("{name} (this one)").into(),
        (Some(name), false) => name.as_str().into(),
        (None, _) => Cell::NotSeen,
    }
}

fn with_io<'r>(rows: Rows<'r, Process>, interval: &Interval) -> Rows<'r, Process> {
    let io = |row: &Process| row.io;
    let size = |count_bytes| size_rate(interval, count_bytes);
    let calls = |io: ProcessIo| count_rate(interval, io.syscr.saturating_add(io.syscw));
    rows.number("calls/s", of(io, calls))
        .number("read/s", of(io, |io| size(io.rchar_bytes)))
        .number("written/s", of(io, |io| size(io.wchar_bytes)))
        .number("from disk/s", of(io, |io| size(io.read_bytes)))
        .number("dirtied/s", of(io, |io| size(io.write_bytes)))
}

/// What a column says of a part of a row, where it was seen.
fn of<R, P>(part: impl Fn(&R) -> Option<P>, text: impl Fn(P) -> String) -> impl Fn(&R) -> Cell {
    move |row| Cell::seen(part(row), &text)
}

fn files(interval: &Interval) -> Table {
    let rows = Rows::of(&interval.files)
        .label("file", |row| ending(&file_name(row), LONGEST_PATH))
        .text("PID", |row| users(&row.pids))
        .rank(2);
    with_work(rows, interval, |row| &row.work)
        .text("disk", |row| {
            Cell::applicable(row.disk.clone(), |disk| disk)
        })
        .rank(3)
        .table(0)
}

fn file_name(row: &File) -> String {
    match (&row.path, row.inode, &row.device_number) {
        (Some(path), ..) => path.clone(),
        (None, Some(inode), Some(device)) => format!("(inode {inode} on {device})"),
        (None, ..) => "(calls that name no open file)".to_owned(),
    }
}

/// Most have one.
fn users(pids: &[u32]) -> String {
    match pids {
        [] => "kernel".to_owned(),
        [one] => one.to_string(),
        [first, rest @ ..] => format!("{first} +{}", rest.len()),
    }
}

fn directories(interval: &Interval) -> Table {
    let rows = Rows::of(&interval.directories)
        .label("directory", |row| {
            let path = row.path.as_deref().unwrap_or("(path not known)");
            ending(path, LONGEST_PATH)
        })
        .number("files", |row| grouped(row.files));
    with_work(rows, interval, |row| &row.work).table(0)
}

fn cgroups(interval: &Interval) -> Table {
    let rows = Rows::of(&interval.cgroups)
        .label("cgroup", |row| match &row.path {
            Some(path) => ending(&shortened(path), LONGEST_PATH),
            None => "(not known)".to_owned(),
        })
        .number("processes", |row| grouped(row.processes));
    with_work(rows, interval, |row| &row.work).table(0)
}

fn containers(interval: &Interval) -> Table {
    let rows = Rows::of(&interval.containers)
        .label("container", |row| short(&row.id))
        .number("processes", |row| grouped(row.processes));
    with_work(rows, interval, |row| &row.work)
        .label("cgroup", |row| {
            ending(&shortened(&row.cgroup), LONGEST_PATH)
        })
        .rank(3)
        .table(0)
}

/// With the ID of a container as engines show it.
fn shortened(path: &str) -> String {
    match container_of(path) {
        Some(id) => path.replace(id, &format!("{}…", short(id))),
        None => path.to_owned(),
    }
}

/// As engines show it.
fn short(id: &str) -> &str {
    id.get(..12).unwrap_or(id)
}

/// From what calls asked for to what the disk did; what says least gives way first.
fn with_work<'r, R>(rows: Rows<'r, R>, interval: &Interval, work: fn(&R) -> &Work) -> Rows<'r, R> {
    let calls = |row: &R| work(row).calls;
    let cache = |row: &R| work(row).cache;
    let device = |row: &R| work(row).device;
    let count = |count| count_rate(interval, count);
    let size = |count_bytes| size_rate(interval, count_bytes);
    let percent = |time_s| number(interval.share(time_s) * 100.0);
    let mean_ms = |syncs: CallStats| match syncs.count {
        0 => "-".to_owned(),
        count => milliseconds(syncs.time_s / count as f64),
    };
    rows.number("calls/s", of(calls, |calls| count(calls.count())))
        .rank(4)
        .number("in calls %", of(calls, |calls| percent(calls.time_s())))
        .rank(8)
        .number("read/s", of(calls, |it| size(it.reads.stats.bytes)))
        .number("written/s", of(calls, |it| size(it.writes.stats.bytes)))
        .number("syncs/s", of(calls, |it| count(it.syncs.stats.count)))
        .rank(1)
        .number("ms/sync", of(calls, |calls| mean_ms(calls.syncs.stats)))
        .rank(5)
        .number("missed/s", of(cache, |cache| count(cache.missed_pages)))
        .rank(6)
        .number("dirtied/s", of(cache, |it| size(it.dirtied_bytes)))
        .rank(7)
        .number("from disk/s", of(device, |it| size(it.reads.bytes)))
        .number("to disk/s", of(device, |device| size(device.data.bytes)))
}

pub(super) fn calls(interval: &Interval) -> Table {
    let calls = interval.processes.first().and_then(|row| row.work.calls);
    let rows: Vec<(&str, CallFigures)> = calls.map_or_else(Vec::new, |calls| {
        vec![
            ("read", calls.reads),
            ("write", calls.writes),
            ("sync", calls.syncs),
            ("metadata", calls.metadata),
        ]
    });
    let time = |calls: &CallFigures, time_s: f64| {
        Cell::applicable((calls.stats.count > 0).then_some(time_s), milliseconds)
    };
    let count = |count| count_rate(interval, count);
    let percent = |time_s| number(interval.share(time_s) * 100.0);
    Rows::of(&rows)
        .label("calls", |(name, _)| *name)
        .number("calls/s", |(_, calls)| count(calls.stats.count))
        .number("bytes/s", |(_, calls)| {
            size_rate(interval, calls.stats.bytes)
        })
        .number("errors/s", |(_, calls)| count(calls.stats.errors))
        .number("in calls %", |(_, calls)| percent(calls.stats.time_s))
        .number("mean ms", |(_, calls)| {
            time(calls, calls.stats.time_s / calls.stats.count.max(1) as f64)
        })
        .number("longest ms", |(_, calls)| time(calls, calls.longest_s))
        .table(0)
}
