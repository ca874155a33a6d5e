//! Runs a program of `workloads/` under the observer, blocked until the observer is attached.
#![expect(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that fails"
)]

use std::collections::BTreeSet;
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;

use crate::wait::until;
use iostrata_core::evidence::{Charge, Evidence, assemble};
use iostrata_core::observe::{Observation, Observer, Stream};

/// Compiles `workloads/NAME.c` once for all tests.
pub(crate) fn workload(name: &str) -> PathBuf {
    static BUILT: OnceLock<tempfile::TempDir> = OnceLock::new();
    let dir = BUILT.get_or_init(|| {
        let dir = tempfile::tempdir().unwrap();
        for entry in
            std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../workloads")).unwrap()
        {
            let source = entry.unwrap().path();
            if source.extension().is_some_and(|e| e == "c") {
                let built = Command::new("cc")
                    .args(["-O1", "-pthread", "-o"])
                    .arg(dir.path().join(source.file_stem().unwrap()))
                    .arg(&source)
                    .status()
                    .unwrap();
                assert!(built.success(), "cc {}", source.display());
            }
        }
        dir
    });
    dir.path().join(name)
}

/// Runs `program` under `observer` and returns the observation once `after` (which may wait for
/// write-back) has returned.
pub(crate) fn observe(
    observer: &mut dyn Observer,
    stream: Stream,
    program: &mut Command,
    after: impl FnOnce(),
) -> (Observation, ExitStatus) {
    let mut child = started(observer, stream, program);
    let status = child.wait().unwrap();
    observer.program_ended().unwrap();
    after();
    (observer.stop().unwrap(), status)
}

/// Starts `program` under `observer`.
pub(crate) fn started(observer: &mut dyn Observer, stream: Stream, program: &mut Command) -> Child {
    let mut blocked = Command::new("/bin/sh");
    blocked
        .args(["-c", "read go; exec \"$0\" \"$@\""])
        .arg(program.get_program())
        .args(program.get_args());
    // Not the test's own output: that may be a file, which the program would then write.
    blocked.stdin(Stdio::piped()).stdout(Stdio::null());
    let mut child = blocked.spawn().unwrap();
    wait_until_blocked(child.id());
    observer.start(child.id(), stream).unwrap();
    child.stdin.take().unwrap().write_all(b"\n").unwrap();
    child
}

/// The kernel's device number and the inode of a file.
pub(crate) fn identity(path: &Path) -> (u32, u64) {
    let meta = std::fs::metadata(path).unwrap();
    let device = meta.dev();
    let kernel = (rustix::fs::major(device) << 20) | rustix::fs::minor(device);
    (kernel, meta.ino())
}

/// Evidence attributed to files and disks.
pub(crate) fn charged(seen: &Observation, files: &[&Path], disks: Vec<u32>) -> Evidence {
    let files: BTreeSet<_> = files.iter().map(|path| identity(path)).collect();
    assemble(
        &seen.raw,
        &Charge {
            disks,
            files: Some(files),
            unnamed_calls: false,
        },
    )
}

/// Until the shell waits in `read(0, ...)`: its earlier calls do not belong to the program.
fn wait_until_blocked(pid: u32) {
    let path = format!("/proc/{pid}/syscall");
    until(|| {
        let call = std::fs::read_to_string(&path).unwrap();
        if call.starts_with("0 0x0 ") {
            Ok(())
        } else {
            Err(call)
        }
    });
}
