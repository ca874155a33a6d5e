//! Checkers that stay: they say what one says that is started for each state, and are not believed what they remember.

use std::fs;
use std::process::Command;

use rustix::process::Signal;
use serde_json::Value;

use super::checkers::{User, sleeping};
use super::named::have;
use super::{Case, NEW, has, kinds};
use crate::place::{is_root, run, until};
use crate::running::Running;

/// Written in place and reported; and written aside, synced and renamed.
const TORN: &str = "echo new > settings; echo saved";
const WHOLE: &str = "echo new > t; sync t; mv t settings; sync .; echo saved";

/// A file of docs/crash.md.
fn example(name: &str) -> &'static str {
    let page = include_str!("../../../../../docs/crash.md");
    let (_, rest) = page
        .split_once(&format!("<!-- file: {name} -->\n"))
        .unwrap();
    let (_, rest) = rest.split_once('\n').unwrap();
    rest.split_once("```").unwrap().0
}

/// Says for each state what these commands print, which have `$copy` and `$printed`.
fn server(says: &str) -> String {
    format!("tab=$(printf '\\t'); while IFS=$tab read -r copy printed; do {says}; done")
}

/// The same that does something where the file is empty.
fn misbehaving(what: &str) -> String {
    server(&format!(
        "if [ -s \"$copy/settings\" ]; then echo ok; else {what}; fi"
    ))
}

/// What is found with a server and with a checker, in one recording.
#[track_caller]
fn assert_same(case: &Case, server: &str, check: &str, program: &str, code: i32) -> Value {
    let record = case.place.path("recording");
    let record = record.to_str().unwrap();
    let options = ["--check-server", server, "--record", record];
    let stays = case.crash(&options, program, code);
    let again = case.explored(&["--from", record, "--check", check], code);
    for name in ["findings", "fix", "verdict", "check_kept_in", "settings"] {
        assert_eq!(stays[name], again[name], "{name}");
    }
    let states = |result: &Value| -> Vec<Value> {
        let modes = result["modes"].as_array().unwrap();
        modes.iter().map(|mode| mode["states"].clone()).collect()
    };
    assert_eq!(states(&stays), states(&again));
    assert_eq!(
        (&stays["check"], &stays["check_keeps_running"]),
        (&server.into(), &true.into())
    );
    assert_eq!(
        (&again["check"], &again["check_keeps_running"]),
        (&check.into(), &false.into())
    );
    case.place.assert_nothing_left();
    stays
}

const CHECK: &str = "[ -s settings ] || { echo settings is empty; exit 1; }; ! grep -q saved \"$IOSTRATA_STDOUT\" || \
                     grep -q new settings || { echo settings is older than what was reported; exit 1; }";

#[test]
fn the_example_in_sh_finds_what_a_checker_finds() {
    let case = Case::new("settings", "old");
    let result = assert_same(&case, example("check-settings.sh"), CHECK, TORN, 1);
    assert!(has(&result, "prefix", "settings is empty", "ext4"));
    assert!(has(&result, "lost-after-ack", "settings is older", "ext4"));
    let case = Case::new("settings", "old");
    let result = assert_same(&case, example("check-settings.sh"), CHECK, WHOLE, 0);
    assert_eq!(result["verdict"], "clean");
}

#[test]
fn the_example_in_python_finds_what_a_checker_finds() {
    if !have(&["sqlite3"]) {
        return;
    }
    let case = Case::new("unused", "");
    let made = Command::new("sqlite3")
        .arg(case.dir.join("app.db"))
        .arg("create table t(a); insert into t values (1)")
        .status();
    assert!(made.unwrap().success());
    let script = case.place.path("check-database.py");
    fs::write(&script, example("check-database.py")).unwrap();
    let check = "rows=$(sqlite3 app.db 'select a from t' 2>&1) || { rows=${rows#*: }; echo ${rows% (*}; exit 1; }; \
                 for one in $(sort \"$IOSTRATA_STDOUT\"); do echo \"$rows\" | grep -qx $one || \
                 { echo $one is lost; exit 1; }; done";
    let program = "sqlite3 app.db 'pragma synchronous=full; insert into t values (2); select 2'";
    let server = format!("exec /usr/bin/python3 {}", script.display());
    let result = assert_same(&case, &server, check, program, 1);
    assert!(
        has(&result, "lost-after-ack", "2 is lost", "ext4"),
        "{:?}",
        kinds(&result)
    );
}

#[test]
fn each_state_has_another_path() {
    let case = Case::new("settings", "old");
    let remembers = "case $all in *\"$copy \"*|*\"$printed \"*) echo fail again;; \
                     *) all=\"$all$copy $printed \"; echo ok;; esac";
    let result = case.crash(&["--check-server", &server(remembers)], TORN, 0);
    assert!(result["modes"][0]["states"]["distinct"].as_u64().unwrap() > 4);
}

/// Who misbehaves where a state is broken fails there, with the message that a checker has that is started for it.
#[test]
fn one_that_ends_hangs_or_writes_anything_else_fails() {
    for (does, says) in [
        ("kill -SEGV $$", "the checker was ended by signal 11"),
        ("exit 7", "the checker exited with 7"),
        ("exit 0", "the checker exited with 0"),
        ("printf fail; exit 3", "the checker exited with 3"),
        ("echo torn >&2; exit 1", "torn"),
        ("echo fail", "the checker answered fail"),
        ("echo \"fail  $copy/settings, $copy \"", "DIR/settings, DIR"),
        (
            "echo looks good",
            "the checker answered neither ok nor fail: looks good",
        ),
        ("echo", "the checker answered neither ok nor fail: "),
        (
            "yes | tr -d '\\n'",
            "the checker answered neither ok nor fail: a long line",
        ),
        ("sleep 1000", "the checker took more than 0.5 s"),
        (
            "sleep 1000 & sleep 1000",
            "the checker took more than 0.5 s",
        ),
        (
            "exec >&-; sleep 1000",
            "the checker closed its standard output without an answer",
        ),
    ] {
        let case = Case::new("settings", "old");
        let command = misbehaving(does);
        let options = [
            "--model",
            "xfs",
            "--check-timeout",
            "0.5",
            "--check-server",
            &command,
        ];
        let result = case.crash(&options, TORN, 1);
        assert!(
            has(&result, "prefix", says, "xfs"),
            "{does}: {:?}",
            kinds(&result)
        );
        assert_eq!(sleeping(&case), 0, "{does}");
        case.place.assert_nothing_left();
    }
}

/// What `crash` says where it does not believe its checker.
#[track_caller]
fn refused(command: &str, options: &[&str], code: i32) -> String {
    let case = Case::new("settings", "old");
    let options = [
        options,
        &["--check-timeout", "5", "--check-server", command],
    ]
    .concat();
    let outcome = run(case.command(&options, TORN)).expect(code);
    case.place.assert_nothing_left();
    outcome.stderr
}

#[test]
fn one_with_a_memory_is_not_believed() {
    let judged = "if [ -s \"$copy/settings\" ]; then said=ok; else said='fail empty'; fi";
    let once_failed = format!("{judged}; echo ${{all:-$said}}; [ \"$said\" = ok ] || all=ok");
    let first_answer = format!("[ \"$said\" ] || {judged}; echo $said");
    let counts = format!("{judged}; n=$((n + 1)); echo $said $n");
    for (remembers, said, again) in [
        (once_failed, "\"fail empty\"", "\"ok\""),
        (first_answer, "\"ok\"", "\"fail empty\""),
        (counts, "\"fail empty ", "\"fail empty 1\""),
    ] {
        for jobs in ["1", "3"] {
            let stderr = refused(&server(&remembers), &["--jobs", jobs], 3);
            let words = format!("came to {said}");
            assert!(stderr.contains(&words), "{remembers}: {stderr}");
            let words = format!("and to {again} when it was asked again for the same state");
            assert!(
                stderr.contains(&words) || jobs == "3",
                "{remembers}: {stderr}"
            );
            assert!(stderr.starts_with("error: state "), "{stderr}");
            assert!(stderr.contains("rebuilds the state"), "{stderr}");
        }
    }
}

#[test]
fn an_answer_that_is_of_no_state_is_refused() {
    let two = misbehaving("echo fail x; echo fail y");
    assert!(refused(&two, &[], 3).contains("more than one line"));
    let later = misbehaving("echo fail x; sleep 0.1; echo fail y");
    let stderr = refused(&later, &["--jobs", "1"], 3);
    // It may come so late that it is taken for the next answer, which differs.
    let words = [
        "more than one line",
        "came to \"fail x\", and to \"fail y\"",
    ];
    assert!(words.iter().any(|words| stderr.contains(words)), "{stderr}");
    assert!(refused("yes ok", &[], 3).contains("more than one line"));
    let ends = refused("read -r line; echo ok", &["--jobs", "1"], 3);
    assert!(ends.contains("the checker exited with 0"), "{ends}");
}

#[test]
fn it_accepts_the_directory_as_it_was_and_is() {
    let before = refused("echo hello; sleep 1000", &[], 2);
    assert!(before.contains("neither ok nor fail: hello"), "{before}");
    let refuses = server("if grep -q new \"$copy/settings\"; then echo fail new; else echo ok; fi");
    let after = refused(&refuses, &[], 2);
    assert!(after.contains("after the program had ended"), "{after}");
    let both = refused("cat", &["--check", "true"], 2);
    assert!(both.contains("cannot be used with"), "{both}");
}

/// Copies are made where a checker that runs meanwhile cannot change them, and others cannot be put in their place.
#[test]
fn it_changes_no_state_that_it_is_not_asked_of() {
    if !is_root("another owner of the copies") {
        return;
    }
    let case = Case::new("settings", "old");
    let tries = "here=${copy%/*}; above=${here%/*}; stage=${above%/*}; { ln -s /etc $above/9999 || \
                 mv $here $above/9999 || mkdir $stage/next || touch $stage/said2 || touch $printed.new; } \
                 2>/dev/null && echo fail changed || echo ok";
    let result = case.crash(&["--check-server", &server(tries)], TORN, 0);
    assert_eq!(result["check_kept_in"], "room");
}

#[test]
fn parts_and_their_whole_ask_it_too() {
    let case = Case::new("settings", "old");
    let path = |name: &str| case.place.path(name).to_str().unwrap().to_owned();
    let (record, command) = (path("recording"), example("check-settings.sh"));
    let program = format!("{NEW} > settings; echo new >> settings; echo saved");
    let check = ["--check-server", command];
    let whole = case.crash(&[&check[..], &["--record", &record]].concat(), &program, 1);
    let parts = ["1/2", "2/2"].map(|part| {
        let options = ["--from", &record, "--partition", part];
        let result = case.explored(&[&options[..], &check].concat(), 1);
        let file = path(&format!("part-{}.json", &part[..1]));
        fs::write(&file, result.to_string()).unwrap();
        file
    });
    let mut merge = case.place.iostrata("merge --json");
    merge.env("PATH", std::env::var_os("PATH").unwrap());
    merge.arg(path("merged.json")).args(&parts);
    run(merge).expect(1);
    let merged: Value = serde_json::from_slice(&fs::read(path("merged.json")).unwrap()).unwrap();
    for name in ["findings", "fix", "verdict", "check", "check_keeps_running"] {
        assert_eq!(whole[name], merged[name], "{name}");
    }
}

#[test]
fn one_of_any_user_ends_with_a_killed_crash() {
    let others = is_root("another user").then_some(User::UNPRIVILEGED);
    for user in others.into_iter().flatten().chain([User::Own]) {
        for signal in [Signal::KILL, Signal::INT] {
            let case = Case::new("f", "old");
            let waits = "[ -s \"$copy/f\" ] || { sleep 1000 & sleep 1000; }; echo ok";
            let command = user.checked(&case, ["--check-server", &server(waits)]);
            let running = Running::start(&case.place, "crash", command);
            until("no checker runs", || (sleeping(&case) >= 2).then_some(()));
            running.signal(signal);
            let outcome = running.finish();
            match signal {
                Signal::KILL => assert_eq!(outcome.signal, Some(9), "{user:?}"),
                _ => assert_eq!(outcome.code, Some(130), "{user:?}"),
            }
            until("a checker is left", || (sleeping(&case) == 0).then_some(()));
            case.place.assert_kernel_is_clean();
        }
    }
}

#[test]
fn one_of_any_user_finds_what_breaks() {
    let others = is_root("another user").then_some(User::UNPRIVILEGED);
    for user in others.into_iter().flatten().chain([User::Own]) {
        let case = Case::new("f", "old");
        let closes =
            "if [ -s \"$copy/f\" ]; then echo ok; else chmod 0 \"$copy\"; echo fail empty; fi";
        run(user.checked(&case, ["--check-server", &server(closes)])).expect(1);
        let result = fs::read(case.place.dir().join("user.json")).unwrap();
        let result: Value = serde_json::from_slice(&result).unwrap();
        assert_eq!(result["findings"][0]["message"], "empty", "{user:?}");
        case.place.assert_kernel_is_clean();
    }
}
