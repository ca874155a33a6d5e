//! How two results differ.

mod lab;
mod trace;

use iostrata_core::compare::{Comparison, Condition, Count, Judgement, Sides, Weight};

use crate::compared::{Listed, because, by_how_much, headline, limit, more_pairs};
use crate::fields::{Group, compare};
use crate::format::counted;
use crate::view::page::{Page, Tone};
use crate::view::table::{Column, Table};

/// Where text beside a name begins.
const TEXT_COLUMN: usize = 18;

/// Shows a comparison: rows and counts that do not differ beyond the noise too, or only the
/// others.
pub(crate) fn show(page: &mut Page, comparison: &Comparison, all: bool) {
    let Sides { base, new } = &comparison.names;
    page.styled(0, &format!("{base} → {new}"), Tone::Strong);
    if let Some(more) = more_pairs(comparison) {
        page.paragraph(0, &more);
    }
    conditions(page, &comparison.conditions);
    page.blank();
    let found = match comparison.judgement {
        Judgement::Slower | Judgement::Mixed => Tone::Bad,
        Judgement::Faster => Tone::Good,
        Judgement::NoDifference | Judgement::NotJudged => Tone::Strong,
    };
    page.styled(2, &headline(comparison), found);
    for line in because(comparison) {
        page.paragraph(4, &line);
    }
    if comparison.lab.is_some() {
        lab::draw(page, comparison, all);
    }
    if let Some(runs) = &comparison.trace {
        trace::draw(page, runs, all);
    }
    unpaired(page, comparison, all);
    if !comparison.missing.is_empty() {
        page.heading("not-judged", "not judged");
        for gap in &comparison.missing {
            page.entry(
                &format!("  {}", gap.what),
                Tone::Strong,
                TEXT_COLUMN,
                &gap.why,
            );
        }
    }
    fail_on(page, comparison);
}

fn conditions(page: &mut Page, conditions: &[Condition]) {
    let (notes, unlike): (Vec<&Condition>, Vec<&Condition>) = conditions
        .iter()
        .partition(|condition| condition.weight == Weight::Note);
    if !unlike.is_empty() {
        page.blank();
        let text = "not the same conditions: a difference may come from these alone";
        page.styled(0, text, Tone::Warning);
    }
    for condition in unlike.iter().chain(&notes) {
        let Sides { base, new } = &condition.sides;
        let lead = format!("  {}", condition.what);
        page.entry(&lead, Tone::Strong, TEXT_COLUMN, &format!("{base} → {new}"));
    }
}

fn unpaired(page: &mut Page, comparison: &Comparison, all: bool) {
    let Sides { base, new } = &comparison.unpaired;
    let sides = [(&comparison.names.base, base), (&comparison.names.new, new)];
    for (name, lines) in sides.into_iter().filter(|(_, lines)| !lines.is_empty()) {
        page.section(&format!("only in {name}"));
        let listed = Listed::of(lines, all);
        for line in listed.shown {
            page.paragraph(2, line);
        }
        more(page, listed.more);
    }
}

fn more(page: &mut Page, more: usize) {
    if more > 0 {
        page.paragraph(
            2,
            &format!("and {}: --all-rows", counted(more, "more line")),
        );
    }
}

/// Counts, each with what it is of.
fn counts(page: &mut Page, title: &str, head: &str, rows: &[(String, &Count)], left_out: usize) {
    page.section(title);
    let mut columns = Vec::new();
    if !head.is_empty() {
        columns.push(Column::label(head, rows.iter().map(|(of, _)| of.as_str())));
    }
    let rows: Vec<&Count> = rows.iter().map(|(_, count)| *count).collect();
    columns.extend(compare::counts().columns(&[Group::Both, Group::Sides], &rows));
    Table::new(2, columns).draw(page);
    more(page, left_out);
}

fn fail_on(page: &mut Page, comparison: &Comparison) {
    let Some(fail_on) = &comparison.fail_on else {
        return;
    };
    page.section(&limit(comparison, fail_on));
    if fail_on.exceeded.is_empty() {
        return;
    }
    let exceeded = &fail_on.exceeded;
    let columns = vec![
        Column::label("what", exceeded.iter().map(|one| one.what.clone())),
        Column::text("by", exceeded.iter().map(by_how_much)),
    ];
    Table::new(2, columns).draw(page);
}

#[cfg(test)]
mod tests;
