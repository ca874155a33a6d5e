//! A program under `iostrata trace`, and what was saved of it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use iostrata_core::trace::{FileRow, TraceResult};

use crate::skip::skip;

/// A directory on a real disk, removed when the test ends.
pub(crate) fn place() -> tempfile::TempDir {
    tempfile::Builder::new()
        .prefix("iostrata-trace-")
        .tempdir_in("/var/tmp")
        .unwrap()
}

/// The program, with `options` before the traced command.
pub(crate) fn iostrata(options: &[&str], command: &[&str]) -> Command {
    let mut program = Command::new(env!("CARGO_BIN_EXE_iostrata"));
    program.arg("trace").args(options).arg("--").args(command);
    program.env("NO_COLOR", "1").env("COLUMNS", "100");
    program
}

/// Runs a command, which must succeed, and reads what was saved.
#[track_caller]
pub(crate) fn trace(dir: &Path, command: &[&str]) -> TraceResult {
    let (output, result) = trace_any(dir, command);
    assert!(output.status.success(), "{output:?}");
    result
}

/// Runs a command that may fail.
#[track_caller]
pub(crate) fn trace_any(dir: &Path, command: &[&str]) -> (Output, TraceResult) {
    let saved = tempfile::NamedTempFile::new().unwrap();
    let options = ["--json", saved.path().to_str().unwrap()];
    let output = iostrata(&options, command)
        .current_dir(dir)
        .output()
        .unwrap();
    let text = std::fs::read_to_string(saved.path()).unwrap();
    let result: TraceResult =
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {output:?}"));
    assert_eq!(result.lost_events, 0);
    assert_audited(&result);
    (output, result)
}

/// The same by this back end, whatever the audit says; `None` where it cannot be tried.
pub(crate) fn trace_by(
    backend: &str,
    dir: &Path,
    command: &[&str],
) -> Option<(Output, TraceResult)> {
    if backend == "ebpf" && !rustix::process::geteuid().is_root() {
        skip("loading eBPF programs needs root");
        return None;
    }
    let saved = dir.join("result.json");
    let options = [
        "--backend",
        backend,
        "--no-save",
        "-o",
        saved.to_str().unwrap(),
    ];
    let output = iostrata(&options, command)
        .current_dir(dir)
        .output()
        .unwrap();
    let text = std::fs::read_to_string(&saved).unwrap();
    Some((output, serde_json::from_str(&text).unwrap()))
}

/// No figure contradicts another.
#[track_caller]
pub(crate) fn assert_audited(result: &TraceResult) {
    let mut broken = result.audit.iter().filter(|judged| !judged.holds);
    assert_eq!(broken.next(), None, "{result:#?}");
}

/// The row of a file by the end of its path.
#[track_caller]
pub(crate) fn file<'r>(result: &'r TraceResult, end: &str) -> &'r FileRow {
    let named = |file: &&FileRow| Path::new(&file.path).ends_with(end);
    let mut files = result.files.iter().filter(named);
    let found = files.next().unwrap_or_else(|| panic!("no file {end}"));
    assert!(files.next().is_none(), "two files {end}");
    found
}

/// Calls and failed calls by name, without io_uring operations and libaio. What only the arguments
/// tell apart, such as `ioctl(FICLONE)`, is the system call that it is.
pub(crate) fn calls(result: &TraceResult) -> BTreeMap<String, (u64, u64)> {
    let mut calls: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    let is_operation = |name: &str| name.starts_with("io_uring.") || name.starts_with("aio.");
    for row in result
        .syscalls
        .iter()
        .filter(|row| !is_operation(&row.name))
    {
        let name = row.name.split('(').next().unwrap_or(&row.name);
        let sum = calls.entry(name.to_owned()).or_default();
        *sum = (sum.0 + row.stats.count, sum.1 + row.stats.errors);
    }
    calls
}

/// The same by `strace -f -c`, of another run of the same command.
#[track_caller]
pub(crate) fn strace(dir: &Path, command: &[&str]) -> BTreeMap<String, (u64, u64)> {
    let summary = tempfile::NamedTempFile::new().unwrap();
    let mut strace = Command::new("strace");
    strace
        .args(["-f", "-c", "-o"])
        .arg(summary.path())
        .arg("--")
        .args(command);
    let output = strace.current_dir(dir).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = std::fs::read_to_string(summary.path()).unwrap();
    let row = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        // % time, seconds, usecs/call, calls, errors (or nothing), syscall
        let (calls, errors, name) = match fields[..] {
            [_, _, _, calls, name] => (calls, "0", name),
            [_, _, _, calls, errors, name] => (calls, errors, name),
            _ => return None,
        };
        Some((name.to_owned(), (calls.parse().ok()?, errors.parse().ok()?)))
    };
    let mut rows: BTreeMap<_, _> = text.lines().filter_map(row).collect();
    rows.remove("total");
    assert!(!rows.is_empty(), "{text}");
    rows
}

/// Compiles `workloads/NAME.c` once for all tests.
pub(crate) fn workload(name: &str) -> String {
    static BUILT: OnceLock<tempfile::TempDir> = OnceLock::new();
    let built = BUILT.get_or_init(|| tempfile::tempdir().unwrap());
    let program: PathBuf = built.path().join(name.replace('/', "-"));
    if !program.exists() {
        let source = format!("{}/../../workloads/{name}.c", env!("CARGO_MANIFEST_DIR"));
        // Under another name first: another test may be compiling it too.
        let half = tempfile::NamedTempFile::new_in(built.path()).unwrap();
        // A child that another test forks would keep the program open for writing, and such a file
        // cannot be executed (ETXTBSY, execve(2)).
        let half = half.into_temp_path();
        let mut compile = Command::new("cc");
        compile
            .args(["-O1", "-pthread", "-o"])
            .arg(&half)
            .arg(source);
        assert!(compile.status().unwrap().success());
        half.persist(&program).unwrap();
    }
    program.to_str().unwrap().to_owned()
}
