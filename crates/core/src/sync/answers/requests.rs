//! Claims about what reaches the device, decided by its requests.

use super::view::{Numbered, Requests, TargetRows};
use crate::answer::Verdict;
use crate::judge::figures::{number, rate};
use crate::judge::{Finding, Missing};
use crate::sync::{Call, Write};

/// What counts as about five.
const ABOUT_FIVE: std::ops::RangeInclusive<f64> = 4.5..=5.5;

/// From this share of a lone writer's transactions on, several writers share none.
const SHARES_NONE: f64 = 0.97;
/// Up to this share they share some: between them it may be chance.
const SHARES_SOME: f64 = 0.9;

/// The article saw five writes a sync with `sar`, which counts a flush as a write.
pub(super) fn about_five(target: &TargetRows<'_>) -> Result<Finding, Missing> {
    let [row] = target.at([(Call::Fsync, Write::Append, 1)])?;
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

pub(super) fn o_dsync_equals_fdatasync(target: &TargetRows<'_>) -> Result<Finding, Missing> {
    equal(target, Call::ODsync, Call::Fdatasync)
}

pub(super) fn o_sync_equals_fsync(target: &TargetRows<'_>) -> Result<Finding, Missing> {
    equal(target, Call::OSync, Call::Fsync)
}

/// Whether two calls ask for the same, for every way of writing that has both.
fn equal(target: &TargetRows<'_>, flag: Call, call: Call) -> Result<Finding, Missing> {
    let mut differing = Vec::new();
    let mut rows = Vec::new();
    let mut missing = None;
    let mut same = Vec::new();
    for write in Write::ALL {
        let pair = target.at([(flag, write, 1), (call, write, 1)]);
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
    let [fsync] = target.at([(Call::Fsync, Write::Append, 1)])?;
    let others = [Call::Sync, Call::Syncfs].map(|call| target.at([(call, Write::Append, 1)]));
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
        told.push(format!("{} {asked}", row.row.row.case.call.as_str()));
    }
    let numbers = found.iter().map(|row| row.number);
    Ok(Finding {
        verdict: Verdict::from_fact(more),
        because: format!("per sync: {}", told.join("; ")),
        rows: [fsync.number].into_iter().chain(numbers).collect(),
    })
}

/// What makes a sync's changes valid on this file system, and how often it is asked
/// for: commit blocks, else log writes, else flushes where nothing is committed.
fn transactions(lone: &Requests) -> &'static str {
    let asked = |cause: &&str| lone.of(cause) >= 0.5;
    ["commit", "journal"]
        .iter()
        .find(|cause| asked(cause))
        .unwrap_or(&"flushes")
}

/// One writer against the most that were measured.
pub(super) fn writers_share(target: &TargetRows<'_>) -> Result<Finding, Missing> {
    let kind = |writers| (Call::Fsync, Write::Append, writers);
    let appends = |row: &&Numbered<'_>| {
        let case = row.row.row.case;
        (case.call, case.write) == (Call::Fsync, Write::Append)
    };
    let counts = target.rows.iter().filter(appends);
    let most = counts.map(|row| row.row.row.case.writers).max();
    let most = most
        .filter(|writers| *writers > 1)
        .ok_or_else(|| Missing::Rows(format!("no row of several writers on {}", target.name)))?;
    let [lone, many] = target.at([kind(1), kind(most)])?;
    let (alone, together) = (lone.requests()?, many.requests()?);
    let cause = transactions(&alone);
    let (each, shared) = (alone.of(cause), together.of(cause));
    if each <= 0.0 {
        return Err(Missing::Evidence(format!(
            "a lone writer's sync makes no {cause} (row {})",
            lone.number
        )));
    }
    let verdict = match shared / each {
        share if share <= SHARES_SOME => Verdict::Holds,
        share if share >= SHARES_NONE => Verdict::Refuted,
        _ => Verdict::Inconclusive,
    };
    let noun = if cause == "flushes" {
        "flushes"
    } else if cause == "commit" {
        "commit blocks"
    } else {
        "log writes"
    };
    let rates = lone.row.syncs_per_s.zip(many.row.syncs_per_s);
    let rates = rates.map_or_else(String::new, |(one, all)| {
        format!("; {} and {} syncs/s", number(one), number(all))
    });
    Ok(Finding {
        verdict,
        because: format!(
            "{noun} per sync: {} of one writer, {} of {most}{rates}",
            rate(each),
            rate(shared)
        ),
        rows: vec![lone.number, many.number],
    })
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{Made, judge};
    use super::*;

    const EXT4: [u64; 5] = [1, 1, 1, 0, 2];

    fn append(call: Call) -> Made {
        Made::new(call, Write::Append)
    }

    #[test]
    fn five_is_data_journal_commit_and_two_flushes() {
        let found = judge(about_five, vec![append(Call::Fsync).asking(EXT4)]).unwrap();
        assert_eq!((found.verdict, found.rows), (Verdict::Holds, vec![1]));
        let due = "5 per sync: 1 data, 1 journal, 1 commit, 0 metadata writes and 2 flushes, \
                   12,288 B";
        assert!(found.because.ends_with(due), "{}", found.because);
        let without = vec![append(Call::Fsync).asking([1, 0, 0, 1, 1])];
        assert_eq!(
            judge(about_five, without).unwrap().verdict,
            Verdict::Refuted
        );
        let among = |others| vec![append(Call::Fsync).asking(EXT4).among(others)];
        assert!(judge(about_five, among(50)).is_ok());
        let why = judge(about_five, among(51)).unwrap_err().into_why();
        assert!(why.starts_with("others made 51 requests"), "{why}");
        let lossy = vec![append(Call::Fsync).asking(EXT4).losing(3)];
        let why = judge(about_five, lossy).unwrap_err().into_why();
        assert!(why.starts_with("3 events were lost"), "{why}");
    }

    #[test]
    fn a_flag_is_its_call_in_every_way_of_writing() {
        let made = |dsync| {
            vec![
                append(Call::Fdatasync).asking(EXT4),
                append(Call::ODsync).asking(EXT4),
                Made::new(Call::Fdatasync, Write::Overwrite).asking([1, 0, 0, 0, 1]),
                Made::new(Call::ODsync, Write::Overwrite).asking(dsync),
            ]
        };
        let found = judge(o_dsync_equals_fdatasync, made([1, 0, 0, 0, 1])).unwrap();
        assert_eq!(found.verdict, Verdict::Holds);
        assert_eq!(found.rows, [2, 1, 4, 3]);
        let found = judge(o_dsync_equals_fdatasync, made([1, 1, 1, 0, 2])).unwrap();
        assert_eq!(found.verdict, Verdict::Refuted);
        assert!(
            found.because.contains("overwrite: o_dsync"),
            "{}",
            found.because
        );
        let none = judge(o_sync_equals_fsync, made([1, 0, 0, 0, 1])).unwrap_err();
        assert!(matches!(none, Missing::Rows(_)));
    }

    #[test]
    fn sync_may_ask_for_more() {
        let made = |sync| {
            vec![
                append(Call::Fsync).asking([1, 0, 0, 1, 1]),
                append(Call::Sync).asking(sync),
            ]
        };
        let more = judge(sync_asks_for_more, made([1, 0, 0, 3, 1])).unwrap();
        assert_eq!((more.verdict, more.rows), (Verdict::Holds, vec![1, 2]));
        let same = judge(sync_asks_for_more, made([1, 0, 0, 1, 1])).unwrap();
        assert_eq!(same.verdict, Verdict::Refuted);
        let fewer = judge(sync_asks_for_more, made([1, 0, 0, 0, 1])).unwrap();
        assert_eq!(fewer.verdict, Verdict::Refuted);
        let alone = judge(sync_asks_for_more, vec![append(Call::Fsync).asking(EXT4)]);
        assert!(matches!(alone, Err(Missing::Rows(_))));
    }

    #[test]
    fn transactions_are_shared_when_there_are_fewer_than_syncs() {
        let made = |commits: u64| {
            let mut many = append(Call::Fsync).writers(8).asking(EXT4);
            many.counts().commit.count = commits;
            vec![append(Call::Fsync).asking(EXT4), many]
        };
        let verdict = |commits| judge(writers_share, made(commits)).unwrap().verdict;
        // Of 1,000 syncs.
        assert_eq!(verdict(300), Verdict::Holds);
        assert_eq!(verdict(1000), Verdict::Refuted);
        assert_eq!(verdict(940), Verdict::Inconclusive);
        let alone = judge(writers_share, vec![append(Call::Fsync).asking(EXT4)]);
        assert!(matches!(alone, Err(Missing::Rows(_))));
    }

    #[test]
    fn where_nothing_is_committed_flushes_are_shared() {
        let mut many = append(Call::Fsync).writers(8).asking([1, 0, 0, 1, 1]);
        many.counts().flushes = 500;
        let made = vec![append(Call::Fsync).asking([1, 0, 0, 1, 1]), many];
        let found = judge(writers_share, made).unwrap();
        assert_eq!(found.verdict, Verdict::Holds);
        assert!(
            found
                .because
                .starts_with("flushes per sync: 1 of one writer, 0.50 of 8")
        );
    }
}
