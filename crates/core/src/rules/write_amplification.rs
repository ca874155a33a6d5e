//! `write-amplification`: few bytes written, into many pages.

use super::calls::{Sum, WRITES, is_on_disk};
use super::draft::{Found, cited, said};
use super::rule::{Rule, Subject};
use crate::bytes::{grouped, short};
use crate::trace::{Cited, FileRow, TraceResult};

pub(super) static RULE: Rule = Rule {
    id: "write-amplification",
    looks_for: "scattered writes that dirty many times their size",
    in_short: "write related data together",
    advice: "write related data together: append records to a log, or sort them by offset and \
             fill pages; file systems write whole pages",
    at: Subject::Files(amplified),
};

/// Up to this ratio it is the normal effect of 4 KiB pages on records of a kilobyte.
const LEAST_TIMES: u64 = 4;

/// Any device writes less than this in 10 ms.
const LEAST_BYTES: u64 = 8 << 20;

fn amplified(_: &TraceResult, file: &FileRow) -> Option<Found> {
    let dirtied = file.evidence.cache.dirtied_bytes?;
    let written = file.writes.bytes;
    if !is_on_disk(file)
        || written == 0
        || dirtied < written.saturating_mul(LEAST_TIMES)
        || dirtied - written < LEAST_BYTES
        // Stores to a mapping make pages dirty without a write.
        || file.history.as_deref().is_some_and(|it| it.mapped_to_write.is_any())
    {
        return None;
    }
    let writes = Sum::of(file, WRITES);
    // A page that is synced after each record is dirtied again each time.
    if file.syncs.count.saturating_mul(8) > writes.stats.count {
        return None;
    }
    let times = dirtied as f64 / written as f64;
    let what = format!(
        "{} writes of {} on average dirtied {}: {times:.0}x what they wrote",
        grouped(writes.moves()),
        short(writes.piece_bytes()),
        short(dirtied)
    );
    let mut evidence = vec![cited(what, writes.name, file, writes.moves())];
    evidence.extend(on_device(file));
    let cost_s = writes.stats.time_s + file.syncs.time_s;
    Some(Found {
        title: format!(
            "{} dirtied {} in the page cache",
            short(written),
            short(dirtied)
        ),
        evidence,
        cost_s,
        // These calls dirty a page, and write it back in a sync.
        saving_s: Some(cost_s * (1.0 - 1.0 / times)),
        ..Found::default()
    })
}

fn on_device(file: &FileRow) -> Option<Cited> {
    let running = file.evidence.exact_device()?.data;
    let after = file
        .evidence
        .exact_device_after_exit()
        .map_or(0, |it| it.data.bytes);
    Some(said(format!(
        "the device wrote {} for it while the program ran and {} afterwards",
        short(running.bytes),
        short(after)
    )))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{file, run, scattered, the_only, with_calls};
    use super::*;
    use crate::evidence::DeviceRange;
    use crate::trace::{FileHistory, Happened};

    fn scattered_bytes(dirtied_bytes: u64) -> FileRow {
        let writes = scattered("pwrite64", 10_000, 1, 0.04);
        let mut file = with_calls(file("/data/bitmap"), vec![writes]);
        file.evidence.cache.dirtied_bytes = Some(dirtied_bytes);
        file
    }

    #[test]
    fn a_byte_in_each_page_dirties_them_all() {
        let mut sparse = scattered_bytes(40_960_000);
        sparse.evidence.device = Some(DeviceRange::default());
        let draft = the_only(RULE.look(&run(vec![sparse])));
        assert_eq!(
            draft.finding.title,
            "9.8 KiB dirtied 39.1 MiB in the page cache"
        );
        let saving_s = draft.finding.saving_s.unwrap();
        assert!(
            (saving_s - 0.04 * 4095.0 / 4096.0).abs() < 1e-9,
            "{saving_s}"
        );
        assert!(
            draft.finding.evidence[1]
                .what
                .contains("the device wrote 0 B")
        );
    }

    #[test]
    fn what_is_little_mapped_or_synced_is_none() {
        let mut synced = scattered_bytes(40_960_000);
        synced.syncs.count = 1251;
        let mapped = FileRow {
            history: Some(Box::new(FileHistory {
                mapped_to_write: Happened {
                    count: 1,
                    ..Happened::default()
                },
                ..FileHistory::default()
            })),
            ..scattered_bytes(40_960_000)
        };
        assert_eq!(
            RULE.look(&run(vec![synced, mapped, scattered_bytes(8 << 20)])),
            vec![]
        );
    }

    #[test]
    fn not_seen_is_not_said() {
        let mut unseen = scattered_bytes(0);
        unseen.evidence.cache.dirtied_bytes = None;
        assert_eq!(RULE.look(&run(vec![unseen])), vec![]);
    }
}
