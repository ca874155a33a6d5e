use iostrata_core::lab::Experiment;

use super::*;
use crate::compared::fixture;
use crate::view::trace::fixture::{empty, full, many};

fn of_trace(result: &TraceResult) -> String {
    page(&[Titled {
        name: None,
        result: Drawn::Trace(result),
    }])
}

/// Text between the navigation and the scripts, without the drawings.
fn body(page: &str) -> String {
    let start = page.find("<main").unwrap();
    let end = page.find("<script>").unwrap();
    let mut parts = page[start..end].split("<div class=\"plots");
    let mut body = parts.next().unwrap().to_owned();
    for part in parts {
        let ends = ["<details>", "</figure>"].into_iter();
        let end = ends.filter_map(|end| part.find(end)).min().unwrap();
        body.push_str("drawing</div>");
        body.push_str(&part[end..]);
    }
    body
}

#[test]
fn a_page_of_a_trace() {
    insta::assert_snapshot!(body(&of_trace(&full())));
}

#[test]
fn a_page_of_nothing() {
    insta::assert_snapshot!(body(&of_trace(&empty())));
}

/// The answer, the limit, strata and findings are open; rows, files and counts wait for a click.
#[test]
fn a_page_of_a_comparison() {
    let of = |comparison: &Comparison| {
        body(&page(&[Titled {
            name: None,
            result: Drawn::Comparison(comparison),
        }]))
    };
    insta::assert_snapshot!("a_page_of_two_traces", of(&fixture::trace()));
    insta::assert_snapshot!("a_page_of_two_labs", of(&fixture::lab()));
}

#[test]
fn long_results_are_cut_and_say_so() {
    let result = many();
    assert_eq!(result.files.len(), 10_000);
    let page = of_trace(&result);
    assert!(page.contains("and 9,000 more rows; the saved result has all"));
    assert!(page.len() < 4_000_000, "{}", page.len());
}

#[test]
fn long_names_are_cut_by_their_bytes() {
    let mut result = many();
    for file in &mut result.files {
        file.path = format!("{}{}", file.path, "/name".repeat(800));
    }
    let page = of_trace(&result);
    assert!(page.len() < 4_000_000, "{}", page.len());
    assert!(page.contains("more rows; the saved result has all"));
}

#[test]
fn many_findings_are_cut_and_say_so() {
    let mut result = full();
    let finding = result.findings[0].clone();
    result.findings = vec![finding; 10_000];
    let page = of_trace(&result);
    assert!(page.len() < 2_000_000, "{}", page.len());
    assert!(page.contains("more paragraphs; the saved result has all"));
}

#[test]
fn a_long_command_is_no_heading() {
    let mut result = empty();
    result.command = vec!["x".repeat(5_000), "end".to_owned()];
    let page = of_trace(&result);
    let heading = page
        .split_once("<h1")
        .unwrap()
        .1
        .split_once("</h1>")
        .unwrap()
        .0;
    assert!(heading.len() < 300, "{heading}");
    assert!(page.contains(&format!("<code>{} end</code>", "x".repeat(5_000))));
}

#[test]
fn results_of_one_page_share_its_room() {
    let result = many();
    let titled = Titled {
        name: Some("a.json".to_owned()),
        result: Drawn::Trace(&result),
    };
    let page = page(&vec![titled; 4]);
    assert!(page.contains("and 9,750 more rows"));
    assert!(page.len() < 5_000_000, "{}", page.len());
}

#[test]
fn rows_that_answers_cite_can_be_followed() {
    let saved = include_str!("../../tests/saved/lab.json");
    let result: LabResult = serde_json::from_str(saved).unwrap();
    let page = page(&[Titled {
        name: None,
        result: Drawn::Lab(&result),
    }]);
    let cited = page.matches("<a href=\"#buffering-row-").count();
    assert!(cited > 0, "{page}");
    assert!(page.contains("<tr id=\"buffering-row-1\">"));
}

#[test]
fn a_page_of_one_experiment_begins_with_its_answers() {
    let saved = include_str!("../../../../docs/results/quick.json");
    let mut result: LabResult = serde_json::from_str(saved).unwrap();
    let is_sync = |one: &Experiment| one.shared().id == "sync";
    result.experiments.retain(is_sync);
    let page = page(&[Titled {
        name: None,
        result: Drawn::Lab(&result),
    }]);
    let (first, rest) = page.split_once("<details").unwrap();
    let mut elsewhere = 0;
    for reply in result.experiments[0].replies() {
        assert!(first.contains(&reply.question), "{}", reply.question);
        for other in &reply.elsewhere {
            elsewhere += 1;
            assert!(first.contains(&format!("On {}: ", other.target)));
        }
    }
    assert!(elsewhere > 0);
    assert!(first.contains("Caution: virtual machine"));
    let machine = format!("kernel {}", result.environment.kernel);
    assert!(!first.contains(&machine) && rest.contains(&machine));
}

#[test]
fn what_is_printed_may_be_closed() {
    let drawn = |fold: Fold| {
        let mut markup = Markup::default();
        fold.open(&mut markup, "part", |markup| markup.text("files"));
        fold.close(&mut markup);
        markup.finish().replace('\n', "")
    };
    assert_eq!(drawn(Fold::Open), "files");
    assert_eq!(
        drawn(Fold::Opened),
        "<details class=\"part\" open><summary>files</summary></details>"
    );
    assert_eq!(
        drawn(Fold::Printed),
        "<details class=\"part on-paper\"><summary>files</summary></details>"
    );
}
