//! Sums: files by directory or extension, calls by process or thread.

use iostrata_core::bytes::grouped;
use iostrata_core::trace::{FileGroup, FileRow, TaskRow, Together, by_process};

use super::View;
use super::calls::heading;
use super::names::shortened;
use crate::fields::Group;
use crate::fields::trace::{file, task};
use crate::view::page::Page;
use crate::view::section::SectionId;
use crate::view::table::{Column, LeftOut, Table};

/// Names get this share of the width.
const SHARE: usize = 3;

/// Every group, or as many as requested.
pub(super) fn files(page: &mut Page, view: &View<'_>, by: Together) -> LeftOut {
    let (noun, head) = match by {
        Together::Directory => ("directories", "directory"),
        Together::Extension => ("extensions", "extension"),
        Together::Path => ("files", "file"),
    };
    let groups = view.selection.files(view.result, by);
    let limit = view.selection.limit(groups.len());
    let shown: Vec<&FileGroup<'_>> = groups.iter().take(limit).collect();
    page.heading(SectionId::Groups, &heading(noun, shown.len(), groups.len()));
    let names: Vec<&str> = shown.iter().map(|group| view.path(group.name)).collect();
    let rows: Vec<&FileRow> = shown.iter().map(|group| &*group.row).collect();
    let names = shortened(&names, &vec![page.width() / SHARE; names.len()]);
    let mut columns = vec![
        Column::label(head, names),
        Column::number("files", shown.iter().map(|group| grouped(group.files))),
    ];
    columns.extend(file().columns(&[Group::Above, Group::Below], &rows));
    Table::new(0, columns).named(noun).draw(page)
}

pub(super) fn processes(page: &mut Page, view: &View<'_>) -> LeftOut {
    let (rows, all) = (by_process(&view.result.tasks), view.result.processes);
    let parts = [Group::Process, Group::Name, Group::Task];
    draw(page, view, SectionId::Processes, rows, all, &parts)
}

pub(super) fn threads(page: &mut Page, view: &View<'_>) -> LeftOut {
    let (rows, all) = (view.result.tasks.clone(), view.result.threads);
    let parts = [Group::Process, Group::Thread, Group::Name, Group::Task];
    draw(page, view, SectionId::Threads, rows, all, &parts)
}

fn draw(
    page: &mut Page,
    view: &View<'_>,
    id: SectionId,
    mut rows: Vec<TaskRow>,
    all: u64,
    parts: &[Group],
) -> LeftOut {
    let noun = id.name();
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
