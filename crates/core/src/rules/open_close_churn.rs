//! `open-close-churn`: one file opened and closed repeatedly.

use super::calls::{OPENS, Sum};
use super::draft::{Found, cited};
use super::rule::{Rule, Subject};

use crate::noun::counted;
use crate::trace::{FileRow, TraceResult};

pub(super) static RULE: Rule = Rule {
    id: "open-close-churn",
    looks_for: "one file opened and closed repeatedly by the same processes",
    in_short: "open it once and keep the descriptor",
    advice: "open it once and keep the descriptor; to detect log rotation, compare fstat with \
             stat periodically, or reopen on a signal",
    at: Subject::Files(churned),
};

/// Each process opens for itself, and a few times are normal for programs built from independent
/// libraries.
const PER_PROCESS: u64 = 10;

fn churned(run: &TraceResult, file: &FileRow) -> Option<Found> {
    let usual = run.processes.max(1).saturating_mul(PER_PROCESS);
    let opens = Sum::of(file, OPENS);
    let closes = Sum::of(file, &["close"]);
    let extra = opens
        .stats
        .count
        .checked_sub(usual)
        .filter(|&extra| extra > 0)?;
    let cost_s = opens.stats.time_s + closes.stats.time_s;
    let what = format!(
        "opened {} and closed {} by {}, for {} and {}",
        counted(opens.stats.count, "time"),
        counted(closes.stats.count, "time"),
        counted(run.processes, "process"),
        counted(file.reads.count, "read"),
        counted(file.writes.count, "write")
    );
    Some(Found {
        title: format!("opened and closed {}", counted(opens.stats.count, "time")),
        evidence: vec![cited(what, opens.name, file, opens.stats.count)],
        cost_s,
        saving_s: Some(cost_s * extra as f64 / opens.stats.count as f64),
        ..Found::default()
    })
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{file, file_call, run, the_only, with_calls};
    use super::*;

    fn reopened(opens: u64) -> FileRow {
        with_calls(
            file("/data/log"),
            vec![
                file_call("openat", opens, 0, 0.03),
                file_call("close", opens, 0, 0.01),
            ],
        )
    }

    #[test]
    fn all_opens_but_the_usual_ones_are_saved() {
        let draft = the_only(RULE.look(&run(vec![reopened(1000)])));
        let saving_s = draft.finding.saving_s.unwrap();
        assert!((saving_s - 0.04 * 0.99).abs() < 1e-9, "{saving_s}");
    }

    #[test]
    fn every_process_opens_for_itself() {
        let mut build = run(vec![reopened(1000)]);
        build.processes = 100;
        assert_eq!(RULE.look(&build), vec![]);
    }
}
