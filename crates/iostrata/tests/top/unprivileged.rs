//! A user without privilege.

use iostrata_report::words;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;

use iostrata_core::environment::Backend;
use iostrata_core::top::Interval;
use rustix::process::geteuid;

const NOBODY: u32 = 65_534;

/// iostrata where everybody may run it: the build directory may be closed to others.
pub(crate) struct Copy(tempfile::TempDir);

impl Copy {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        let copy = Self(dir);
        let mut install = Command::new("install");
        install.args(["-m", "755", env!("CARGO_BIN_EXE_iostrata")]);
        assert!(install.arg(copy.program()).status().unwrap().success());
        copy
    }

    pub(crate) fn program(&self) -> PathBuf {
        self.0.path().join("iostrata")
    }
}

/// The kernel would let it: the file has the capabilities that doctor advises.
#[test]
fn a_program_file_with_capabilities_shows_nobody_the_files_of_others() {
    if !geteuid().is_root() {
        crate::skip::skip("giving capabilities to a file needs root");
        return;
    }
    let copy = Copy::new();
    let mut grant = Command::new("setcap");
    grant
        .arg("cap_bpf,cap_perfmon,cap_syslog+ep")
        .arg(copy.program());
    assert!(grant.status().is_ok_and(|status| status.success()));
    let mut top = Command::new(copy.program());
    top.args(["top", "--once", "--every", "300ms", "--json"]);
    let output = top.uid(NOBODY).gid(NOBODY).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.contains("not for watching other users' files"),
        "{said}"
    );
    let interval: Interval = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((interval.backend, interval.files.len()), (Backend::None, 0));
}

/// As a service has them: scripts/iostrata-serve.service.
#[test]
fn capabilities_of_the_user_are_enough() {
    if !geteuid().is_root() {
        crate::skip::skip("becoming another user needs root");
        return;
    }
    let copy = Copy::new();
    let mut top = Command::new("setpriv");
    top.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]);
    top.args(["--inh-caps", "-all,+bpf,+perfmon,+syslog"]);
    top.args(["--ambient-caps", "-all,+bpf,+perfmon,+syslog"]);
    top.args([
        "--bounding-set",
        "-all,+bpf,+perfmon,+syslog",
        "--no-new-privs",
    ]);
    top.arg(copy.program())
        .args(["top", "--once", "--every", "300ms", "--json"]);
    let output = top.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(output.stderr, b"");
    let interval: Interval = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(interval.backend, Backend::Ebpf);
    let missing: Vec<_> = interval
        .missing
        .iter()
        .map(|gap| words::missing(&gap.what).to_string())
        .collect();
    assert!(interval.totals.requests.is_some(), "{missing:?}");
}

#[test]
fn what_proc_says_is_shown_and_what_is_missing_is_said() {
    if !geteuid().is_root() {
        crate::skip::skip("becoming another user needs root");
        return;
    }
    let copy = Copy::new();
    let mut writer = Command::new("sh");
    writer
        .args(["-c", "while :; do printf %0100d; done"])
        .stdout(std::process::Stdio::null());
    let mut writer = writer.uid(NOBODY).gid(NOBODY).spawn().unwrap();
    let top = |options: &[&str]| {
        let mut command = Command::new(copy.program());
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
    // A write adds to these one after the other, and so they are read.
    assert!((95..=105).contains(&(io.wchar_bytes / io.syscw)), "{io:?}");
    assert!(row.work.calls.is_none());
    let text = String::from_utf8(text.stdout).unwrap();
    assert!(
        text.contains("files, requests, syncs and the page cache"),
        "{text}"
    );
}
