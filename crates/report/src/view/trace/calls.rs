//! System calls: those with the most time, or all of them, then those of each file, and their places
//! in the program.

use iostrata_core::bytes::grouped;
use iostrata_core::trace::{CallRow, FileGroup, Site, call_sites};

use super::View;
use super::files::several;
use crate::fields::Group;
use crate::fields::trace::call;
use crate::format::{in_line, number, time};
use crate::view::page::{Page, SEPARATOR, Tone};
use crate::view::section::SectionId;
use crate::view::table::{Cell, Column, LeftOut, Table};

/// The first `most`, or as many as requested.
pub(super) fn top(page: &mut Page, view: &View<'_>, most: usize) {
    let calls = view.selection.calls(view.result);
    page.blank();
    if calls.is_empty() {
        let seen = view.result.evidence.syscalls.is_some();
        let none = if view.selection.is_filter() {
            "none match"
        } else {
            "none"
        };
        let text = Cell::seen(seen.then_some(none), str::to_owned);
        page.paragraph(0, &format!("calls: {text}"));
        return;
    }
    let most = view.selection.top.unwrap_or(most);
    let shown: Vec<&CallRow> = calls.iter().take(most).collect();
    if shown.is_empty() {
        let text = format!("calls: {}; --calls shows all", grouped(calls.len() as u64));
        page.paragraph(0, &text);
        return;
    }
    table("calls", 0, &shown).named("calls").draw(page);
    let hidden = calls.len() - shown.len();
    page.and_more(0, hidden, "", "--calls shows all");
}

/// Every call over all files, then every call on each file.
pub(super) fn all(page: &mut Page, view: &View<'_>) -> Vec<LeftOut> {
    let calls = view.selection.calls(view.result);
    let listed = view.selection.limit(calls.len());
    page.heading(SectionId::Calls, &heading("calls", listed, calls.len()));
    let calls: Vec<&CallRow> = calls.iter().take(listed).collect();
    let named = match &view.selection.path {
        Some(_) => "every call, over matching files",
        None => "every call, over all files",
    };
    let mut left_out = vec![table("call", 0, &calls).named(named).draw(page)];
    left_out.extend(of_files(page, view));
    sites(page, view);
    left_out
}

/// `all calls: 12`, `calls: 3 of 12`.
pub(super) fn heading(noun: &str, listed: usize, all: usize) -> String {
    let (listed, all) = (listed as u64, all as u64);
    if listed < all {
        format!("{noun}: {} of {}", grouped(listed), grouped(all))
    } else {
        format!("all {noun}: {}", grouped(all))
    }
}

fn of_files(page: &mut Page, view: &View<'_>) -> Option<LeftOut> {
    let files = view.files();
    let files = &files[..view.selection.limit(files.len())];
    let of_file = |file: &FileGroup<'_>| {
        let calls = file.row.calls.iter();
        calls
            .filter(|call| view.selection.has_call(&call.row.name))
            .count()
    };
    let calls: Vec<&CallRow> = files
        .iter()
        .flat_map(|file| &file.row.calls)
        .map(|call| &call.row)
        .filter(|call| view.selection.has_call(&call.name))
        .collect();
    if calls.is_empty() {
        return None;
    }
    page.heading(SectionId::FileCalls, "calls of each file");
    let mut table = table("call", 2, &calls).named("every call on each file");
    let mut row = 0;
    for file in files {
        let own = of_file(file);
        if own > 0 {
            table.title(
                row,
                several(in_line(view.path(file.name)).into_owned(), file.files),
            );
            row += own;
        }
    }
    Some(table.draw(page))
}

fn table(head: &str, indent: usize, calls: &[&CallRow]) -> Table {
    let names = calls.iter().map(|call| call.name.as_str());
    let mut columns = vec![Column::label(head, names)];
    columns.extend(call().columns(&[Group::Calls], calls));
    Table::new(indent, columns).during(calls.iter().map(|call| call.span_s()))
}

/// Column of stacks: after the share.
const STACKS: usize = 11;

/// Every call on each file whose sites were sampled.
fn sites(page: &mut Page, view: &View<'_>) {
    let files = view.result.files.iter();
    let mut all = call_sites(files.filter(|file| view.selection.has(view.result, file)));
    all.retain(|group| view.selection.has_call(group.call));
    all.truncate(view.selection.limit(all.len()));
    if all.is_empty() {
        return;
    }
    let title = "call sites: share of time, and functions, innermost first";
    page.heading(SectionId::Sites, title);
    for group in all {
        let words = [
            group.call.to_owned(),
            time(group.time_s),
            in_line(view.path(group.path)).into_owned(),
        ];
        page.paragraph(2, &words.join(SEPARATOR));
        for site in &group.sites {
            let share = format!("{:>8} %", number(site.share * 100.0));
            page.entry(&share, Tone::Plain, STACKS, stack(site));
        }
    }
}

fn stack(site: &Site) -> String {
    let mut words = Vec::new();
    if !site.stack.is_empty() {
        words.push(site.stack.join(" ← "));
    }
    let why_not = site.why_not.as_ref();
    words.extend(why_not.map(|why| format!("incomplete: {why}")));
    words.join(SEPARATOR)
}
