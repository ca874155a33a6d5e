//! What is there after a trial.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::place::{Place, entries};
use crate::trials::{Failure, Fault, holds};

/// What a result, a page or a table was before.
pub(crate) const OLD: &str = "an older result\n";

/// The kernel ends mounts and devices of a killed process in its own time.
const PATIENCE: Duration = Duration::from_secs(30);

/// Fails when a mount, a loop device or a process is left; what is left is ended.
pub(crate) fn check_kernel(place: &Place) -> Result<(), Failure> {
    let begun = Instant::now();
    while place.in_use() != (0, 0) {
        if begun.elapsed() > PATIENCE {
            let (devices, users) = place.in_use();
            let left = end_processes(place);
            return Err(Failure::new(
                Fault::Left,
                format!("{devices} loop devices, {users} processes and mounts: {left:?}"),
            ));
        }
        sleep(Duration::from_millis(5));
    }
    let pinned = pinned();
    holds(pinned.is_empty(), Fault::Left, || {
        format!("pinned: {pinned:?}")
    })
}

/// Those whose `HOME` is in the place, by number.
fn end_processes(place: &Place) -> Vec<String> {
    let home = place.path("home").display().to_string();
    let mut ended = Vec::new();
    for process in entries(Path::new("/proc")) {
        let environment = fs::read(process.join("environ")).unwrap_or_default();
        if !String::from_utf8_lossy(&environment).contains(&home) {
            continue;
        }
        let line = fs::read(process.join("cmdline")).unwrap_or_default();
        ended.push(String::from_utf8_lossy(&line).replace('\0', " "));
        let number = process.file_name().unwrap().to_str().unwrap().parse();
        if let Some(pid) = number.ok().and_then(Pid::from_raw) {
            _ = kill_process(pid, Signal::KILL);
        }
    }
    ended
}

/// Objects of eBPF that outlive their process, by our names.
fn pinned() -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir("/sys/fs/bpf") else {
        return Vec::new();
    };
    let paths = entries.flatten().map(|entry| entry.path());
    paths
        .filter(|path| path.to_string_lossy().contains("iostrata"))
        .collect()
}

/// Fails when the measured directory, or that for temporary files, holds something that the trial
/// does not expect. Results that were kept unasked are whole. Returns what is left for the next run of
/// the same name to remove.
pub(crate) fn check_files(
    place: &Place,
    expected: &[PathBuf],
    is_for_the_next: impl Fn(&Path) -> bool,
) -> Result<Vec<PathBuf>, Failure> {
    let mut left = Vec::new();
    let state = place.path("home/.local");
    check_kept(&state)?;
    let found = [entries(&place.dir()), entries(&place.path("home"))];
    for path in found.concat() {
        if expected.contains(&path) || path == state {
            continue;
        }
        holds(is_for_the_next(&path), Fault::Left, || {
            format!("{} is left", path.display())
        })?;
        left.push(path);
    }
    Ok(left)
}

/// Fails when a result that was kept is not whole, or anything else is beside it.
fn check_kept(state: &Path) -> Result<(), Failure> {
    let directory = state.join("state/iostrata/results");
    let kept = fs::read_dir(directory).into_iter().flatten().flatten();
    let kept = kept.map(|entry| entry.path());
    for path in kept {
        let text = fs::read(&path).unwrap_or_default();
        let is_named = path.extension().is_some_and(|end| end == "json");
        holds(is_named && is_json(&text), Fault::Half, || {
            format!("{} is kept, {} B", path.display(), text.len())
        })?;
    }
    Ok(())
}

/// Waits until what a killed `lab` left is removed, or nobody is going to do so.
pub(crate) fn wait_for_the_guard(place: &Place) {
    let last = Instant::now() + Duration::from_secs(20);
    while entries(&place.dir()).iter().any(|path| is_scratch(path)) && Instant::now() < last {
        sleep(Duration::from_millis(10));
    }
}

/// Whether it is named as a scratch directory of `lab`.
pub(crate) fn is_scratch(path: &Path) -> bool {
    let name = path.file_name().unwrap().to_string_lossy();
    name.starts_with(".iostrata-")
}

/// A text is the old one, or whole as `is_whole` says. After success it is whole.
pub(crate) fn check_text(
    path: &Path,
    has_succeeded: bool,
    is_whole: impl Fn(&[u8]) -> bool,
) -> Result<(), Failure> {
    let Ok(text) = fs::read(path) else {
        return Err(Failure::new(
            Fault::Half,
            format!("{} is gone", path.display()),
        ));
    };
    let is_old = text == OLD.as_bytes();
    holds(!(is_old && has_succeeded), Fault::Code, || {
        format!("{} is still the old one", path.display())
    })?;
    holds(is_old || is_whole(&text), Fault::Half, || {
        let beginning = String::from_utf8_lossy(&text[..text.len().min(200)]).into_owned();
        format!("half of {}: {} B, {beginning}", path.display(), text.len())
    })
}

/// Whether it is JSON to its end.
pub(crate) fn is_json(text: &[u8]) -> bool {
    serde_json::from_slice::<serde_json::Value>(text).is_ok() && text.ends_with(b"\n")
}
