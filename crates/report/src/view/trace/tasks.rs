//! Processes or threads.

use iostrata_core::bytes::grouped;
use iostrata_core::trace::{TaskRow, by_process};

use super::{By, View};
use crate::fields::trace::{NAME, PROCESS, TASK, THREAD, task};
use crate::view::page::Page;
use crate::view::table::{LeftOut, Table};

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
    let parts: &[&str] = match by {
        By::Process => &[PROCESS, NAME, TASK],
        By::Thread => &[PROCESS, THREAD, NAME, TASK],
    };
    let (rows, fields): (Vec<&TaskRow>, _) = (rows.iter().collect(), task());
    let columns = parts
        .iter()
        .flat_map(|part| fields.columns(&[*part], &rows));
    Table::new(0, columns.collect()).named(noun).draw(page)
}
