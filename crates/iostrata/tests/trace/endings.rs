//! Exit codes, signals, and programs that cannot be run.

use std::fs;
use std::os::unix::process::ExitStatusExt as _;

use rustix::process::{Pid, Signal, kill_process};

use crate::install::install;
use crate::traced::{iostrata, place, trace_any};
use crate::wait::until;

#[test]
fn the_programs_exit_code_is_passed_on() {
    let dir = place();
    let (output, result) = trace_any(dir.path(), &["sh", "-c", "exit 42"]);
    assert_eq!(output.status.code(), Some(42));
    assert_eq!((result.exit_code, result.signal), (Some(42), None));
}

#[test]
fn a_signal_that_ends_the_program_is_told_as_shells_do() {
    let dir = place();
    let (output, result) = trace_any(dir.path(), &["sh", "-c", "kill -9 $$"]);
    assert_eq!(output.status.code(), Some(128 + 9));
    assert_eq!((result.exit_code, result.signal), (None, Some(9)));
}

#[test]
fn what_the_program_prints_stays_alone_on_standard_output() {
    let output = iostrata(&[], &["echo", "data"]).output().unwrap();
    assert_eq!(output.stdout, b"data\n");
    assert!(String::from_utf8_lossy(&output.stderr).contains("echo data"));
}

#[test]
fn programs_that_cannot_be_run() {
    let dir = place();
    let plain = dir.path().join("plain");
    fs::write(&plain, "x").unwrap();
    let broken = dir.path().join("broken");
    let text = dir.path().join("text");
    fs::write(&text, "#!/no/such/interpreter\n").unwrap();
    install(text, &broken);
    let cases = [
        ("no-such-program-anywhere", 127, "no such program"),
        (plain.to_str().unwrap(), 126, "cannot run"),
        (dir.path().to_str().unwrap(), 126, "cannot run"),
        (broken.to_str().unwrap(), 126, "cannot run"),
    ];
    let log = dir.path().join("operations");
    let recording = ["--record", log.to_str().unwrap()];
    for (program, code, says) in cases {
        for backend in ["ebpf", "ptrace"] {
            let options = [&["--backend", backend][..], &recording].concat();
            let output = iostrata(&options, &[program]).output().unwrap();
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(code), "{program}: {text}");
            assert!(text.contains(says) && text.lines().count() == 1, "{text}");
            assert!(output.stdout.is_empty());
            assert!(!log.exists(), "nothing was recorded by {backend}");
        }
    }
}

#[test]
fn options_of_iostrata_come_before_the_program() {
    let mut wrong = std::process::Command::new(env!("CARGO_BIN_EXE_iostrata"));
    let output = wrong
        .args(["trace", "--bakcend", "ebpf", "true"])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("--backend"), "{text}");
    let mut right = std::process::Command::new(env!("CARGO_BIN_EXE_iostrata"));
    let output = right
        .args(["trace", "sh", "-c", "echo $0 $1", "-a", "--json"])
        .output()
        .unwrap();
    assert_eq!(output.stdout, b"-a --json\n");
}

#[test]
fn a_result_that_cannot_be_saved() {
    let output = iostrata(&["--json", "/dev/full"], &["echo", "done"])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(125), "{text}");
    assert!(text.contains("No space left on device"), "{text}");
    assert_eq!(output.stdout, b"done\n");
}

#[test]
fn a_report_that_cannot_be_written() {
    let full = fs::OpenOptions::new().write(true).open("/dev/full");
    let mut program = iostrata(&["--no-save"], &["echo", "done"]);
    let output = program.stderr(full.unwrap()).output().unwrap();
    assert_eq!(output.status.code(), Some(125));
    assert_eq!(output.stdout, b"done\n");
    // Nobody wants it.
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut program = iostrata(&["--no-save"], &["true"]);
    assert!(program.stderr(writer).status().unwrap().success());
}

#[test]
fn a_signal_to_iostrata_is_the_programs() {
    let dir = place();
    let ready = dir.path().join("ready");
    let script = "trap 'echo caught; exit 5' TERM; touch ready; while :; do sleep 0.05; done";
    let mut program = iostrata(&[], &["sh", "-c", script]);
    program
        .current_dir(dir.path())
        .stdout(std::process::Stdio::piped());
    let child = program.stderr(std::process::Stdio::null()).spawn().unwrap();
    until(|| ready.metadata());
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(
        (output.status.code(), output.status.signal()),
        (Some(5), None)
    );
    assert_eq!(output.stdout, b"caught\n");
}

#[test]
fn what_outlives_the_program_is_observed_to_its_end() {
    let dir = place();
    let script = "(sleep 0.3; echo late > late) & echo early > early";
    let (output, result) = trace_any(dir.path(), &["sh", "-c", script]);
    assert_eq!(output.status.code(), Some(0));
    for name in ["early", "late"] {
        assert_eq!(crate::traced::file(&result, name).writes.count, 1, "{name}");
    }
}
