//! Names that try to be markup or script.

use crate::page::Page;
use crate::results::{page_of_lab, page_of_trace, with_text};

/// Each of them would set `window.hacked`, or end its surrounding element.
const NAMES: [&str; 4] = [
    "<script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'>",
    "\"><svg onload=window.hacked=1></svg><x y='",
    "</title></table></script></style>]]>--><script>window.hacked = 1</script>",
    "javascript:window.hacked=1 \u{202e}\u{0}\n{{window.hacked=1}}",
];

fn is_harmless(page: &mut Page, name: &str, html: &str) {
    page.turn_to("hostile", html);
    page.unfold();
    assert_eq!(page.text("typeof window.hacked"), "undefined", "{name}");
    assert_eq!(
        page.count("document.querySelectorAll('main script, img, x')"),
        0
    );
    // The text of marks goes through the script.
    let marks = page.count("document.querySelectorAll('figure .mark')");
    if marks > 0 {
        page.ask("document.querySelector('figure.chart .drawing').focus()");
        page.press("End");
        page.press("ArrowLeft");
    }
    assert_eq!(page.text("typeof window.hacked"), "undefined", "{name}");
    page.is_quiet();
}

#[test]
fn names_of_a_trace_are_harmless() {
    let Some(mut page) = Page::empty() else {
        return;
    };
    for name in NAMES {
        let result = with_text(include_str!("../saved/trace.json"), name);
        is_harmless(&mut page, name, &page_of_trace(&result));
    }
}

#[test]
fn names_of_a_lab_result_are_harmless() {
    let Some(mut page) = Page::empty() else {
        return;
    };
    for name in NAMES {
        let result = with_text(include_str!("../saved/lab.json"), name);
        is_harmless(&mut page, name, &page_of_lab(&result));
    }
}
