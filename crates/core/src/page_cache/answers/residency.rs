//! Residency, and bytes from the device.

use super::{Numbered, TargetRows, in_state};
use crate::answer::Verdict;
use crate::bytes::short;
use crate::figures::rate;
use crate::judge::{Finding, Missing, numbers};
use crate::page_cache::{PageCacheRow, Reader, State};

/// Share of the bytes read that must have come from the device for a cold read.
/// Read-ahead may fetch more; less means that something else had the rest.
const FROM_DEVICE_SHARE: f64 = 0.95;

/// Rows with the share of the file that was resident afterwards, or why it is not known.
fn after<'a>(target: &TargetRows<'a>, state: State) -> Result<Vec<(Numbered<'a>, f64)>, Missing> {
    let rows = in_state(target, state)?.into_iter();
    let known: Vec<(Numbered<'a>, f64)> = rows
        .filter_map(|row| Some((row, row.row.figures.resident_after_share?)))
        .collect();
    if known.is_empty() {
        return Err(Missing::Evidence(format!(
            "residency after the read is unknown on {}",
            target.name
        )));
    }
    Ok(known)
}

/// `100 % of 1 MiB after read, 0 % ...`, of the least cached row and the most cached one.
fn least_and_most(known: &[(Numbered<'_>, f64)]) -> String {
    let percent = |(row, share): &(Numbered<'_>, f64)| {
        format!(
            "{} % of {} after {}",
            rate(share * 100.0),
            row.size(),
            row.case().reader.as_str()
        )
    };
    let order = |a: &&(Numbered<'_>, f64), b: &&(Numbered<'_>, f64)| f64::total_cmp(&a.1, &b.1);
    let (least, most) = (known.iter().min_by(order), known.iter().max_by(order));
    match (least, most) {
        (Some(least), Some(most)) if least.1 < most.1 => {
            format!("between {} and {}", percent(least), percent(most))
        }
        (Some(only), _) => percent(only),
        (None, _) => String::new(),
    }
}

/// Every whole-file read from cold.
pub(super) fn all_is_cached(target: &TargetRows<'_>) -> Result<Finding, Missing> {
    let mut known = after(target, State::Cold)?;
    // Random reads were not asked for the whole file.
    known.retain(|(row, _)| row.case().reader != Reader::PreadRandom);
    if known.is_empty() {
        return Err(Missing::Rows);
    }
    Ok(Finding {
        verdict: Verdict::from_fact(known.iter().all(|(_, share)| *share >= 1.0)),
        because: format!("{} from cold, by cachestat", least_and_most(&known)),
        rows: numbers(known.iter().map(|(row, _)| row)),
    })
}

/// No page afterwards.
pub(super) fn dontcache_leaves_nothing(target: &TargetRows<'_>) -> Result<Finding, Missing> {
    let known = after(target, State::Dontcache)?;
    Ok(Finding {
        verdict: Verdict::from_fact(known.iter().all(|(_, share)| *share <= 0.0)),
        because: format!("{}, by cachestat", least_and_most(&known)),
        rows: numbers(known.iter().map(|(row, _)| row)),
    })
}

/// Bytes from storage: those charged to the process that reads, or else those of the
/// device. On a shared disk the device's have others' requests that name no file.
fn fetched(row: &PageCacheRow) -> Option<u64> {
    row.storage_read_bytes.or_else(|| row.device_read_bytes())
}

/// Cold rows against the bytes from storage, and warm ones.
pub(super) fn cold_is_from_the_device(target: &TargetRows<'_>) -> Result<Finding, Missing> {
    let cold = in_state(target, State::Cold)?;
    let warm = in_state(target, State::Warm).unwrap_or_default();
    for row in cold.iter().chain(&warm) {
        row.whole()?;
    }
    let known = |rows: &[Numbered<'_>]| -> Result<Vec<(usize, u64, u64)>, Missing> {
        let bytes = rows.iter().map(|row| {
            let fetched = fetched(row.row).ok_or_else(|| {
                let why = format!("the device reads of row {} are unknown", row.number);
                Missing::Evidence(why)
            });
            Ok((row.number, row.row.read_bytes, fetched?))
        });
        bytes.collect()
    };
    let (cold, warm) = (known(&cold)?, known(&warm)?);
    let from_memory: Vec<&(usize, u64, u64)> = cold
        .iter()
        .filter(|(_, read, fetched)| (*fetched as f64) < *read as f64 * FROM_DEVICE_SHARE)
        .collect();
    let fetching: Vec<&(usize, u64, u64)> =
        warm.iter().filter(|(_, _, fetched)| *fetched > 0).collect();
    let sum = |rows: &[(usize, u64, u64)]| {
        let read = rows.iter().map(|(_, read, _)| *read).sum();
        let fetched = rows.iter().map(|(_, _, fetched)| *fetched).sum();
        format!("{} fetched for {} read", short(fetched), short(read))
    };
    let mut because = format!("cold: {}", sum(&cold));
    if !warm.is_empty() {
        because.push_str("; warm: ");
        because.push_str(&sum(&warm));
    }
    let mut wrong = from_memory.iter().chain(&fetching);
    let mut rows: Vec<usize> = cold.iter().chain(&warm).map(|(row, ..)| *row).collect();
    if let Some((number, read, fetched)) = wrong.next() {
        because = format!(
            "row {number} read {}, of which {} came from the device; {because}",
            short(*read),
            short(*fetched)
        );
        rows = from_memory
            .iter()
            .chain(&fetching)
            .map(|(row, ..)| *row)
            .collect();
    }
    Ok(Finding {
        verdict: Verdict::from_fact(from_memory.is_empty() && fetching.is_empty()),
        because,
        rows,
    })
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{judge, made};
    use super::*;

    const MIB: u64 = 1 << 20;

    fn cold(reader: Reader) -> PageCacheRow {
        made(State::Cold, reader, MIB)
    }

    #[test]
    fn all_of_the_file_after_a_cold_read() {
        let whole = vec![cold(Reader::Read).resident(0, MIB)];
        let found = judge("leaves all of it", whole).unwrap();
        assert_eq!(found.verdict, Verdict::Holds);
        assert_eq!(
            found.because,
            "100 % of 1 MiB after read from cold, by cachestat"
        );
        let part = vec![
            cold(Reader::Read).resident(0, MIB),
            cold(Reader::Mmap).resident(0, MIB / 2),
            cold(Reader::PreadRandom).resident(0, 4096),
        ];
        let found = judge("leaves all of it", part).unwrap();
        assert_eq!((found.verdict, found.rows), (Verdict::Refuted, vec![1, 2]));
        assert!(judge("leaves all of it", vec![cold(Reader::Read)]).is_err());
    }

    #[test]
    fn nothing_after_dontcache() {
        let rows = |after| vec![made(State::Dontcache, Reader::Read, MIB).resident(0, after)];
        let verdict = |after| judge("RWF_DONTCACHE", rows(after)).unwrap().verdict;
        assert_eq!(verdict(0), Verdict::Holds);
        assert_eq!(verdict(4096), Verdict::Refuted);
    }

    #[test]
    fn cold_rows_fetch_what_they_read_and_warm_ones_nothing() {
        let rows = |cold_bytes, warm_bytes| {
            vec![
                cold(Reader::Read).fetching(cold_bytes),
                made(State::Warm, Reader::Read, MIB).fetching(warm_bytes),
            ]
        };
        let found = judge("cold reads came", rows(MIB, 0)).unwrap();
        assert_eq!((found.verdict, found.rows), (Verdict::Holds, vec![1, 2]));
        for (cold_bytes, warm_bytes, wrong) in [(0, 0, 1), (MIB / 2, 0, 1), (MIB, 4096, 2)] {
            let found = judge("cold reads came", rows(cold_bytes, warm_bytes)).unwrap();
            assert_eq!((found.verdict, found.rows), (Verdict::Refuted, vec![wrong]));
        }
        assert!(judge("cold reads came", vec![cold(Reader::Read)]).is_err());
        let lossy = vec![cold(Reader::Read).fetching(MIB).losing(3)];
        assert_eq!(
            judge("cold reads came", lossy).unwrap_err().into_why(),
            "3 events lost in row 1"
        );
    }

    #[test]
    fn what_the_process_was_charged_for_stands_in_for_the_device() {
        let made = vec![
            cold(Reader::Read).charged(MIB),
            // Another program's requests on the same disk.
            made(State::Warm, Reader::Read, MIB)
                .fetching(4096)
                .charged(0),
        ];
        let found = judge("cold reads came", made).unwrap();
        assert_eq!(found.verdict, Verdict::Holds);
    }
}
