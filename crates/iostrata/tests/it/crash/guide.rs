//! What docs/guide/crash-safe.md claims in prose; its outputs are compared by the tests of the documentation.

use std::fs;
use std::process::Command;

use serde_json::Value;

use super::{Case, kinds};
use crate::place::run;

const PAGE: &str = include_str!("../../../../../docs/guide/crash-safe.md");
const OLD: &str = "{\"colour\": \"red\"}\n";
const REAL: [&str; 3] = ["ext4", "xfs", "btrfs"];

/// The page's program.
fn program() -> &'static str {
    let (_, rest) = PAGE
        .split_once("<!-- file: save.py -->\n```python\n")
        .unwrap();
    rest.split_once("```").unwrap().0
}

fn claims(words: &str) {
    let page = PAGE.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(page.contains(words), "the page no longer says: {words}");
}

/// What crash says of the program with these steps.
fn saved(program: &str, steps: &str, check: &[&str]) -> Value {
    let case = Case::new("settings.json", OLD);
    fs::write(case.dir.join("save.py"), program).unwrap();
    let json = case.place.path("crash.json");
    let mut command = case.bare();
    command.arg(&case.dir).args(check).arg("--json").arg(&json);
    command
        .args(["--", "/usr/bin/python3", "save.py"])
        .args(steps.split_whitespace());
    let outcome = run(command);
    assert!(matches!(outcome.code, Some(0 | 1)), "{}", outcome.stderr);
    serde_json::from_str(&fs::read_to_string(json).unwrap()).unwrap()
}

fn models(result: &Value) -> Vec<&str> {
    let findings = result["findings"].as_array().unwrap().iter();
    let models = findings.flat_map(|finding| finding["possible_on"].as_array().unwrap());
    models.filter_map(Value::as_str).collect()
}

const SOUND: &[&str] = &["--check", "json:settings.json"];

#[test]
fn in_place_the_file_is_cut_before_the_first_byte_is_written() {
    claims("Opening with `\"w\"` cuts the file to nothing before the first byte is written.");
    let result = saved(program(), "", SOUND);
    let findings = result["findings"].as_array().unwrap();
    let cut = findings
        .iter()
        .find(|finding| finding["kind"] == "prefix")
        .unwrap();
    assert_eq!(cut["culprit"]["syscall"], "openat");
    assert_eq!(cut["message"], "settings.json is empty");
    for model in REAL {
        assert!(
            cut["possible_on"]
                .as_array()
                .unwrap()
                .iter()
                .any(|on| on == model)
        );
    }
}

#[test]
fn a_rename_waits_for_the_contents_nowhere() {
    claims(
        "No file system waits for the contents. ext4 and btrfs start to write them when a rename replaces a file",
    );
    let result = saved(program(), "rename", SOUND);
    let models = models(&result);
    for model in REAL {
        assert!(models.contains(&model), "{models:?}");
    }
}

#[test]
fn the_file_is_sound_after_a_sync_and_the_newest_after_another() {
    claims("The file is sound in every state.");
    claims("`json:` accepts the older version");
    assert_eq!(saved(program(), "rename fsync", SOUND)["verdict"], "clean");
    let newest = saved(program(), "rename fsync", &[]);
    assert!(
        kinds(&newest)
            .iter()
            .all(|(kind, ..)| kind == "lost-after-ack"),
        "{:?}",
        kinds(&newest)
    );
    for model in REAL {
        assert!(models(&newest).contains(&model));
    }
}

/// Each step of the order that the page gives is needed, and all of them are enough.
#[test]
fn nothing_in_the_order_can_be_left_out() {
    claims(
        "So the order is: write a new file on the same file system, `fsync` it, rename it over the old one, `fsync` \
         the directory, report.",
    );
    assert_eq!(
        saved(program(), "rename fsync directory", &[])["verdict"],
        "clean"
    );
    for steps in ["fsync directory", "rename directory", "rename fsync"] {
        assert_eq!(
            saved(program(), steps, &[])["verdict"],
            "failing",
            "{steps}"
        );
    }
    // To report earlier is to report too early.
    let report = "print(\"saved\")\n";
    let early = program().replace(report, "");
    let early = early.replace(
        "    if \"directory\" in steps:\n",
        "    print(\"saved\", flush=True)\n    if \"directory\" in steps:\n",
    );
    assert_ne!(early, program());
    let early = saved(&early, "rename fsync directory", &[]);
    assert!(
        kinds(&early)
            .iter()
            .any(|(kind, ..)| kind == "lost-after-ack"),
        "{:?}",
        kinds(&early)
    );
}

#[test]
fn a_rename_from_another_file_system_fails() {
    claims("`rename` does not work across file systems (`EXDEV`)");
    let case = Case::new("f", "old");
    let script = "import os, tempfile
new = tempfile.NamedTemporaryFile(dir='/dev/shm')
try: os.rename(new.name, 'f')
except OSError as error: print(error.errno)";
    let mut python = Command::new("/usr/bin/python3");
    python.args(["-c", script]).current_dir(&case.dir);
    assert_eq!(run(python).expect(0).stdout.trim(), "18");
}
