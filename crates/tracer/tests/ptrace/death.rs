//! The fate of the program when its tracer dies.
//!
//! The tracer is this test program, executed again to run one of the functions below that are
//! otherwise ignored; then it is killed.
#![expect(
    clippy::unwrap_used,
    clippy::exit,
    reason = "a test stops at the first thing that fails; a process is split in two"
)]

use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use iostrata_tracer::ptrace::front::{Answer, Side, split};
use iostrata_tracer::ptrace::{Session, Stops};

use crate::ground::{command, scratch, workload};
use crate::tree::{Ended, until};

/// The file that the traced program writes to.
const FILE: &str = "IOSTRATA_TEST_FILE";
const PROGRAM: &str = "IOSTRATA_TEST_PROGRAM";

fn trace_as_told(stops: Stops) -> u8 {
    let (Some(file), Some(program)) = (std::env::var_os(FILE), std::env::var_os(PROGRAM)) else {
        return 0;
    };
    let file = file.into_string().unwrap();
    let words = command(Path::new(&program), &[&file, "150", "10000"]);
    let outcome = Session::start(&words, stops).unwrap().wait().unwrap();
    u8::try_from(outcome.status.unwrap().code().unwrap()).unwrap()
}

#[test]
#[ignore = "is run, and killed, by the tests below"]
fn tracer_of_all_calls() {
    trace_as_told(Stops::All);
}

#[test]
#[ignore = "is run, and killed, by the tests below"]
fn tracer_behind_a_filter() {
    trace_as_told(Stops::Io);
}

/// Test programs have threads, which do not survive a fork: the process behind creates its own.
#[test]
#[ignore = "is run, and killed, by the tests below"]
fn tracer_behind_the_process_that_is_seen() {
    match split().unwrap() {
        Side::Front(Answer::Code(code)) => std::process::exit(i32::from(code)),
        Side::Front(Answer::Killed(signal)) => std::process::exit(128 + signal),
        Side::Behind(behind) => {
            let code = trace_as_told(Stops::Io);
            behind.release(code + 40);
            std::process::exit(0);
        }
    }
}

fn start(test: &str, file: &Path) -> Ended {
    let tracer = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--ignored", "--test-threads=1", test])
        .env(FILE, file)
        .env(PROGRAM, workload("steady"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    Ended(tracer)
}

fn text(file: &Path) -> String {
    std::fs::read_to_string(file).unwrap_or_default()
}

/// Whether a process has this word in its command line: the program, and no other.
fn writes(file: &Path) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let mut lines = processes.filter_map(|one| std::fs::read(one.path().join("cmdline")).ok());
    let file = file.as_os_str().as_encoded_bytes();
    lines.any(|line| line.split(|byte| *byte == 0).any(|word| word == file))
}

/// Kills the tracer after the program has written some records.
fn kill_in_the_middle(tracer: &mut Ended, file: &Path) {
    until("some records", || text(file).len() > 100);
    assert!(!text(file).contains("done"), "too late to kill the tracer");
    tracer.0.kill().unwrap();
    assert_eq!(tracer.0.wait().unwrap().signal(), Some(libc::SIGKILL));
}

#[test]
fn without_a_filter_the_program_goes_on() {
    let dir = scratch();
    let file = dir.path().join("f");
    let mut tracer = start("death::tracer_of_all_calls", &file);
    kill_in_the_middle(&mut tracer, &file);
    until("the end", || text(&file).ends_with("done\n"));
    assert_eq!(text(&file).len(), 150 * 8 + 5, "no write was refused");
}

#[test]
fn behind_the_process_that_is_seen_it_goes_on() {
    let dir = scratch();
    let file = dir.path().join("f");
    let mut tracer = start("death::tracer_behind_the_process_that_is_seen", &file);
    kill_in_the_middle(&mut tracer, &file);
    until("the end", || text(&file).ends_with("done\n"));
    assert_eq!(text(&file).len(), 150 * 8 + 5, "no write was refused");
}

#[test]
fn the_process_that_is_seen_exits_with_the_code_it_is_told() {
    let dir = scratch();
    let file = dir.path().join("f");
    let mut tracer = start("death::tracer_behind_the_process_that_is_seen", &file);
    assert_eq!(tracer.0.wait().unwrap().code(), Some(40));
    assert!(text(&file).ends_with("done\n"));
}

#[test]
fn behind_a_filter_the_program_dies_with_the_tracer() {
    let dir = scratch();
    let file = dir.path().join("f");
    let mut tracer = start("death::tracer_behind_a_filter", &file);
    kill_in_the_middle(&mut tracer, &file);
    until("its end", || !writes(&file));
    let text = text(&file);
    assert!(!text.contains("done"), "{text}");
    assert_eq!(text.len() % 8, 0, "no record was refused or cut");
}
