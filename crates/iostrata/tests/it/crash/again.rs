//! Second crashes, while a checker recovers from the first one.

use std::fs;
use std::process::Command;

use serde_json::Value;

use super::Case;
use super::ended::interrupted;
use crate::place::run;

/// Overwrites a file in place, with a journal of what it held.
const PROGRAM: &str = "cp f t && sync t && mv t journal && sync . && printf '%06000d' 1 > f && sync f && rm journal && \
                       sync . && echo saved";

/// The file is whole, and not older than what was reported.
const SOUND: &str = "case $(wc -c < f).$(tr -dc 0 < f | wc -c).$(tail -c 1 f) in \
                     6000.5999.2) ! grep -q saved \"$IOSTRATA_STDOUT\" || { echo lost; exit 1; } ;; \
                     6000.5999.1) ;; *) echo f is torn; exit 1 ;; esac";

const WRONG: &str = "cat journal > f; rm journal; sync f";
const RIGHT: &str = "cat journal > f; sync f; rm journal";

fn case() -> Case {
    Case::new("f", &format!("{:06000}", 2))
}

fn checker(recovery: &str) -> String {
    format!("if [ -e journal ]; then {recovery}; fi; {SOUND}")
}

fn count(result: &Value, name: &str) -> u64 {
    result["again"][name].as_u64().unwrap()
}

fn flowed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// With and without second crashes: the first ones break nothing.
fn crash(recovery: &str, code: i32) -> Value {
    let case = case();
    let check = checker(recovery);
    let first = case.crash(&["--check", &check], PROGRAM, 0);
    assert_eq!(first["again"], Value::Null);
    let result = case.crash(&["--again", "--check", &check], PROGRAM, code);
    let states = |result: &Value| {
        let modes = result["modes"].as_array().unwrap().iter();
        modes.map(|mode| mode["states"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(states(&first), states(&result), "they are counted apart");
    assert!(count(&result, "changed") > 0, "{:#}", result["again"]);
    assert_eq!(count(&result, "explored"), count(&result, "chosen"));
    assert_eq!(count(&result, "not_recorded"), 0);
    assert!(result["again"]["states"]["distinct"].as_u64() > Some(10));
    case.place.assert_nothing_left();
    result
}

#[test]
fn a_journal_that_is_removed_too_early_is_found() {
    let result = crash(WRONG, 1);
    assert_eq!(result["verdict"], "failing");
    let [only] = result["findings"].as_array().unwrap().as_slice() else {
        panic!("{:#}", result["findings"])
    };
    assert_eq!(only["message"], "f is torn");
    assert_eq!(only["kind"], "ordering");
    assert_eq!(
        (&only["culprit"]["path"], &only["before"]["path"]),
        (&"f".into(), &"journal".into())
    );
    assert_eq!(only["state"], Value::Null);
    assert!(only["recovering"].as_u64().is_some());
    let failing = &result["again"]["states"]["failing"];
    assert_eq!(
        only["states"], *failing,
        "states of several recoveries are one finding"
    );
    assert_eq!(result["fix"], Value::Null);
    assert!(
        result["fix_unknown_because"]
            .as_str()
            .unwrap()
            .contains("recovery")
    );
}

#[test]
fn a_recovery_in_the_right_order_is_clean() {
    let result = crash(RIGHT, 0);
    assert_eq!(result["verdict"], "clean");
    assert_eq!(result["again"]["states"]["failing"], 0);
}

#[test]
fn a_recovery_that_rewrites_each_time_is_clean() {
    let result = crash("cat journal > f", 0);
    assert_eq!(result["verdict"], "clean");
}

#[test]
fn a_checker_that_keeps_running_is_recorded_too() {
    let case = case();
    let [once, stays] = [
        checker(WRONG),
        format!(
            "tab=$(printf '\\t'); while IFS=$tab read -r IOSTRATA_DIR IOSTRATA_STDOUT; do \
             if said=$(cd \"$IOSTRATA_DIR\"; {}); then echo ok; else echo fail \"$said\"; fi; done",
            checker(WRONG)
        ),
    ];
    let once = case.crash(
        &["--again", "--model", "ext4", "--check", &once],
        PROGRAM,
        1,
    );
    let kept = case.place.path("kept");
    let options = [
        "--again",
        "--model",
        "ext4",
        "--check-server",
        &stays,
        "--keep",
        kept.to_str().unwrap(),
    ];
    let stays = case.crash(&options, PROGRAM, 1);
    for name in ["changed", "recorded", "explored"] {
        assert_eq!(once["again"][name], stays["again"][name], "{name}");
    }
    let one = |result: &Value| result["findings"][0]["message"].clone();
    assert_eq!(one(&once), one(&stays));
    let story = fs::read_to_string(kept.join("1/story.txt")).unwrap();
    let recovering = &stays["findings"][0]["recovering"];
    assert!(
        flowed(&story).contains(&format!("while the checker recovers state {recovering}.")),
        "{story}"
    );
    // What it is about is there: without the journal, and not whole.
    assert!(!kept.join("1/tree/journal").exists());
    assert!(fs::read(kept.join("1/tree/f")).unwrap() != fs::read(case.dir.join("f")).unwrap());
}

#[test]
fn sqlite_recovers_from_a_crash_while_it_recovers() {
    let case = case();
    let made = Command::new("sqlite3")
        .arg(case.dir.join("t.db"))
        .arg("create table t(a); insert into t values(1)")
        .status();
    assert!(made.unwrap().success());
    let program = "sqlite3 t.db 'insert into t values(2)'";
    let result = case.crash(&["--again", "--check", "sqlite:t.db"], program, 0);
    assert_eq!(result["verdict"], "clean");
    // A hot journal is rolled back; nothing else of what SQLite does at its start changes a file.
    assert!(count(&result, "changed") > 0);
    assert_eq!(count(&result, "recoveries"), 1);
    assert_eq!(count(&result, "explored"), count(&result, "changed"));
    assert!(result["again"]["states"]["points"].as_u64() > Some(10));
    assert_eq!(
        result["again"]["incomplete_because"],
        Value::Array(Vec::new())
    );
}

#[test]
fn what_is_not_known_of_a_recovery_is_not_clean() {
    let case = case();
    let program = "printf '%06000d' 1 > t; sync t; mv t f; sync .";
    // It changes nothing.
    let outcome =
        run(case.command(&["--again", "--model", "ext4", "--check", SOUND], program)).expect(0);
    let said = flowed(&outcome.stdout);
    assert!(
        said.contains(
            "No second crash was looked at: the checker changed no state that it accepted."
        ),
        "{said}"
    );
    // The log of what it does is among what it removes.
    let removes = "touch made; sync made; rm -rf \"$TMPDIR\"/*";
    let outcome =
        run(case.command(&["--again", "--model", "ext4", "--check", removes], program)).expect(3);
    let said = flowed(&outcome.stdout);
    assert!(said.contains("Incomplete: "), "{said}");
    assert!(
        said.contains("the checker could not be recorded in "),
        "{said}"
    );
}

#[test]
fn ctrl_c_during_second_crashes_keeps_what_was_found() {
    let check = "if [ -e \"$TMPDIR\"/recovery.iostrata ]; then echo recorded >&3; else echo look >&3; fi; \
                 echo 1 > made; sync made; rm made";
    let program = "for one in 1 2 3 4; do echo $one > f$one; mv f$one f; done";
    let (result, text) = interrupted(&["--again"], check, program, |told| {
        let last = told.rsplit_once("recorded").map(|(_, looks)| looks);
        last.is_some_and(|looks| looks.contains("look"))
    });
    assert_eq!(result["verdict"], "partial");
    assert_eq!(result["interrupted_by"], "SIGINT");
    for mode in result["modes"].as_array().unwrap() {
        assert_eq!(mode["states"]["points_not_explored"], 0);
    }
    assert!(count(&result, "recorded") > 0);
    assert!(
        count(&result, "explored") < count(&result, "chosen"),
        "{:#}",
        result["again"]
    );
    assert!(text.contains("Clean so far: none of "), "{text}");
}

#[test]
fn what_it_cannot_do_is_an_error_of_usage() {
    let case = case();
    let refused = |options: &[&str], says: &str| {
        run(case.command(options, "echo new > f"))
            .expect(2)
            .says(&[says]);
    };
    refused(
        &["--again"],
        "--again needs --check or --check-server: the built-in rules recover nothing",
    );
    refused(
        &["--again", "--check", "true", "--mode", "block"],
        "--again needs --mode syscall",
    );
    refused(
        &["--again", "--check", "true", "--partition", "1/2"],
        "cannot be used with",
    );
    refused(&["--check", ""], "a value is required for '--check");
    let destroys = "[ -e f ] || { echo f is gone; exit 1; }; rm f";
    refused(
        &["--again", "--check", destroys],
        "and refuses that: f is gone; it has to accept what it leaves itself",
    );
    case.place.assert_nothing_left();
}
