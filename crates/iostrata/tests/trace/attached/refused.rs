//! Where nobody is found.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use super::{Group, trace};
use crate::traced::place;

#[track_caller]
fn refused(arguments: &[&str]) -> String {
    let dir = place();
    let mut trace = trace(
        Command::new(env!("CARGO_BIN_EXE_iostrata")),
        dir.path(),
        arguments,
    );
    let output = trace.stderr(Stdio::piped()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(125), "{text}");
    assert!(!dir.path().join("result.json").exists());
    text
}

#[test]
fn nobody_is_an_error() {
    let text = refused(&["--name", "no-such-program"]);
    assert!(
        text.contains("no process matches name no-such-program"),
        "{text}"
    );
    let text = refused(&["--cgroup", "/no/such/cgroup"]);
    assert!(text.contains("no cgroup /no/such/cgroup below /"), "{text}");
    let text = refused(&["--unit", "no-such-unit"]);
    assert!(
        text.contains("unit no-such-unit.service has no cgroup"),
        "{text}"
    );
    let text = refused(&["--container", "no-such-container"]);
    assert!(
        text.contains("no running container no-such-container"),
        "{text}"
    );
    let Some(group) = Group::new("iostrata-test-NUMBER") else {
        return;
    };
    let text = refused(&["--backend", "ptrace", "--cgroup", group.path()]);
    assert!(text.contains("no process matches cgroup"), "{text}");
    let old = Path::new("/sys/fs/cgroup/memory");
    if fs::read_to_string("/proc/self/mountinfo")
        .unwrap()
        .contains("/memory rw")
    {
        let text = refused(&["--cgroup", old.to_str().unwrap()]);
        assert!(text.contains("is of version 1"), "{text}");
    }
}
