//! Files grouped by directory or extension.

use iostrata_core::bytes::grouped;
use iostrata_core::trace::{FileGroup, FileRow, Together};

use super::View;
use super::calls::heading;
use super::names::distinct;
use crate::fields::Group;
use crate::fields::trace::file;
use crate::view::page::Page;
use crate::view::section::SectionId;
use crate::view::table::{Column, LeftOut, Table};

/// Names get this share of the width.
const SHARE: usize = 3;

/// Every group, or as many as requested.
pub(super) fn draw(page: &mut Page, view: &View<'_>, by: Together) -> LeftOut {
    let (noun, head) = match by {
        Together::Directory => ("directories", "directory"),
        Together::Extension => ("extensions", "extension"),
        Together::Path => ("files", "file"),
    };
    let groups = view.selection.files(view.result, by);
    let shown: Vec<&FileGroup<'_>> = groups
        .iter()
        .take(view.selection.limit(groups.len()))
        .collect();
    page.heading(SectionId::Groups, &heading(noun, shown.len(), groups.len()));
    let names: Vec<&str> = shown.iter().map(|group| view.path(group.name)).collect();
    let rows: Vec<&FileRow> = shown.iter().map(|group| &*group.row).collect();
    let mut columns = vec![
        Column::label(
            head,
            distinct(&names, &vec![page.width() / SHARE; names.len()]),
        ),
        Column::number("files", shown.iter().map(|group| grouped(group.files))),
    ];
    columns.extend(file().columns(&[Group::Above, Group::Below], &rows));
    Table::new(0, columns).named(noun).draw(page)
}
