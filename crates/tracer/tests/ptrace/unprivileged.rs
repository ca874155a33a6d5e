//! As an unprivileged user. Needs root, to become that user.
#![expect(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that fails"
)]

use iostrata_report::words;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use iostrata_tracer::ptrace::{Session, Stops};

use iostrata_core::record::Completeness;

use crate::ground::{by_name, command, scratch};
use crate::install::install;
use crate::record::Run;

/// The user that owns nothing.
const NOBODY: u32 = 65_534;

/// Runs one of the functions below in this test program, as that user.
fn as_nobody(test: &str) {
    // The build directory of tests may be closed to other users.
    let dir = tempfile::tempdir().unwrap();
    let open = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(dir.path(), open).unwrap();
    let copy = dir.path().join("test");
    install(std::env::current_exe().unwrap(), &copy);
    let output = Command::new(&copy)
        .args(["--exact", "--ignored", "--test-threads=1", test])
        .current_dir("/")
        .uid(NOBODY)
        .gid(NOBODY)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}");
    assert!(text.contains("1 passed"), "{text}");
}

#[test]
#[ignore = "is run as another user by the tests below"]
fn observed_by_nobody() {
    let words = command(Path::new("cat"), &["/etc/hostname", "/etc/shadow"]);
    let outcome = Session::start(&words, Stops::Io).unwrap().wait().unwrap();
    assert_eq!(outcome.status.unwrap().code(), Some(1), "shadow is refused");
    assert!(by_name(&outcome)["read"] >= 2);
    let gaps = &outcome.observation.raw.missing;
    assert!(
        !gaps
            .iter()
            .any(|gap| words::missing(&gap.what).to_string().contains("privileges"))
    );
}

#[test]
fn a_program_is_observed_without_privileges() {
    as_nobody("unprivileged::observed_by_nobody");
}

/// Unreadable files, directories that cannot be listed, and threads.
const HIDDEN: &str = "mkdir -m 311 private; echo x > private/f; mv private/f private/g
    seq 1000 > a; cp a b; mv b c; ln c l; ln -s c s; chmod 200 a; echo more >> a; chmod 600 a
    python3 -c \"
import os, threading
f = os.open('t', os.O_CREAT | os.O_WRONLY, 0o200)
write = lambda: [os.write(f, b'x' * 100) for i in range(50)]
threads = [threading.Thread(target=write) for j in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
os.fchmod(f, 0o600)\"
    chmod 755 private";

#[test]
#[ignore = "is run as another user by the tests below"]
fn recorded_by_nobody() {
    let run = Run::of(scratch(), |made| {
        let script = format!("set -e; cd {}\n{HIDDEN}", made.display());
        command(Path::new("sh"), &["-c", &script])
    });
    assert_eq!(run.recorded.completeness, Completeness::Complete);
    run.is_rebuilt();
}

#[test]
fn a_program_is_recorded_without_privileges() {
    as_nobody("unprivileged::recorded_by_nobody");
}

#[test]
#[ignore = "is run as another user by the tests below"]
fn set_user_id_by_nobody() {
    let words = command(Path::new("/usr/bin/passwd"), &["--help"]);
    let outcome = Session::start(&words, Stops::Io).unwrap().wait().unwrap();
    let gaps = &outcome.observation.raw.missing;
    let said = gaps
        .iter()
        .any(|gap| words::missing(&gap.what).to_string() == "the privileges of /usr/bin/passwd");
    assert!(said, "{gaps:?}");
}

#[test]
fn a_set_user_id_program_is_said_to_have_lost_its_privileges() {
    let mode = std::fs::metadata("/usr/bin/passwd")
        .unwrap()
        .permissions()
        .mode();
    assert_ne!(mode & 0o4000, 0, "passwd is a set-user-ID program");
    as_nobody("unprivileged::set_user_id_by_nobody");
}

#[test]
#[ignore = "is run as another user by the tests below"]
fn others_process_by_nobody() {
    let error = Session::adopt(&[1]).unwrap_err();
    assert!(error.to_string().contains("process 1"), "{error}");
}

#[test]
fn anothers_process_cannot_be_adopted() {
    as_nobody("unprivileged::others_process_by_nobody");
}
