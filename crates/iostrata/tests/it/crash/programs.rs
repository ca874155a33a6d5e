//! What crashes do to the files of Debian's programs: cases of workloads/crash-programs.json, of which
//! docs/crash-programs.md has the table.

use std::fs;

use serde_json::Value;

use super::Case;
use super::named::have;
use crate::place::run;

/// A case with this name, explored under all models.
fn explored(name: &str) -> Value {
    let cases: Value =
        serde_json::from_str(include_str!("../../../../../workloads/crash-programs.json")).unwrap();
    let cases = cases.as_array().unwrap();
    let it = cases.iter().find(|it| it["name"] == name).unwrap();
    let case = Case::new("unused", "");
    fs::remove_file(case.dir.join("unused")).unwrap();
    let mut options = vec!["--init", it["init"].as_str().unwrap()];
    if let Some(check) = it["check"].as_str() {
        options.extend(["--check", check]);
    }
    let saved = case.place.path("crash.json");
    options.extend(["--json", saved.to_str().unwrap()]);
    let outcome = run(case.command(&options, it["run"].as_str().unwrap()));
    assert!(
        matches!(outcome.code, Some(0 | 1 | 3)),
        "{name}: {}",
        outcome.stderr
    );
    serde_json::from_str(&fs::read_to_string(saved).unwrap()).unwrap()
}

/// A finding: its kind, the message, the call that is lost with its path, and the one that did not wait.
type Known<'k> = (
    &'k str,
    &'k str,
    (&'k str, &'k str),
    Option<(&'k str, &'k str)>,
);

/// A name made up by the program has `*` for what differs.
fn is_named(path: &Value, pattern: &str) -> bool {
    let path = path.as_str().unwrap_or_default();
    match pattern.split_once('*') {
        Some((begin, end)) => path.starts_with(begin) && path.ends_with(end),
        None => path == pattern,
    }
}

fn has(result: &Value, known: &Known<'_>, model: &str) -> bool {
    let (kind, message, culprit, before) = known;
    let is_call = |operation: &Value, (call, path): &(&str, &str)| {
        operation["syscall"] == *call && is_named(&operation["path"], path)
    };
    result["findings"]
        .as_array()
        .unwrap()
        .iter()
        .any(|finding| {
            finding["kind"] == *kind
                && finding["message"].as_str().unwrap().starts_with(message)
                && is_call(&finding["culprit"], culprit)
                && before.map_or(finding["before"].is_null(), |before| {
                    is_call(&finding["before"], &before)
                })
                && finding["possible_on"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .any(|on| on == model)
        })
}

#[test]
fn programs_that_lose_data_are_named_with_their_calls() {
    let renamed = |new: &'static str, call| -> Known<'static> {
        ("ordering", "f is empty", ("write", new), Some((call, new)))
    };
    for (name, program, known, on) in [
        (
            "vim",
            "vim",
            ("prefix", "f is empty", ("ftruncate", "f"), None),
            &["ext4", "xfs", "btrfs"][..],
        ),
        (
            "ed",
            "ed",
            ("prefix", "f is empty", ("openat", "f"), None),
            &["ext4", "xfs", "btrfs"],
        ),
        (
            "sort -o",
            "sort",
            ("prefix", "f is empty", ("ftruncate", "f"), None),
            &["ext4", "xfs", "btrfs"],
        ),
        (
            "cp",
            "cp",
            ("prefix", "f is empty", ("openat", "f"), None),
            &["ext4", "xfs", "btrfs"],
        ),
        ("sed -i", "sed", renamed("sed*", "rename"), &["xfs"]),
        ("perl -i", "perl", renamed("XX*", "renameat"), &["xfs"]),
        ("rsync", "rsync", renamed(".f.*", "renameat"), &["xfs"]),
        (
            "zstd --rm",
            "zstd",
            (
                "ordering",
                "f and f.zst are lost",
                ("write", "f.zst"),
                Some(("unlink", "f")),
            ),
            &["ext4", "xfs", "btrfs"],
        ),
    ] {
        if !have(&[program]) {
            continue;
        }
        let result = explored(name);
        assert_eq!(result["verdict"], "failing", "{name}");
        for model in on {
            assert!(
                has(&result, &known, model),
                "{name} on {model}: {:#}",
                result["findings"]
            );
        }
    }
}

#[test]
fn programs_that_lose_nothing_are_clean() {
    for (name, program) in [
        ("rsync --fsync", "rsync"),
        ("gzip --synchronous", "gzip"),
        ("update-alternatives", "update-alternatives"),
        ("Berkeley DB", "db5.3_load"),
        ("SQLite, WAL, synchronous=FULL", "sqlite3"),
        ("mdb_load", "mdb_load"),
    ] {
        if !have(&[program]) {
            continue;
        }
        let result = explored(name);
        assert_eq!(
            result["verdict"], "clean",
            "{name}: {:#}",
            result["findings"]
        );
        for mode in result["modes"].as_array().unwrap() {
            assert!(
                mode["states"]["distinct"].as_u64() > Some(1),
                "{name}: {mode}"
            );
        }
    }
}

#[test]
fn a_write_ahead_log_that_is_not_synced_loses_what_was_reported() {
    if !have(&["sqlite3"]) {
        return;
    }
    let result = explored("SQLite, WAL, synchronous=NORMAL");
    assert_eq!(result["verdict"], "failing");
    let lost = (
        "lost-after-ack",
        "the committed value is lost",
        ("pwrite64", "t.db-wal"),
        // The report, which has no path.
        Some(("write", "")),
    );
    for model in ["posix", "ext4", "xfs", "btrfs"] {
        assert!(has(&result, &lost, model), "{:#}", result["findings"]);
    }
    let findings = result["findings"].as_array().unwrap();
    assert!(findings.iter().all(|it| it["kind"] == "lost-after-ack"));
    for mode in result["modes"].as_array().unwrap() {
        assert_eq!(mode["complete"], true, "{mode:#}");
        assert_eq!(mode["rebuilt"][0]["file"], "t.db-shm");
    }
}
