//! How two results differ: the answer first, and the rest on request.

mod lab;
mod trace;

use iostrata_core::compare::{
    Comparison, Condition, Count, FailOn, PAGE_CACHE, Sides, Verdict, Weight,
};

use crate::compared::lead::{because, headline};
use crate::compared::{Listed, by_how_much, limit, more_pairs, open_limit, why_open};
use crate::fields::{Group, compare};
use crate::format::counted;
use crate::view::page::{Page, Tone};
use crate::view::section::SectionId;
use crate::view::table::{Column, Rows, Table};
use crate::words;
use iostrata_core::gap::Missing;

/// Column of text next to a name.
const TEXT_COLUMN: usize = 18;

/// The condition shown next to the names; [`PAGE_CACHE`] is shown next to the times.
const COMMAND: &str = "command";
const COMMAND_COLUMN: usize = 8;

/// Maximum entries on a screen that may reach a limit: the rows below repeat each.
const FEW_OPEN: usize = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// As much as fits a screen: this many entries of each list.
    Screen(usize),
    All,
}

impl Extent {
    fn most(self) -> usize {
        match self {
            Self::Screen(most) => most,
            Self::All => usize::MAX,
        }
    }

    fn is_all(self) -> bool {
        self == Self::All
    }
}

/// Shows a comparison, its answer first.
pub(crate) fn show(page: &mut Page, comparison: &Comparison, extent: Extent) {
    let Sides { base, new } = &comparison.names;
    let more = more_pairs(comparison).into_iter().collect();
    page.title("comparison", &format!("{base} → {new}"), more);
    commands(page, comparison);
    let (notes, unlike): (Vec<&Condition>, Vec<&Condition>) = comparison
        .conditions
        .iter()
        .filter(|condition| ![COMMAND, PAGE_CACHE].contains(&condition.what.as_str()))
        .partition(|condition| condition.weight == Weight::Note);
    if !unlike.is_empty() {
        page.blank();
        let text = "different conditions, which alone can explain a difference";
        page.styled(0, text, Tone::Warning);
        conditions(page, &unlike);
    }
    page.blank();
    let found = match comparison.verdict {
        Some(Verdict::Slower | Verdict::Mixed) => Tone::Bad,
        Some(Verdict::Faster) => Tone::Good,
        Some(Verdict::Inconclusive) => Tone::Warning,
        Some(Verdict::Same) | None => Tone::Strong,
    };
    page.styled(0, &headline(comparison), found);
    for line in because(comparison) {
        page.paragraph(2, &line);
    }
    if let Some(asked) = &comparison.fail_on {
        fail_on(page, comparison, asked, extent);
    }
    if comparison.lab.is_some() {
        lab::draw(page, comparison, extent);
    }
    if let Some(runs) = &comparison.trace {
        trace::draw(page, runs, extent);
    }
    unpaired(page, comparison, extent);
    not_judged(page, comparison, extent);
    if !notes.is_empty() {
        page.heading(SectionId::Notes, "other differences between the runs");
        conditions(page, &notes);
    }
    if !extent.is_all() {
        page.blank();
        let rest = "every row, count, call and file: --all; as JSON: --json FILE";
        page.styled(0, rest, Tone::Quiet);
    }
}

/// The programs, if their command lines differ.
fn commands(page: &mut Page, comparison: &Comparison) {
    let mut conditions = comparison.conditions.iter();
    if let Some(command) = conditions.find(|condition| condition.what == COMMAND) {
        let Sides { base, new } = &command.sides;
        for (lead, command) in [("  base", base), ("  new", new)] {
            page.entry(lead, Tone::Plain, COMMAND_COLUMN, command);
        }
    }
}

fn conditions(page: &mut Page, conditions: &[&Condition]) {
    for condition in conditions {
        let Sides { base, new } = &condition.sides;
        let lead = format!("  {}", condition.what);
        page.entry(&lead, Tone::Strong, TEXT_COLUMN, format!("{base} → {new}"));
    }
}

/// Entries of one result only. For two traces the lists of calls and files show them too.
fn unpaired(page: &mut Page, comparison: &Comparison, extent: Extent) {
    if comparison.trace.is_some() && !extent.is_all() {
        return;
    }
    let Sides { base, new } = &comparison.unpaired;
    let sides = [(&comparison.names.base, base), (&comparison.names.new, new)];
    for (name, lines) in sides.into_iter().filter(|(_, lines)| !lines.is_empty()) {
        page.heading(SectionId::Unpaired, &format!("only in {name}"));
        let listed = Listed::of(lines, extent.most());
        for line in listed.shown {
            page.paragraph(2, line);
        }
        more(page, listed.more);
    }
}

/// Parts that could not be compared. For two traces, that the times are not judged is first on the
/// page.
fn not_judged(page: &mut Page, comparison: &Comparison, extent: Extent) {
    let gaps = comparison.missing.iter();
    let gaps = gaps.filter(|gap| comparison.trace.is_none() || gap.what != Missing::Times);
    let listed = Listed::of(gaps, extent.most());
    if listed.shown.is_empty() {
        return;
    }
    page.heading(SectionId::NotJudged, "not judged");
    for gap in listed.shown {
        let what = format!("  {}", words::missing(&gap.what));
        page.entry(what, Tone::Strong, TEXT_COLUMN, words::reason(&gap.why));
    }
    more(page, listed.more);
}

fn more(page: &mut Page, more: usize) {
    if more > 0 {
        page.paragraph(2, &format!("and {}", counted(more, "more line")));
    }
}

fn counts(page: &mut Page, title: &str, head: &str, rows: &[(String, &Count)], left_out: usize) {
    page.heading(SectionId::Counts, title);
    let mut columns = Vec::new();
    if !head.is_empty() {
        columns.push(Column::label(head, rows.iter().map(|(of, _)| of.as_str())));
    }
    let rows: Vec<&Count> = rows.iter().map(|(_, count)| *count).collect();
    columns.extend(compare::counts().columns(&[Group::Both, Group::Sides], &rows));
    Table::new(2, columns).draw(page);
    more(page, left_out);
}

/// Values that reach the requested limit, and those that may.
fn fail_on(page: &mut Page, comparison: &Comparison, asked: &FailOn, extent: Extent) {
    let title = limit(comparison, asked);
    if !asked.exceeded.is_empty() {
        page.heading(SectionId::Limit, &title);
    } else if asked.undecided.is_empty() {
        page.paragraph(2, &title);
    }
    let listed = Listed::of(&asked.exceeded, extent.most());
    let rows = listed.shown.iter();
    let rows = rows.map(|one| (one.what.as_str(), by_how_much(one)));
    limits(page, "by", &rows.collect::<Vec<_>>(), listed.more);
    if asked.undecided.is_empty() {
        return;
    }
    page.heading(SectionId::Open, &open_limit(comparison, asked));
    let most = if extent.is_all() {
        usize::MAX
    } else {
        extent.most().min(FEW_OPEN)
    };
    let listed = Listed::of(&asked.undecided, most);
    let rows = listed.shown.iter();
    let rows = rows.map(|one| (one.what.as_str(), why_open(one)));
    limits(page, "why", &rows.collect::<Vec<_>>(), listed.more);
}

fn limits(page: &mut Page, head: &str, rows: &[(&str, String)], left_out: usize) {
    if rows.is_empty() {
        return;
    }
    Rows::of(rows)
        .label("what", |(what, _)| *what)
        .text(head, |(_, text)| text.as_str())
        .table(2)
        .draw(page);
    more(page, left_out);
}

#[cfg(test)]
mod tests;
