//! Comparisons as they are drawn.

use textwrap::core::display_width;

use crate::compared::fixture;
use crate::terminal::compare::{Style, draw};

fn drawn(comparison: &iostrata_core::compare::Comparison, width: usize, all_rows: bool) -> String {
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
fn no_difference() {
    insta::assert_snapshot!(drawn(&fixture::same(), 100, false));
}

#[test]
fn rows_at_100_columns() {
    insta::assert_snapshot!(drawn(&fixture::lab(), 100, false));
}

#[test]
fn rows_at_80_columns() {
    insta::assert_snapshot!(drawn(&fixture::lab(), 80, true));
}

#[test]
fn traces_at_100_columns() {
    insta::assert_snapshot!(drawn(&fixture::trace(), 100, false));
}

#[test]
fn traces_at_80_columns() {
    insta::assert_snapshot!(drawn(&fixture::trace(), 80, true));
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
