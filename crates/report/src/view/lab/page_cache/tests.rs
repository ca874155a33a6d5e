//! Pages of results made by hand.

use insta::assert_snapshot;
use iostrata_core::page_cache::{Parse, Reader, State};
use textwrap::core::display_width;

use super::fixture::{result, row, rows};
use crate::terminal::Style;
use crate::view::lab::drawn::draw;

#[test]
fn a_page_of_100_columns() {
    assert_snapshot!(draw(&result(rows()), 100, Style::default()));
}

#[test]
fn nothing_is_wider_than_80_columns() {
    let text = draw(&result(rows()), 80, Style::default());
    for line in text.lines() {
        assert!(display_width(line) <= 80, "{line}");
    }
    assert!(text.contains("1 MiB"), "{text}");
}

#[test]
fn what_could_not_be_made_cold_is_said_before_the_answers() {
    let mut held = row(State::Warm, Reader::Read, Parse::None, 300.0);
    held.asked_state = State::Cold;
    held.not_as_asked = Some(
        "asked to evict /data/f, but 100 % stayed resident: mapped by process 4211 (python3)"
            .to_owned(),
    );
    let text = draw(&result(vec![held]), 100, Style::default());
    let said = "  not cold      asked to evict /data/f, but 100 % stayed resident: mapped by process 4211 (python3)\n                the row is reported as warm [row 1]\n";
    let said = text
        .replace("\n                ", " ")
        .contains(&said.replace("\n                ", " "));
    assert!(said, "{text}");
    assert!(!text.contains("1 cold read"), "{text}");
}

#[test]
fn what_was_not_seen_has_no_column() {
    let mut rows = rows();
    for row in &mut rows {
        row.row.evidence.device = None;
        row.storage_read_bytes = None;
        row.row.evidence.cache.missed_pages = None;
        row.row.evidence.cache.prefetched_pages = None;
    }
    let text = draw(&result(rows), 100, Style::default());
    let heads = text.lines().find(|line| line.contains("real µs")).unwrap();
    for gone in ["device", "waited", "ahead"] {
        assert!(!heads.contains(gone), "{heads}");
    }
    assert!(
        text.contains("the rows of host"),
        "it is shown where: {text}"
    );
}
