//! A user without privilege.

use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use iostrata_core::environment::Backend;
use iostrata_core::top::Interval;
use rustix::process::geteuid;

const NOBODY: u32 = 65_534;

#[test]
fn what_proc_says_is_shown_and_what_is_missing_is_said() {
    if !geteuid().is_root() {
        crate::skip::skip("becoming another user needs root");
        return;
    }
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    // The build directory may be closed to others.
    let copy = dir.path().join("iostrata");
    let mut install = Command::new("install");
    install.args(["-m", "755", env!("CARGO_BIN_EXE_iostrata")]);
    assert!(install.arg(&copy).status().unwrap().success());
    let mut writer = Command::new("sh");
    writer
        .args(["-c", "while :; do echo; done"])
        .stdout(std::process::Stdio::null());
    let mut writer = writer.uid(NOBODY).gid(NOBODY).spawn().unwrap();
    let top = |options: &[&str]| {
        let mut command = Command::new(&copy);
        command
            .args(["top", "--once", "--every", "300ms"])
            .args(options);
        command.env("NO_COLOR", "1").env("COLUMNS", "100");
        command.uid(NOBODY).gid(NOBODY).output().unwrap()
    };
    let (json, text) = (top(&["--json"]), top(&[]));
    writer.kill().unwrap();
    writer.wait().unwrap();
    assert!(
        json.status.success() && text.status.success(),
        "{json:?} {text:?}"
    );
    let said = String::from_utf8(json.stderr).unwrap();
    assert!(
        said.contains("eBPF is not permitted to this user"),
        "{said}"
    );
    assert!(said.contains("/proc/PID/io"), "{said}");
    let interval: Interval = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(interval.backend, Backend::None);
    assert!(interval.totals.calls.is_none() && interval.files.is_empty());
    let row = interval
        .processes
        .iter()
        .find(|row| row.pid == writer.id())
        .unwrap();
    let io = row.io.unwrap();
    assert!(io.syscw > 0 && io.wchar_bytes == io.syscw, "{io:?}");
    assert!(row.work.calls.is_none());
    let text = String::from_utf8(text.stdout).unwrap();
    assert!(
        text.contains("files, requests, syncs and the page cache"),
        "{text}"
    );
}
