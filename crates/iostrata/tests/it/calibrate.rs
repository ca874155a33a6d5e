//! What the running kernel's ext4, xfs and btrfs leave of litmus programs, and what the models say of it.

use std::collections::BTreeSet;
use std::fs;

use rustix::process::Signal;
use serde_json::Value;

use crate::place::{Place, is_root, run, until};
use crate::running::Running;

/// The result of some litmus programs on all file systems, with a sync of another file after each call.
fn calibrated(place: &Place, litmus: &str) -> Value {
    let saved = place.path("calibrate.json");
    let mut command =
        place.iostrata("crash --calibrate --fs all,ext4-journal --pressure fsync --litmus");
    command.env("PATH", std::env::var_os("PATH").unwrap());
    command.args([litmus, "--json"]).arg(&saved);
    run(command).expect(0);
    serde_json::from_str(&fs::read_to_string(saved).unwrap()).unwrap()
}

fn row<'r>(result: &'r Value, litmus: &str, filesystem: &str) -> &'r Value {
    let mut rows = result["rows"].as_array().unwrap().iter();
    let row = rows.find(|row| row["litmus"] == litmus && row["filesystem"] == filesystem);
    row.unwrap_or_else(|| panic!("no {litmus} on {filesystem}: {result}"))
}

/// What was left; with `after_end` only once the last call had returned.
fn left(row: &Value, after_end: bool) -> BTreeSet<&str> {
    let outcomes = row["outcomes"].as_array().unwrap().iter();
    outcomes
        .filter(|outcome| !after_end || outcome["after_end"] == true)
        .map(|outcome| outcome["files"].as_str().unwrap())
        .collect()
}

#[test]
fn known_outcomes_are_recovered_and_no_model_denies_one() {
    if !is_root("block mode") {
        return;
    }
    let place = Place::new();
    let result = calibrated(
        &place,
        "append,replace-by-rename,fsync-replace-fsync-directory,move-fsync-destination",
    );
    assert_eq!(result["schema"], "iostrata.calibrate/1");
    assert_eq!(result["verdict"], "sound");
    let of = |litmus, filesystem| row(&result, litmus, filesystem);
    let (old, new) = ("f=a*9000", "f=b*9000");
    let replaced = |filesystem| left(of("replace-by-rename", filesystem), false);
    // dioread_nolock: the length is committed, the extents are still unwritten.
    assert!(
        replaced("ext4").contains("f=0*9000"),
        "{:?}",
        replaced("ext4")
    );
    assert!(replaced("xfs").contains("f=empty"), "{:?}", replaced("xfs"));
    for filesystem in ["btrfs", "ext4-journal"] {
        assert_eq!(replaced(filesystem), BTreeSet::from([old, new]));
    }
    let appended = |filesystem| left(of("append", filesystem), false);
    assert!(
        appended("ext4").contains("f=a*2500+0*1596"),
        "zeros to the end of the block: {:?}",
        appended("ext4")
    );
    for filesystem in ["xfs", "btrfs"] {
        assert_eq!(
            appended(filesystem),
            BTreeSet::from(["f=a*2500", "f=a*2500+b*2500"]),
            "{filesystem}"
        );
    }
    for filesystem in ["ext4", "xfs", "btrfs", "ext4-journal"] {
        let synced = of("fsync-replace-fsync-directory", filesystem);
        assert_eq!(left(synced, true), BTreeSet::from([new]), "{filesystem}");
        let before: BTreeSet<_> = left(synced, false);
        assert_eq!(before, BTreeSet::from([old, new]), "{filesystem}");
    }
    let moved = |filesystem| left(of("move-fsync-destination", filesystem), true);
    assert_eq!(moved("ext4"), BTreeSet::from(["B/f=a*10"]));
    assert_eq!(moved("xfs"), BTreeSet::from(["B/f=a*10"]));
    // In both directories, unless a commit of the kernel's own comes between rename and fsync: a slow machine
    // gives it time.
    let in_both = "A/f=a*10 B/f=a*10";
    let is_recovered_now = || {
        let again = calibrated(&place, "move-fsync-destination");
        left(row(&again, "move-fsync-destination", "btrfs"), true).contains(in_both)
    };
    assert!(
        moved("btrfs").contains(in_both) || (0..3).any(|_| is_recovered_now()),
        "{:?}",
        moved("btrfs")
    );
    place.assert_nothing_left();
}

#[test]
fn what_makes_no_sense_is_refused() {
    let place = Place::new();
    for (arguments, says) in [
        (
            "crash --calibrate --litmus nothing",
            "no litmus program has this name",
        ),
        (
            "crash --litmus append --dir . -- true",
            "--litmus needs --calibrate",
        ),
        ("crash --calibrate --dir .", "cannot be used with"),
        ("crash --calibrate -- true", "cannot be used with"),
    ] {
        let outcome = run(place.iostrata(arguments)).expect(2);
        assert!(
            outcome.stderr.contains(says),
            "{arguments}: {}",
            outcome.stderr
        );
    }
    if is_root("taking privilege away") {
        let outcome = run(place.iostrata_of_nobody("crash --calibrate")).expect(3);
        assert!(outcome.stderr.contains("needs root"), "{}", outcome.stderr);
    }
}

#[test]
fn an_interrupt_ends_it_and_leaves_nothing() {
    if !is_root("block mode") {
        return;
    }
    let place = Place::new();
    let saved = place.path("calibrate.json");
    let mut command = place.iostrata("crash --calibrate --fs ext4 --repeats 1000 --json");
    command.env("PATH", std::env::var_os("PATH").unwrap());
    command.arg(&saved);
    let iostrata = Running::start(&place, "crash", command);
    let mounts = format!("/proc/{}/mountinfo", iostrata.pid());
    until("no device is served", || {
        let mounts = fs::read_to_string(&mounts).ok()?;
        mounts.contains("fuse.iostrata").then_some(())
    });
    iostrata.signal(Signal::INT);
    let outcome = iostrata.finish();
    assert_eq!(outcome.code, Some(130));
    assert!(outcome.stderr.contains("SIGINT"), "{}", outcome.stderr);
    // A program that ran 1,000 times is not complete so soon.
    assert!(!saved.exists());
    place.assert_nothing_left();
}
