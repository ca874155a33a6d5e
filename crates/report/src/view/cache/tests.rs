use iostrata_core::cache::Action;

use super::fixture::{cached, evicted, file, result, shown};
use crate::terminal::{Style, cache as draw};

#[test]
fn what_is_shown() {
    insta::assert_snapshot!(draw(&shown(), 100, Style::default()));
}

#[test]
fn what_stayed_has_its_reasons() {
    insta::assert_snapshot!(draw(&evicted(), 100, Style::default()));
}

#[test]
fn a_narrow_page_breaks_its_strips_and_leaves_columns_out() {
    insta::assert_snapshot!(draw(&shown(), 60, Style::default()));
}

#[test]
fn many_files_are_cut_and_said_so() {
    let files = (0..25).map(|number| file(&format!("/data/{number:02}"), 1, Some(cached(4096, 0))));
    let mut result = result(Action::Show, files.collect());
    result.missing = (0..30)
        .map(|number| crate::fixture::gap(format!("/no/{number}"), "it cannot be opened"))
        .collect();
    let text = draw(&result, 100, Style::default());
    assert!(text.contains("and 5 more; --all-rows shows all"), "{text}");
    assert!(
        text.contains("and 10 more paths; --all-rows shows all"),
        "{text}"
    );
    let all = Style {
        all_rows: true,
        ..Style::default()
    };
    let text = draw(&result, 100, all);
    assert!(
        text.contains("/data/24") && text.contains("/no/29"),
        "{text}"
    );
}

#[test]
fn nothing_is_nothing() {
    let text = draw(&result(Action::Warm, Vec::new()), 100, Style::default());
    assert!(text.starts_with("cache warm · 0 files · 0 B\n"), "{text}");
    assert!(text.contains("files: none"), "{text}");
    assert!(!text.contains("NaN"), "{text}");
}

#[test]
fn colour_only_repeats() {
    let colour = Style {
        colour: true,
        ..Style::default()
    };
    let coloured = draw(&evicted(), 100, colour);
    assert!(coloured.contains("\u{1b}["));
    let plain = draw(&evicted(), 100, Style::default());
    assert!(!plain.contains('\u{1b}'));
}
