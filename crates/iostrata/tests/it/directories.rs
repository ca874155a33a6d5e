//! Directories that cannot be measured, and odd ones that can.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use insta::assert_snapshot;
use rustix::mount::{MountFlags, mount, mount_remount};
use serde_json::Value;

use crate::place::{Place, entries, is_root, run, until, with_own_mounts, with_path};
use crate::running::Running;

const QUICK: &str = "lab --quick --fs host --mode flush,fsync --size 1 --count 50";

fn tmpfs(on: &Path, options: &std::ffi::CStr) {
    mount("none", on, "tmpfs", MountFlags::empty(), options).unwrap();
}

#[test]
fn what_is_not_a_directory() {
    let place = Place::new();
    fs::write(place.path("file"), "mine").unwrap();
    let outcome = run(place.iostrata("lab --dir none"));
    assert_snapshot!(outcome.text(&place), @r"
    exit 2
    --- stderr
    error: cannot use none for measuring: it does not exist; name an existing directory with --dir
    ");
    let outcome = run(with_path(
        place.iostrata("lab buffering"),
        "--dir",
        place.path("file"),
    ));
    assert_snapshot!(outcome.text(&place), @r"
    exit 2
    --- stderr
    error: cannot use /PLACE/file for measuring: it is not a directory; name an existing directory with --dir
    ");
    assert_eq!(fs::read(place.path("file")).unwrap(), b"mine");
    place.assert_nothing_left();
}

#[test]
fn a_directory_of_somebody_else() {
    if !is_root("becoming another user") {
        return;
    }
    let place = Place::new();
    let others = place.path("others");
    fs::create_dir(&others).unwrap();
    fs::set_permissions(&others, fs::Permissions::from_mode(0o755)).unwrap();
    let command = place.iostrata_of_nobody("lab buffering --fs host");
    let outcome = run(with_path(command, "--dir", &others));
    assert_snapshot!(outcome.text(&place), @r"
    exit 3
    --- stderr
    error: cannot write in /PLACE/others: permission denied; choose a directory of your own with --dir
    ");
    assert!(entries(&others).is_empty());
    place.assert_nothing_left();
}

#[test]
fn a_read_only_file_system() {
    if !is_root("mounting") {
        return;
    }
    let place = Place::new();
    with_own_mounts(|| {
        tmpfs(&place.dir(), c"size=1m");
        mount_remount(place.dir(), MountFlags::RDONLY, c"").unwrap();
        let outcome = run(place.iostrata("lab buffering"));
        assert_snapshot!(outcome.text(&place), @r"
        exit 3
        --- stderr
        error: cannot write in /PLACE/dir: its file system is mounted read-only; choose another directory with --dir
        ");
    });
    place.assert_nothing_left();
}

#[test]
fn more_than_is_free() {
    let place = Place::new();
    let huge = "lab --fs host --size 10GiB --count 1000000";
    let outcome = run(place.iostrata(huge)).expect(3);
    outcome.says(&["error: not enough space in /", " PiB are needed", "--dir"]);
    assert_eq!(outcome.stdout, "");
    place.assert_nothing_left();
}

#[test]
fn a_directory_too_small_for_images_is_measured_without() {
    if !is_root("mounting") {
        return;
    }
    let place = Place::new();
    with_own_mounts(|| {
        tmpfs(&place.dir(), c"size=16m");
        let command = place.iostrata("lab --mode flush --size 1 --count 50 --json -");
        let outcome = run(command).expect(0);
        outcome.says(&["left out: ext4, xfs, btrfs: not enough space"]);
        let result: Value = serde_json::from_str(&outcome.stdout).unwrap();
        let experiment = &result["experiments"][0];
        assert_eq!(experiment["rows"].as_array().unwrap().len(), 1);
        let missing = experiment["missing"].as_array().unwrap();
        let images = missing.iter().find(|gap| gap["what"] == "ext4, xfs, btrfs");
        assert!(images.is_some(), "{missing:?}");
        // Asked for by name, they must be there.
        let outcome = run(place.iostrata("lab buffering --quick --fs host,ext4")).expect(3);
        outcome.says(&["error: not enough space"]);
        assert!(entries(&place.dir()).is_empty());
    });
    place.assert_nothing_left();
}

#[test]
fn tmpfs_has_no_device_and_says_so() {
    if !is_root("mounting") {
        return;
    }
    let place = Place::new();
    with_own_mounts(|| {
        tmpfs(&place.dir(), c"size=64m");
        let mut command = place.iostrata(QUICK);
        command.args(["--json", "../result.json"]);
        let outcome = run(command).expect(0);
        assert!(
            outcome.stdout.contains("no block device"),
            "{}",
            outcome.stdout
        );
        let result = fs::read_to_string(place.path("result.json")).unwrap();
        let result: Value = serde_json::from_str(&result).unwrap();
        let experiment = &result["experiments"][0];
        assert_eq!(experiment["rows"][1]["evidence"]["device"]["flushes"], 0);
        let caveats = experiment["caveats"].to_string();
        assert!(caveats.contains("is in memory"), "{caveats}");
        assert!(entries(&place.dir()).is_empty());
    });
    place.assert_nothing_left();
}

#[test]
fn overlayfs_is_measured_and_what_is_unknown_is_not_zero() {
    if !is_root("mounting") {
        return;
    }
    let place = Place::new();
    for name in ["lower", "upper", "work"] {
        fs::create_dir(place.path(name)).unwrap();
    }
    with_own_mounts(|| {
        let options = format!(
            "lowerdir={0}/lower,upperdir={0}/upper,workdir={0}/work",
            place.path("").to_str().unwrap().trim_end_matches('/')
        );
        let options = std::ffi::CString::new(options).unwrap();
        let flags = MountFlags::empty();
        mount("none", place.dir(), "overlay", flags, options.as_c_str()).unwrap();
        let mut command = place.iostrata(QUICK);
        command.args(["--json", "-"]);
        let outcome = run(command).expect(0);
        let result: Value = serde_json::from_str(&outcome.stdout).unwrap();
        let experiment = &result["experiments"][0];
        assert_eq!(result["environment"]["target"]["filesystem"], "overlay");
        let evidence = &experiment["rows"][1]["evidence"];
        assert_eq!(evidence["syscalls"]["fsync"]["count"], 50);
        assert_eq!(evidence["device"], Value::Null);
        assert_eq!(evidence["cache"]["dirtied_bytes"], Value::Null);
        assert_eq!(evidence["cache"]["resident_after_bytes"], Value::Null);
        let missing = evidence["missing"].to_string();
        assert!(missing.contains("overlayfs passes the data"), "{missing}");
        assert!(entries(&place.dir()).is_empty());
    });
    place.assert_nothing_left();
}

#[test]
fn two_runs_in_one_directory_do_not_disturb_each_other() {
    if !is_root("mounting images") {
        return;
    }
    let place = Place::new();
    let options = "lab --quick --fs host,ext4 --mode fsync --size 1 --count 50 --json -";
    let runs =
        ["first", "second"].map(|name| Running::start(&place, name, place.iostrata(options)));
    for run in runs {
        let outcome = run.finish().expect(0);
        let result: Value = serde_json::from_str(&outcome.stdout).unwrap();
        let rows = result["experiments"][0]["rows"].as_array().unwrap();
        // Of its own processes alone.
        let counts = rows
            .iter()
            .map(|row| &row["evidence"]["syscalls"]["fsync"]["count"]);
        assert_eq!(counts.collect::<Vec<_>>(), [50, 50]);
        // How far it is, on a busy machine.
        let mut said = outcome.stderr.lines();
        assert!(
            said.all(|line| line.contains(" done, ")),
            "{}",
            outcome.stderr
        );
    }
    place.assert_nothing_left();
}

/// What a directory's owner may do meanwhile: another directory stands in the place of ours.
fn exchanged(dir: &Path, stolen: &Path) -> Option<PathBuf> {
    let mut found = entries(dir).into_iter();
    let scratch = found.find(|path| path.join("host").is_dir())?;
    fs::rename(&scratch, stolen).ok()?;
    for below in ["host", "ext4"] {
        fs::create_dir_all(scratch.join(below)).unwrap();
        fs::set_permissions(scratch.join(below), fs::Permissions::from_mode(0o777)).unwrap();
    }
    Some(scratch)
}

#[test]
fn a_directory_that_its_owner_exchanges_is_not_gone_to() {
    if !is_root("working in the directory of another user") {
        return;
    }
    let place = Place::new();
    drop(place.iostrata_of_nobody(""));
    let options = "lab buffering --quick --fs host,ext4 --mode flush,fsync --size 1 --count 50";
    let mut command = place.iostrata(options);
    command.args(["--json", "../result.json"]);
    let running = Running::start(&place, "run", command);
    let stolen = place.path("stolen");
    let planted = until("there is no scratch directory", || {
        exchanged(&place.dir(), &stolen)
    });
    let outcome = running.finish().expect(0);
    outcome.says(&["could not be removed: it was renamed by another process; it is empty"]);
    let result: Value =
        serde_json::from_slice(&fs::read(place.path("result.json")).unwrap()).unwrap();
    let rows = result["experiments"][0]["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 4);
    assert_eq!(entries(&stolen), Vec::<PathBuf>::new());
    let found = entries(&planted);
    assert_eq!(found.len(), 2, "{found:?}");
    for planted in found {
        assert_eq!(entries(&planted), Vec::<PathBuf>::new());
    }
    fs::remove_dir_all(planted).unwrap();
    place.assert_nothing_left();
}
