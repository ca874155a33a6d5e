//! Programs that run already.

use std::process::{Child, Command, Stdio};

use iostrata_core::trace::TraceResult;

use crate::traced::{file, place};
use crate::wait::until;

/// Killed when the test ends.
struct Endless(Child);

impl Drop for Endless {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

fn adopt(arguments: &[&str]) -> std::process::Output {
    let mut program = Command::new(env!("CARGO_BIN_EXE_iostrata"));
    program
        .args(["trace", "--json", "-"])
        .args(arguments)
        .output()
        .unwrap()
}

#[test]
fn a_process_is_observed_for_a_time_and_goes_on() {
    let dir = place();
    // The shell waits for a child that writes: both were there before.
    let script = "sh -c 'while :; do echo x >> log; sleep 0.01; done'; true";
    let mut shell = Command::new("sh");
    shell
        .args(["-c", script])
        .current_dir(dir.path())
        .stdin(Stdio::null());
    let mut endless = Endless(shell.spawn().unwrap());
    let log = dir.path().join("log");
    until(|| log.metadata());
    let pid = endless.0.id().to_string();
    let output = adopt(&["-p", &pid, "--for", "500ms"]);
    assert!(output.status.success(), "{output:?}");
    let result: TraceResult = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(result.adopted, Some(endless.0.id()));
    assert_eq!((result.exit_code, result.signal), (None, None));
    assert_eq!(result.command[0], "sh");
    assert!(file(&result, "log").writes.count >= 2);
    assert!(endless.0.try_wait().unwrap().is_none(), "it goes on");
    // Its children are in its directory until they are ended.
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
    for child in children.split_whitespace() {
        let child = rustix::process::Pid::from_raw(child.parse().unwrap()).unwrap();
        rustix::process::kill_process(child, rustix::process::Signal::KILL).unwrap();
    }
}

#[test]
fn processes_that_cannot_be_adopted() {
    let output = adopt(&["-p", "4194305"]);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(125), "{text}");
    assert!(text.contains("no process 4194305"), "{text}");
}
