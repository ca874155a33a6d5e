//! Processes and threads: their start, end, stops and execs.
#![expect(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that fails"
)]

use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::time::Duration;

use iostrata_tracer::program::StartError;
use iostrata_tracer::ptrace::{Session, Stops, TraceError};

use crate::ground::{command, moved, rows_of, run, scratch, workload};
use crate::install::install;

#[test]
fn four_processes_with_eight_threads_each() {
    let dir = scratch();
    let outcome = run(
        "tree",
        &[dir.path().to_str().unwrap(), "4", "8", "100", "10"],
        Stops::Io,
    );
    assert!(outcome.status.unwrap().success());
    for process in 0..4 {
        for thread in 0..8 {
            let path = dir.path().join(format!("p{process}-t{thread}"));
            let rows = rows_of(&outcome, &path);
            assert_eq!(moved(&rows, "pwrite64"), (100, 1000));
            assert_eq!((moved(&rows, "openat").0, moved(&rows, "close").0), (1, 1));
        }
    }
    let seen = outcome.observation.seen.unwrap();
    assert_eq!(seen.tasks.len(), 1 + 4 + 32);
    let root = seen
        .tasks
        .iter()
        .find(|task| task.parent == std::process::id());
    let root = root.unwrap();
    let children = seen
        .tasks
        .iter()
        .filter(|task| task.thread == task.process && task.parent == root.process);
    assert_eq!(children.count(), 4);
    assert!(seen.tasks.iter().all(|task| task.ended_ns.is_some()));
    assert_eq!(outcome.lower.io.unwrap().processes, 5);
}

#[test]
fn threads_outlive_the_first() {
    let dir = scratch();
    let outcome = run(
        "threads",
        &[dir.path().to_str().unwrap(), "5", "50"],
        Stops::Io,
    );
    assert!(outcome.status.unwrap().success());
    for thread in 0..5 {
        let rows = rows_of(&outcome, &dir.path().join(format!("t{thread}")));
        assert_eq!(moved(&rows, "write"), (50, 800));
        assert_eq!(rows["write"].shape.as_ref().unwrap().sequential, 49);
    }
    assert_eq!(outcome.observation.seen.unwrap().tasks.len(), 6);
}

/// Threads that end while the process is ended: some are killed before their end is seen.
#[test]
fn killed_threads_keep_their_figures() {
    for stops in [Stops::Io, Stops::All] {
        for _ in 0..20 {
            let outcome = run("ending", &["40"], stops);
            assert!(outcome.status.unwrap().success());
            let tasks = outcome.observation.seen.unwrap().tasks;
            assert_eq!(tasks.len(), 41);
            for task in tasks {
                assert_eq!(task.name, b"ending", "{task:?}");
            }
        }
    }
}

#[test]
fn programs_are_executed_in_every_way() {
    for stops in [Stops::Io, Stops::All] {
        for mode in ["", "thread", "vfork", "setsid", "failing"] {
            let dir = scratch();
            let path = dir.path().join("f");
            let outcome = run("execs", &[path.to_str().unwrap(), "5", mode], stops);
            assert!(outcome.status.unwrap().success(), "{mode}");
            let rows = rows_of(&outcome, &path);
            assert_eq!(moved(&rows, "write"), (6, 60), "{mode}");
            assert_eq!((moved(&rows, "openat").0, moved(&rows, "close").0), (6, 6));
            let calls = outcome.observation.raw.syscalls.as_ref().unwrap();
            let executes = calls.iter().filter(|row| row.name == "execve");
            let (count, errors) = executes.fold((0, 0), |(count, errors), row| {
                (count + row.count, errors + row.errors)
            });
            let failing = if mode == "failing" { 2 * 5 } else { 0 };
            assert_eq!((count, errors), (1 + 5 + failing, failing), "{mode}");
            let tasks = outcome.observation.seen.unwrap().tasks.len();
            let expected = match mode {
                "thread" => 1 + 2 * 5,
                "vfork" | "setsid" => 6,
                _ => 1,
            };
            assert_eq!(tasks, expected, "{mode}");
        }
    }
}

#[test]
fn signals_reach_the_program_as_they_are() {
    for stops in [Stops::Io, Stops::All] {
        let dir = scratch();
        let path = dir.path().join("f");
        let outcome = run("signals", &[path.to_str().unwrap(), "50"], stops);
        assert_eq!(outcome.status.unwrap().signal(), Some(libc::SIGTERM));
        assert_eq!(moved(&rows_of(&outcome, &path), "write"), (100, 100));
        assert_eq!(std::fs::read(&path).unwrap(), b"ua".repeat(50));
    }
}

/// State letter of `/proc/PID/stat`; `None` when the process is gone.
pub(crate) fn state(pid: u32) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}

#[track_caller]
pub(crate) fn until(what: &str, mut is: impl FnMut() -> bool) {
    crate::wait::until(|| is().then_some(()).ok_or(what));
}

#[test]
fn a_stopped_program_stays_stopped_until_it_is_continued() {
    for stops in [Stops::Io, Stops::All] {
        let dir = scratch();
        let path = dir.path().join("f");
        let words = command(&workload("signals"), &[path.to_str().unwrap(), "3", "stop"]);
        let session = Session::start(&words, stops).unwrap();
        // A traced stopped process shows as t, as it does at each of its calls.
        until("the stop", || {
            let before = session.stops();
            std::thread::sleep(Duration::from_millis(100));
            path.exists() && state(session.pid()) == Some('t') && session.stops() == before
        });
        assert_eq!(std::fs::read(&path).unwrap(), b"");
        let pid = rustix::process::Pid::from_raw(i32::try_from(session.pid()).unwrap()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::CONT).unwrap();
        let outcome = session.wait().unwrap();
        assert_eq!(outcome.status.unwrap().signal(), Some(libc::SIGTERM));
        assert_eq!(moved(&rows_of(&outcome, &path), "write"), (6, 6));
    }
}

#[test]
fn what_cannot_run_is_an_error() {
    let start = |program: &Path| Session::start(&command(program, &[]), Stops::Io);
    let missing = start(Path::new("/nowhere/program")).unwrap_err();
    assert!(matches!(
        missing,
        TraceError::Start(StartError::NotFound { .. })
    ));
    let dir = scratch();
    let text = dir.path().join("text");
    // Executable by its mode, but not a program.
    let written = dir.path().join("written");
    std::fs::write(&written, [0x7f, b'E', b'L', b'F', 0, 0]).unwrap();
    install(written, &text);
    let session = start(&text).unwrap();
    let error = session.wait().unwrap_err();
    assert!(
        matches!(error, TraceError::Start(StartError::NotExecutable { .. })),
        "{error}"
    );
    assert!(error.to_string().contains("text"), "{error}");
}

/// More records than the workload `steady` writes while a test has patience.
const ENDLESS: &str = "1000000";

/// Has the workload `steady` come to its end.
fn end_records(pid: u32) {
    let pid = rustix::process::Pid::from_raw(pid.cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
}

#[test]
fn a_process_is_adopted_and_let_go() {
    let dir = scratch();
    let path = dir.path().join("f");
    let program = std::process::Command::new(workload("steady"))
        .arg(&path)
        .args([ENDLESS, "5000"])
        .spawn()
        .unwrap();
    let mut program = Ended(program);
    let pid = program.0.id();
    until("the file", || path.exists());
    let session = Session::adopt(&[pid]).unwrap();
    let size = || std::fs::metadata(&path).unwrap().len();
    let before = size();
    until("some records", || size() >= before + 10 * 8);
    let (outcome, rest) = session.stop().unwrap();
    assert!(rest.is_empty());
    assert_eq!(outcome.status, None, "it goes on");
    let (writes, bytes) = moved(&rows_of(&outcome, &path), "write");
    assert!((10..=size() / 8).contains(&writes), "{writes}");
    assert_eq!(bytes, 8 * writes);
    let seen = outcome.observation.seen.unwrap();
    assert_eq!((seen.tasks[0].process, seen.tasks[0].ended_ns), (pid, None));
    // It is no longer traced, and runs to its end.
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    assert!(status.contains("TracerPid:\t0\n"), "{status}");
    let seen = size();
    until("a record that is not seen", || size() > seen);
    end_records(pid);
    assert!(program.0.wait().unwrap().success());
    assert!(std::fs::read_to_string(&path).unwrap().ends_with("done\n"));
}

#[test]
fn a_stopped_process_is_adopted_and_stays_stopped() {
    let dir = scratch();
    let path = dir.path().join("f");
    let program = std::process::Command::new(workload("signals"))
        .arg(&path)
        .args(["3", "stop"])
        .spawn()
        .unwrap();
    let program = Ended(program);
    let pid = program.0.id();
    until("the stop", || state(pid) == Some('T'));
    let session = Session::adopt(&[pid]).unwrap();
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(std::fs::read(&path).unwrap(), b"");
    let (outcome, _) = session.stop().unwrap();
    assert!(rows_of_none(&outcome));
    until("the stop that goes on", || state(pid) == Some('T'));
    let again = Session::adopt(&[pid]).unwrap();
    let number = rustix::process::Pid::from_child(&program.0);
    rustix::process::kill_process(number, rustix::process::Signal::CONT).unwrap();
    let outcome = again.wait().unwrap();
    assert_eq!(moved(&rows_of(&outcome, &path), "write"), (6, 6));
    assert_eq!(outcome.status.unwrap().signal(), Some(libc::SIGTERM));
    program.was_reaped();
}

/// Whether nothing was written.
fn rows_of_none(outcome: &iostrata_tracer::ptrace::Outcome) -> bool {
    let rows = outcome.observation.raw.syscalls.as_ref().unwrap();
    rows.iter().all(|row| row.name != "write")
}

#[test]
fn a_process_with_threads_is_adopted_whole() {
    let dir = scratch();
    let program = std::process::Command::new("/bin/sh")
        .args(["-c", "read go; \"$0\" \"$@\"; exit 7"])
        .arg(workload("tree"))
        .arg(dir.path())
        .args(["3", "4", "200", "10"])
        .stdin(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut program = Ended(program);
    let session = Session::adopt(&[program.0.id()]).unwrap();
    drop(program.0.stdin.take());
    let outcome = session.wait().unwrap();
    assert_eq!(outcome.status.unwrap().code(), Some(7));
    program.was_reaped();
    for process in 0..3 {
        for thread in 0..4 {
            let path = dir.path().join(format!("p{process}-t{thread}"));
            assert_eq!(moved(&rows_of(&outcome, &path), "pwrite64"), (200, 2000));
        }
    }
}

#[test]
fn nobody_gets_away_untraced() {
    for stops in [Stops::Io, Stops::All] {
        for call in ["clone", "clone3"] {
            let dir = scratch();
            let path = dir.path().join("f");
            let outcome = run("untraced", &[path.to_str().unwrap(), call], stops);
            assert_eq!(outcome.status.unwrap().code(), Some(0), "{call}");
            assert_eq!(moved(&rows_of(&outcome, &path), "write"), (2, 3), "{call}");
            assert_eq!(outcome.observation.seen.unwrap().tasks.len(), 2);
        }
    }
}

#[test]
fn who_goes_on_behind_a_filter_is_answered_to_its_end() {
    let dir = scratch();
    let path = dir.path().join("f");
    let words = command(
        &workload("steady"),
        &[path.to_str().unwrap(), ENDLESS, "3000"],
    );
    let session = Session::start(&words, Stops::Io).unwrap();
    until("some records", || {
        std::fs::metadata(&path).is_ok_and(|meta| meta.len() > 10 * 8)
    });
    let (outcome, rest) = session.stop().unwrap();
    assert_eq!(outcome.status, None);
    let (writes, _) = moved(&rows_of(&outcome, &path), "write");
    assert!(writes >= 10, "{writes}");
    assert!(!rest.is_empty());
    let seen = std::fs::metadata(&path).unwrap().len();
    until("a record that is not seen", || {
        std::fs::metadata(&path).unwrap().len() > seen
    });
    end_records(outcome.observation.seen.unwrap().tasks[0].process);
    rest.wait().unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.ends_with("done\n"), "no write was refused");
}

#[test]
fn a_process_that_is_not_there_cannot_be_adopted() {
    let mut gone = std::process::Command::new("true").spawn().unwrap();
    gone.wait().unwrap();
    let error = Session::adopt(&[gone.id()]).unwrap_err();
    assert!(matches!(error, TraceError::Refused { pid, .. } if pid == gone.id()));
}

/// A child that does not outlive a failed test.
pub(crate) struct Ended(pub(crate) std::process::Child);

impl Ended {
    /// The tracer, in the same process, has reaped it: its id may belong to another process.
    fn was_reaped(self) {
        std::mem::forget(self);
    }
}

impl Drop for Ended {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}
