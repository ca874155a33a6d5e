//! Processes or threads.

use iostrata_core::bytes::grouped;
use iostrata_core::trace::{TaskRow, by_process};

use super::{By, View};
use crate::format::{or_not_seen, size, time};
use crate::view::page::Page;
use crate::view::table::{Column, LeftOut, Table};

/// Every one of them.
pub(super) fn draw(page: &mut Page, view: &View<'_>, by: By) -> LeftOut {
    let threads = &view.result.tasks;
    let (rows, noun, all): (_, &'static str, u64) = match by {
        By::Process => (by_process(threads), "processes", view.result.processes),
        By::Thread => (threads.clone(), "threads", view.result.threads),
    };
    let listed = rows.len() as u64;
    let text = if listed < all {
        format!("{noun}: {} of {}", grouped(listed), grouped(all))
    } else {
        format!("all {noun}: {}", grouped(listed))
    };
    page.heading(noun, &text);
    let cells =
        |text: &dyn Fn(&TaskRow) -> String| -> Vec<String> { rows.iter().map(text).collect() };
    let number = |head: &str, rank: u8, text: &dyn Fn(&TaskRow) -> String| {
        Column::number(head, cells(text)).rank(rank)
    };
    let mut columns = vec![number("process", 0, &|row| row.process.to_string())];
    if by == By::Thread {
        columns.push(number("thread", 0, &|row| row.thread.to_string()));
    }
    columns.extend([
        Column::label("name", cells(&|row| row.name.clone())),
        number("parent", 3, &|row| row.parent.to_string()),
        number("start", 4, &|row| time(row.started_s)),
        number("end", 4, &|row| {
            row.ended_s.map_or_else(|| "goes on".to_owned(), time)
        }),
        number("on CPU", 0, &|row| or_not_seen(row.on_cpu_s, time)),
        number("calls", 0, &|row| grouped(row.calls)),
        number("in calls", 0, &|row| time(row.time_s)),
        number("blocked", 2, &|row| or_not_seen(row.blocked_s, time)),
        number("read", 0, &|row| size(row.read_bytes)),
        number("written", 0, &|row| size(row.written_bytes)),
    ]);
    Table::new(0, columns).named(noun).draw(page)
}
