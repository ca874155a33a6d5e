//! Two traced runs: strata, findings and files first, then every call and count.

use std::collections::BTreeMap;

use iostrata_core::bytes::grouped;
use iostrata_core::compare::{ChangedFile, Count, Files, Findings, Found, Measure, Runs};
use iostrata_core::trace::Bounds;

use super::{Extent, counts, more};
use crate::view::section::SectionId;

use crate::compared::Listed;
use crate::fields::{Group, compare};
use crate::format::{join, time};
use crate::view::page::{Page, Tone};
use crate::view::table::{Column, Rows, Table};
use crate::view::trace::{severity, shortened};

/// Maximum columns of a path before it gets a separate line.
const PATH_COLUMNS: usize = 36;

/// Paths get this share of the width next to figures, but no fewer columns.
const PATH_SHARE: usize = 3;
const PATH_LEAST: usize = 20;

/// The meaning of a range.
const RANGE: &str =
    "x to y: the least and the most that may be this run's; report --findings gives the reasons";

/// Start column of a finding.
const FINDING_COLUMN: usize = 16;

pub(super) fn draw(page: &mut Page, runs: &Runs, extent: Extent) {
    page.part(SectionId::Strata, "each stratum");
    page.blank();
    let strata: Vec<&Measure> = runs.strata.iter().collect();
    Table::new(2, compare::strata().columns(&[Group::Both], &strata)).draw(page);
    let is_range = |bounds: Option<Bounds>| bounds.is_some_and(|bounds| bounds.exact().is_none());
    if strata
        .iter()
        .any(|one| is_range(one.sides.base) || is_range(one.sides.new))
    {
        page.styled(2, RANGE, Tone::Quiet);
    }
    if let Some(found) = &runs.findings {
        findings(page, found, extent);
    }
    changed(page, runs, extent);
    if extent.is_all() {
        calls(page, runs);
        every_count(page, runs);
        files(page, runs);
    }
}

/// Findings that went and came, most severe first; unchanged ones are a number, or listed with all.
fn findings(page: &mut Page, found: &Findings, extent: Extent) {
    page.heading(SectionId::Findings, "findings");
    let lists = [("gone", &found.gone), ("came", &found.came)];
    for (word, list) in lists {
        let listed = Listed::of(list, extent.most());
        for one in listed.shown {
            entry(page, word, one);
        }
        more(page, listed.more);
    }
    if found.gone.is_empty() && found.came.is_empty() {
        page.paragraph(2, "none went and none came");
    }
    if extent.is_all() {
        for one in &found.stayed {
            entry(page, "stayed", one);
        }
    } else if !found.stayed.is_empty() {
        let rules = rules(&found.stayed);
        page.entry("  stayed", Tone::Plain, FINDING_COLUMN, rules);
    }
}

/// `close-without-sync, small-writes (3)`.
fn rules(found: &[Found]) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for one in found {
        *counts.entry(&one.rule).or_default() += 1;
    }
    let words = counts.into_iter().map(|(rule, count)| match count {
        1 => rule.to_owned(),
        several => format!("{rule} ({several})"),
    });
    join(words, ", ")
}

fn entry(page: &mut Page, word: &str, found: &Found) {
    let tone = match word {
        "gone" => Tone::Good,
        "came" => Tone::Bad,
        _ => Tone::Plain,
    };
    let file = found.file.iter().map(|file| format!(" · {file}"));
    let costs = [found.cost_s.base, found.cost_s.new];
    let cost = match costs {
        [None, None] => String::new(),
        [Some(one), None] | [None, Some(one)] => format!(" · cost {}", time(one)),
        [Some(base), Some(new)] => format!(" · cost {} → {}", time(base), time(new)),
    };
    let text = format!("{}{}{cost}", found.rule, file.collect::<String>());
    let (severity, _) = severity(found.severity);
    let lead = format!("  {word:<6} {severity}");
    page.entry(lead, tone, FINDING_COLUMN, &text);
}

fn changed(page: &mut Page, runs: &Runs, extent: Extent) {
    let listed = Listed::of(&runs.changed, extent.most());
    let shown: Vec<&ChangedFile> = listed.shown;
    if shown.is_empty() {
        return;
    }
    page.heading(SectionId::Changed, "files whose I/O changed most");
    let paths: Vec<&str> = shown.iter().map(|file| file.path.as_str()).collect();
    let room = (page.width() / PATH_SHARE).max(PATH_LEAST);
    let mut columns = vec![if extent.is_all() {
        Column::paths("file", PATH_COLUMNS, paths)
    } else {
        Column::label("file", shortened(&paths, &vec![room; paths.len()]))
    }];
    columns.extend(compare::changed().columns(&[Group::Both], &shown));
    Table::new(2, columns).draw(page);
    more(page, listed.more);
}

fn calls(page: &mut Page, runs: &Runs) {
    if runs.calls.is_empty() {
        return;
    }
    let title = "calls, those whose time differs most first";
    page.heading(SectionId::Calls, title);
    Rows::of(&runs.calls)
        .label("call", |call| call.name.as_str())
        .number("calls, base", |call| grouped(call.sides.base.count))
        .number("new", |call| grouped(call.sides.new.count))
        .number("bytes, base", |call| grouped(call.sides.base.bytes))
        .rank(1)
        .number("new", |call| grouped(call.sides.new.bytes))
        .rank(1)
        .number("time, base", |call| time(call.sides.base.time_s))
        .number("new", |call| time(call.sides.new.time_s))
        .table(2)
        .draw(page);
}

fn every_count(page: &mut Page, runs: &Runs) {
    let rows: Vec<(String, &Count)> = runs
        .counts
        .iter()
        .map(|count| (String::new(), count))
        .collect();
    if !rows.is_empty() {
        counts(page, "counts that differ, whole run", "", &rows, 0);
    }
}

fn files(page: &mut Page, runs: &Runs) {
    let differing = runs.files.iter().filter(|file| !file.counts.is_empty());
    let rows = differing.flat_map(|file| file.counts.iter().map(move |count| (file, count)));
    let rows: Vec<(&Files, &Count)> = rows.collect();
    if !rows.is_empty() {
        page.heading(SectionId::FileCounts, "files with counts that differ");
        table(page, &rows);
    }
    if runs.files.is_empty() {
        return;
    }
    let title = "files in both, those whose time differs most first";
    page.heading(SectionId::Files, title);
    let paths = runs.files.iter().map(|file| file.path.as_str());
    Rows::of(&runs.files)
        .and([Column::paths("file", PATH_COLUMNS, paths)])
        .number("time, base", |file| time(file.time_s.base))
        .number("new", |file| time(file.time_s.new))
        .table(2)
        .draw(page);
}

/// The counts of each file below its path.
fn table(page: &mut Page, rows: &[(&Files, &Count)]) {
    let counts: Vec<&Count> = rows.iter().map(|(_, count)| *count).collect();
    let columns = compare::counts().columns(&[Group::OfFile, Group::Sides], &counts);
    let mut table = Table::new(2, columns);
    for (position, (file, _)) in rows.iter().enumerate() {
        let before = position.checked_sub(1).map(|before| rows[before].0);
        if !before.is_some_and(|before| std::ptr::eq(before, *file)) {
            table.title(position, file.path.clone());
        }
    }
    table.draw(page);
}
