//! The workload process as its parent sees it.

use std::cell::Cell;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use crate::places::launcher;
use crate::wait::until;
use iostrata_core::buffering::{Case, Mode};
use iostrata_lab::buffering::WriteJob;
use iostrata_lab::engine::{EngineError, ExecJob, FailureKind, Job, Launcher, Workload};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};

/// Longer than any program of these tests takes.
const LONGEST: Duration = Duration::from_mins(1);

fn never() -> bool {
    false
}

fn write_job(path: &Path, count: u64) -> WriteJob {
    let case = Case {
        mode: Mode::Fsync,
        size_bytes: 100,
        count,
    };
    WriteJob {
        case,
        path: Some(path.into()),
    }
}

/// Hours of work, without a disk.
fn endless() -> WriteJob {
    let case = Case {
        mode: Mode::Buffered,
        size_bytes: 1,
        count: u64::MAX,
    };
    WriteJob { case, path: None }
}

fn pid<J: Job>(workload: &Workload<J>) -> Pid {
    Pid::from_raw(i32::try_from(workload.pid()).unwrap()).unwrap()
}

#[test]
fn works_after_go_and_measures_the_work() {
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    let path = dir.path().join("f");
    let mut workload = launcher().start(&write_job(&path, 50), &never).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().len(), 0);
    let work = workload.go(&never).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().len(), 5000);
    assert!(work.sample.real_s > 0.0);
    assert!(work.sample.user_s + work.sample.system_s > 0.0);
    let pid = pid(&workload);
    workload.exit().unwrap();
    assert!(test_kill_process(pid).is_err(), "waited for");
}

#[test]
fn a_path_that_is_not_utf_8_survives_the_pipe() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir
        .path()
        .join(OsString::from_vec(vec![b'a', 0xff, b'"', b'\n']));
    let mut workload = launcher().start(&write_job(&path, 1), &never).unwrap();
    workload.go(&never).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().len(), 100);
}

#[test]
fn a_killed_workload_is_named_with_its_signal() {
    let dir = tempfile::tempdir().unwrap();
    let mut workload = launcher()
        .start(&write_job(&dir.path().join("f"), 1), &never)
        .unwrap();
    kill_process(pid(&workload), Signal::KILL).unwrap();
    let error = workload.go(&never).unwrap_err();
    assert!(
        matches!(error, EngineError::Killed { signal: 9, .. }),
        "{error}"
    );
    assert!(
        error
            .to_string()
            .contains("was killed by signal 9 (SIGKILL)"),
        "{error}"
    );
}

#[test]
fn a_workload_killed_in_the_middle_of_its_work_is_noticed() {
    let mut workload = launcher().start(&endless(), &never).unwrap();
    let victim = pid(&workload);
    let killer = thread::spawn(move || kill_process(victim, Signal::KILL));
    let error = workload.go(&never).unwrap_err();
    killer.join().unwrap().unwrap();
    assert!(
        matches!(error, EngineError::Killed { signal: 9, .. }),
        "{error}"
    );
}

#[test]
fn an_interruption_ends_the_work_and_leaves_no_process() {
    let mut workload = launcher().start(&endless(), &never).unwrap();
    let asked = Cell::new(0);
    let stop = || {
        asked.set(asked.get() + 1);
        asked.get() > 2
    };
    assert!(matches!(workload.go(&stop), Err(EngineError::Interrupted)));
    let pid = pid(&workload);
    drop(workload);
    assert!(test_kill_process(pid).is_err(), "killed and waited for");
}

#[test]
fn a_preparation_that_fails_says_why() {
    let job = write_job(Path::new("/proc/nothing/f"), 1);
    let error = launcher().start(&job, &never).unwrap_err();
    let EngineError::Failed(failure) = &error else {
        panic!("{error}")
    };
    assert_eq!((failure.kind, failure.errno), (FailureKind::Io, Some(2)));
    assert!(
        error
            .to_string()
            .starts_with("cannot create /proc/nothing/f: "),
        "{error}"
    );
}

#[test]
fn a_program_that_is_no_workload_is_told_apart() {
    let start = |program: &str| {
        Launcher::program(program, [""; 0])
            .start(&endless(), &never)
            .unwrap_err()
    };
    assert!(matches!(start("/nonexistent"), EngineError::Start { .. }));
    // `false` ends without reading its job or answering.
    assert!(matches!(
        start("/bin/false"),
        EngineError::Ended { code: 1, .. }
    ));
    // `cat` answers with the job itself.
    assert!(matches!(start("/bin/cat"), EngineError::Protocol(_)));
}

fn exec(dir: &Path, words: &[&str]) -> ExecJob {
    ExecJob {
        argv: words.iter().map(OsString::from).collect(),
        environment: vec![("WORD".into(), "said".into())],
        stderr: dir.join("stderr").into(),
    }
}

#[test]
fn becomes_another_program_at_go_and_keeps_its_id() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    let script = format!(
        "echo $$ $WORD > {}; echo trouble >&2; exit 3",
        out.display()
    );
    let mut workload = launcher()
        .start(&exec(dir.path(), &["sh", "-c", &script]), &never)
        .unwrap();
    assert!(!out.exists());
    let status = workload.go_exec(LONGEST, &never).unwrap().unwrap();
    assert_eq!(status.code(), Some(3));
    assert_eq!(
        fs::read_to_string(&out).unwrap(),
        format!("{} said\n", workload.pid())
    );
    assert_eq!(
        fs::read_to_string(dir.path().join("stderr")).unwrap(),
        "trouble\n"
    );
}

#[test]
fn a_program_that_cannot_be_executed_says_so_on_its_standard_error() {
    let dir = tempfile::tempdir().unwrap();
    let mut workload = launcher()
        .start(&exec(dir.path(), &["/nonexistent"]), &never)
        .unwrap();
    let status = workload.go_exec(LONGEST, &never).unwrap().unwrap();
    assert_eq!(status.code(), Some(127));
    let said = fs::read_to_string(dir.path().join("stderr")).unwrap();
    assert!(
        said.starts_with("cannot execute /nonexistent: No such file"),
        "{said}"
    );
}

#[test]
fn what_the_program_started_ends_with_it() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("pid");
    let script = format!("sleep 1000 & echo $! > {}; wait", file.display());
    let mut workload = launcher()
        .start(&exec(dir.path(), &["sh", "-c", &script]), &never)
        .unwrap();
    let written = || fs::read_to_string(&file).is_ok_and(|text| text.ends_with('\n'));
    assert!(matches!(
        workload.go_exec(LONGEST, &written),
        Err(EngineError::Interrupted)
    ));
    let started = fs::read_to_string(&file).unwrap();
    let status = PathBuf::from(format!("/proc/{}/cmdline", started.trim()));
    drop(workload);
    until(|| match fs::read(&status) {
        Ok(line) if line.starts_with(b"sleep") => Err(line),
        _ => Ok(()),
    });
}

#[test]
fn a_working_child_ends_with_the_thread_that_started_it() {
    // The kernel sends the death signal when the starting thread ends, which happens to every
    // thread of a killed parent.
    let started = thread::spawn(|| {
        let workload = launcher().start(&endless(), &never).unwrap();
        let pid = pid(&workload);
        // Neither dropped nor reaped, as in a killed parent.
        std::mem::forget(workload);
        pid
    });
    let pid = started.join().unwrap();
    let status = PathBuf::from(format!("/proc/{}/stat", pid.as_raw_nonzero()));
    until(|| match fs::read_to_string(&status) {
        Ok(stat) if stat.contains(") Z ") => Ok(()),
        other => Err(other),
    });
    rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::empty()).unwrap();
}
