//! Properties of every experiment's page in a terminal.

use iostrata_core::lab::LabResult;
use textwrap::core::display_width;

use super::{Extent, show};
use crate::terminal::{Style, text_of};
use crate::view::page::Page;

pub(super) const ALL_ROWS: Style = Style {
    colour: false,
    all_rows: true,
};

/// A name that is not to reach a terminal.
pub(super) const HOSTILE: &str = "a\u{1b}[2J\r\nb\u{202e}\u{9b}31m";

pub(super) fn draw(result: &LabResult, width: usize, style: Style) -> String {
    let extent = if style.all_rows {
        Extent::AllRows
    } else {
        Extent::Usual
    };
    let mut page = Page::new(width);
    show(&mut page, result, extent);
    text_of(&page, style.colour)
}

pub(super) fn plain(result: &LabResult, width: usize) -> String {
    draw(result, width, Style::default())
}

pub(super) fn assert_lines_fit(results: &[LabResult]) {
    for result in results {
        for width in [80, 81, 100, 120, 200] {
            for style in [Style::default(), ALL_ROWS] {
                for line in draw(result, width, style).lines() {
                    assert!(display_width(line) <= width, "{width}: {line:?}");
                    assert_eq!(line, line.trim_end());
                }
            }
        }
    }
}

/// A page of a result with hostile names: they appear, escaped.
pub(super) fn assert_escaped(result: &LabResult) {
    for style in [Style::default(), ALL_ROWS] {
        let text = draw(result, 100, style);
        let escaped = "a\\u{1b}[2J\\r\\nb\\u{202e}\\u{9b}31m";
        assert!(text.contains(escaped), "{text}");
        let raw = |char: &char| (char.is_control() && *char != '\n') || *char == '\u{202e}';
        assert_eq!(text.chars().find(raw), None);
    }
}

pub(super) fn assert_colour_only_repeats(result: &LabResult) {
    for all_rows in [false, true] {
        let style = |colour| Style { colour, all_rows };
        let coloured = draw(result, 80, style(true));
        assert!(coloured.contains("\u{1b}[32mholds\u{1b}[0m"), "{coloured}");
        assert_eq!(without_colour(&coloured), draw(result, 80, style(false)));
    }
}

fn without_colour(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |plain, part| plain + part.split_once('m').unwrap().1)
}
