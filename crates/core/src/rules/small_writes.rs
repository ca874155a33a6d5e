//! `small-writes`: many writes of less than a page, one after the other.

use super::calls::{PAGE_BYTES, Sum, WRITES};
use super::draft::Found;
use super::pieces::{is_gatherable, small_pieces};
use super::rule::{Rule, Subject};
use crate::trace::{FileRow, TraceResult};

pub(super) static RULE: Rule = Rule {
    id: "small-writes",
    looks_for: "many small sequential writes to one file",
    in_short: "write through a 64 KiB buffer",
    advice: "batch them in a 64 KiB buffer: BufWriter, setvbuf, bufio.Writer, \
             BufferedOutputStream, open(..., buffering=65536)",
    at: Subject::Files(small),
};

/// From this size on larger pieces gain next to nothing: the time per call, some hundred
/// nanoseconds, is small compared with copying them, some microseconds.
const BETTER_BYTES: u64 = 64 * 1024;

/// With fewer writes per sync than this, a buffer of that size would delay records that must be
/// durable one by one; that is the subject of the rules about syncs.
const WRITES_PER_SYNC: u64 = 8;

fn small(_: &TraceResult, file: &FileRow) -> Option<Found> {
    let writes = Sum::of(file, WRITES);
    let is_synchronous = file.history.as_deref().is_some_and(|it| it.synchronous);
    if !is_gatherable(&writes, PAGE_BYTES)
        || is_synchronous
        || file.syncs.count.saturating_mul(WRITES_PER_SYNC) > writes.stats.count
    {
        return None;
    }
    // Writes wait for memory or the device just as long with larger pieces.
    Some(small_pieces(file, &writes, true, BETTER_BYTES))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{file, in_order, run, scattered, the_only, with_calls};
    use super::*;
    use crate::trace::{FileHistory, Remedy};

    fn log(count: u64, piece_bytes: u64) -> FileRow {
        with_calls(
            file("/data/log"),
            vec![in_order("write", count, piece_bytes, 0.25)],
        )
    }

    #[test]
    fn bytes_one_by_one_are_to_be_gathered() {
        let draft = the_only(RULE.look(&run(vec![log(100_000, 1)])));
        assert_eq!(
            draft.remedy,
            Some((
                Remedy::LargerPieces {
                    write: true,
                    piece_bytes: 1,
                    count: 100_000,
                    better_bytes: 65_536
                },
                b"/data".to_vec()
            ))
        );
        assert_eq!(draft.finding.cost_s, Some(0.25));
        assert_eq!(draft.finding.saving_s, None, "it is measured");
        assert_eq!(draft.finding.title, "100,000 writes of 1 B on average");
    }

    #[test]
    fn only_time_on_the_cpu_is_saved() {
        let mut log = log(100_000, 1);
        log.calls[0].row.blocked_s = Some(0.248);
        assert_eq!(RULE.look(&run(vec![log])), vec![], "2 ms are left");
    }

    #[test]
    fn whole_pages_few_writes_and_scattered_writes_are_none() {
        let scattered = with_calls(
            file("/data/table"),
            vec![scattered("pwrite64", 100_000, 100, 0.25)],
        );
        assert_eq!(
            RULE.look(&run(vec![log(100_000, 4096), log(999, 1), scattered])),
            vec![]
        );
    }

    #[test]
    fn records_that_are_synced_one_by_one_are_a_question_of_syncs() {
        let mut synced = log(8_000, 100);
        synced.syncs.count = 1_001;
        let synchronous = FileRow {
            history: Some(Box::new(FileHistory {
                synchronous: true,
                ..FileHistory::default()
            })),
            ..log(8_000, 100)
        };
        assert_eq!(RULE.look(&run(vec![synced.clone(), synchronous])), vec![]);
        synced.syncs.count = 1_000;
        assert_eq!(RULE.look(&run(vec![synced])).len(), 1);
    }

    #[test]
    fn writes_to_the_kernel_are_not_stored() {
        let mut tuned = log(100_000, 1);
        tuned.filesystem = "sysfs".to_owned();
        assert_eq!(RULE.look(&run(vec![tuned])), vec![]);
    }
}
