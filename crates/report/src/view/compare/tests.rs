//! Comparisons as they are drawn.

use iostrata_core::compare::{
    Comparison, Judgement, Limit, Sides, TimeRatio, Timed, USUAL_LIMIT, Verdict,
};
use textwrap::core::display_width;

use crate::compared::fixture;
use crate::terminal::{Style, compare as draw};

fn drawn(comparison: &Comparison, width: usize, all_rows: bool) -> String {
    let style = Style {
        colour: false,
        all_rows,
    };
    let text = draw(comparison, width, style);
    for line in text.lines() {
        assert!(display_width(line) <= width, "wider than {width}: {line}");
        assert!(!line.contains('\u{1b}'), "{line}");
    }
    text
}

#[test]
fn the_same_at_100_columns() {
    insta::assert_snapshot!(drawn(&fixture::same(), 100, false));
}

#[test]
fn nothing_could_be_told_at_100_columns() {
    insta::assert_snapshot!(drawn(&fixture::powerless(), 100, false));
}

#[test]
fn rows_at_100_columns() {
    insta::assert_snapshot!(drawn(&fixture::lab(), 100, false));
}

#[test]
fn all_rows_at_80_columns() {
    insta::assert_snapshot!(drawn(&fixture::lab(), 80, true));
}

#[test]
fn traces_at_60_columns() {
    insta::assert_snapshot!(drawn(&fixture::trace(), 60, false));
}

#[test]
fn traces_at_100_columns() {
    insta::assert_snapshot!(drawn(&fixture::trace(), 100, false));
}

#[test]
fn all_of_traces_at_80_columns() {
    insta::assert_snapshot!(drawn(&fixture::trace(), 80, true));
}

/// A case previously shown under "no difference": a meaningless estimate is never printed.
#[test]
fn an_interval_without_end_has_no_figures() {
    let powerless = fixture::powerless();
    for text in [
        drawn(&powerless, 100, false),
        drawn(&powerless, 160, true),
        crate::markdown::compare(&powerless, true),
    ] {
        assert!(text.contains("inconclusive"), "{text}");
        for figure in ["3.93", "5,957", "0.00", "no difference", "same, within"] {
            assert!(!text.contains(figure), "{figure} in {text}");
        }
    }
}

/// Hundreds of files, findings and rows fit a screen at every width.
#[test]
fn a_screen_is_a_screen() {
    let mut trace = fixture::trace();
    let runs = trace.trace.as_mut().unwrap();
    let findings = runs.findings.as_mut().unwrap();
    for number in 0..300 {
        let path = format!("/srv/app/of/some/length/and/a/number/{number}");
        let mut file = runs.changed[1].clone();
        file.path.clone_from(&path);
        runs.changed.push(file);
        let mut found = findings.gone[0].clone();
        found.file = Some(path);
        findings.gone.push(found);
    }
    let mut lab = fixture::lab();
    let rows = lab.lab.as_mut().unwrap();
    for number in 0..300 {
        let mut row = rows.rows[0].clone();
        row.label = format!("read_write, {number} KiB buffer, 8.0 MiB warm");
        rows.rows.push(row);
        lab.unpaired.new.push(format!("copy: row {number}"));
    }
    lab.fail_on(Limit { percent: 5.0 });
    for width in [60, 80, 100, 160] {
        for comparison in [&trace, &lab] {
            let text = drawn(comparison, width, false);
            let lines = text.lines().count();
            assert!((20..=45).contains(&lines), "{lines} at {width}:\n{text}");
            assert!(text.contains("--all"), "{text}");
        }
        let found = drawn(&trace, width, false);
        assert!(found.contains("more line"), "{found}");
    }
}

#[test]
fn colour_only_repeats_the_words() {
    let coloured = Style {
        colour: true,
        all_rows: false,
    };
    let text = draw(&fixture::lab(), 100, coloured);
    assert!(text.contains("\u{1b}["));
    let mut plain = String::new();
    let mut is_code = false;
    for char in text.chars() {
        match (is_code, char) {
            (false, '\u{1b}') => is_code = true,
            (true, 'm') => is_code = false,
            (false, char) => plain.push(char),
            (true, _) => {}
        }
    }
    assert_eq!(plain, drawn(&fixture::lab(), 100, false));
}

/// Two traces with timed runs, one of them 1.2 times as long.
fn timed(low_ratio: f64, high_ratio: f64, visible_ratio: f64) -> Comparison {
    let mut comparison = fixture::trace();
    let change = TimeRatio {
        ratio: 1.2,
        low_ratio,
        high_ratio,
        misses: 0.03,
        visible_ratio,
        rounds: 10,
    };
    let sides = |base: f64, new: f64| Sides { base, new };
    let runs = comparison.trace.as_mut().unwrap();
    runs.timed = Some(Timed {
        median_s: sides(1.0, 1.2),
        min_s: sides(0.9, 1.1),
        max_s: sides(1.1, 1.3),
        runs: Sides { base: 10, new: 10 },
        others_cpus: Sides::default(),
        time: Some(change),
        judgement: if low_ratio > 1.0 {
            Judgement::Slower
        } else {
            Judgement::NoDifference
        },
    });
    comparison.verdict = Some(Verdict::of(&change, USUAL_LIMIT));
    comparison
}

#[test]
fn timed_runs_lead_with_their_verdict() {
    let beginning = |comparison: &Comparison| {
        let text = drawn(comparison, 100, false);
        text.lines().take(8).collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!(beginning(&timed(1.1, 1.31, 1.15)), @r"
    monday.json → tuesday.json
      base  ./app
      new   ./app --sync

    slower: wall time 1.00 s → 1.20 s, 1.20 times as long; different calls
      medians of 10 runs each, not traced; 1.20 times as long (97 %: 1.10–1.31)
      not the same page cache: 9.0 MiB read from the device → 0 B read from the device; run both cold or
      both warm
    ");
    insta::assert_snapshot!(beginning(&timed(0.9, 1.6, 1.5)), @r"
    monday.json → tuesday.json
      base  ./app
      new   ./app --sync

    inconclusive: wall time 1.00 s → 1.20 s, 1.20 times as long; different calls
      medians of 10 runs each, not traced; 1.20 times as long (97 %: 0.90–1.60); only changes above 50 %
      were detectable, and the limit is 2.5 %
      not the same page cache: 9.0 MiB read from the device → 0 B read from the device; run both cold or
    ");
}
