//! Processes or threads.

use iostrata_core::bytes::grouped;
use iostrata_core::trace::{TaskRow, by_process};

use super::{By, View};
use crate::fields::Group;
use crate::fields::trace::task;
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
    let parts: &[Group] = match by {
        By::Process => &[Group::Process, Group::Name, Group::Task],
        By::Thread => &[Group::Process, Group::Thread, Group::Name, Group::Task],
    };
    let (rows, fields): (Vec<&TaskRow>, _) = (rows.iter().collect(), task());
    let columns = parts
        .iter()
        .flat_map(|part| fields.columns(&[*part], &rows));
    Table::new(0, columns.collect()).named(noun).draw(page)
}
