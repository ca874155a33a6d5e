//! The rows that were asked for.

use iostrata_core::bytes::grouped;
use iostrata_core::top::{
    By, CallFigures, Calls, File, FileRequests, Interval, Pages, Process, ProcessIo, Work,
    container_of,
};

use super::{Level, count_rate, devices, size_rate};
use crate::format::{ending, milliseconds, number};
use crate::view::page::Page;
use crate::view::table::{Cell, Column, Table};

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
    let rows = &interval.processes;
    let pids = rows.iter().map(|row| row.pid.to_string());
    let names = rows.iter().map(name_of);
    let mut columns = vec![Column::number("PID", pids), Column::label("process", names)];
    if rows.iter().any(|row| row.io.is_some()) {
        columns.extend(io_columns(interval));
    } else {
        columns.extend(work_columns(interval, &rows.iter().map(|row| &row.work)));
        let file = |path: &String| ending(path, LONGEST_FILE);
        let files = rows.iter();
        let files = files.map(|row| Cell::applicable(row.busiest_file.as_ref(), file));
        columns.push(Column::label("most of it on", files).rank(2));
    }
    Table::new(0, columns)
}

fn name_of(row: &Process) -> Cell {
    match (&row.name, row.is_iostrata) {
        (Some(name), true) => format!("{name} (this one)").into(),
        (Some(name), false) => name.as_str().into(),
        (None, _) => Cell::NotSeen,
    }
}

fn io_columns(interval: &Interval) -> Vec<Column> {
    let column = |head: &str, text: &dyn Fn(&ProcessIo) -> String| {
        let cells = interval.processes.iter();
        Column::number(head, cells.map(|row| Cell::seen(row.io.as_ref(), text)))
    };
    vec![
        column("calls/s", &|io| {
            count_rate(interval, io.syscr.saturating_add(io.syscw))
        }),
        column("read/s", &|io| size_rate(interval, io.rchar_bytes)),
        column("written/s", &|io| size_rate(interval, io.wchar_bytes)),
        column("from disk/s", &|io| size_rate(interval, io.read_bytes)),
        column("dirtied/s", &|io| size_rate(interval, io.write_bytes)),
    ]
}

fn files(interval: &Interval) -> Table {
    let rows = &interval.files;
    let paths = rows.iter().map(|row| ending(&file_name(row), LONGEST_PATH));
    let users = rows.iter().map(|row| users(&row.pids));
    let mut columns = vec![
        Column::label("file", paths),
        Column::text("PID", users).rank(2),
    ];
    columns.extend(work_columns(interval, &rows.iter().map(|row| &row.work)));
    let disks = rows
        .iter()
        .map(|row| Cell::applicable(row.disk.as_ref(), Clone::clone));
    columns.push(Column::text("disk", disks).rank(3));
    Table::new(0, columns)
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
    let rows = &interval.directories;
    let unknown = || "(path not known)".to_owned();
    let path = |path: &Option<String>| path.clone().unwrap_or_else(unknown);
    let paths = rows
        .iter()
        .map(|row| ending(&path(&row.path), LONGEST_PATH));
    let files = rows.iter().map(|row| grouped(row.files));
    let mut columns = vec![
        Column::label("directory", paths),
        Column::number("files", files),
    ];
    columns.extend(work_columns(interval, &rows.iter().map(|row| &row.work)));
    Table::new(0, columns)
}

fn cgroups(interval: &Interval) -> Table {
    let rows = &interval.cgroups;
    let paths = rows.iter().map(|row| match &row.path {
        Some(path) => ending(&shortened(path), LONGEST_PATH),
        None => "(not known)".to_owned(),
    });
    let processes = rows.iter().map(|row| grouped(row.processes));
    let mut columns = vec![
        Column::label("cgroup", paths),
        Column::number("processes", processes),
    ];
    columns.extend(work_columns(interval, &rows.iter().map(|row| &row.work)));
    Table::new(0, columns)
}

fn containers(interval: &Interval) -> Table {
    let rows = &interval.containers;
    let ids = rows.iter().map(|row| short(&row.id).to_owned());
    let processes = rows.iter().map(|row| grouped(row.processes));
    let mut columns = vec![
        Column::label("container", ids),
        Column::number("processes", processes),
    ];
    columns.extend(work_columns(interval, &rows.iter().map(|row| &row.work)));
    let cgroups = rows
        .iter()
        .map(|row| ending(&shortened(&row.cgroup), LONGEST_PATH));
    columns.push(Column::label("cgroup", cgroups).rank(3));
    Table::new(0, columns)
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
fn work_columns<'a>(
    interval: &Interval,
    works: &(impl Iterator<Item = &'a Work> + Clone),
) -> Vec<Column> {
    let column = |head: &str, text: &dyn Fn(&Work) -> Option<String>| {
        let cells = works
            .clone()
            .map(|work| Cell::seen(text(work), |text| text));
        Column::number(head, cells)
    };
    let calls = |head: &str, text: &dyn Fn(&Calls) -> String| {
        column(head, &|work| work.calls.as_ref().map(text))
    };
    let cache = |head: &str, text: &dyn Fn(&Pages) -> String| {
        column(head, &|work| work.cache.as_ref().map(text))
    };
    let device = |head: &str, text: &dyn Fn(&FileRequests) -> String| {
        column(head, &|work| work.device.as_ref().map(text))
    };
    let count = |count| count_rate(interval, count);
    let size = |count_bytes| size_rate(interval, count_bytes);
    vec![
        calls("calls/s", &|calls| count(calls.count())).rank(4),
        calls("in calls %", &|calls| {
            number(interval.share(calls.time_s()) * 100.0)
        })
        .rank(8),
        calls("read/s", &|calls| size(calls.reads.stats.bytes)),
        calls("written/s", &|calls| size(calls.writes.stats.bytes)),
        calls("syncs/s", &|calls| count(calls.syncs.stats.count)).rank(1),
        calls("ms/sync", &|calls| match calls.syncs.stats.count {
            0 => "-".to_owned(),
            count => milliseconds(calls.syncs.stats.time_s / count as f64),
        })
        .rank(5),
        cache("missed/s", &|cache| count(cache.missed_pages)).rank(6),
        cache("dirtied/s", &|cache| size(cache.dirtied_bytes)).rank(7),
        device("from disk/s", &|device| size(device.reads.bytes)),
        device("to disk/s", &|device| size(device.data.bytes)),
    ]
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
    let column = |head: &str, text: &dyn Fn(&CallFigures) -> Cell| {
        Column::number(head, rows.iter().map(|(_, calls)| text(calls)))
    };
    let time = |calls: &CallFigures, time_s: f64| {
        Cell::applicable((calls.stats.count > 0).then_some(time_s), milliseconds)
    };
    Table::new(
        0,
        vec![
            Column::label("calls", rows.iter().map(|(name, _)| *name)),
            column("calls/s", &|calls| {
                count_rate(interval, calls.stats.count).into()
            }),
            column("bytes/s", &|calls| {
                size_rate(interval, calls.stats.bytes).into()
            }),
            column("errors/s", &|calls| {
                count_rate(interval, calls.stats.errors).into()
            }),
            column("in calls %", &|calls| {
                number(interval.share(calls.stats.time_s) * 100.0).into()
            }),
            column("mean ms", &|calls| {
                time(calls, calls.stats.time_s / calls.stats.count.max(1) as f64)
            }),
            column("longest ms", &|calls| time(calls, calls.longest_s)),
        ],
    )
}
