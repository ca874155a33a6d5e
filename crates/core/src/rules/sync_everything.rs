//! `sync-everything`: `sync` or `syncfs`, which write the data of all programs.

use super::draft::{Found, said};
use super::rule::{Rule, Subject};

use crate::figures::duration;
use crate::noun::counted;
use crate::trace::{CallRow, Cited, TraceResult};

pub(super) static RULE: Rule = Rule {
    id: "sync-everything",
    looks_for: "sync and syncfs, which write the data of every program",
    in_short: "sync only the files that matter",
    advice: "call fsync or fdatasync on the files that matter, and fsync on the directory of each \
             new file; for many files of one file system, call syncfs once",
    at: Subject::Run(look),
};

fn look(run: &TraceResult) -> Option<Found> {
    let is_whole = |row: &&CallRow| ["sync", "syncfs"].contains(&row.name.as_str());
    let rows: Vec<&CallRow> = run.syscalls.iter().filter(is_whole).collect();
    let count: u64 = rows.iter().map(|row| row.stats.count).sum();
    let cost_s = rows
        .iter()
        .map(|row| row.stats.time_s)
        .sum::<f64>()
        .min(run.wall_s);
    let own_s = own_s(run).filter(|_| count > 0)?;
    let mut evidence: Vec<Cited> = rows.iter().map(|row| cited(row)).collect();
    evidence.push(said(format!(
        "the disk spent {own_s:.3} s on the program's own data"
    )));
    Some(Found {
        title: format!("sync of every program's data, {}", counted(count, "time")),
        evidence,
        cost_s,
        saving_s: Some((cost_s - own_s).max(0.0)),
        // The requests may include metadata and flushes of other programs.
        is_unproven: run.other_requests != Some(0),
        ..Found::default()
    })
}

/// The disk's time for the program's own data, seconds; `None` when requests were not observed.
/// Metadata and flushes have no owner: one of each counts for each write.
fn own_s(run: &TraceResult) -> Option<f64> {
    // Everything that may be its own: the rest is the minimum cost of others.
    let device = run.evidence.device?.at_most;
    let histories = run.files.iter().filter_map(|file| file.history.as_deref());
    let writes: u64 = histories.map(|history| history.writes).sum();
    let share = |count: u64, time_s: f64| time_s * writes.min(count) as f64 / count.max(1) as f64;
    let told_s = device.data.time_s + device.journal.time_s + device.commit.time_s;
    let metadata_s = share(device.metadata.count, device.metadata.time_s);
    Some(told_s + metadata_s + share(device.flushes, device.flush_time_s))
}

fn cited(row: &CallRow) -> Cited {
    Cited {
        call: Some(row.name.clone()),
        count: Some(row.stats.count),
        ..said(format!(
            "{} took {}, called {}",
            row.name,
            duration(row.stats.time_s),
            counted(row.stats.count, "time")
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{call, changed, run, the_only};
    use super::*;
    use crate::evidence::{DeviceCounts, RequestCount};
    use crate::trace::FileHistory;

    fn with_sync(time_s: f64) -> TraceResult {
        let history = FileHistory {
            writes: 2,
            ..FileHistory::default()
        };
        let mut run = run(vec![changed("/data/x", history)]);
        run.syscalls = vec![call("sync", 10, 0, time_s), call("fsync", 1, 0, 1.0)];
        run.evidence.device = Some(
            DeviceCounts {
                data: RequestCount {
                    count: 2,
                    bytes: 8192,
                    time_s: 0.01,
                },
                metadata: RequestCount {
                    count: 100,
                    bytes: 409_600,
                    time_s: 0.1,
                },
                flushes: 10,
                flush_time_s: 0.05,
                ..DeviceCounts::default()
            }
            .into(),
        );
        run
    }

    #[test]
    fn the_time_for_others_is_saved() {
        let draft = the_only(RULE.look(&with_sync(0.3)));
        // 0.01 s for the data, two flushes of 5 ms, two metadata requests of 1 ms.
        let saving_s = draft.finding.saving_s.unwrap();
        assert!((saving_s - 0.278).abs() < 1e-9, "{saving_s}");
        assert_eq!(draft.finding.evidence[0].call.as_deref(), Some("sync"));
        assert_eq!(draft.finding.evidence[0].count, Some(10));
    }

    #[test]
    fn nothing_is_said_when_it_was_their_own_data_or_nobody_knows() {
        assert_eq!(RULE.look(&with_sync(0.02)), vec![]);
        let mut unseen = with_sync(0.3);
        unseen.evidence.device = None;
        assert_eq!(RULE.look(&unseen), vec![]);
    }
}
