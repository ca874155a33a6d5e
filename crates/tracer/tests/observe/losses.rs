//! Tables and rings that are too small say so, and what they could not keep apart is
//! still counted.

use std::process::Command;

use iostrata_core::observe::Stream;
use iostrata_tracer::ebpf::{EbpfObserver, Limits};

use crate::session::{observe, workload};

#[test]
fn a_table_without_room_counts_under_other_and_says_so() {
    without_room(Limits::default(), 100);
}

/// Few calls on a file come through the ring, and are summed by its reader.
#[test]
fn a_reader_without_room_counts_under_other_and_says_so() {
    without_room(Limits::trace(), 3);
}

fn without_room(limits: Limits, writes_to_each: u64) {
    let dir = tempfile::tempdir_in("/var/tmp").expect("a directory");
    let limits = Limits { calls: 4, ..limits };
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
    assert!(seen.raw.losses.unattributed_calls > 0);
    let writes: u64 = seen
        .raw
        .syscalls
        .expect("system calls are seen")
        .iter()
        .filter(|row| row.name == "pwrite64")
        .map(|row| row.count)
        .sum();
    assert_eq!(
        writes,
        4 * 8 * writes_to_each,
        "no call is lost, only its file"
    );
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
