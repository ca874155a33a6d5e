//! `lab atime` as a user runs it.

use insta::assert_snapshot;
use rustix::process::Signal;
use serde_json::Value;

use crate::place::{Place, entries, is_root, run, until};
use crate::results::valid;
use crate::running::Running;

/// Far more than a test waits for.
const ENDLESS: &str = "lab atime --thorough --fs ext4,xfs,tmpfs --loop many_files";

fn experiment(text: &str) -> Value {
    valid("iostrata.lab-1.schema.json", text)["experiments"][0].clone()
}

/// Operation, mount and whether the access time changed, of every row of an operation.
fn moves(experiment: &Value) -> Vec<(String, String, bool)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let rows = experiment["rows"].as_array().unwrap().iter();
    rows.filter(|row| row["case"]["operation"].is_string())
        .map(|row| {
            let case = &row["case"];
            let changed = row["atime_changed"].as_bool().unwrap();
            (text(&case["operation"]), text(&case["mount"]), changed)
        })
        .collect()
}

#[test]
fn operations_and_mounts_are_chosen_by_name() {
    if !is_root("mounting images") {
        return;
    }
    let place = Place::new();
    let command = place.iostrata(
        "lab atime --quick --fs ext4,tmpfs --operation read,stat --mount relatime,noatime --json -",
    );
    let outcome = run(command).expect(0);
    assert_eq!(outcome.stderr, "");
    let experiment = experiment(&outcome.stdout);
    let of_one = [
        ("stat", "relatime", false),
        ("read", "relatime", true),
        ("stat", "noatime", false),
        ("read", "noatime", false),
    ];
    let expected: Vec<_> = [of_one, of_one]
        .concat()
        .into_iter()
        .map(|(operation, mount, moved)| (operation.to_owned(), mount.to_owned(), moved))
        .collect();
    assert_eq!(moves(&experiment), expected);
    assert_eq!(experiment["relatime"].as_array().unwrap().len(), 3 + 3 + 2);
    place.assert_nothing_left();
}

#[test]
fn loops_have_times_sectors_and_a_comparison() {
    if !is_root("mounting images") {
        return;
    }
    let place = Place::new();
    let command = place.iostrata(
        "lab atime --quick --fs ext4 --loop many_files --mount relatime,noatime --json -",
    );
    let outcome = run(command).expect(0);
    let experiment = experiment(&outcome.stdout);
    let rows = experiment["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 4);
    let first = &rows[0];
    assert_eq!(first["case"]["loop"], "many_files");
    let reads = first["case"]["reads"].as_u64().unwrap();
    assert!(first["sectors"].as_u64().unwrap() >= reads, "{first}");
    assert_eq!(first["evidence"]["syscalls"]["read"]["count"], reads);
    assert!(first["spread"]["mean_s"].as_f64().unwrap() > 0.0);
    assert_eq!(experiment["comparisons"].as_array().unwrap().len(), 2);
    place.assert_nothing_left();
}

#[test]
fn without_privilege_the_users_file_system_keeps_its_options() {
    let place = Place::new();
    let command = place.iostrata_of_nobody("lab atime --quick --json -");
    let outcome = run(command).expect(0);
    outcome.says(&["left out: ext4, tmpfs: cannot make file-system images"]);
    let experiment = experiment(&outcome.stdout);
    let rows = experiment["rows"].as_array().unwrap();
    let mounts: Vec<&Value> = rows.iter().map(|row| &row["case"]["mount"]).collect();
    assert!(mounts.iter().all(|mount| *mount == mounts[0]), "{mounts:?}");
    let missing = experiment["missing"].to_string();
    for what in ["on host", "keeps its options", "need root", "CAP_BPF"] {
        assert!(missing.contains(what), "{what}: {missing}");
    }
    for row in rows.iter().filter(|row| row["case"]["loop"].is_string()) {
        assert_eq!(row["sectors"], Value::Null, "unknown is not 0");
    }
    place.assert_nothing_left();
}

#[test]
fn a_program_that_is_not_there_is_missing_with_its_reason() {
    let place = Place::new();
    let mut command =
        place.iostrata("lab atime --fs host --operation read,find,git_status --json -");
    command.env("PATH", place.path("home"));
    let outcome = run(command).expect(0);
    let experiment = experiment(&outcome.stdout);
    let done: Vec<String> = moves(&experiment)
        .into_iter()
        .map(|(name, ..)| name)
        .collect();
    assert_eq!(done, ["read"]);
    let missing = experiment["missing"].to_string();
    for what in [
        "not installed: no find in PATH",
        "not installed: no git in PATH",
    ] {
        assert!(missing.contains(what), "{what}: {missing}");
    }
    place.assert_nothing_left();
}

#[test]
fn what_makes_no_sense_is_refused() {
    let place = Place::new();
    for (options, word) in [
        ("lab atime --operation reed", "invalid value 'reed'"),
        ("lab atime --mount atime", "invalid value 'atime'"),
        ("lab atime --loop two_files", "invalid value 'two_files'"),
        ("lab atime --size 1KiB", "leave --size out"),
        ("lab buffering --mount noatime", "--mount is for atime"),
    ] {
        run(place.iostrata(options)).expect(2).says(&[word]);
    }
    place.assert_nothing_left();
}

#[test]
fn an_option_that_the_users_file_system_lacks_is_refused() {
    let place = Place::new();
    // Two that exclude each other: at least one of them is not what it has.
    let refused = ["noatime", "strictatime"].map(|mount| {
        let options = format!("lab atime --fs host --mount {mount} --operation read");
        run(place.iostrata(&options))
    });
    let refused = refused
        .iter()
        .find(|outcome| outcome.code != Some(0))
        .unwrap();
    assert_eq!(refused.code, Some(2));
    refused.says(&["nothing to measure: host is not mounted with", "--fs ext4"]);
    assert_eq!(refused.stdout, "");
    place.assert_nothing_left();
}

#[test]
fn interrupted_while_mounted_anew() {
    if !is_root("mounting images") {
        return;
    }
    for after_loops in [false, true] {
        let place = Place::new();
        let options = if after_loops {
            ENDLESS
        } else {
            "lab atime --thorough --fs ext4,tmpfs"
        };
        let running = Running::start(&place, "run", place.iostrata(options));
        if after_loops {
            running.any_workload();
        } else {
            until("no image is attached", || {
                (place.in_use().0 > 0).then_some(())
            });
        }
        running.signal(Signal::INT);
        let outcome = running.finish().expect(130);
        outcome.says(&["interrupted by SIGINT"]);
        assert!(!outcome.stderr.contains("warning"), "{}", outcome.stderr);
        place.assert_nothing_left();
    }
}

#[test]
fn killed_while_mounted_anew_nothing_stays() {
    if !is_root("mounting images") {
        return;
    }
    let place = Place::new();
    let running = Running::start(&place, "run", place.iostrata(ENDLESS));
    running.any_workload();
    running.signal(Signal::KILL);
    assert_eq!(running.finish().signal, Some(9));
    place.assert_kernel_is_clean();
    until("the scratch directory stays", || {
        entries(&place.dir()).is_empty().then_some(())
    });
    place.assert_nothing_left();
}

#[test]
fn the_page_is_printed() {
    let place = Place::new();
    let outcome = run(place.iostrata("explain atime")).expect(0);
    assert!(outcome.stdout.starts_with("atime\n"), "{}", outcome.stdout);
    let first = outcome.stdout.lines().nth(2).unwrap().to_owned();
    assert_snapshot!(first, @"Which operations update a file's access time, what does that cost, and does noatime help?");
}
