//! A comparison for a pull request.

use iostrata_core::compare::{Comparison, Count, Runs, Sides, Weight};

use super::text::{code, table};
use crate::compared::{
    Listed, because, by_how_much, from_start_to_end, headline, limit, more_pairs, row_counts,
    row_name, rows,
};
use crate::fields::{Group, compare};
use crate::format::counted;
use crate::view::table::Column;

/// Draws a comparison. What stands in the results is shown as code and acts on nothing.
pub fn draw(comparison: &Comparison, all: bool) -> String {
    let Sides { base, new } = &comparison.names;
    let mut parts = vec![format!("### iostrata: {}", headline(comparison))];
    let more = more_pairs(comparison).map_or_else(String::new, |more| format!(" {more}"));
    parts.push(format!("{} → {}{more}", code(base), code(new)));
    parts.extend(conditions(comparison));
    let reasons = because(comparison);
    if !reasons.is_empty() {
        let lines: Vec<String> = reasons.iter().map(|line| format!("- {line}")).collect();
        parts.push(lines.join("\n"));
    }
    parts.extend(fail_on(comparison));
    if comparison.lab.is_some() {
        lab(&mut parts, comparison, all);
    }
    if let Some(runs) = &comparison.trace {
        trace(&mut parts, runs, all);
    }
    unpaired(&mut parts, comparison, all);
    for gap in &comparison.missing {
        parts.push(format!(
            "Not judged: {}: {}.",
            code(&gap.what),
            code(&gap.why)
        ));
    }
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
        "**Not the same conditions: a difference may come from these alone.**\n\n"
    } else {
        ""
    };
    let each = || comparison.conditions.iter();
    let kinds = each().map(|condition| match condition.weight {
        Weight::Machine => "machine",
        Weight::Settings => "settings",
        Weight::Note => "note",
    });
    let columns = [
        Column::label("condition", each().map(|condition| condition.what.as_str())),
        Column::label(
            "base",
            each().map(|condition| condition.sides.base.as_str()),
        ),
        Column::label("new", each().map(|condition| condition.sides.new.as_str())),
        Column::text("", kinds),
    ];
    Some(format!("{lead}{}", table(&columns)))
}

fn fail_on(comparison: &Comparison) -> Option<String> {
    let fail_on = comparison.fail_on.as_ref()?;
    let title = sentence(&limit(comparison, fail_on));
    if fail_on.exceeded.is_empty() {
        return Some(format!("{title}."));
    }
    let exceeded = fail_on.exceeded.iter();
    let columns = [
        Column::label("what", exceeded.clone().map(|one| one.what.as_str())),
        Column::number("by", exceeded.map(by_how_much)),
    ];
    Some(format!("**{title}:**\n\n{}", table(&columns)))
}

fn lab(parts: &mut Vec<String>, comparison: &Comparison, all: bool) {
    let listed = Listed::of(rows(comparison, all), all);
    if !listed.shown.is_empty() {
        parts.push(table(
            &compare::row().columns(&[Group::Both, Group::Comment], &listed.shown),
        ));
        parts.extend(more(listed.more));
    }
    let (differing, below) = row_counts(comparison, all);
    let listed = Listed::of(differing, all);
    if !listed.shown.is_empty() {
        let names = listed.shown.iter().map(|(row, _)| row_name(row));
        let column = Column::label("row", names);
        parts.push(counts(column, listed.shown.iter().map(|(_, count)| *count)));
        parts.extend(more(listed.more));
    }
    parts.extend(below.map(|below| format!("{}.", sentence(&below))));
}

fn trace(parts: &mut Vec<String>, runs: &Runs, all: bool) {
    parts.push(format!("{}.", sentence(&from_start_to_end(runs))));
    let listed = Listed::of(&runs.counts, all);
    if !listed.shown.is_empty() {
        let column = Column::text("of", listed.shown.iter().map(|_| "whole run"));
        parts.push(counts(column, listed.shown.iter().copied()));
        parts.extend(more(listed.more));
    }
    let of_files = runs.files.iter();
    let of_files = of_files.flat_map(|file| file.counts.iter().map(move |count| (file, count)));
    let listed = Listed::of(of_files, all);
    if !listed.shown.is_empty() {
        let paths = listed.shown.iter().map(|(file, _)| file.path.as_str());
        let column = Column::label("file", paths);
        parts.push(counts(column, listed.shown.iter().map(|(_, count)| *count)));
        parts.extend(more(listed.more));
    }
}

/// Counts behind a column that says what they are of.
fn counts<'a>(of: Column, counts: impl Iterator<Item = &'a Count>) -> String {
    let counts: Vec<&Count> = counts.collect();
    let mut columns = vec![of];
    columns.extend(compare::counts().columns(&[Group::Both, Group::Sides], &counts));
    table(&columns)
}

fn unpaired(parts: &mut Vec<String>, comparison: &Comparison, all: bool) {
    let Sides { base, new } = &comparison.unpaired;
    let sides = [(&comparison.names.base, base), (&comparison.names.new, new)];
    for (name, lines) in sides.into_iter().filter(|(_, lines)| !lines.is_empty()) {
        let listed = Listed::of(lines, all);
        let items: Vec<String> = listed
            .shown
            .iter()
            .map(|line| format!("- {}", code(line)))
            .collect();
        parts.push(format!("Only in {}:\n\n{}", code(name), items.join("\n")));
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
    fn a_comment_that_says_no_difference() {
        insta::assert_snapshot!(draw(&fixture::same(), false));
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
