//! What is shown of a state that a real file system has recovered.

use std::fs;

use serde_json::{Value, json};

use super::{Case, NEW, OLD, assert_only_lost};
use crate::place::is_root;

#[test]
fn a_page_has_the_operations_of_a_recovered_state() {
    if !is_root("block mode") {
        return;
    }
    let case = Case::new("f", OLD);
    let page = case.place.path("crash.html");
    let script = "echo new > n; sync n; mv n f; echo saved";
    let options = ["--html", page.to_str().unwrap()];
    let result = case.crash(("ext4", "none"), &options, script, 1);
    assert_only_lost(&result, "rename");
    let timeline = result["findings"][0]["timeline"].as_array().unwrap();
    let left = |call: &str| {
        let is_of = |moment: &&Value| {
            let name = moment["operation"]["syscall"].as_str();
            name.is_some_and(|name| name.starts_with(call))
        };
        let moment = timeline.iter().find(is_of).unwrap();
        (moment["left"].clone(), moment["durable_by"].is_u64())
    };
    assert_eq!(left("write"), ("durable".into(), true));
    assert_eq!(left("rename"), ("unknown".into(), false));
    let text = fs::read_to_string(page).unwrap();
    for words in ["the power fails", "<svg", "on disk or not", "durable by"] {
        assert!(text.contains(words), "no {words:?}");
    }
}

/// Of each finding the files before, at and after the crash, and under the pressure that stops the program at its calls
/// who called.
#[test]
fn a_finding_has_the_files_and_the_callers() {
    if !is_root("block mode") {
        return;
    }
    let case = Case::new("f", OLD);
    fs::write(case.dir.join("other"), "as it is").unwrap();
    let [page, keep] = ["crash.html", "kept"].map(|name| case.place.path(name));
    let options = [
        "--html",
        page.to_str().unwrap(),
        "--keep",
        keep.to_str().unwrap(),
    ];
    let script = format!("{NEW} > t; mv t f; echo saved");
    let message = "f holds nothing but zeros";
    let says = ("prefix", message, "rename");
    let result = case.finds(("ext4", "fsync"), &options, &script, says);
    let findings = result["findings"].as_array().unwrap().iter();
    let zeros: Vec<&Value> = findings
        .filter(|finding| finding["message"] == message)
        .collect();
    let [zeros] = zeros[..] else {
        panic!("{result:#}")
    };
    let f = json!({"path": "f", "before_bytes": OLD.len(), "at_bytes": 6000, "after_bytes": 6000, "state": "zeros"});
    assert_eq!(
        zeros["files"],
        json!([f]),
        "what does not change is not told"
    );
    let stack = zeros["culprit"]["stack"].as_array().unwrap();
    let innermost = stack.first().and_then(Value::as_str).unwrap_or_default();
    assert!(innermost.starts_with("rename"), "{stack:?}");
    let text = fs::read_to_string(page).unwrap();
    assert!(text.contains("files before, at and after the crash"));
    let proof = zeros["proof"].as_str().unwrap();
    let story = fs::read_to_string(format!("{proof}/../story.txt")).unwrap();
    let told = "f: zeros; 13 B before, 6,000 B at the crash, 6,000 B after";
    assert!(story.contains(told), "{story}");
}

/// A file system that loses the name of a new file has no length for it, and one that cannot be read has no files.
#[test]
fn a_file_that_is_lost_is_not_there() {
    if !is_root("block mode") {
        return;
    }
    let case = Case::new("f", OLD);
    let check = "[ ! -s \"$IOSTRATA_STDOUT\" ] || [ -e n ] || { echo lost; exit 1; }";
    let options = ["--check", check];
    let result = case.crash(("ext4", "none"), &options, "echo new > n; echo saved", 1);
    assert_only_lost(&result, "write");
    let n = json!({"path": "n", "before_bytes": null, "at_bytes": null, "after_bytes": 4, "state": "old"});
    assert_eq!(result["findings"][0]["files"], json!([n]));
}
