//! Directory names that a terminal, a shell or a text would trip over.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use serde_json::Value;

use crate::place::{Outcome, Place, is_root, run, with_path};

/// Spaces, a line break, quotes, a colour, a tab, a bell, bytes that are no UTF-8, a direction mark.
const HOSTILE: &[u8] = b" a  b\n\"'`$(x)\\\x1b[31m\t\x07\xff\xfe\xe2\x80\xae%s{} \\040";

fn hostile(place: &Place) -> PathBuf {
    let path = place.path(OsStr::from_bytes(HOSTILE));
    fs::create_dir(&path).unwrap();
    path
}

#[track_caller]
fn assert_harmless(outcome: &Outcome) {
    for stream in [&outcome.stdout, &outcome.stderr] {
        let acts = |char: char| (char.is_control() && char != '\n') || char == '\u{202e}';
        assert!(!stream.contains(acts), "{stream:?}");
    }
}

#[test]
fn are_measured_and_shown_escaped() {
    if !is_root("mounting images") {
        return;
    }
    let place = Place::new();
    let dir = hostile(&place);
    let options = "lab --quick --fs host,ext4,xfs,btrfs --mode fsync --size 1 --count 20";
    let command = with_path(place.iostrata(options), "--dir", &dir);
    let outcome = run(with_path(command, "--json", dir.join("result.json"))).expect(0);
    assert_harmless(&outcome);
    assert_eq!(outcome.stderr, "");
    // A shell would trip over the path too.
    assert!(outcome.stdout.contains("report FILE"), "{}", outcome.stdout);
    let report = with_path(
        place.iostrata("report --method"),
        "--",
        dir.join("result.json"),
    );
    let method = run(report).expect(0);
    assert_harmless(&method);
    assert!(method.stdout.contains("\\u{1b}[31m"), "{}", method.stdout);
    let saved = fs::read_to_string(dir.join("result.json")).unwrap();
    let result: Value = serde_json::from_str(&saved).unwrap();
    let rows = result["experiments"][0]["rows"].as_array().unwrap();
    for row in rows {
        assert_eq!(row["evidence"]["syscalls"]["fsync"]["count"], 20);
        assert!(
            row["evidence"]["device"]["flushes"].as_u64() > Some(0),
            "{row}"
        );
    }
    assert_eq!(rows.len(), 4);
    fs::remove_file(dir.join("result.json")).unwrap();
    fs::remove_dir(dir).unwrap();
    place.assert_nothing_left();
}

#[test]
fn errors_about_them_are_one_harmless_line() {
    let place = Place::new();
    let dir = hostile(&place);
    let commands = [
        with_path(place.iostrata("lab buffering"), "--dir", dir.join("none")),
        with_path(
            place.iostrata("lab buffering"),
            "--json",
            dir.join("none/result.json"),
        ),
        with_path(place.iostrata("doctor"), "--", dir.join("none")),
        with_path(
            place.iostrata("lab --size 1TiB --count 1000000 --fs host"),
            "--dir",
            &dir,
        ),
    ];
    for command in commands {
        let outcome = run(command);
        assert!(matches!(outcome.code, Some(2 | 3)), "{}", outcome.stderr);
        assert_harmless(&outcome);
        assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.stderr);
        assert!(outcome.stderr.contains("\\u{1b}[31m"), "{}", outcome.stderr);
    }
}

#[test]
fn doctor_shows_them_escaped() {
    let place = Place::new();
    let dir = hostile(&place);
    let outcome = run(with_path(place.iostrata("doctor"), "--", &dir)).expect(0);
    assert_harmless(&outcome);
    assert!(outcome.stdout.contains("\\u{1b}[31m"), "{}", outcome.stdout);
}
