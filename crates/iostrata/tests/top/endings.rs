//! How a watch ends.

use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use iostrata_core::environment::TRACEPOINTS;
use iostrata_core::top::Interval;
use rustix::process::{Pid, Signal, geteuid, kill_process};

use crate::watched::iostrata;

fn skips() -> bool {
    let skips = !geteuid().is_root();
    if skips {
        crate::skip::skip("observing programs in the kernel needs root");
    }
    skips
}

#[test]
fn once_is_one_interval() {
    if skips() {
        return;
    }
    let output = iostrata(&["--once", "--json", "--every", "200ms"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.lines().count(), 1);
    assert_eq!(output.stderr, b"");
    let interval: Interval = serde_json::from_str(&text).unwrap();
    let way = |what: &str| interval.ways.iter().find(|way| way.what == what).unwrap();
    assert_eq!(way("system calls").by, TRACEPOINTS, "docs/top.md says why");
    assert_eq!(way("device requests").by, TRACEPOINTS);
}

#[test]
fn a_limit_that_is_no_multiple_has_a_shorter_last_interval() {
    if skips() {
        return;
    }
    let arguments = ["--for", "500ms", "--every", "200ms", "--json"];
    let output = iostrata(&arguments).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let lines = String::from_utf8(output.stdout).unwrap().lines().count();
    // On a busy machine intervals are joined, never lost.
    assert!((1..=3).contains(&lines), "{lines}");
}

/// Its status when it is sent a signal after the first line, and what it said.
fn ended_by(signal: Signal, arguments: &[&str]) -> (Option<i32>, Option<i32>, String) {
    let mut command = iostrata(arguments);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    lines.read_line(&mut String::new()).unwrap();
    kill_process(Pid::from_child(&child), signal).unwrap();
    lines.read_to_string(&mut String::new()).unwrap();
    let mut said = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut said)
        .unwrap();
    let status = child.wait().unwrap();
    (status.code(), status.signal(), said)
}

#[test]
fn ctrl_c_ends_a_watch_without_a_limit_as_asked() {
    if skips() {
        return;
    }
    let told = ended_by(Signal::INT, &["--json", "--every", "100ms"]);
    assert_eq!(told, (Some(0), None, String::new()));
    let (code, _, said) = ended_by(Signal::INT, &["--json", "--for", "1h", "--every", "100ms"]);
    assert_eq!(code, Some(130));
    assert!(said.contains("interrupted by SIGINT"), "{said}");
    let (code, ..) = ended_by(Signal::TERM, &["--json", "--every", "100ms"]);
    assert_eq!(code, Some(143));
}

#[test]
fn a_reader_that_goes_away_ends_it() {
    if skips() {
        return;
    }
    let mut command = iostrata(&["--json", "--every", "100ms"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert!(child.wait().unwrap().success());
}

/// No file, and no process.
#[test]
fn a_killed_watch_leaves_nothing() {
    if skips() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let mut command = iostrata(&["--json", "--every", "100ms"]);
    command
        .current_dir(dir.path())
        .env("HOME", dir.path())
        .stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    lines.read_line(&mut String::new()).unwrap();
    let pid = child.id();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    let parent = format!("PPid:\t{pid}\n");
    for process in std::fs::read_dir("/proc").unwrap() {
        let status = process.unwrap().path().join("status");
        let status = std::fs::read_to_string(status).unwrap_or_default();
        assert!(!status.contains(&parent), "{status}");
    }
}

/// A line that was cut off says so, and is not left out.
#[test]
fn saved_intervals_are_shown_again() {
    if skips() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let arguments = ["--for", "300ms", "--every", "100ms", "--json"];
    let saved = iostrata(&arguments).output().unwrap().stdout;
    let intervals = String::from_utf8(saved.clone()).unwrap().lines().count();
    let (whole, cut) = (dir.path().join("whole"), dir.path().join("cut"));
    std::fs::write(&whole, &saved).unwrap();
    std::fs::write(&cut, &saved[..saved.len() - 9]).unwrap();
    let report = |path: &Path| {
        let mut report = Command::new(env!("CARGO_BIN_EXE_iostrata"));
        report.arg("report").arg(path).output().unwrap()
    };
    let shown = report(&whole);
    assert!(shown.status.success(), "{shown:?}");
    let text = String::from_utf8(shown.stdout).unwrap();
    assert_eq!(text.matches("iostrata itself").count(), intervals);
    let refused = report(&cut);
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(said.contains("it was not saved completely"), "{said}");
}
