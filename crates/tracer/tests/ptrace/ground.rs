//! Programs of `workloads/`, and their observations by file.
#![expect(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that fails"
)]

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use iostrata_core::evidence::SyscallRow;
use iostrata_core::op::FileId;
use iostrata_tracer::ptrace::{Outcome, Session, Stops};

/// Compiles `workloads/*.c` once for all tests, in Cargo's directory for test files.
pub(crate) fn workload(name: &str) -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let dir = BUILT.get_or_init(|| {
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ptrace-workloads");
        std::fs::create_dir_all(&dir).unwrap();
        let sources = concat!(env!("CARGO_MANIFEST_DIR"), "/../../workloads");
        for entry in std::fs::read_dir(sources).unwrap() {
            let source = entry.unwrap().path();
            if source.extension().is_some_and(|e| e == "c") {
                build(&source, &dir.join(source.file_stem().unwrap()));
            }
        }
        dir
    });
    dir.join(name)
}

/// Under another name first: the one of an earlier run may still be running.
fn build(source: &Path, program: &Path) {
    let new = program.with_extension(std::process::id().to_string());
    let built = Command::new("cc")
        .args(["-O1", "-pthread", "-o"])
        .arg(&new)
        .arg(source)
        .status()
        .unwrap();
    assert!(built.success(), "cc {}", source.display());
    std::fs::rename(&new, program).unwrap();
}

/// A directory on a file system with a disk.
pub(crate) fn scratch() -> tempfile::TempDir {
    tempfile::tempdir_in("/var/tmp").unwrap()
}

/// The arguments of a command.
pub(crate) fn command(program: &Path, arguments: &[&str]) -> Vec<OsString> {
    let program = [program.as_os_str().to_owned()].into_iter();
    program
        .chain(arguments.iter().map(OsString::from))
        .collect()
}

/// Runs a program of `workloads/` to its end.
pub(crate) fn run(name: &str, arguments: &[&str], stops: Stops) -> Outcome {
    let session = Session::start(&command(&workload(name), arguments), stops).unwrap();
    session.wait().unwrap()
}

/// Rows of one file, by call; the file is identified by its path at first use.
pub(crate) fn rows_of(outcome: &Outcome, path: &Path) -> BTreeMap<&'static str, SyscallRow> {
    let file = file_at(outcome, path);
    let rows = outcome.observation.raw.syscalls.as_ref().unwrap();
    rows.iter()
        .filter(|row| row.file == Some(file) && !row.is_source)
        .map(|row| (row.name, row.clone()))
        .collect()
}

/// The file that had this path.
pub(crate) fn file_at(outcome: &Outcome, path: &Path) -> FileId {
    let seen = outcome.observation.seen.as_ref().unwrap();
    let named = seen
        .names
        .iter()
        .find(|named| named.path == path.as_os_str().as_bytes());
    named
        .unwrap_or_else(|| panic!("{} among {:#?}", path.display(), seen.names))
        .file
}

/// Count and bytes of a call.
pub(crate) fn moved(rows: &BTreeMap<&'static str, SyscallRow>, call: &str) -> (u64, u64) {
    rows.get(call)
        .map_or((0, 0), |row| (row.count, row.returned))
}

/// Calls by name, over all files.
pub(crate) fn by_name(outcome: &Outcome) -> BTreeMap<String, u64> {
    let mut counted = BTreeMap::new();
    for row in outcome.observation.raw.syscalls.as_ref().unwrap() {
        if !row.is_source {
            *counted.entry(row.name.to_owned()).or_default() += row.count;
        }
    }
    counted
}

/// Calls by name as `strace -f -c` counts them in a separate run.
pub(crate) fn strace(program: &Path, arguments: &[&str]) -> BTreeMap<String, u64> {
    let dir = tempfile::tempdir().unwrap();
    let summary = dir.path().join("summary");
    Command::new("strace")
        .args(["-f", "-c", "-o"])
        .arg(&summary)
        .arg(program)
        .args(arguments)
        .status()
        .unwrap();
    let text = std::fs::read_to_string(&summary).unwrap();
    // "% time seconds usecs/call calls [errors] syscall"
    let rows = text.lines().skip(2).map(str::split_whitespace);
    rows.map(Iterator::collect::<Vec<_>>)
        .filter(|fields| fields.len() >= 5 && !fields[0].starts_with('-'))
        .filter(|fields| fields.last() != Some(&"total"))
        .map(|fields| {
            let name = (*fields.last().unwrap()).to_owned();
            (name, fields[3].parse().unwrap())
        })
        .collect()
}
