//! Claims about cost, decided by the timing runs.

use super::view::{Kind, TargetRows};
use crate::answer::Verdict;
use crate::judge::figures::duration;
use crate::judge::{Compared, Finding, Missing};
use crate::sync::{Call, Write};

/// `append 71.0 µs, overwrite 50.2 µs per sync, 1.41 times (95 %: 1.38–1.45)`.
fn figures(compared: &Compared, names: [&str; 2]) -> String {
    format!(
        "{} {}, {} {} per sync, {}",
        names[0],
        duration(compared.median_s[0]),
        names[1],
        duration(compared.median_s[1]),
        compared.times()
    )
}

/// Whether the first kind takes longer than the second.
fn dearer(target: &TargetRows<'_>, kinds: [Kind; 2], names: [&str; 2]) -> Result<Finding, Missing> {
    let [ours, theirs] = target.at(kinds)?;
    let compared = ours.time_over(&theirs)?;
    let mut because = format!("{}: {}", ours.size(), figures(&compared, names));
    if let (Ok(asked), Ok(others)) = (ours.requests(), theirs.requests()) {
        because = format!("{because}; {asked} against {others}");
    }
    Ok(Finding {
        verdict: compared.longer(),
        because,
        rows: vec![ours.number, theirs.number],
    })
}

pub(super) fn append_costs_more(target: &TargetRows<'_>) -> Result<Finding, Missing> {
    let kinds = [Write::Append, Write::Overwrite].map(|write| (Call::Fsync, write, 1));
    dearer(target, kinds, ["append", "overwrite"])
}

pub(super) fn preallocation_helps(target: &TargetRows<'_>) -> Result<Finding, Missing> {
    let kinds = [Write::Append, Write::Preallocated].map(|write| (Call::Fsync, write, 1));
    dearer(target, kinds, ["append", "preallocated"])
}

pub(super) fn fdatasync_of_an_append(target: &TargetRows<'_>) -> Result<Finding, Missing> {
    fdatasync_is_cheaper(target, Write::Append)
}

pub(super) fn fdatasync_of_an_overwrite(target: &TargetRows<'_>) -> Result<Finding, Missing> {
    fdatasync_is_cheaper(target, Write::Overwrite)
}

/// Decided by what the device is asked for where that was seen: with the same
/// requests fdatasync saves nothing, whatever two noisy times say.
fn fdatasync_is_cheaper(target: &TargetRows<'_>, write: Write) -> Result<Finding, Missing> {
    let kinds = [Call::Fsync, Call::Fdatasync].map(|call| (call, write, 1));
    let [fsync, fdatasync] = target.at(kinds)?;
    let compared = fsync.time_over(&fdatasync)?;
    let (verdict, reason) = match (fsync.requests(), fdatasync.requests()) {
        // Far cheaper with the same requests: nothing seen here explains it.
        (Ok(full), Ok(data)) if full.same_as(&data) && compared.far_longer() => (
            Verdict::Inconclusive,
            format!("yet both ask the device for {full}"),
        ),
        (Ok(full), Ok(data)) if full.same_as(&data) => {
            (Verdict::Refuted, format!("both ask the device for {full}"))
        }
        (Ok(full), Ok(data)) => (
            compared.longer(),
            format!("fsync asks for {full}, fdatasync for {data}"),
        ),
        (Err(why), _) | (_, Err(why)) => (compared.longer(), why.why().to_owned()),
    };
    let times = figures(&compared, ["fsync", "fdatasync"]);
    Ok(Finding {
        verdict,
        because: format!("{}: {times}; {reason}", fsync.size()),
        rows: vec![fsync.number, fdatasync.number],
    })
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{Made, judge};
    use super::*;

    const FAST: [f64; 5] = [50.0, 50.1, 50.2, 50.3, 50.4];
    const SLOW: [f64; 5] = [70.0, 71.0, 72.0, 73.0, 74.0];
    /// Lies within [`SLOW`].
    const SLOW_TOO: [f64; 5] = [69.5, 70.5, 72.5, 73.5, 74.5];

    fn pair(kinds: [(Call, Write); 2], times: [&[f64]; 2]) -> Vec<Made> {
        kinds
            .into_iter()
            .zip(times)
            .map(|((call, write), times)| Made::new(call, write).timed(times))
            .collect()
    }

    #[test]
    fn an_append_against_what_is_there_already() {
        for (claim, other) in [
            (append_costs_more as super::super::Judge, Write::Overwrite),
            (preallocation_helps, Write::Preallocated),
        ] {
            let kinds = [(Call::Fsync, Write::Append), (Call::Fsync, other)];
            for (times, due) in [
                ([&SLOW[..], &FAST], Verdict::Holds),
                ([&FAST, &SLOW], Verdict::Refuted),
                ([&SLOW, &SLOW_TOO], Verdict::Inconclusive),
            ] {
                let found = judge(claim, pair(kinds, times)).unwrap();
                assert_eq!((found.verdict, found.rows), (due, vec![1, 2]));
            }
            let few = judge(claim, pair(kinds, [&SLOW[..3], &FAST[..3]])).unwrap_err();
            assert!(few.why().starts_with("3 and 3 timing runs"), "{few:?}");
        }
    }

    #[test]
    fn figures_are_per_sync() {
        let kinds = [
            (Call::Fsync, Write::Append),
            (Call::Fsync, Write::Overwrite),
        ];
        let found = judge(append_costs_more, pair(kinds, [&SLOW, &FAST])).unwrap();
        assert!(
            found
                .because
                .contains("append 72.0 µs, overwrite 50.2 µs per sync, 1.43 times"),
            "{}",
            found.because
        );
    }

    #[test]
    fn fdatasync_is_judged_by_what_it_asks_for() {
        let full = [1, 1, 1, 0, 2];
        let less = [1, 0, 0, 0, 1];
        for (fsync, fdatasync, asked, due) in [
            (&SLOW, &FAST, Some(less), Verdict::Holds),
            (&FAST, &SLOW, Some(less), Verdict::Refuted),
            (&SLOW, &SLOW_TOO, Some(less), Verdict::Inconclusive),
            (&SLOW, &SLOW_TOO, Some(full), Verdict::Refuted),
            (&SLOW, &FAST, Some(full), Verdict::Inconclusive),
            (&SLOW, &FAST, None, Verdict::Holds),
            (&SLOW, &SLOW_TOO, None, Verdict::Inconclusive),
        ] {
            let kinds = [Call::Fsync, Call::Fdatasync].map(|call| (call, Write::Overwrite));
            let mut made = pair(kinds, [fsync, fdatasync]);
            if let Some(asked) = asked {
                made[0] = made[0].clone().asking(full);
                made[1] = made[1].clone().asking(asked);
            }
            let found = judge(fdatasync_of_an_overwrite, made).unwrap();
            assert_eq!(found.verdict, due, "{asked:?} {}", found.because);
        }
    }
}
