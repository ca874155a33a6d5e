//! What block mode leaves behind when it is ended, or its server is.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;

use rustix::fs::{CWD, Mode, OFlags, chmod, mkfifoat, open};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::{Case, NEW, OLD, assert_has};
use crate::place::{Outcome, is_root, until};
use crate::running::Running;

/// Devices that a process has open, and the processes that it started.
fn held(pid: u32) -> (BTreeSet<PathBuf>, Vec<u32>) {
    let entries = fs::read_dir(format!("/proc/{pid}/fd"))
        .into_iter()
        .flatten();
    let links = entries.filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
    let loops = links.filter(|link| link.to_string_lossy().starts_with("/dev/loop"));
    let loops = loops
        .filter(|link| !link.ends_with("loop-control"))
        .collect();
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
    let children = children.unwrap_or_default();
    let children = children
        .split_whitespace()
        .filter_map(|pid| pid.parse().ok());
    (loops, children.collect())
}

/// Mounts of recovered images that a process sees.
fn recovered(pid: u32) -> usize {
    let mounts = fs::read_to_string(format!("/proc/{pid}/mountinfo")).unwrap_or_default();
    mounts.matches("/recovered-").count()
}

/// Ends a run that recovers several images at once and has found something.
fn assert_ends_recovering(case: &Case, signal: Signal, code: Option<i32>) -> Outcome {
    // Many different trees, which one checker after the other looks at.
    let script =
        format!("{NEW} > f; for one in 1 2 3 4 5 6 7 8 9 10 11 12; do echo $one > g$one; done");
    let [saved, told] = ["ended.json", "told"].map(|name| case.place.path(name));
    // A checker writes to nothing else outside its tree.
    let mode = Mode::from_raw_mode(0o666);
    mkfifoat(CWD, &told, mode).unwrap();
    chmod(&told, mode).unwrap();
    let told_by_checkers = open(&told, OFlags::RDWR | OFlags::NONBLOCK, mode).unwrap();
    let (mut told_by_checkers, mut has_told) = (File::from(told_by_checkers), String::new());
    let check = format!(
        "echo begins > {told}; sleep 1; [ -s f ] || {{ echo empty > {told}; echo empty; exit 1; }}",
        told = told.display()
    );
    let options = [
        "--fs",
        "ext4",
        "--pressure",
        "fsync",
        "--jobs",
        "1",
        "--check",
        &check,
        "--json",
    ];
    let options = [&options[..], &[saved.to_str().unwrap()]].concat();
    let iostrata = Running::start(&case.place, "crash", case.command(&options, &script));
    let said = case.place.path("crash.stderr");
    until(
        "nothing is found while images are recovered side by side",
        || {
            // What is there is read; the error says that there is no more now.
            drop(told_by_checkers.read_to_string(&mut has_told));
            let said = fs::read_to_string(&said).unwrap_or_default();
            // What one checker has found counts once the next begins.
            let has_found = has_told
                .split_once("empty")
                .is_some_and(|(_, then)| then.contains("begins"));
            let is_seen = said.contains("recovering ext4");
            (is_seen && has_found && recovered(iostrata.pid()) > 3).then_some(())
        },
    );
    assert_leaves_nothing(case, iostrata, signal, code)
}

#[test]
fn ctrl_c_during_recovery_keeps_what_was_found() {
    if !is_root("block mode") {
        return;
    }
    let case = Case::new("f", OLD);
    let outcome = assert_ends_recovering(&case, Signal::INT, Some(130));
    outcome.says(&["interrupted by SIGINT: the result holds what was found until then"]);
    let saved = fs::read_to_string(case.place.path("ended.json")).unwrap();
    let result: Value = serde_json::from_str(&saved).unwrap();
    assert_eq!(result["verdict"], "failing");
    assert_eq!(result["interrupted_by"], "SIGINT");
    assert_has(&result, "prefix", "empty", "");
}

#[test]
fn ctrl_c_during_a_later_run_keeps_what_was_recorded_before() {
    if !is_root("block mode") {
        return;
    }
    let case = Case::new("f", OLD);
    let [once, again, saved] = ["once", "again", "crash.json"].map(|name| case.place.path(name));
    let script = format!(
        "echo new > f; [ ! -e {once} ] || {{ : > {again}; exec sleep 600; }}; : > {once}",
        once = once.display(),
        again = again.display(),
    );
    let options = ["--fs", "ext4", "--json", saved.to_str().unwrap()];
    let mut command = case.command(&options, &script);
    command.process_group(0);
    let iostrata = Running::start(&case.place, "crash", command);
    until("the second run does not start", || {
        again.exists().then_some(())
    });
    iostrata.signal_group(Signal::INT);
    let outcome = iostrata.finish().expect(130);
    outcome.says(&["SIGINT while the program ran: what it did until then is explored"]);
    let result: Value = serde_json::from_slice(&fs::read(saved).unwrap()).unwrap();
    assert_eq!(result["verdict"], "failing");
    assert_eq!(result["interrupted_by"], "SIGINT");
    let modes = result["modes"].as_array().unwrap();
    let pressure = |mode: &Value| mode["recording"]["pressure"].clone();
    let pressures: Vec<Value> = modes.iter().map(pressure).collect();
    assert_eq!(pressures, ["fsync", "timer"]);
    assert!(
        modes
            .iter()
            .all(|mode| mode["states"]["explored"].as_u64() > Some(0))
    );
    assert_eq!(modes[0]["complete"], true);
    assert_eq!(modes[1]["complete"], false);
    case.place.assert_nothing_left();
}

/// Ends what runs for the second time; gives the result, which has the first run alone.
fn assert_keeps_the_first(case: &Case, options: &[&str], script: &str) -> Value {
    let saved = case.place.path("crash.json");
    let own = ["--json", saved.to_str().unwrap()];
    let mut command = case.command(&[&own, options].concat(), script);
    command.process_group(0).env("COLUMNS", "300");
    let iostrata = Running::start(&case.place, "crash", command);
    let again = case.place.path("again");
    until("nothing runs for the second time", || {
        again.exists().then_some(())
    });
    iostrata.signal_group(Signal::INT);
    let outcome = iostrata.finish().expect(130);
    outcome.says(&["interrupted by SIGINT: the result holds what was found until then"]);
    case.place.assert_nothing_left();
    let result: Value = serde_json::from_slice(&fs::read(saved).unwrap()).unwrap();
    assert_eq!(result["interrupted_by"], "SIGINT");
    assert_eq!(result["modes"].as_array().unwrap().len(), 1, "{result}");
    result
}

/// A command that goes on at its first run, and tells of the second and stays.
fn stays_at_the_second(case: &Case) -> String {
    let [once, again] = ["once", "again"].map(|name| case.place.path(name));
    let (once, again) = (once.display(), again.display());
    format!("[ ! -e {once} ] || {{ : > {again}; exec sleep 600; }}; : > {once}")
}

#[test]
fn ctrl_c_while_the_next_file_system_is_prepared_keeps_what_was_found() {
    if !is_root("block mode") {
        return;
    }
    let case = Case::new("f", OLD);
    let init = stays_at_the_second(&case);
    let options = ["--fs", "ext4,xfs", "--pressure", "fsync", "--init", &init];
    let result = assert_keeps_the_first(&case, &options, "echo new > f");
    assert_eq!(result["verdict"], "failing");
    let asked = result["settings"]["runs"].as_array().unwrap();
    assert_eq!(asked.len(), 2, "what is lacking can be seen");
}

/// It has not come to its mark, and what it left is not what the checker wants of its end.
#[test]
fn ctrl_c_before_the_end_of_a_later_run_is_no_fault_of_the_program() {
    if !is_root("block mode") {
        return;
    }
    let iostrata = env!("CARGO_BIN_EXE_iostrata");
    for options in [["--after", "half"], ["--check", "grep -q old f"]] {
        let case = Case::new("f", "old");
        let stays = stays_at_the_second(&case);
        let script =
            format!("echo none > f; sync f; {stays}; {iostrata} mark half; echo older > f; sync f");
        let on = ["--fs", "ext4"];
        let result = assert_keeps_the_first(&case, &[&on[..], &options].concat(), &script);
        assert_eq!(result["verdict"], "failing", "{options:?}");
    }
}

#[test]
fn a_program_that_ctrl_c_has_ended_is_not_run_again() {
    if !is_root("block mode") {
        return;
    }
    let case = Case::new("f", OLD);
    let [starts, ready] = ["starts", "ready"].map(|name| case.place.path(name));
    let script = format!(
        "echo new > f; echo once >> {}; : > {}; exec sleep 600",
        starts.display(),
        ready.display()
    );
    let mut command = case.place.iostrata("crash --mode both --fs ext4 --dir");
    command.env("PATH", std::env::var_os("PATH").unwrap());
    command.arg(&case.dir).args(["--", "sh", "-c", &script]);
    command.process_group(0);
    let iostrata = Running::start(&case.place, "crash", command);
    until("the program does not start", || {
        ready.exists().then_some(())
    });
    iostrata.signal_group(Signal::INT);
    iostrata.finish().expect(1);
    assert_eq!(fs::read_to_string(starts).unwrap(), "once\n");
    case.place.assert_nothing_left();
}

#[test]
fn a_delayed_device_hurries_after_ctrl_c() {
    if !is_root("block mode") {
        return;
    }
    let case = Case::new("f", OLD);
    let options = "crash --mode block --fs ext4 --pressure none --delay 1000 --dir";
    let mut command = case.place.iostrata(options);
    command.env("PATH", std::env::var_os("PATH").unwrap());
    command.arg(&case.dir).args(["--", "true"]);
    let iostrata = Running::start(&case.place, "crash", command);
    // Each of the requests of its mount takes so long.
    until("no device is served", || {
        let mounts = fs::read_to_string(format!("/proc/{}/mountinfo", iostrata.pid())).ok()?;
        mounts.contains("fuse.iostrata").then_some(())
    });
    iostrata.signal(Signal::INT);
    iostrata.finish().expect(130);
    case.place.assert_nothing_left();
}

#[test]
fn nothing_is_left_after_a_kill_during_recovery() {
    if !is_root("block mode") {
        return;
    }
    let case = Case::new("f", OLD);
    assert_ends_recovering(&case, Signal::KILL, None);
    // The next run has its own devices and ends as ever.
    case.crash(("ext4", "none"), &[], "echo new > f", 0);
    case.place.assert_nothing_left();
}

/// Of the processes that one started, the one that serves devices.
fn serving(pid: u32) -> u32 {
    let mut children = held(pid).1.into_iter();
    let serves = |pid: &u32| {
        let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        command
            .split(|byte| *byte == 0)
            .any(|word| word == b"__device")
    };
    children.find(serves).unwrap()
}

#[test]
fn a_device_whose_server_ends_leaves_an_incomplete_result() {
    if !is_root("block mode") {
        return;
    }
    let case = Case::new("f", OLD);
    let [started, lost, saved] =
        ["started", "lost", "crash.json"].map(|name| case.place.path(name));
    let script = format!(
        "echo new > n; sync n; : > {}; until [ -e {} ]; do sleep 0.05; done; sync n; mv n f; echo saved",
        started.display(),
        lost.display()
    );
    // What is printed after the loss is no promise of what is on disk.
    let check = "! grep -q saved \"$IOSTRATA_STDOUT\" || grep -qx new f";
    let options = [
        "--fs",
        "ext4",
        "--pressure",
        "fsync",
        "--check",
        check,
        "--json",
    ];
    let options = [&options[..], &[saved.to_str().unwrap()]].concat();
    let iostrata = Running::start(&case.place, "crash", case.command(&options, &script));
    until("the program does not start", || {
        started.exists().then_some(())
    });
    let server = Pid::from_raw(i32::try_from(serving(iostrata.pid())).unwrap()).unwrap();
    kill_process(server, Signal::KILL).unwrap();
    fs::write(lost, "").unwrap();
    let outcome = iostrata.finish().expect(3);
    let result: Value = serde_json::from_slice(&fs::read(saved).unwrap()).unwrap();
    assert_eq!(result["verdict"], "incomplete", "{}", outcome.stdout);
    let because = result["modes"][0]["incomplete_because"].as_array().unwrap();
    let why = "the process that served the device ended before the program";
    assert!(because.iter().any(|gap| gap["why"] == why), "{because:?}");
    case.place.assert_nothing_left();
}

#[track_caller]
fn assert_ends(case: &Case, signal: Signal, code: Option<i32>) {
    let started = case.place.path("started");
    let script = format!("echo new > f; : > {}; sleep 600", started.display());
    let command = case.command(&["--fs", "ext4", "--pressure", "fsync"], &script);
    let iostrata = Running::start(&case.place, "crash", command);
    until("the program does not start", || {
        started.exists().then_some(())
    });
    assert_leaves_nothing(case, iostrata, signal, code);
}

#[track_caller]
fn assert_leaves_nothing(
    case: &Case,
    iostrata: Running<'_>,
    signal: Signal,
    code: Option<i32>,
) -> Outcome {
    let (devices, children) = held(iostrata.pid());
    assert!(
        !devices.is_empty() && children.len() >= 2,
        "{devices:?} {children:?}"
    );
    iostrata.signal(signal);
    let outcome = iostrata.finish();
    assert_eq!(outcome.code, code, "{}", outcome.stderr);
    until("processes are left", || {
        let is_there = |pid: &u32| fs::exists(format!("/proc/{pid}")).unwrap_or(true);
        (!children.iter().any(is_there)).then_some(())
    });
    for device in devices {
        let name = device.file_name().unwrap().to_str().unwrap().to_owned();
        until("a loop device is left", || {
            let file = format!("/sys/block/{name}/loop/backing_file");
            let backing = fs::read_to_string(file).unwrap_or_default();
            (!backing.starts_with("/disk") && !backing.contains("iostrata disk")).then_some(())
        });
    }
    case.place.assert_nothing_left();
    outcome
}

#[test]
fn nothing_is_left_after_an_end_by_signal() {
    if !is_root("block mode") {
        return;
    }
    let case = Case::new("f", OLD);
    assert_ends(&case, Signal::TERM, Some(143));
}

#[test]
fn nothing_is_left_after_a_kill() {
    if !is_root("block mode") {
        return;
    }
    let case = Case::new("f", OLD);
    assert_ends(&case, Signal::KILL, None);
}
