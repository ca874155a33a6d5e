//! Processes or threads.

use iostrata_core::bytes::grouped;
use iostrata_core::trace::{TaskRow, by_process};

use super::View;
use crate::fields::Group;
use crate::fields::trace::task;
use crate::view::page::Page;
use crate::view::section::SectionId;
use crate::view::table::{LeftOut, Table};

/// Every process.
pub(super) fn processes(page: &mut Page, view: &View<'_>) -> LeftOut {
    let rows = by_process(&view.result.tasks);
    let parts = [Group::Process, Group::Name, Group::Task];
    draw(
        page,
        view,
        rows,
        SectionId::Processes,
        view.result.processes,
        &parts,
    )
}

/// Every thread.
pub(super) fn threads(page: &mut Page, view: &View<'_>) -> LeftOut {
    let rows = view.result.tasks.clone();
    let parts = [Group::Process, Group::Thread, Group::Name, Group::Task];
    draw(
        page,
        view,
        rows,
        SectionId::Threads,
        view.result.threads,
        &parts,
    )
}

fn draw(
    page: &mut Page,
    view: &View<'_>,
    mut rows: Vec<TaskRow>,
    id: SectionId,
    all: u64,
    parts: &[Group],
) -> LeftOut {
    let noun = id.as_str();
    view.selection.sort_tasks(&mut rows);
    rows.truncate(view.selection.limit(rows.len()));
    let listed = rows.len() as u64;
    let text = if listed < all {
        format!("{noun}: {} of {}", grouped(listed), grouped(all))
    } else {
        format!("all {noun}: {}", grouped(listed))
    };
    page.heading(id, &text);
    let (rows, fields): (Vec<&TaskRow>, _) = (rows.iter().collect(), task());
    let columns = parts
        .iter()
        .flat_map(|part| fields.columns(&[*part], &rows));
    let spans = rows
        .iter()
        .map(|task| Some(lived(task, view.result.wall_s)));
    Table::new(0, columns.collect())
        .named(noun)
        .during(spans)
        .draw(page)
}

/// From its start to its end, or to that of the run.
pub(crate) fn lived(task: &TaskRow, wall_s: f64) -> (f64, f64) {
    let from_s = task.started_s.max(0.0);
    (from_s, task.ended_s.unwrap_or(wall_s).max(from_s))
}
