//! A comparison for a pull request.

use iostrata_core::compare::{Comparison, Count, Row, Runs, Sides, Weight};

use super::text::{code, table};
use crate::compared::{
    Listed, because, by_how_much, count, factor, headline, interval, limit, more_pairs, or_dash,
    row_counts, row_name, rows, seconds, visible,
};
use crate::format::{counted, time};

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
    let heads = [
        ("condition", false),
        ("base", false),
        ("new", false),
        ("", false),
    ];
    let rows = comparison.conditions.iter().map(|condition| {
        let kind = match condition.weight {
            Weight::Machine => "machine",
            Weight::Settings => "settings",
            Weight::Note => "note",
        };
        let Sides { base, new } = &condition.sides;
        vec![
            code(&condition.what),
            code(base),
            code(new),
            kind.to_owned(),
        ]
    });
    Some(format!("{lead}{}", table(&heads, rows)))
}

fn fail_on(comparison: &Comparison) -> Option<String> {
    let fail_on = comparison.fail_on.as_ref()?;
    let title = sentence(&limit(comparison, fail_on));
    if fail_on.exceeded.is_empty() {
        return Some(format!("{title}."));
    }
    let rows = fail_on.exceeded.iter();
    let rows = rows.map(|one| vec![code(&one.what), by_how_much(one)]);
    let heads = [("what", false), ("by", true)];
    Some(format!("**{title}:**\n\n{}", table(&heads, rows)))
}

fn lab(parts: &mut Vec<String>, comparison: &Comparison, all: bool) {
    let listed = Listed::of(rows(comparison, all), all);
    if !listed.shown.is_empty() {
        let heads = [
            ("row", false),
            ("base", true),
            ("new", true),
            ("times as long", true),
            ("interval", true),
            ("visible from", true),
            ("", false),
        ];
        parts.push(table(&heads, listed.shown.iter().map(|row| cells(row))));
        parts.extend(more(listed.more));
    }
    let (differing, below) = row_counts(comparison, all);
    let listed = Listed::of(differing, all);
    if !listed.shown.is_empty() {
        let named = listed.shown.iter();
        parts.push(counts(
            "row",
            named.map(|(row, count)| (code(&row_name(row)), *count)),
        ));
        parts.extend(more(listed.more));
    }
    parts.extend(below.map(|below| format!("{}.", sentence(&below))));
}

fn cells(row: &Row) -> Vec<String> {
    let time = row.time.as_ref();
    vec![
        code(&row_name(row)),
        seconds(row, row.median_s.base),
        seconds(row, row.median_s.new),
        or_dash(time, |time| factor(time.ratio)),
        or_dash(time, interval),
        or_dash(time, visible),
        row.judgement.as_str().to_owned(),
    ]
}

fn trace(parts: &mut Vec<String>, runs: &Runs, all: bool) {
    let (base, new) = (time(runs.wall_s.base), time(runs.wall_s.new));
    parts.push(format!("From start to end {base} → {new}, one run each."));
    let listed = Listed::of(&runs.counts, all);
    if !listed.shown.is_empty() {
        let whole = listed
            .shown
            .iter()
            .map(|count| ("whole run".to_owned(), *count));
        parts.push(counts("of", whole));
        parts.extend(more(listed.more));
    }
    let of_files = runs.files.iter().flat_map(|file| {
        file.counts
            .iter()
            .map(move |count| (code(&file.path), count))
    });
    let listed = Listed::of(of_files, all);
    if !listed.shown.is_empty() {
        parts.push(counts("file", listed.shown));
        parts.extend(more(listed.more));
    }
}

fn counts<'a>(head: &str, rows: impl IntoIterator<Item = (String, &'a Count)>) -> String {
    let heads = [
        (head, false),
        ("count", false),
        ("base", true),
        ("new", true),
    ];
    let rows = rows.into_iter().map(|(of, one)| {
        let Sides { base, new } = one.sides;
        vec![of, code(&one.what), count(base), count(new)]
    });
    table(&heads, rows)
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
