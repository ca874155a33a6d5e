//! A comparison for a pull request.

use iostrata_core::compare::{
    ChangedFile, Comparison, Count, FailOn, Findings, Found, Measure, Row, Runs, Sides, Weight,
    Whole,
};

use super::text::{code, table};
use crate::compared::lead::{because, headline};
use crate::compared::{
    FEW, Listed, Names, by_how_much, limit, more_pairs, of_ratios, open_limit, ratio, row_counts,
    rows, why_open,
};
use crate::fields::{Group, compare};
use crate::format::{counted, in_line, join, milliseconds, time};
use crate::view::table::{Cell, Column, Rows};
use crate::view::trace::severity;
use crate::words;
use iostrata_core::gap::Missing;

/// Renders a comparison. Text from the results is shown as code and has no effect.
pub fn draw(comparison: &Comparison, all: bool) -> String {
    let most = if all { usize::MAX } else { FEW };
    let Sides { base, new } = &comparison.names;
    let mut parts = vec![format!("### iostrata: {}", headline(comparison))];
    let more = more_pairs(comparison).map_or_else(String::new, |more| format!(" {more}"));
    parts.push(format!("{} → {}{more}", code(base), code(new)));
    let unlike = comparison.unlike().next().is_some();
    parts.extend(conditions(comparison).filter(|_| unlike));
    let reasons = because(comparison);
    if !reasons.is_empty() {
        let lines = reasons.iter().map(|line| format!("- {line}"));
        parts.push(join(lines, "\n"));
    }
    if let Some(asked) = &comparison.fail_on {
        fail_on(&mut parts, comparison, asked);
    }
    if comparison.lab.is_some() {
        lab(&mut parts, comparison, all, most);
    }
    if let Some(runs) = &comparison.trace {
        trace(&mut parts, comparison, runs, most);
    }
    unpaired(&mut parts, comparison, most);
    let gaps = comparison.missing.iter();
    for gap in gaps.filter(|gap| comparison.trace.is_none() || gap.what != Missing::Times) {
        let (what, why) = (words::missing(&gap.what), words::reason(&gap.why));
        let (what, why) = (code(what.open()), code(why.open()));
        parts.push(format!("Not judged: {what}: {why}."));
    }
    parts.extend(conditions(comparison).filter(|_| !unlike));
    parts
        .join("\n\n")
        .replace("\n\n\n", "\n\n")
        .trim_end()
        .to_owned()
        + "\n"
}

fn conditions(comparison: &Comparison) -> Option<String> {
    if comparison.conditions.is_empty() {
        return None;
    }
    let lead = if comparison.unlike().next().is_some() {
        "**Different conditions, which alone can explain a difference.**\n\n"
    } else {
        ""
    };
    let rows = Rows::of(&comparison.conditions)
        .label("condition", |condition| condition.what.as_str())
        .label("base", |condition| condition.sides.base.as_str())
        .label("new", |condition| condition.sides.new.as_str())
        .text("", |condition| match condition.weight {
            Weight::Machine => "machine",
            Weight::Settings => "settings",
            Weight::Note => "note",
        });
    Some(format!("{lead}{}", table(&rows.columns())))
}

fn fail_on(parts: &mut Vec<String>, comparison: &Comparison, asked: &FailOn) {
    let title = sentence(&limit(comparison, asked));
    let rows = |head: &str, rows: Vec<(&str, String)>| {
        let rows = Rows::of(&rows).label("what", |(what, _)| *what);
        table(&rows.number(head, |(_, text)| text.as_str()).columns())
    };
    if !asked.exceeded.is_empty() {
        let exceeded = asked.exceeded.iter();
        let exceeded = exceeded.map(|one| (one.what.as_str(), by_how_much(one)));
        let table = rows("by", exceeded.collect());
        parts.push(format!("**{title}:**\n\n{table}"));
    } else if asked.undecided.is_empty() {
        parts.push(format!("{title}."));
    }
    if !asked.undecided.is_empty() {
        let title = sentence(&open_limit(comparison, asked));
        let open = asked.undecided.iter();
        let open = open.map(|one| (one.what.as_str(), why_open(one)));
        parts.push(format!("**{title}:**\n\n{}", rows("why", open.collect())));
    }
}

fn lab(parts: &mut Vec<String>, comparison: &Comparison, all: bool, most: usize) {
    let wholes = comparison.lab.iter().flat_map(|lab| &lab.experiments);
    let wholes: Vec<&Whole> = wholes.collect();
    if wholes.len() > 1 {
        parts.push(table(&compare::whole().columns(&[Group::Both], &wholes)));
    }
    let names = Names::of(comparison);
    let listed: Listed<&Row> = Listed::of(rows(comparison), most);
    if !listed.shown.is_empty() {
        let cases = listed.shown.iter().map(|row| names.name(row));
        let mut columns = vec![Column::label("case", cases)];
        columns.extend(compare::row().columns(&[Group::Both, Group::Comment], &listed.shown));
        columns.retain(Column::has_meaning);
        parts.push(table(&columns));
        parts.extend(more(listed.more));
        if let Some(text) = of_ratios(&listed.shown) {
            parts.push(format!("{}.", sentence(text)));
        }
    }
    let (differing, below) = row_counts(comparison, all);
    let listed = Listed::of(differing, most);
    if !listed.shown.is_empty() {
        let cases = listed.shown.iter().map(|(row, _)| names.name(row));
        let column = Column::label("case", cases);
        parts.push(counts(column, listed.shown.iter().map(|(_, count)| *count)));
        parts.extend(more(listed.more));
    }
    parts.extend(below.map(|below| format!("{}.", sentence(&below))));
}

fn trace(parts: &mut Vec<String>, comparison: &Comparison, runs: &Runs, most: usize) {
    parts.push(times(comparison, runs));
    let strata: Vec<&Measure> = runs.strata.iter().collect();
    if !strata.is_empty() {
        parts.push(table(&compare::strata().columns(&[Group::Both], &strata)));
    }
    if let Some(found) = &runs.findings {
        findings(parts, found, most);
    }
    let listed: Listed<&ChangedFile> = Listed::of(&runs.changed, most);
    if !listed.shown.is_empty() {
        let paths = listed.shown.iter().map(|file| file.path.as_str());
        let mut columns = vec![Column::label("file", paths)];
        columns.extend(compare::changed().columns(&[Group::Both], &listed.shown));
        parts.push(table(&columns));
        parts.extend(more(listed.more));
    }
}

/// The commands with their times, in hyperfine's columns. A single run each has no median, minimum
/// and maximum.
fn times(comparison: &Comparison, runs: &Runs) -> String {
    let (names, commands) = (&comparison.names, &runs.commands);
    let commands = [
        format!("{} ({})", in_line(&commands.base), names.base),
        format!("{} ({})", in_line(&commands.new), names.new),
    ];
    let number = |head: &str, sides: Sides<f64>| {
        Column::number(head, [sides.base, sides.new].map(milliseconds))
    };
    let relative = |sides: Sides<f64>| {
        let known = (sides.base > 0.0).then(|| sides.new / sides.base);
        let cells = [
            Cell::applicable(known, |_| "1.00".to_owned()),
            Cell::applicable(known, ratio),
        ];
        Column::number("Relative", cells)
    };
    let verdict = match (&runs.timed, comparison.verdict) {
        (None, _) => "not judged: one run each",
        (Some(_), None) => "not judged: too few runs",
        (Some(_), Some(verdict)) => verdict.as_str(),
    };
    let mut columns = vec![Column::label("Command", commands)];
    match &runs.timed {
        Some(timed) => columns.extend([
            number("Median [ms]", timed.median_s),
            number("Min [ms]", timed.min_s),
            number("Max [ms]", timed.max_s),
            relative(timed.median_s),
        ]),
        None => columns.extend([number("Wall time [ms]", runs.wall_s), relative(runs.wall_s)]),
    }
    let verdicts = [Cell::NotApplicable, verdict.into()];
    columns.push(Column::text("Verdict", verdicts));
    table(&columns)
}

fn findings(parts: &mut Vec<String>, found: &Findings, most: usize) {
    let gone = found.gone.iter().map(|one| ("gone", one));
    let came = found.came.iter().map(|one| ("came", one));
    let listed: Listed<(&str, &Found)> = Listed::of(gone.chain(came), most);
    if !listed.shown.is_empty() {
        let rows = Rows::of(&listed.shown)
            .text("", |(word, _)| *word)
            .text("severity", |(_, one)| severity(one.severity).0)
            .label("finding", |(_, one)| one.rule.as_str())
            .label("file", |(_, one)| one.file.as_deref().unwrap_or(""))
            .number("cost", |(_, one)| {
                Cell::applicable(one.cost_s.base.or(one.cost_s.new), time)
            });
        parts.push(table(&rows.columns()));
        parts.extend(more(listed.more));
    }
    let stayed = found.stayed.len();
    if listed.shown.is_empty() {
        parts.push("No finding went and none came.".to_owned());
    }
    if stayed > 0 {
        parts.push(format!("{} in both.", counted(stayed, "finding")));
    }
}

/// Counts after a column that names their subject.
fn counts<'a>(of: Column, counts: impl Iterator<Item = &'a Count>) -> String {
    let counts: Vec<&Count> = counts.collect();
    let mut columns = vec![of];
    columns.extend(compare::counts().columns(&[Group::Both, Group::Sides], &counts));
    table(&columns)
}

/// Entries of one result only; for traces, the tables of findings and files show the important
/// ones.
fn unpaired(parts: &mut Vec<String>, comparison: &Comparison, most: usize) {
    if comparison.trace.is_some() {
        return;
    }
    let Sides { base, new } = &comparison.unpaired;
    let sides = [(&comparison.names.base, base), (&comparison.names.new, new)];
    for (name, lines) in sides.into_iter().filter(|(_, lines)| !lines.is_empty()) {
        let listed = Listed::of(lines, most);
        let items = listed.shown.iter();
        let items = join(items.map(|line| format!("- {}", code(line))), "\n");
        parts.push(format!("Only in {}:\n\n{items}", code(name)));
        parts.extend(more(listed.more));
    }
}

fn more(more: usize) -> Option<String> {
    (more > 0).then(|| format!("And {}.", counted(more, "more line")))
}

fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars
        .next()
        .map(|char| char.to_uppercase().collect::<String>());
    first.unwrap_or_default() + chars.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compared::fixture;

    #[test]
    fn a_comment_that_says_same() {
        insta::assert_snapshot!(draw(&fixture::same(), false));
    }

    #[test]
    fn a_comment_that_says_nothing_could_be_told() {
        insta::assert_snapshot!(draw(&fixture::powerless(), false));
    }

    #[test]
    fn a_comment_about_rows() {
        insta::assert_snapshot!(draw(&fixture::lab(), true));
    }

    #[test]
    fn a_comment_about_traces() {
        insta::assert_snapshot!(draw(&fixture::trace(), false));
    }

    /// Every table has as many cells in each row as in its head, and no name is markup.
    #[test]
    fn nothing_in_a_name_acts() {
        for comparison in [fixture::lab(), fixture::trace()] {
            let text = draw(&comparison, true);
            let mut cells = 0;
            for line in text.lines() {
                let bars = line.matches('|').count();
                assert!(cells == 0 || bars == 0 || bars == cells, "{line}");
                cells = bars;
            }
            for acting in ["@", "`", "<img", "](", "http:", "\u{1b}"] {
                assert!(!text.contains(acting), "{acting:?} in {text}");
            }
        }
    }
}
