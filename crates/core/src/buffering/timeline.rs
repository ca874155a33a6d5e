//! When the bytes of each step became visible to another process, and when durable.

use serde::{Deserialize, Serialize};

use super::Mode;
use crate::evidence::Cause;
use crate::observe::RequestEvent;
use crate::op::FileId;

/// One step of a writer, as seen from outside.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Step {
    /// The program's action, such as `write 1` or `close`.
    pub action: String,
    /// Bytes the program had written so far.
    pub written_bytes: u64,
    /// Bytes a second process could read after the step.
    pub visible_bytes: u64,
    /// Bytes the device had made durable after the step, see [`durable_bytes`];
    /// `null` without block evidence.
    pub durable_bytes: Option<u64>,
}

/// The steps of one mode on one target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Timeline {
    pub mode: Mode,
    pub target: String,
    /// Bytes per record.
    pub size_bytes: u64,
    /// In order.
    pub steps: Vec<Step>,
}

/// How long an append-only file had become when one of its writes returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    /// Length of the file after the write, bytes.
    pub end_bytes: u64,
    /// When the write returned, nanoseconds of `CLOCK_MONOTONIC`.
    pub returned_ns: u64,
}

/// Bytes from the start of `file` whose contents the device had made durable by
/// `at_ns`. The file is appended to only, as `writes` (by time) tell.
///
/// A byte counts when all of this holds:
/// - the write that brought it had returned before a data request for its place
///   in the file was issued: an earlier request of the same page carried the page
///   without it;
/// - that request completed by `at_ns`;
/// - the request was itself forced unit access, or a flush was issued to the same
///   disk after its completion and completed by `at_ns`;
/// - the same is true of every byte before it.
///
/// A forced-unit-access write of another block, such as a commit block, makes
/// nothing else durable. Where a device has no FUA the kernel clears the flag and
/// issues a flush request instead (`block/blk-flush.c`), which counts here.
///
/// **Not claimed:** that the bytes would be found after a crash. That also needs
/// the file's size and its block mapping, which travel in journal, commit or
/// metadata requests. And 0 does not prove a loss: contents that the file system
/// keeps in its metadata or log (btrfs inline extents, ext4 `inline_data` and
/// `data=journal`) are never data requests, and a device without a volatile
/// cache needs no flush and is sent none.
pub fn durable_bytes(
    requests: &[RequestEvent],
    file: FileId,
    writes: &[Written],
    at_ns: u64,
) -> u64 {
    let mut durable: Vec<(u64, u64)> = requests
        .iter()
        .filter(|request| request.cause == Cause::Data && request.file == Some(file))
        .filter(|request| request.completed_ns <= at_ns)
        .filter(|request| request.forced_unit_access || flushed(request, requests, at_ns))
        .map(|request| {
            let end = request.file_offset_bytes.saturating_add(request.bytes);
            (
                request.file_offset_bytes,
                end.min(length_at(writes, request.issued_ns)),
            )
        })
        .collect();
    durable.sort_unstable();
    durable.iter().fold(0, |prefix, &(start, end)| {
        if start <= prefix {
            prefix.max(end)
        } else {
            prefix
        }
    })
}

fn flushed(data: &RequestEvent, requests: &[RequestEvent], at_ns: u64) -> bool {
    requests.iter().any(|request| {
        request.cause == Cause::Flush
            && request.disk == data.disk
            && request.issued_ns >= data.completed_ns
            && request.completed_ns <= at_ns
    })
}

/// Length of the file when a request was issued, from the writes that had returned.
fn length_at(writes: &[Written], at_ns: u64) -> u64 {
    writes
        .iter()
        .filter(|write| write.returned_ns <= at_ns)
        .map(|write| write.end_bytes)
        .max()
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::Phase;

    const DISK: u32 = 7;
    const FILE: FileId = FileId {
        device: DISK,
        inode: 12,
        generation: 1,
    };
    const PAGE: u64 = 4096;

    /// Three pages, written at 5 ns.
    const WHOLE: [Written; 1] = [Written {
        end_bytes: 3 * PAGE,
        returned_ns: 5,
    }];

    fn request(cause: Cause, issued_ns: u64, completed_ns: u64) -> RequestEvent {
        RequestEvent {
            disk: DISK,
            phase: Phase::Running,
            cause,
            file: None,
            file_offset_bytes: 0,
            sector: 0,
            bytes: 0,
            forced_unit_access: false,
            issued_ns,
            completed_ns,
        }
    }

    fn data(pages: std::ops::Range<u64>, issued_ns: u64, completed_ns: u64) -> RequestEvent {
        RequestEvent {
            file: Some(FILE),
            file_offset_bytes: pages.start * PAGE,
            bytes: (pages.end - pages.start) * PAGE,
            ..request(Cause::Data, issued_ns, completed_ns)
        }
    }

    fn flush(issued_ns: u64, completed_ns: u64) -> RequestEvent {
        request(Cause::Flush, issued_ns, completed_ns)
    }

    #[test]
    fn data_without_a_flush_is_not_durable() {
        assert_eq!(durable_bytes(&[data(0..3, 10, 20)], FILE, &WHOLE, 100), 0);
        assert_eq!(durable_bytes(&[], FILE, &WHOLE, 100), 0);
    }

    #[test]
    fn a_flush_covers_what_had_completed_when_it_was_issued() {
        let after = [data(0..3, 10, 20), flush(20, 30)];
        assert_eq!(durable_bytes(&after, FILE, &WHOLE, 30), 3 * PAGE);
        let too_early = [data(0..3, 10, 20), flush(19, 30)];
        assert_eq!(durable_bytes(&too_early, FILE, &WHOLE, 100), 0);
    }

    #[test]
    fn a_flush_counts_once_it_has_completed() {
        let requests = [data(0..3, 10, 20), flush(21, 40)];
        assert_eq!(durable_bytes(&requests, FILE, &WHOLE, 39), 0);
        assert_eq!(durable_bytes(&requests, FILE, &WHOLE, 40), 3 * PAGE);
    }

    #[test]
    fn a_flush_of_another_disk_does_not_count() {
        let other = RequestEvent {
            disk: 8,
            ..flush(21, 30)
        };
        assert_eq!(
            durable_bytes(&[data(0..3, 10, 20), other], FILE, &WHOLE, 100),
            0
        );
    }

    #[test]
    fn a_hole_ends_the_prefix() {
        let requests = [data(0..1, 10, 20), data(2..3, 10, 20), flush(21, 30)];
        assert_eq!(durable_bytes(&requests, FILE, &WHOLE, 100), PAGE);
        let no_start = [data(1..3, 10, 20), flush(21, 30)];
        assert_eq!(durable_bytes(&no_start, FILE, &WHOLE, 100), 0);
    }

    #[test]
    fn data_written_with_forced_unit_access_needs_no_flush() {
        let forced = RequestEvent {
            forced_unit_access: true,
            ..data(0..2, 10, 20)
        };
        assert_eq!(durable_bytes(&[forced], FILE, &WHOLE, 20), 2 * PAGE);
        assert_eq!(durable_bytes(&[forced], FILE, &WHOLE, 19), 0);
    }

    #[test]
    fn a_forced_commit_block_makes_no_data_durable() {
        let commit = RequestEvent {
            forced_unit_access: true,
            ..request(Cause::Commit, 21, 30)
        };
        assert_eq!(
            durable_bytes(&[data(0..3, 10, 20), commit], FILE, &WHOLE, 100),
            0
        );
    }

    #[test]
    fn overlapping_requests_join_in_any_order() {
        let requests = [
            data(1..3, 12, 22),
            data(0..2, 10, 20),
            data(0..1, 11, 21),
            flush(23, 30),
        ];
        assert_eq!(durable_bytes(&requests, FILE, &WHOLE, 100), 3 * PAGE);
    }

    #[test]
    fn requests_of_other_files_and_causes_do_not_count() {
        let neighbour = FileId { inode: 13, ..FILE };
        let requests = [
            RequestEvent {
                file: Some(neighbour),
                ..data(0..1, 10, 20)
            },
            RequestEvent {
                cause: Cause::Journal,
                ..data(0..1, 10, 20)
            },
            flush(21, 30),
        ];
        assert_eq!(durable_bytes(&requests, FILE, &WHOLE, 100), 0);
    }

    /// Two one-byte records in one page: the page was durable before the second
    /// byte was in it.
    #[test]
    fn a_page_holds_only_what_had_been_written_when_it_was_issued() {
        let writes = [
            Written {
                end_bytes: 1,
                returned_ns: 5,
            },
            Written {
                end_bytes: 2,
                returned_ns: 50,
            },
        ];
        let first = [data(0..1, 10, 20), flush(21, 30)];
        assert_eq!(durable_bytes(&first, FILE, &writes, 60), 1);
        let both = [
            data(0..1, 10, 20),
            flush(21, 30),
            data(0..1, 51, 60),
            flush(61, 70),
        ];
        assert_eq!(durable_bytes(&both, FILE, &writes, 69), 1);
        assert_eq!(durable_bytes(&both, FILE, &writes, 70), 2);
    }
}
