//! What a user who is new to it gets wrong, and must not be answered with *clean*.

use serde_json::json;

use super::{Case, kinds};
use crate::place::run;

#[test]
fn what_goes_past_the_copy_is_named() {
    let case = Case::new("f", "old");
    let kept = case.place.path("kept");
    let path = case.dir.join("f");
    let script = format!(
        "echo new > g; sync g; echo new > {0}.t; mv {0}.t {0}; echo saved",
        path.display()
    );
    let options = ["--check", "true", "--record", kept.to_str().unwrap()];
    let result = case.crash(&options, &script, 3);
    let again = case.explored(&["--check", "true", "--from", kept.to_str().unwrap()], 3);
    for result in [result, again] {
        assert_eq!(result["verdict"], "incomplete");
        let gap = &result["modes"][0]["incomplete_because"][0];
        let named = [
            format!("{}", path.display()),
            format!("{}.t", path.display()),
        ];
        assert_eq!(
            gap["code"]["what"]["listed"]["first"],
            json!(named),
            "{gap}"
        );
    }
    // What lies beside the directory is nobody's matter, as a file in /tmp is.
    let beside = case.place.path("beside");
    let script = format!("echo new > g; echo new > {}", beside.display());
    case.crash(&["--check", "true"], &script, 0);
}

/// A line is a report when it is whole, in however many parts it is written.
#[test]
fn half_a_line_is_no_report() {
    let case = Case::new("f", "old");
    let check = "while read -r word number; do [ \"$number\" = 10 ] || { echo half; exit 1; }; done < $IOSTRATA_STDOUT";
    let script = "sync f; printf 'rec 1'; echo x > g; printf '0\\n'; echo y > g";
    assert_eq!(kinds(&case.crash(&["--check", check], script, 0)), []);
    // What is printed last is one without a line's end.
    let check = "[ \"$(cat g 2>/dev/null)\" = x ] || [ -z \"$(cat $IOSTRATA_STDOUT)\" ] || { echo lost; exit 1; }";
    case.crash(&["--check", check], "echo x > g; printf saved", 1);
}

#[test]
fn a_checker_by_name_needs_what_it_looks_at() {
    let case = Case::new("settings.json", "{}");
    let script = "echo '[1]' > t; sync t; mv t settings.json; sync .";
    case.crash(&["--check", "json:settings.json"], script, 0);
    for check in ["json:seting.json", "sqlite:no.db", "lmdb:no"] {
        let outcome = run(case.command(&["--check", check], script));
        if outcome.stderr.contains("needs") {
            continue;
        }
        outcome
            .expect(2)
            .says(&["is not in the directory, neither before the program runs nor after it"]);
    }
}
