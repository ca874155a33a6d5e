//! Tables and rings that are too small say so, and what they could not keep apart is
//! still counted.

use std::process::Command;

use iostrata_core::evidence::{RawEvidence, SyscallRow};
use iostrata_core::observe::Stream;
use iostrata_tracer::ebpf::{EbpfObserver, Limits};

use crate::session::{observe, workload};

#[test]
fn a_table_without_room_counts_under_other_and_says_so() {
    let limits = Limits {
        calls: 4,
        ..Limits::default()
    };
    let raw = writing_to_32_files(limits, 100);
    assert!(raw.losses.unattributed_calls > 0);
}

/// Few calls on a file come through the ring, and are summed by its reader. A file is kept whole
/// or not at all, so nothing is too low.
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
    let kept = seen
        .ops
        .iter()
        .filter(|op| op.call.name() == "write")
        .count() as u64;
    assert!(seen.raw.losses.stream > 0);
    assert!(kept + seen.raw.losses.stream >= 20_000);
}
