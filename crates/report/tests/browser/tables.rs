//! Tables: sorted by clicks and keys, filtered by typing.

use serde_json::{Value, json};

use crate::page::Page;
use crate::results::{page_of_trace, trace};

/// The table of system calls, sorted by count.
fn calls() -> Option<Page> {
    let mut page = Page::open("tables", &page_of_trace(&trace()))?;
    page.unfold();
    Some(page)
}

const TABLE: &str = "document.getElementById('trace-calls-table')";

fn column(page: &mut Page, head: &str) -> Vec<String> {
    let cells = page.ask(&format!(
        "(() => {{ const table = {TABLE}; const index = [...table.tHead.rows[0].cells]\
         .findIndex(cell => cell.textContent === '{head}');\
         return [...table.tBodies[0].rows].filter(row => !row.hidden)\
         .map(row => row.cells[index].textContent); }})()"
    ));
    let cells = cells.as_array().expect("cells").iter();
    cells.filter_map(Value::as_str).map(str::to_owned).collect()
}

fn counts(page: &mut Page) -> Vec<u64> {
    let cells = column(page, "count");
    let numbers = cells.iter().map(|cell| cell.replace(',', "").parse());
    numbers.map(Result::unwrap).collect()
}

fn head(name: &str) -> String {
    format!("[...{TABLE}.tHead.querySelectorAll('button')].find(b => b.textContent === '{name}')")
}

#[test]
fn a_click_on_a_head_sorts() {
    let Some(mut page) = calls() else { return };
    let before = counts(&mut page);
    assert!(
        before.len() > 5 && !before.is_sorted_by(|a, b| a >= b),
        "{before:?}"
    );
    page.click(&head("count"));
    let falling = counts(&mut page);
    assert!(falling.is_sorted_by(|a, b| a >= b), "{falling:?}");
    let sorted = format!("{}.closest('th').ariaSort", head("count"));
    assert_eq!(page.text(&sorted), "descending");
    page.click(&head("count"));
    let rising = counts(&mut page);
    assert!(rising.is_sorted(), "{rising:?}");
    page.click(&head("count"));
    assert_eq!(
        counts(&mut page),
        before,
        "the third click brings the order of the result back"
    );
    page.is_quiet();
}

#[test]
fn the_keyboard_sorts_too() {
    let Some(mut page) = calls() else { return };
    page.ask(&format!("{}.focus()", head("count")));
    page.press("Enter");
    assert!(counts(&mut page).is_sorted_by(|a, b| a >= b));
    page.press(" ");
    assert!(counts(&mut page).is_sorted());
    page.is_quiet();
}

#[test]
fn typing_filters_the_rows() {
    let Some(mut page) = calls() else { return };
    let all = column(&mut page, "call");
    let matching = all.iter().filter(|name| name.contains("sync")).count();
    assert!(matching > 0 && matching < all.len());
    let tools = format!("{TABLE}.closest('.table').querySelector('.tools')");
    let input = format!("{tools}.querySelector('input')");
    page.click(&input);
    page.write("sync");
    let shown = column(&mut page, "call");
    assert_eq!(shown.len(), matching, "{shown:?}");
    assert!(shown.iter().all(|name| name.contains("sync")), "{shown:?}");
    let said = page.text(&format!("{tools}.querySelector('output').textContent"));
    assert_eq!(said, format!("{matching} of {} rows", all.len()));
    page.ask(&format!("{input}.select()"));
    page.write("no call is called so");
    assert_eq!(column(&mut page, "call").len(), 0);
    page.is_quiet();
}

#[test]
fn stops_follow_the_order_of_the_page() {
    let Some(mut page) = calls() else { return };
    page.press("Tab");
    assert_eq!(page.text("document.activeElement.className"), "skip");
    page.ask("window.places = []");
    for _ in 0..40 {
        page.press("Tab");
        page.ask("places.push(document.activeElement.getBoundingClientRect().top + scrollY); 0");
    }
    let focused = page.ask("document.activeElement !== document.body");
    assert_eq!(focused, json!(true));
    // Columns of one line may differ by their boxes; no column jumps back by more.
    let back = "places.slice(1).filter((top, i) => top < places[i] - 60)";
    assert_eq!(page.count(back), 0);
    page.is_quiet();
}
