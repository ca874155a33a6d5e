//! Rules of transfers, the page cache, metadata and the device.

use iostrata_core::gap::Gap;
use iostrata_core::trace::TraceResult;
use iostrata_report::words;

use super::{assert_told_apart, built};
use crate::place::{Place, is_root, run};

#[test]
fn cache_thrash() {
    assert_told_apart("cache-thrash", false);
}

#[test]
fn cold_start() {
    assert_told_apart("cold-start", true);
}

#[test]
fn copy_loop() {
    assert_told_apart("copy-loop", false);
}

#[test]
fn direct_io_small() {
    assert_told_apart("direct-io-small", false);
}

#[test]
fn directory_reread() {
    assert_told_apart("directory-reread", false);
}

#[test]
fn end_of_file_polling() {
    assert_told_apart("end-of-file-polling", false);
}

#[test]
fn failed_lookups() {
    assert_told_apart("failed-lookups", false);
}

#[test]
fn lost_events() {
    assert_told_apart("lost-events", false);
}

#[test]
fn many_tiny_files() {
    assert_told_apart("many-tiny-files", false);
}

#[test]
fn mapped_file_faults() {
    assert_told_apart("mapped-file-faults", false);
}

#[test]
fn medium_transfers() {
    assert_told_apart("medium-transfers", false);
}

#[test]
fn open_close_churn() {
    assert_told_apart("open-close-churn", false);
}

#[test]
fn prefetch_wasted() {
    assert_told_apart("prefetch-wasted", false);
}

#[test]
fn queue_depth_one() {
    assert_told_apart("queue-depth-one", false);
}

#[test]
fn re_read() {
    assert_told_apart("re-read", false);
}

#[test]
fn read_before_write() {
    assert_told_apart("read-before-write", false);
}

#[test]
fn rewritten_range() {
    assert_told_apart("rewritten-range", false);
}

#[test]
fn seek_per_transfer() {
    assert_told_apart("seek-per-transfer", false);
}

#[test]
fn small_reads() {
    assert_told_apart("small-reads", false);
}

#[test]
fn small_writes() {
    assert_told_apart("small-writes", false);
}

/// Ten logs in turn, by one thread: more than either back end remembers. What is not known must not
/// look like what does not exist.
#[test]
fn an_order_that_is_not_known_is_said() {
    if !is_root("observing a program in the kernel") {
        return;
    }
    let place = Place::new();
    let program = built("../in_turn.c", &place);
    for backend in ["ebpf", "ptrace"] {
        for (logs, is_known) in [("7", true), ("10", false)] {
            let result = place.path("result.json");
            let mut command = place.iostrata(&format!("trace --backend {backend} --json"));
            command.arg(&result).arg("--").arg(&program);
            command.arg(place.dir()).args([logs, "5000"]);
            run(command).expect(0);
            let result = std::fs::read(result).unwrap();
            let result: TraceResult = serde_json::from_slice(&result).unwrap();
            let said = result
                .missing
                .iter()
                .find(|gap| words::missing(&gap.what).to_string().contains("order"));
            let calls = result.files.iter().flat_map(|file| &file.calls);
            let pairs: u64 = calls.flat_map(|call| &call.shape).map(|it| it.pairs).sum();
            assert_eq!(
                pairs >= 7 * 4_999,
                is_known,
                "{backend}, {logs} logs: {pairs}"
            );
            let of = |gap: &Gap| words::missing(&gap.what).to_string();
            let expected = (!is_known).then(|| "the order of 50,000 transfers".to_owned());
            assert_eq!(said.map(of), expected, "{backend}, {logs} logs");
        }
    }
}

#[test]
fn temp_file_churn() {
    assert_told_apart("temp-file-churn", false);
}

#[test]
fn uring_single_operations() {
    assert_told_apart("uring-single-operations", false);
}

#[test]
fn unpaid_at_exit() {
    assert_told_apart("unpaid-at-exit", false);
}

#[test]
fn waits_for_lock() {
    assert_told_apart("waits-for-lock", false);
}

#[test]
fn write_amplification() {
    assert_told_apart("write-amplification", false);
}

#[test]
fn small_pipe_transfers() {
    assert_told_apart("small-pipe-transfers", false);
}
