//! `lab buffering`: the answers, then the tables they rest on, then how they were
//! made and what is missing.

mod timeline;

use crate::view::section::SectionId;
use iostrata_core::buffering::{
    BufferingResult, BufferingRow, Memory, Mode, RuntimeBuffer, RuntimeCall,
};
use iostrata_core::bytes::{exact, grouped};
use iostrata_core::timing::Timing;

use super::rows::{self, Compared, Tables};
use super::view::{self, distinct, machines, medians, names_on};
use super::{Extent, Frame, Named, notes};
use crate::fields::{Group, lab};
use crate::format::{Seconds, join, mebibytes};
use crate::view::page::{GLUE, Page, Tone};
use crate::view::table::{Cell, Column, Rows, Table};

type View<'a> = view::View<'a, BufferingRow>;
type Numbered<'a> = view::Numbered<'a, BufferingRow>;

/// The syncs that are compared: after each record, after each without the times
/// of the file, and inside the write.
const SYNCS: [Mode; 3] = [Mode::Fsync, Mode::Fdatasync, Mode::ODsync];

pub(super) fn draw<'a>(
    page: &mut Page,
    frame: &Frame<'a>,
    result: &'a BufferingResult,
    extent: Extent,
) {
    let mut view = View::of(&frame.rows, &result.rows, lab::buffering(), extent);
    frame.answers(page);
    let tables = Tables {
        names: ["times and system calls", "device I/O"],
        head: "per write",
        times: in_seconds,
    };
    let counted = rows::draw(page, &mut view, &tables);
    let compared = Compared {
        per: "per write",
        is_usual: |row: &BufferingRow| SYNCS.contains(&row.row.case.mode),
        order,
        heads: |row| {
            let size = exact(row.row.case.size_bytes);
            (format!("of {size}"), format!("per write of {size}"))
        },
    };
    rows::compare(page, &mut view, &result.answers, &compared);
    legend(page, &view, counted);
    timeline::draw(page, result);
    runtimes(page, result, &mut view);
    memory(page, &mut view);
    notes(page, &view);
    frame.made(page, &view);
}

/// Modes stand in their own order.
fn order(row: &BufferingRow) -> usize {
    let mode = row.row.case.mode;
    Mode::ALL.iter().take_while(|other| **other != mode).count()
}

/// Times with the decimals that the shortest one needs.
fn in_seconds<'a>(view: &View<'a>, head: &str, rows: &[Numbered<'a>]) -> Table {
    let timings = rows.iter().map(|row| row.facts.timing);
    let times = timings.clone().flatten();
    let seconds = Seconds::showing(times.map(|timing| timing.median_s));
    let text = |time_s| seconds.text(time_s);
    let cpu = |head: &str, time_s: fn(&Timing) -> f64| {
        let times = timings.clone();
        Column::number(
            head,
            times.map(|timing| Cell::seen(timing, |timing| text(time_s(timing)))),
        )
    };
    let user = cpu("user s", |timing| timing.user_s);
    let system = cpu("system s", |timing| timing.system_s);
    let [real, interval] = medians("real s", timings.clone(), text);
    view.table(head, rows, [real, interval, user, system], &[Group::Times])
}

fn legend(page: &mut Page, view: &View<'_>, counted: bool) {
    if view.shown().is_empty() {
        return;
    }
    let text = "per write: pages dirtied in the page cache; then write requests to the \
                device, by cause, and flushes of its cache; device B: bytes of those \
                requests; bytes ×: those bytes relative to the record; later B: bytes \
                written to the device only after the program had ended";
    view.legend(page, counted.then_some(text).as_slice());
}

fn runtimes(page: &mut Page, result: &BufferingResult, view: &mut View<'_>) {
    let runtimes = &result.own.runtimes;
    if runtimes.is_empty() {
        return;
    }
    let title = "what the installed runtimes pass to the kernel, and when";
    page.heading(SectionId::Runtimes, title);
    let rows = Rows::of(runtimes)
        .text("runtime", |row| format!("{} {}", row.runtime, row.version))
        .and(machines(runtimes.iter().map(|row| row.machine.as_deref())))
        .text("writes by", |row| row.api.as_str())
        .number("buffer B", buffer)
        .text("3 writes, flush", |row| calls(&row.three_writes))
        .text("10 × 1 KiB, close", |row| calls(&row.ten_kib));
    let table = rows.table(0).named("buffers of the runtimes");
    view.draw(page, "the runtimes", table);
    for runtime in runtimes {
        if let Some(note) = &runtime.note {
            let text = format!("{}, {}: {note}", runtime.runtime, runtime.api);
            page.styled(2, &text, Tone::Quiet);
        }
    }
}

fn buffer(runtime: &RuntimeBuffer) -> Cell {
    match (runtime.buffered, runtime.buffer_bytes) {
        (Some(false), None) => "none".into(),
        (_, bytes) => Cell::seen(bytes, grouped),
    }
}

/// `2 × write 4096, write 2048`.
fn calls(calls: &[RuntimeCall]) -> Cell {
    let mut runs: Vec<(usize, String)> = Vec::new();
    for call in calls {
        let text = call.to_string();
        // A short call stays on one line.
        let text = match text.len() {
            ..=20 => text.replace(' ', GLUE),
            _ => text,
        };
        match runs.last_mut() {
            Some((count, last)) if *last == text => *count += 1,
            _ => runs.push((1, text)),
        }
    }
    let any = !runs.is_empty();
    let texts = runs.into_iter().map(|(count, text)| match count {
        1 => text,
        _ => format!("{count}{GLUE}×{GLUE}{text}"),
    });
    Cell::seen(any.then_some(texts), |texts| join(texts, ", "))
}

/// The modes shown of every file system: what is left to write-back, and what is not.
const CONTRAST: [Mode; 2] = [Mode::Buffered, Mode::Fsync];

/// The machine's memory around the observed runs: of the largest records, where the change is large, or all rows.
fn memory(page: &mut Page, view: &mut View<'_>) {
    let size = |row: &Numbered<'_>| (row.row.row.case.size_bytes, row.row.row.case.count);
    let mut sizes = distinct(view.all().iter().map(size));
    if !view.extent.all_rows() {
        sizes = sizes.into_iter().max().into_iter().collect();
    }
    let targets = view.targets();
    let mut measured = view.which(|row| row.row.memory.is_some());
    let is_contrast = |row: &Numbered<'_>| CONTRAST.contains(&row.row.row.case.mode);
    let has_contrast = view.all().iter().any(is_contrast);
    if !view.extent.all_rows() && targets.len() > 1 && has_contrast {
        measured.retain(is_contrast);
    }
    let place = |row: &Numbered<'_>| {
        targets
            .iter()
            .position(|target| *target == row.facts.target)
    };
    measured.sort_by_key(|row| (order(row.row), place(row)));
    let mut drawn = false;
    for wanted in sizes {
        let rows = measured.iter().copied();
        let rows: Vec<Numbered<'_>> = rows.filter(|row| size(row) == wanted).collect();
        let Some(title) = rows.first().map(Numbered::title) else {
            continue;
        };
        if drawn {
            page.blank();
        } else {
            let title = "memory before → after the observed run, MiB";
            page.heading(SectionId::Memory, title);
        }
        drawn = true;
        let table = memory_table(&rows, &title).named(format!("memory, {title}"));
        view.draw(page, "the memory", table);
    }
    if drawn {
        memory_legend(page);
    }
}

fn memory_table(rows: &[Numbered<'_>], head: &str) -> Table {
    let change = |row: &Numbered<'_>, pick: fn(&Memory) -> Option<u64>| {
        let memory = row.row.memory.as_ref();
        let sides = memory.and_then(|of| pick(&of.before).zip(pick(&of.after)));
        Cell::seen(sides, |(before, after)| {
            format!("{}{GLUE}→{GLUE}{}", mebibytes(before), mebibytes(after))
        })
    };
    Rows::of(rows)
        .and(names_on(head, rows))
        .number("Dirty", |row| change(row, |of| Some(of.dirty_bytes)))
        .number("Writeback", |row| {
            change(row, |of| Some(of.writeback_bytes))
        })
        .rank(1)
        .number("Cached", |row| change(row, |of| Some(of.cache_bytes)))
        .number("Buffers", |row| change(row, |of| Some(of.buffers_bytes)))
        .number("device pages", |row| {
            change(row, |of| of.device_pages_bytes)
        })
        .table(0)
}

/// `Buffers` counts the page-cache pages of block devices (`nr_blockdev_pages` in
/// block/bdev.c); there is no other buffer cache since Linux 2.4. ext4 reads and
/// writes its metadata there; xfs has buffers of its own (`fs/xfs/xfs_buf.c`), and
/// btrfs the pages of an inode of its own (`btree_inode`, fs/btrfs/disk-io.c).
fn memory_legend(page: &mut Page) {
    let text = "Cached is the page cache: contents of files, with reclaimable slab as in \
                free\u{a0}-w. Buffers is what is left of the buffer cache: pages of block \
                devices, where ext4 keeps its metadata (xfs and btrfs have caches of their own); \
                device pages are those of the device measured in the row. Dirty bytes wait for \
                write-back, Writeback bytes are being written";
    page.blank();
    page.styled(0, text, Tone::Quiet);
}

impl Named for BufferingRow {
    fn name(&self) -> String {
        self.row.case.mode.as_str().to_owned()
    }

    /// `2,000 × 1 B`.
    fn title(&self) -> String {
        let case = &self.row.case;
        format!("{} × {}", grouped(case.count), exact(case.size_bytes))
    }
}

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod tests;
