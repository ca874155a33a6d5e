//! Tables and rings that are too small report it, and what they could not keep separately is still
//! counted.

use std::process::Command;

use iostrata_core::evidence::{BlockRow, Cause, RawEvidence, Submitter, SyscallRow};
use iostrata_core::observe::{Observer as _, Stream};
use iostrata_tracer::ebpf::{EbpfObserver, Limits};

use crate::session::{identity, observe, started, workload};

#[test]
fn a_table_without_room_counts_under_other_and_says_so() {
    let limits = Limits {
        calls: 4,
        ..Limits::default()
    };
    let raw = writing_to_32_files(limits, 100);
    assert!(raw.losses.unattributed_calls > 0);
}

/// Few calls on a file come through the ring, and its reader sums them. A file is kept completely
/// or not at all, so no count is too low.
#[test]
fn of_more_files_than_are_kept_the_calls_are_summed() {
    let limits = Limits {
        kept_files: 8,
        ..Limits::trace()
    };
    let raw = writing_to_32_files(limits, 3);
    assert_eq!(raw.losses.total(), 0);
    let (mut kept, mut summed) = (0, 0);
    for row in writes(&raw) {
        match row.file {
            Some(file) => {
                assert_eq!(row.count, 3, "{row:?}");
                assert!(!raw.summed.files.contains(&file));
                kept += 1;
            }
            None => summed += row.count,
        }
    }
    assert!((8..=10).contains(&kept), "{kept} files that were written");
    assert_eq!(kept * 3 + summed, 4 * 8 * 3);
    assert!(raw.summed.calls >= summed);
}

fn writes(raw: &RawEvidence) -> impl Iterator<Item = &SyscallRow> {
    let calls = raw.syscalls.iter().flatten();
    calls.filter(|row| row.name == "pwrite64")
}

fn writing_to_32_files(limits: Limits, writes_to_each: u64) -> RawEvidence {
    let dir = tempfile::tempdir_in("/var/tmp").expect("a directory");
    let mut observer = EbpfObserver::with_limits(limits).expect("eBPF");
    let (seen, status) = observe(
        &mut observer,
        Stream::default(),
        Command::new(workload("tree")).arg(dir.path()).args([
            "4",
            "8",
            &writes_to_each.to_string(),
            "1",
        ]),
        || (),
    );
    assert!(status.success());
    let writes: u64 = writes(&seen.raw).map(|row| row.count).sum();
    assert_eq!(
        writes,
        4 * 8 * writes_to_each,
        "no call is lost, only its file"
    );
    seen.raw
}

#[test]
fn a_tiny_ring_reports_every_event_it_dropped() {
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    let limits = Limits {
        ring_bytes: 4096,
        ..Limits::default()
    };
    let mut observer = EbpfObserver::with_limits(limits).unwrap();
    let (seen, _) = observe(
        &mut observer,
        Stream {
            calls: true,
            requests: false,
        },
        Command::new(workload("append"))
            .arg(dir.path().join("f"))
            .args(["20000", "1", "none"]),
        || (),
    );
    let kept = seen.ops.iter().filter(|op| op.call.name == "write").count() as u64;
    assert!(seen.raw.losses.stream > 0);
    assert!(kept + seen.raw.losses.stream >= 20_000);
}

/// Requests for the contents of a file with 300 records, each of which was synced before the next.
fn synced_records(bios: u32) -> (RawEvidence, Vec<BlockRow>) {
    let dir = tempfile::tempdir_in("/var/tmp").expect("a directory");
    let path = dir.path().join("f");
    let limits = Limits {
        bios,
        ..Limits::default()
    };
    let mut observer = EbpfObserver::with_limits(limits).expect("eBPF");
    let mut append = Command::new(workload("append"));
    append.arg(&path).args(["300", "4096", "fsync"]);
    let (seen, _) = observe(&mut observer, Stream::default(), &mut append, || ());
    let file = identity(&path);
    let is_of_file = |row: &&BlockRow| {
        row.cause == Cause::Data && row.file.is_some_and(|of| (of.device, of.inode) == file)
    };
    let rows = seen.raw.block.iter().flatten().filter(is_of_file);
    let rows = rows.copied().collect();
    (seen.raw, rows)
}

/// Each is forgotten at its end: later ones at other addresses get its room.
#[test]
fn whose_requests_they_are_is_known_of_more_than_have_room() {
    let (raw, rows) = synced_records(64);
    assert_eq!(raw.losses.block, 0);
    assert_eq!(rows.iter().map(|row| row.count).sum::<u64>(), 300);
    assert!(
        rows.iter().all(|row| row.submitter == Submitter::Run),
        "{rows:?}"
    );
}

#[test]
fn requests_that_seem_to_be_others_for_want_of_room_are_counted() {
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    let limits = Limits {
        bios: 1,
        ..Limits::default()
    };
    let mut observer = EbpfObserver::with_limits(limits).unwrap();
    // One file with many extents on the device, written by one sync.
    let mut scatter = Command::new("dd");
    scatter.arg("if=/dev/zero").args([
        &format!("of={}", dir.path().join("f").display()),
        "bs=64M",
        "count=1",
        "conv=fsync",
    ]);
    let (seen, _) = observe(&mut observer, Stream::default(), &mut scatter, || ());
    assert!(seen.raw.losses.block > 0);
}

/// A thread that executes a program takes its process's start time (`de_thread`, fs/exec.c), and is
/// still the same task when all threads are scanned.
#[test]
fn a_thread_that_becomes_another_program_is_not_taken_for_one_that_has_ended() {
    const TIMES: u64 = 2_000;
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    let path = dir.path().join("f");
    let mut execs = Command::new(workload("execs"));
    execs.arg(&path).args([&TIMES.to_string(), "thread"]);
    let mut observer = EbpfObserver::open().unwrap();
    let mut child = started(&mut observer, Stream::default(), &mut execs);
    while child.try_wait().unwrap().is_none() {
        // A scan goes by id, and may miss a task that changes it this often.
        observer.alive().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    observer.program_ended().unwrap();
    let seen = observer.stop().unwrap();
    let written = seen.raw.syscalls.iter().flatten();
    let written = written.filter(|row| row.name == "write" && row.returned > 0);
    assert_eq!(written.map(|row| row.count).sum::<u64>(), TIMES + 1);
}
