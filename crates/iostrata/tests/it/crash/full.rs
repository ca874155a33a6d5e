//! A full disk at each stage: what was found is shown, and what to do.

use std::ffi::CString;
use std::fs;
use std::path::PathBuf;

use rustix::mount::{MountFlags, mount};
use serde_json::Value;

use super::Case;
use crate::place::{Outcome, is_root, run, with_own_mounts};

/// A file system of so many KiB, for the mounts of this thread.
fn small(case: &Case, kib: u32) -> PathBuf {
    let path = case.place.path("small");
    fs::create_dir(&path).unwrap();
    let options = CString::new(format!("size={kib}k")).unwrap();
    mount("none", &path, "tmpfs", MountFlags::empty(), &*options).unwrap();
    path
}

/// Replaces `f` without a sync.
const REPLACES: &str = "head -c 200000 /dev/urandom > g; mv g f; echo saved";

/// With a file of so many KiB, and a temporary directory of so many.
fn run_in(file_kib: usize, small_kib: u32, options: &[&str], script: &str) -> Outcome {
    let case = Case::new("f", &"o".repeat(file_kib << 10));
    let small = small(&case, small_kib);
    let mut command = case.command(options, script);
    command.env("TMPDIR", &small);
    let outcome = run(command).expect(3);
    assert_eq!(fs::read_dir(&small).unwrap().count(), 0);
    let has = format!("{}/.iostrata-", small.display());
    let remedy = " bytes free: free space there, or set TMPDIR to another directory";
    outcome.says(&["error: ", &has, remedy]);
    outcome
}

#[test]
fn a_directory_or_a_recording_that_does_not_fit_is_told() {
    if !is_root("mounting") {
        return;
    }
    with_own_mounts(|| {
        run_in(300, 128, &[], REPLACES).says(&["cannot copy "]);
        let writes = "head -c 200000 /dev/urandom > g";
        run_in(300, 560, &[], writes).says(&["the operation log"]);
    });
}

#[test]
fn stacks_that_do_not_fit_are_told() {
    if !is_root("mounting") {
        return;
    }
    let writes = "i=0; while [ $i -lt 400 ]; do echo $i >> g; i=$((i+1)); done";
    let said = |kib: u32| {
        let mut said = String::new();
        with_own_mounts(|| said = run_in(1, kib, &[], writes).stderr);
        said
    };
    let said: Vec<String> = [12, 20, 28, 40].into_iter().map(said).collect();
    let are_stacks = |said: &&String| said.contains("/stacks is cut or damaged");
    assert_ne!(said.iter().filter(are_stacks).count(), 0, "{said:#?}");
}

#[test]
fn a_temporary_directory_that_is_none_is_told() {
    let case = Case::new("f", "old");
    let mut command = case.command(&[], "echo new > f");
    command.env("TMPDIR", "/nonexistent");
    run(command)
        .expect(3)
        .says(&["TMPDIR is /nonexistent", "set TMPDIR to another directory"]);
}

/// Trees of more than 512 MiB are not built in memory.
#[test]
fn states_that_do_not_fit_leave_what_was_found() {
    if !is_root("mounting") {
        return;
    }
    let options = ["--check", "[ -s f ]", "--states", "60", "--json", "-"];
    let script = "truncate -s 600M f; sync f; echo begun; head -c 300000 /dev/urandom > g";
    with_own_mounts(|| {
        let outcome = run_in(1, 1100, &options, script);
        outcome.says(&["No space left on device"]);
        let result: Value = serde_json::from_str(&outcome.stdout).unwrap();
        assert_eq!(result["verdict"], "partial", "{result:#}");
        assert_ne!(result["modes"][0]["states"]["points_not_explored"], 0);
    });
}

#[test]
fn what_is_kept_or_saved_on_a_full_disk_is_whole_or_gone() {
    if !is_root("mounting") {
        return;
    }
    with_own_mounts(|| {
        let case = Case::new("f", &"o".repeat(300_000));
        let small = small(&case, 64);
        let of = |option, name: &str, code| {
            let path = small.join(name);
            let options = ["--states", "50", option, path.to_str().unwrap()];
            let outcome = run(case.command(&options, REPLACES)).expect(code);
            let told = outcome.stdout.contains("A crash can break this");
            assert!(told || option == "--record", "{}", outcome.stdout);
            (path, outcome)
        };
        let (kept, outcome) = of("--keep", "kept", 1);
        outcome.says(&["not all states are kept", "give --keep another directory"]);
        assert_eq!(fs::read_dir(&kept).unwrap().count(), 0);
        let (recording, outcome) = of("--record", "recording", 3);
        outcome.says(&["give --record another directory"]);
        assert!(!recording.exists());
        fs::write(small.join("filler"), vec![0; 60_000]).unwrap();
        let (saved, outcome) = of("--json", "r.json", 3);
        outcome.says(&["cannot write the result to ", "name another file"]);
        assert!(!saved.exists());
    });
}
