//! Claims about what reaches the device, decided by its requests.

use super::{APPEND, Numbered, TargetRows};
use crate::answer::Verdict;
use crate::evidence::Cause;
use crate::figures::{number, rate};
use crate::judge::{Finding, Missing, Requests};
use crate::sync::{SyncCall, Write};

const ABOUT_FIVE: std::ops::RangeInclusive<f64> = 4.5..=5.5;

/// From this share of a lone writer's transactions on, several writers share none.
const SHARES_NONE: f64 = 0.97;
/// Up to this share they share some: between them it may be chance.
const SHARES_SOME: f64 = 0.9;

/// The article saw five writes a sync with `sar`, which counts a flush as a write.
pub(super) fn about_five(target: &TargetRows<'_>) -> Result<Finding, Missing> {
    let [row] = target.smallest([APPEND])?;
    let requests = row.requests()?;
    let bytes = row.row.per_sync.bytes.unwrap_or(0.0);
    Ok(Finding {
        verdict: Verdict::from_fact(ABOUT_FIVE.contains(&requests.sum())),
        because: format!(
            "{}: {} per sync: {requests}, {} B",
            row.size(),
            rate(requests.sum()),
            number(bytes)
        ),
        rows: vec![row.number],
    })
}

/// Whether two calls ask for the same, for every way of writing that has both.
pub(super) fn equal(
    target: &TargetRows<'_>,
    flag: SyncCall,
    call: SyncCall,
) -> Result<Finding, Missing> {
    let mut differing = Vec::new();
    let mut rows = Vec::new();
    let mut missing = None;
    let mut same = Vec::new();
    for write in Write::ALL {
        let pair = target.smallest([(flag, write, 1), (call, write, 1)]);
        let [ours, theirs] = match pair {
            Ok(pair) => pair,
            Err(why) => {
                missing.get_or_insert(why);
                continue;
            }
        };
        let (asked, due) = (ours.requests()?, theirs.requests()?);
        rows.extend([ours.number, theirs.number]);
        if asked.same_as(&due) {
            same.push(format!("{} {asked}", write.as_str()));
        } else {
            differing.push(format!(
                "{}: {} {asked}, {} {due}",
                write.as_str(),
                flag.as_str(),
                call.as_str()
            ));
        }
    }
    if let (true, Some(why)) = (rows.is_empty(), missing) {
        return Err(why);
    }
    let told = if differing.is_empty() {
        &same
    } else {
        &differing
    };
    Ok(Finding {
        verdict: Verdict::from_fact(differing.is_empty()),
        because: format!("per sync: {}", told.join("; ")),
        rows,
    })
}

/// `sync` and `syncfs` against `fsync`, by the sum of requests.
pub(super) fn sync_asks_for_more(target: &TargetRows<'_>) -> Result<Finding, Missing> {
    let [fsync] = target.smallest([APPEND])?;
    let others =
        [SyncCall::Sync, SyncCall::Syncfs].map(|call| target.smallest([(call, Write::Append, 1)]));
    let found: Vec<Numbered<'_>> = others.iter().flatten().flatten().copied().collect();
    if let ([], [Err(why), _]) = (found.as_slice(), &others) {
        return Err(why.clone());
    }
    let due = fsync.requests()?;
    let mut told = vec![format!("fsync {due}")];
    let mut more = true;
    for row in &found {
        let asked = row.requests()?;
        more &= asked.sum() > due.sum() && !asked.same_as(&due);
        told.push(format!("{} {asked}", row.case().call.as_str()));
    }
    let numbers = found.iter().map(|row| row.number);
    Ok(Finding {
        verdict: Verdict::from_fact(more),
        because: format!("per sync: {}", told.join("; ")),
        rows: [fsync.number].into_iter().chain(numbers).collect(),
    })
}

/// The request that makes a sync's changes valid on this file system, and its number
/// for: commit blocks, else log writes, else flushes where nothing is committed.
fn transactions(lone: &Requests) -> Cause {
    [Cause::Commit, Cause::Journal]
        .into_iter()
        .find(|cause| lone.by(*cause) >= 0.5)
        .unwrap_or(Cause::Flush)
}

/// One appending writer, and the most that were measured.
pub(super) fn lone_and_many<'a>(target: &TargetRows<'a>) -> Result<[Numbered<'a>; 2], Missing> {
    let kind = |writers| (SyncCall::Fsync, Write::Append, writers);
    let appends = |row: &&Numbered<'_>| {
        let case = row.case();
        (case.call, case.write) == (SyncCall::Fsync, Write::Append)
    };
    let counts = target.rows.iter().filter(appends);
    let most = counts.map(|row| row.case().writers).max();
    let most = most.filter(|writers| *writers > 1).ok_or(Missing::Rows)?;
    target.smallest([kind(1), kind(most)])
}

/// Requests that writers may share.
pub(super) struct Shared {
    pub(super) noun: &'static str,
    /// Of one writer's sync, and of one of several writers'.
    pub(super) alone: String,
    pub(super) together: String,
    /// The second as a share of the first.
    share: f64,
}

pub(super) fn shared(lone: &Numbered<'_>, many: &Numbered<'_>) -> Result<Shared, Missing> {
    let (alone, together) = (lone.requests()?, many.requests()?);
    let cause = transactions(&alone);
    let (each, shared) = (alone.by(cause), together.by(cause));
    if each <= 0.0 {
        return Err(Missing::Evidence(format!(
            "a single writer's sync causes no {} (row {})",
            cause.name(),
            lone.number
        )));
    }
    let noun = match cause {
        Cause::Flush => "flushes",
        Cause::Commit => "commit blocks",
        _ => "log writes",
    };
    Ok(Shared {
        noun,
        alone: rate(each),
        together: rate(shared),
        share: shared / each,
    })
}

/// One writer against the most that were measured.
pub(super) fn writers_share(target: &TargetRows<'_>) -> Result<Finding, Missing> {
    let [lone, many] = lone_and_many(target)?;
    let shared = shared(&lone, &many)?;
    let most = many.case().writers;
    let rates = lone.row.syncs_per_s.zip(many.row.syncs_per_s);
    let rates = rates.map_or_else(String::new, |(one, all)| {
        format!("; {} and {} syncs/s", number(one), number(all))
    });
    Ok(Finding {
        verdict: Verdict::by(shared.share, ..=SHARES_SOME, SHARES_NONE..),
        because: format!(
            "{} per sync: {} of one writer, {} of {most}{rates}",
            shared.noun, shared.alone, shared.together
        ),
        rows: vec![lone.number, many.number],
    })
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{judge, made};
    use super::*;
    use crate::lab::Row;
    use crate::sync::Case;

    const EXT4: [u64; 5] = [1, 1, 1, 0, 2];

    fn append(call: SyncCall) -> Row<Case> {
        made(call, Write::Append)
    }

    #[test]
    fn five_is_data_journal_commit_and_two_flushes() {
        let found = judge("about five", vec![append(SyncCall::Fsync).asking(EXT4)]).unwrap();
        assert_eq!((found.verdict, found.rows), (Verdict::Holds, vec![1]));
        let due = "5 per sync: 1 data, 1 journal, 1 commit, 0 metadata writes and 2 flushes, \
                   12,288 B";
        assert!(found.because.ends_with(due), "{}", found.because);
        let without = vec![append(SyncCall::Fsync).asking([1, 0, 0, 1, 1])];
        assert_eq!(
            judge("about five", without).unwrap().verdict,
            Verdict::Refuted
        );
        let among = |others| vec![append(SyncCall::Fsync).asking(EXT4).among(others)];
        assert!(judge("about five", among(50)).is_ok());
        let why = judge("about five", among(51)).unwrap_err().into_why();
        assert!(why.contains(r#""disturbed":{"requests":51"#), "{why}");
        let lossy = vec![append(SyncCall::Fsync).asking(EXT4).losing(3)];
        let why = judge("about five", lossy).unwrap_err().into_why();
        assert!(why.starts_with("3 events lost"), "{why}");
    }

    #[test]
    fn a_flag_is_its_call_in_every_way_of_writing() {
        let made = |dsync| {
            vec![
                append(SyncCall::Fdatasync).asking(EXT4),
                append(SyncCall::ODsync).asking(EXT4),
                made(SyncCall::Fdatasync, Write::Overwrite).asking([1, 0, 0, 0, 1]),
                made(SyncCall::ODsync, Write::Overwrite).asking(dsync),
            ]
        };
        let found = judge("O_DSYNC makes", made([1, 0, 0, 0, 1])).unwrap();
        assert_eq!(found.verdict, Verdict::Holds);
        assert_eq!(found.rows, [2, 1, 4, 3]);
        let found = judge("O_DSYNC makes", made([1, 1, 1, 0, 2])).unwrap();
        assert_eq!(found.verdict, Verdict::Refuted);
        assert!(
            found.because.contains("overwrite: o_dsync"),
            "{}",
            found.because
        );
        let none = judge("O_SYNC makes the same", made([1, 0, 0, 0, 1]));
        assert_eq!(none, Err(Missing::Rows));
    }

    #[test]
    fn sync_may_ask_for_more() {
        let made = |sync| {
            vec![
                append(SyncCall::Fsync).asking([1, 0, 0, 1, 1]),
                append(SyncCall::Sync).asking(sync),
            ]
        };
        let more = judge("sync and syncfs", made([1, 0, 0, 3, 1])).unwrap();
        assert_eq!((more.verdict, more.rows), (Verdict::Holds, vec![1, 2]));
        let same = judge("sync and syncfs", made([1, 0, 0, 1, 1])).unwrap();
        assert_eq!(same.verdict, Verdict::Refuted);
        let fewer = judge("sync and syncfs", made([1, 0, 0, 0, 1])).unwrap();
        assert_eq!(fewer.verdict, Verdict::Refuted);
        let alone = judge(
            "sync and syncfs",
            vec![append(SyncCall::Fsync).asking(EXT4)],
        );
        assert!(matches!(alone, Err(Missing::Rows)));
    }

    #[test]
    fn transactions_are_shared_when_there_are_fewer_than_syncs() {
        let made = |commits: u64| {
            let mut many = append(SyncCall::Fsync).writers(8).asking(EXT4);
            many.change_device(|device| device.commit.count = commits);
            vec![append(SyncCall::Fsync).asking(EXT4), many]
        };
        let verdict = |commits| judge("share transactions", made(commits)).unwrap().verdict;
        // Of 1,000 syncs.
        assert_eq!(verdict(300), Verdict::Holds);
        assert_eq!(verdict(1000), Verdict::Refuted);
        assert_eq!(verdict(940), Verdict::Inconclusive);
        let alone = judge(
            "share transactions",
            vec![append(SyncCall::Fsync).asking(EXT4)],
        );
        assert!(matches!(alone, Err(Missing::Rows)));
    }

    #[test]
    fn where_nothing_is_committed_flushes_are_shared() {
        let mut many = append(SyncCall::Fsync).writers(8).asking([1, 0, 0, 1, 1]);
        many.change_device(|device| device.flushes = 500);
        let made = vec![append(SyncCall::Fsync).asking([1, 0, 0, 1, 1]), many];
        let found = judge("share transactions", made).unwrap();
        assert_eq!(found.verdict, Verdict::Holds);
        assert!(
            found
                .because
                .starts_with("flushes per sync: 1 of one writer, 0.50 of 8")
        );
    }
}
