//! A trace for an issue.

use super::*;
use crate::view::trace::fixture;
use iostrata_core::gap::Reason;

#[test]
fn a_summary_for_an_issue() {
    insta::assert_snapshot!(trace(&fixture::full(), &Style::default()));
}

#[test]
fn a_run_without_anything() {
    insta::assert_snapshot!(trace(&fixture::empty(), &Style::default()));
}

/// Names with everything that Markdown and forges act on.
#[test]
fn nothing_in_a_name_acts() {
    let hostile = "/srv/app/a|b`c`<img src=x>\n# @me #1 [l](http://w.x) **b** \u{202e}www.w.x";
    let mut result = fixture::full();
    result.command = vec![hostile.to_owned()];
    result.environment.target.path = hostile.to_owned();
    for file in &mut result.files {
        file.path = hostile.to_owned();
    }
    for finding in &mut result.findings {
        finding.file = Some(hostile.to_owned());
        finding.title = format!("wrote to {hostile}");
    }
    for gap in &mut result.missing {
        gap.why = Reason::Error(hostile.to_owned());
    }
    for name in [&mut result.syscalls[0].name, &mut result.tasks[0].name] {
        *name = hostile.to_owned();
    }
    let style = Style {
        findings: true,
        files: true,
        calls: true,
        by: Some(crate::view::trace::By::Process),
        ..Style::default()
    };
    let text = trace(&result, &style);
    for acting in ["@", "`", "<img", "](", "http:", "**b", "\u{202e}", "www.w"] {
        assert!(!text.contains(acting), "{acting:?} in {text}");
    }
    let mut cells = 0;
    for line in text.lines() {
        let bars = line.matches('|').count();
        assert!(cells == 0 || bars == 0 || bars == cells, "{line}");
        cells = bars;
    }
    assert!(text.contains("a&#124;b&#96;c&#96;&#60;img"));
}
