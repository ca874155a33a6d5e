//! Leftovers of a run on this machine.

use crate::wait::until;
use std::fs;
use std::path::{Path, PathBuf};

/// Images and mounts belong to this directory alone, so that other tests do not interfere.
pub(crate) fn own_directory() -> tempfile::TempDir {
    tempfile::Builder::new()
        .prefix("scratch-test-")
        .tempdir_in("/var/tmp")
        .unwrap()
}

pub(crate) fn is_root(why: &str) -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        crate::skip::skip(format_args!("{why} needs root"));
    }
    root
}

/// Entries of a directory.
pub(crate) fn entries(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

/// Loop devices whose image is or was in `dir`: what `losetup -a` shows.
pub(crate) fn loop_devices(dir: &Path) -> Vec<PathBuf> {
    let devices = entries(Path::new("/sys/block")).into_iter();
    devices
        .filter(|device| mentions(&device.join("loop/backing_file"), dir))
        .collect()
}

/// Processes and threads that see a mount in `dir`.
pub(crate) fn mounts(dir: &Path) -> Vec<PathBuf> {
    let processes = entries(Path::new("/proc")).into_iter();
    processes
        .map(|process| process.join("task"))
        .filter_map(|tasks| Some(fs::read_dir(tasks).ok()?.flatten()))
        .flatten()
        .map(|task| task.path())
        .filter(|task| mentions(&task.join("mountinfo"), dir))
        .collect()
}

fn mentions(file: &Path, dir: &Path) -> bool {
    fs::read_to_string(file).is_ok_and(|text| text.contains(dir.to_str().unwrap()))
}

/// Waits until nothing in the kernel belongs to `dir` any more.
#[track_caller]
pub(crate) fn assert_kernel_is_clean(dir: &Path) {
    until(|| match (loop_devices(dir), mounts(dir)) {
        (devices, mounts) if devices.is_empty() && mounts.is_empty() => Ok(()),
        left => Err(left),
    });
}

/// Nothing at all is left, not even a directory.
#[track_caller]
pub(crate) fn assert_nothing_left(dir: &Path) {
    assert_kernel_is_clean(dir);
    assert_eq!(entries(dir), Vec::<PathBuf>::new());
}

/// Waits until the process is gone. The id must be of a process that the victim started.
#[track_caller]
pub(crate) fn assert_process_ends(pid: &str) {
    // A zombie has no command line any more; init reaps it at some point.
    until(|| match fs::read(format!("/proc/{pid}/cmdline")) {
        Ok(text) if text.starts_with(b"sleep") => Err(pid),
        _ => Ok(()),
    });
}
