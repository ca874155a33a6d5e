//! States that are kept, rebuilt by number, or looked at in parts.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::{Case, NEW, has, kinds};
use crate::place::run;

fn keep(case: &Case) -> (Value, std::path::PathBuf) {
    let kept = case.place.path("kept");
    let script = format!("{NEW} > t; mv t f; echo saved");
    let result = case.crash(&["--keep", kept.to_str().unwrap()], &script, 1);
    (result, kept)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

#[test]
fn each_finding_is_kept_as_it_was_looked_at() {
    let case = Case::new("f", "old");
    let (result, kept) = keep(&case);
    let findings = result["findings"].as_array().unwrap();
    assert!(findings.len() >= 3);
    for (number, finding) in findings.iter().enumerate() {
        let place = kept.join((number + 1).to_string());
        assert_eq!(
            text(&finding["proof"]),
            place.join("tree").to_str().unwrap()
        );
        let held = fs::read(place.join("tree/f")).unwrap();
        let message = text(&finding["message"]);
        match message.strip_prefix("f ").unwrap() {
            "is empty" => assert_eq!(held, b""),
            "holds nothing but zeros" => {
                assert!(!held.is_empty() && held.iter().all(|byte| *byte == 0));
            }
            said if said.starts_with("is older") => assert_eq!(held, b"old"),
            _ => assert!(held != b"old" && held != vec![b'n'; 6000]),
        }
        let printed = fs::read_to_string(place.join("printed")).unwrap();
        let is_loss = finding["kind"] == "lost-after-ack";
        assert_eq!(printed, if is_loss { "saved\n" } else { "" }, "{message}");
        let story = fs::read_to_string(place.join("story.txt")).unwrap();
        assert!(story.starts_with(message), "{story}");
        assert!(story.contains("renameat of t to f: "), "{story}");
    }
    // It is not empty any more.
    let script = case.command(&["--keep", kept.to_str().unwrap()], "true");
    run(script).expect(2).says(&["it is not empty"]);
}

#[test]
fn a_state_is_rebuilt_by_its_number() {
    let case = Case::new("f", "old");
    let directory = case.place.path("recording");
    let script = format!("{NEW} > t; mv t f; echo saved");
    let result = case.crash(&["--record", directory.to_str().unwrap()], &script, 1);
    let findings = result["findings"].as_array().unwrap();
    let empty = findings
        .iter()
        .find(|finding| text(&finding["message"]) == "f is empty");
    let number = empty.unwrap()["state"].as_u64().unwrap().to_string();
    let kept = case.place.path("one");
    let mut command = case.place.iostrata("crash --state");
    command
        .arg(&number)
        .arg("--from")
        .arg(&directory)
        .arg("--keep")
        .arg(&kept);
    let outcome = run(command).expect(0);
    assert!(
        outcome
            .stdout
            .starts_with(&format!("State {number}, which posix allows, is in "))
    );
    let file = kept.join(&number).join("tree/f");
    assert_eq!(fs::read(file).unwrap(), b"");
    // Without --keep it is here.
    let mut command = case.place.iostrata("crash --state");
    command.arg(&number).arg("--from").arg(&directory);
    run(command).expect(0);
    let here = case
        .place
        .dir()
        .join(format!("crash-state-{number}/tree/f"));
    assert_eq!(fs::read(here).unwrap(), b"");
    let mut command = case.place.iostrata("crash --state 1000000");
    command
        .arg("--from")
        .arg(&directory)
        .arg("--keep")
        .arg(case.place.path("none"));
    run(command)
        .expect(2)
        .says(&["there are ", "states with these options"]);
}

/// Explores a recording in parts and joins them.
fn in_parts(
    case: &Case,
    directory: &Path,
    options: &[&str],
    parts: usize,
) -> (Vec<std::path::PathBuf>, Value) {
    let from = ["--from", directory.to_str().unwrap()];
    let mut files = Vec::new();
    for part in 1..=parts {
        let file = case.place.path(format!("part-{part}.json"));
        let mut command = case.place.iostrata("crash --partition");
        command.env("PATH", std::env::var_os("PATH").unwrap());
        command
            .arg(format!("{part}/{parts}"))
            .args(from)
            .args(options);
        command.arg("--json").arg(&file);
        let outcome = run(command);
        assert!(matches!(outcome.code, Some(0 | 1)), "{}", outcome.stderr);
        files.push(file);
    }
    let joined = case.place.path("joined.json");
    let mut command = case.place.iostrata("merge");
    command.env("PATH", std::env::var_os("PATH").unwrap());
    command.args(&files).arg("--json").arg(&joined);
    let outcome = run(command);
    assert!(matches!(outcome.code, Some(0 | 1)), "{}", outcome.stderr);
    (
        files,
        serde_json::from_slice(&fs::read(joined).unwrap()).unwrap(),
    )
}

#[test]
fn parts_that_are_merged_are_the_whole() {
    let case = Case::new("f", "old");
    let check = "[ -s f ] || { echo empty; exit 1; }; ! grep -q saved \"$IOSTRATA_STDOUT\" || \
                 [ $(wc -c < f) = 6000 ] || { echo lost; exit 1; }";
    let directory = case.place.path("recording");
    let record = ["--record", directory.to_str().unwrap(), "--check", check];
    let script = format!("{NEW} > t; mv t f; echo saved");
    let whole = case.crash(&record, &script, 1);
    let (files, joined) = in_parts(&case, &directory, &["--check", check], 3);
    for name in ["findings", "fix", "verdict", "command", "settings"] {
        assert_eq!(whole[name], joined[name], "{name}");
    }
    let states = |result: &Value| -> Vec<Value> {
        let modes = result["modes"].as_array().unwrap();
        modes.iter().map(|mode| mode["states"].clone()).collect()
    };
    assert_eq!(states(&whole), states(&joined));
    assert_eq!(joined["parts"].as_array().unwrap().len(), 3);
    let part: Value = serde_json::from_slice(&fs::read(&files[0]).unwrap()).unwrap();
    assert_eq!(part["partition"], "1/3");
    assert_eq!(part["fix"], Value::Null);
    assert!(text(&part["fix_unknown_because"]).contains("part"));

    let [one, two, three] = files.as_slice() else {
        panic!("{files:?}")
    };
    refuses(&case, &[one, three], "part 2/3 is missing");
    refuses(&case, &[one, two, two, three], "part 2/3 is there twice");
    refuses_mixtures(&case, &[one, two], three);
}

fn refuses(case: &Case, files: &[&Path], why: &str) {
    let mut command = case.place.iostrata("merge");
    command.args(files);
    run(command).expect(2).says(&[why]);
}

/// Parts of different wholes.
fn refuses_mixtures(case: &Case, [one, two]: &[&Path; 2], last: &Path) {
    let other = case.place.path("other.json");
    let of: [(&[&str], Value, &str); 8] = [
        (&["settings", "seed"], 2.into(), "with other settings"),
        (&["only_damage"], true.into(), "with other settings"),
        (&["ignored"], ["*"].into(), "with other settings"),
        (&["command", "0"], "other".into(), "of another command"),
        (&["check"], "true".into(), "of another checker"),
        (
            &["environment", "iostrata_version"],
            "0.0.9".into(),
            "of another version of iostrata",
        ),
        (
            &["recording", "log_blake3"],
            "0".repeat(64).into(),
            "of another recording",
        ),
        (
            &["partition"],
            "3/4".into(),
            "a part of 4, and others are not",
        ),
    ];
    for (path, value, why) in of {
        let mut part: Value = serde_json::from_slice(&fs::read(last).unwrap()).unwrap();
        let pointer = format!("/{}", path.join("/"));
        *part.pointer_mut(&pointer).unwrap() = value;
        fs::write(&other, part.to_string()).unwrap();
        refuses(case, &[one, two, &other], why);
    }
}

#[test]
fn a_page_has_the_operations_and_the_files_of_each_finding() {
    let case = Case::new("f", "old");
    let page = case.place.path("crash.html");
    let script = format!("{NEW} > t; mv t f; echo saved");
    let result = case.crash(&["--html", page.to_str().unwrap()], &script, 1);
    let text = fs::read_to_string(&page).unwrap();
    for finding in result["findings"].as_array().unwrap() {
        assert!(text.contains(self::text(&finding["message"])));
    }
    for words in [
        "A crash can break this",
        "the power fails",
        "<svg",
        "renameat of t to f",
        "lost",
        "torn",
    ] {
        assert!(text.contains(words), "no {words:?}");
    }
    // A saved result makes the same page, but for the name of its file.
    let again = case.place.path("again.html");
    let mut command = case.place.iostrata("report");
    command
        .arg(case.place.path("crash.json"))
        .arg("--html")
        .arg(&again);
    run(command).expect(0);
    assert_eq!(fs::read_to_string(again).unwrap(), text);
    // Instead of the text, and of what the program prints.
    let outcome = run(case.command(&["--html", "-"], &script)).expect(1);
    assert!(
        outcome.stdout.starts_with("<!DOCTYPE html>"),
        "{}",
        outcome.stdout
    );
}

/// A file without a name that gets one, as careful programs write: all of it is seen.
#[test]
fn a_file_that_is_linked_when_it_is_complete() {
    let case = Case::new("f", "old");
    let program = "import os
d = os.open('.', os.O_RDONLY)
n = os.open('.', os.O_TMPFILE | os.O_WRONLY)
os.write(n, b'new' * 1000)
if SYNC: os.fsync(n)
os.link(f'/proc/self/fd/{n}', 'g', dst_dir_fd=d, follow_symlinks=True)
if SYNC: os.fsync(d)
print('linked')";
    let crash = |sync: &str, code| {
        let script = format!("/usr/bin/python3 -c \"{}\"", program.replace("SYNC", sync));
        case.crash(&[], &script, code)
    };
    let hopeful = crash("0", 1);
    assert!(
        has(&hopeful, "ordering", "g is empty", "ext4"),
        "{:?}",
        kinds(&hopeful)
    );
    assert_eq!(hopeful["modes"][0]["complete"], true);
    assert_eq!(crash("1", 0)["verdict"], "clean");
}
