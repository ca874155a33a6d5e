//! Machines without the tools that make file systems.

use rustix::mount::{MountFlags, mount};
use serde_json::Value;

use insta::assert_snapshot;

use crate::place::{Place, is_root, run, script, with_own_mounts};

/// Hides the system's administration programs from everything this thread starts.
fn hide_system_programs() {
    for directory in ["/usr/sbin", "/sbin"] {
        mount("none", directory, "tmpfs", MountFlags::empty(), None).unwrap();
    }
}

#[test]
fn a_missing_mkfs_is_named_with_its_package() {
    if !is_root("mounting") {
        return;
    }
    let place = Place::new();
    with_own_mounts(|| {
        hide_system_programs();
        let outcome = run(place.iostrata("lab buffering --quick --fs host,xfs"));
        assert_snapshot!(outcome.text(&place), @r"
        exit 3
        --- stderr
        error: cannot make xfs images: mkfs.xfs was not found in PATH, /usr/sbin or /sbin; install it (Debian package xfsprogs)
        ");
    });
    place.assert_nothing_left();
}

#[test]
fn a_run_that_did_not_ask_for_images_does_without() {
    if !is_root("mounting") {
        return;
    }
    let place = Place::new();
    with_own_mounts(|| {
        hide_system_programs();
        let options = "lab --mode flush --size 1 --count 20 --json -";
        let outcome = run(place.iostrata(options)).expect(0);
        for package in ["e2fsprogs", "xfsprogs", "btrfs-progs"] {
            outcome.says(&[package]);
            // The result says it to later readers as well.
            assert!(outcome.stdout.contains(package), "{package}");
        }
        let result: Value = serde_json::from_str(&outcome.stdout).unwrap();
        let targets = result["experiments"][0]["targets"].as_array().unwrap();
        assert_eq!(targets.len(), 1);
    });
    place.assert_nothing_left();
}

#[test]
fn a_mkfs_that_fails_is_quoted_on_one_line() {
    if !is_root("mounting images") {
        return;
    }
    let place = Place::new();
    let tools = place.path("tools");
    std::fs::create_dir(&tools).unwrap();
    let broken = "[ \"$1\" = -V ] && exit\necho 'no such'; echo 'feature' >&2; exit 1";
    script(&tools.join("mkfs.xfs"), broken);
    let mut command = place.iostrata("lab buffering --quick --fs xfs");
    command.env("PATH", &tools);
    let outcome = run(command).expect(3);
    outcome.says(&[
        "error: cannot make an image of xfs: mkfs.xfs ",
        "and said: no such; feature\n",
    ]);
    place.assert_nothing_left();

    let mut command = place.iostrata("lab --mode flush --size 1 --count 20 --json -");
    command.env("PATH", &tools);
    let outcome = run(command).expect(0);
    outcome.says(&["left out: xfs: cannot make an image of xfs"]);
    let result: Value = serde_json::from_str(&outcome.stdout).unwrap();
    let targets = result["experiments"][0]["targets"].as_array().unwrap();
    let names: Vec<_> = targets.iter().map(|target| &target["name"]).collect();
    assert_eq!(names, ["host", "ext4", "btrfs"]);
    place.assert_nothing_left();
}
