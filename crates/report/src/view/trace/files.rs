//! Files: those with the most time, or all of them.

use iostrata_core::bytes::grouped;
use iostrata_core::environment::Backend;
use iostrata_core::noun::counted;
use iostrata_core::trace::{FileGroup, FileRow, NotFound, Sort, TraceResult};

use super::View;
use super::calls::heading;
use super::names::shortened;
use crate::fields::Group;
use crate::fields::trace::{PAGES, file};
use crate::view::page::{Page, Tone};
use crate::view::section::SectionId;
use crate::view::table::{Column, LeftOut, Rows, Table};

/// Paths get this share of the width next to many figures ...
const SHARE: usize = 4;

/// ... but no fewer columns than these.
const LEAST: usize = 20;

/// The share if there is room for all figures.
const WIDE_SHARE: usize = 3;

/// The contents of the pages column.
const LEGEND: &str =
    "cache r/p/m: pages asked for by reads and faults: resident / prefetched / missed";

/// Of times under ptrace.
const STOPS: &str = "times include the two stops that the observer makes at each call";

/// The first `most`, or as many as requested, each on one line.
pub(super) fn top(page: &mut Page, view: &View<'_>, most: usize) {
    let files = view.files();
    page.blank();
    let most = view.selection.top.unwrap_or(most);
    if files.is_empty() {
        let none = if view.selection.is_filter() {
            "files: none match"
        } else {
            "files: none"
        };
        page.paragraph(0, none);
    } else if most == 0 {
        let text = format!("files: {}; --files shows all", grouped(files.len() as u64));
        page.paragraph(0, &text);
    } else {
        let shown = stored_first(view, most);
        let names = names(view, &shown, room(page));
        let rows: Vec<&FileRow> = shown.iter().map(|group| &*group.row).collect();
        let mut columns = vec![Column::label("files", names)];
        columns.extend(file().columns(&[Group::Above, Group::Below], &rows));
        let left_out = Table::new(0, columns).draw(page);
        let hidden = files.len() - shown.len();
        page.and_more(0, hidden, "", "--files shows all");
        legend(page, view.result, &[left_out]);
    }
    others(page, view.result);
}

fn room(page: &Page) -> usize {
    (page.width() / SHARE).max(LEAST)
}

/// The first `most`; in the default order, pipes, sockets and terminals, which only wait for
/// others, come last, and the file with the most bytes on the device is one of them: with a mapped file no call takes
/// time.
fn stored_first<'v>(view: &'v View<'_>, most: usize) -> Vec<&'v FileGroup<'v>> {
    let (stored, others): (Vec<&FileGroup<'_>>, Vec<&FileGroup<'_>>) = view
        .files()
        .iter()
        .partition(|file| file.row.kind.is_stored() || view.selection.sort != Sort::Time);
    let mut shown: Vec<&FileGroup<'_>> = stored.into_iter().chain(others).take(most).collect();
    if view.selection.sort == Sort::Time
        && let Some(busiest) = view
            .files()
            .iter()
            .rev()
            .max_by_key(|file| device_bytes(&file.row))
        && device_bytes(&busiest.row) > 0
        && !shown.iter().any(|file| std::ptr::eq(*file, busiest))
        && let Some(last) = shown.last_mut()
    {
        *last = busiest;
    }
    shown
}

/// All that may be the run's.
fn device_bytes(file: &FileRow) -> u64 {
    let most = file.evidence.device.unwrap_or_default().at_most;
    most.reads.bytes.saturating_add(most.writes().bytes)
}

/// Their paths in at most this many columns, all different.
fn names(view: &View<'_>, files: &[&FileGroup<'_>], room: usize) -> Vec<String> {
    let left = |file: &&FileGroup<'_>| room.saturating_sub(named(String::new(), file).len());
    let rooms: Vec<usize> = files.iter().map(left).collect();
    let paths: Vec<&str> = files.iter().map(|file| view.path(file.name)).collect();
    let short = shortened(&paths, &rooms).into_iter().zip(files);
    short.map(|(name, file)| named(name, file)).collect()
}

/// As `/proc/PID/fd` shows a file that no name leads to.
fn named(name: String, group: &FileGroup<'_>) -> String {
    let name = several(name, group.files);
    if group.row.deleted {
        name + " (deleted)"
    } else {
        name
    }
}

/// `o.db-journal (4 files)`: reused names.
pub(super) fn several(name: String, files: u64) -> String {
    match files {
        1 => name,
        files => format!("{name} ({} files)", grouped(files)),
    }
}

/// Calls without a known file.
fn others(page: &mut Page, result: &TraceResult) {
    let calls = counted(result.other_calls, "call");
    let text = match (result.other_calls, result.summed_files) {
        (0, _) => return,
        (_, 0) => format!("other: {calls} on files that did not fit in the tables"),
        (_, files) => format!("{}, summed: {calls}", counted(files, "more file")),
    };
    page.paragraph(0, &text);
}

/// The legend of the pages column, if it was drawn, and of times that the observer's stops lengthen.
fn legend(page: &mut Page, result: &TraceResult, tables: &[LeftOut]) {
    if result.backend == Backend::Ptrace {
        page.styled(0, STOPS, Tone::Quiet);
    }
    let left_out = |table: &LeftOut| {
        let heads = [&table.unseen, &table.no_room];
        heads.into_iter().flatten().any(|head| head == PAGES)
    };
    if !tables.iter().any(left_out) {
        page.styled(0, LEGEND, Tone::Quiet);
    }
}

/// Every file: in one table if there is room, otherwise calls and lower strata in two.
pub(super) fn all(page: &mut Page, view: &View<'_>) -> Vec<LeftOut> {
    let every = view.files();
    let files = stored_first(view, view.selection.limit(every.len()));
    let text = heading("files", files.len(), every.len());
    page.heading(SectionId::Files, &text);
    let room = page.width() / WIDE_SHARE;
    let whole = table(view, &files, room, &[ABOVE, BELOW].concat());
    let spans = files.iter().map(|file| file.row.span_s());
    let whole = whole.named("every file").during(spans);
    let mut left_out = if whole.fits(page.width()) {
        vec![whole.draw(page)]
    } else {
        in_two(page, view, files)
    };
    if !every.is_empty() {
        legend(page, view.result, &left_out);
    }
    others(page, view.result);
    let not_found = view.result.not_found.iter();
    let asked_for = not_found.filter(|path| view.selection.has_path(view.result, &path.path));
    left_out.extend(not_found_table(page, view, &asked_for.collect::<Vec<_>>()));
    left_out
}

/// The second table has the files with activity below the calls.
fn in_two(page: &mut Page, view: &View<'_>, files: Vec<&FileGroup<'_>>) -> Vec<LeftOut> {
    let room = room(page);
    let mut left_out = vec![table(view, &files, room, &ABOVE).draw(page)];
    let files: Vec<&FileGroup<'_>> = files.into_iter().filter(|file| moved(&file.row)).collect();
    if !files.is_empty() {
        let title = "below the calls: cache pages and device bytes";
        page.heading(SectionId::Below, title);
        left_out.push(table(view, &files, room, &BELOW).draw(page));
    }
    left_out
}

const ABOVE: [Group; 2] = [Group::Above, Group::AboveInFull];
const BELOW: [Group; 2] = [Group::Below, Group::BelowInFull];

fn table(view: &View<'_>, files: &[&FileGroup<'_>], room: usize, groups: &[Group]) -> Table {
    let names = names(view, files, usize::MAX).into_iter().zip(files);
    let paths = names.map(|(path, file)| match &file.row.renamed_to {
        Some(new) => format!("{path} → {}", view.path(new)),
        None => path,
    });
    let mut columns = vec![Column::paths("file", room, paths)];
    let rows: Vec<&FileRow> = files.iter().map(|file| &*file.row).collect();
    columns.extend(file().columns(groups, &rows));
    Table::new(0, columns)
}

/// Whether it has activity below its calls.
fn moved(file: &FileRow) -> bool {
    let cache = &file.evidence.cache;
    let device = file.evidence.exact_device();
    let counts = [
        cache.lookups_pages,
        cache.prefetched_pages,
        cache.dirtied_bytes,
        file.dirty_at_exit().map(|left| left.at_most),
        device.map(|device| device.reads.count),
        device.map(|device| device.writes().count),
    ];
    counts.iter().flatten().any(|count| *count > 0)
}

fn not_found_table(page: &mut Page, view: &View<'_>, missed: &[&NotFound]) -> Option<LeftOut> {
    if missed.is_empty() {
        return None;
    }
    let missed = &missed[..view.selection.limit(missed.len())];
    page.part(SectionId::NotFound, "paths not found");
    page.blank();
    let paths = missed.iter().map(|path| view.path(&path.path));
    let rows = Rows::of(missed)
        .number("times", |path| grouped(path.count))
        .and([Column::paths("failed lookups", usize::MAX, paths)]);
    let table = rows.table(0).named("paths that were failed lookups");
    Some(table.draw(page))
}
