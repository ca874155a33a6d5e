//! Far more files than there is room for.

use std::collections::HashSet;
use std::process::Command;

use iostrata_core::top::Interval;
use rustix::process::geteuid;

use crate::watched::Watch;

const FILES: u64 = 100_000;

/// Makes, writes and closes files, one after the other.
const MAKE: &str = "
import os, sys
for number in range(int(sys.argv[2])):
    fd = os.open(f'{sys.argv[1]}/{number}', os.O_WRONLY | os.O_CREAT)
    os.write(fd, b'x')
    os.close(fd)
";

#[test]
fn memory_is_bounded_and_every_call_is_counted() {
    if !geteuid().is_root() {
        crate::skip::skip("observing programs in the kernel needs root");
        return;
    }
    let dir = tempfile::tempdir_in("/dev/shm").unwrap();
    let watch = Watch::begin_alone();
    let mut python = Command::new("python3");
    python
        .args(["-c", MAKE])
        .arg(dir.path())
        .arg(FILES.to_string());
    let mut python = python.spawn().unwrap();
    let pid = python.id();
    assert!(python.wait().unwrap().success());
    let text_bytes = watch.text_bytes();
    let intervals = watch.end();
    let rows = intervals.iter().flat_map(|interval| &interval.processes);
    let rows = rows.filter(|row| row.pid == pid);
    let writes = rows.map(|row| row.work.calls.unwrap().writes);
    let (count, bytes) = writes.fold((0, 0), |sum, of| {
        (sum.0 + of.stats.count, sum.1 + of.stats.bytes)
    });
    assert_eq!((count, bytes), (FILES, FILES), "with or without their file");
    keeps_within_limit(&intervals, text_bytes);
    // What found no room for its file is said.
    let here = dir.path().to_str().unwrap();
    let files = intervals.iter().flat_map(|interval| &interval.files);
    let of_files = files.filter(|row| row.path.as_ref().is_some_and(|path| path.starts_with(here)));
    let known: u64 = of_files
        .map(|row| row.work.calls.unwrap().writes.stats.count)
        .sum();
    let lost: u64 = intervals.iter().map(|interval| interval.lost_events).sum();
    assert!(
        known > 0 && (known == FILES || lost > 0),
        "{known} of files, {lost} lost"
    );
}

/// docs/top.md says what it keeps at most.
fn keeps_within_limit(intervals: &[Interval], text_bytes: u64) {
    let peak = intervals.last().unwrap().own.peak_resident_bytes;
    assert!(
        peak - text_bytes <= 96 << 20,
        "{peak}, {text_bytes} of text"
    );
}

/// Enough for several intervals, each with hundreds of them.
const PROCESSES: u64 = 6000;

/// As many processes, each of which writes one byte to a file.
const FORK: &str = "for ((n = 0; n < $1; n++)); do (echo >\"$0\"); done";

/// As in a build: each lives for some milliseconds, and most are gone when their interval ends.
#[test]
fn short_processes_are_counted_and_memory_stays() {
    if !geteuid().is_root() {
        crate::skip::skip("observing programs in the kernel needs root");
        return;
    }
    let dir = tempfile::tempdir_in("/dev/shm").unwrap();
    let file = dir.path().join("file");
    let watch = Watch::begin_alone();
    let mut bash = Command::new("bash");
    bash.args(["-c", FORK])
        .arg(&file)
        .arg(PROCESSES.to_string());
    assert!(bash.status().unwrap().success());
    let text_bytes = watch.text_bytes();
    let intervals = watch.end();
    let files = intervals.iter().flat_map(|interval| &interval.files);
    let path = file.to_str();
    let rows = files.filter(|row| row.path.as_deref() == path);
    let (mut writes, mut pids) = (0, HashSet::<u32>::new());
    for row in rows {
        writes += row.work.calls.unwrap().writes.stats.count;
        pids.extend(&row.pids);
    }
    let lost: u64 = intervals.iter().map(|interval| interval.lost_events).sum();
    let missed = PROCESSES - writes;
    assert!(missed <= lost, "{missed} are missing, {lost} are said");
    assert!(
        pids.len() as u64 + lost >= PROCESSES,
        "{} processes",
        pids.len()
    );
    let named = intervals.iter().flat_map(|interval| &interval.processes);
    let mut named = named.filter(|row| pids.contains(&row.pid));
    assert!(named.all(|row| row.name.as_deref() == Some("bash")));
    let peak = intervals.last().unwrap().own.peak_resident_bytes;
    assert!(
        peak - text_bytes <= 96 << 20,
        "{peak}, {text_bytes} of text"
    );
}
