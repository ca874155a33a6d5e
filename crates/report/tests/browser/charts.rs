//! Charts: words on pointing, and keys.

use crate::page::{DESK, Look, PHONE, Page};
use crate::results::{page_of_lab, sync};

pub(crate) const TIP: &str =
    "document.querySelector('figure.chart .tip:not([hidden])')?.textContent ?? ''";

#[test]
fn pointing_at_a_mark_says_what_it_is() {
    let Some(mut page) = Page::open("tip", &page_of_lab(&sync())) else {
        return;
    };
    for (width, class) in [(DESK, "wide"), (PHONE, "narrow")] {
        page.look(width, Look::Light);
        page.load();
        page.unfold();
        page.point_at("document.querySelector('figure.chart .mark .dot')");
        let words = page.text(TIP);
        assert!(
            words.starts_with("row 1 · fsync append 1 KiB on ext4: "),
            "{words}"
        );
        assert!(words.contains("syncs/s (range: "), "{words}");
        let inside = "(() => { const b = document.querySelector('.tip:not([hidden])')\
            .getBoundingClientRect(); return b.left >= 0 && b.right <= innerWidth; })()";
        assert_eq!(page.ask(inside), serde_json::json!(true));
        page.picture(class);
        page.is_quiet();
    }
}

#[test]
fn arrows_go_from_mark_to_mark() {
    let Some(mut page) = Page::open("arrows", &page_of_lab(&sync())) else {
        return;
    };
    page.unfold();
    page.ask("document.querySelector('figure.chart .drawing').focus()");
    page.press("ArrowRight");
    let first = page.text(TIP);
    page.press("ArrowRight");
    let second = page.text(TIP);
    assert!(
        first.starts_with("row 1 ·") && second.starts_with("row 2 ·"),
        "{first}; {second}"
    );
    page.press("ArrowLeft");
    assert_eq!(page.text(TIP), first);
    page.press("Tab");
    assert_eq!(page.text(TIP), "", "the words go with the focus");
    page.is_quiet();
}
