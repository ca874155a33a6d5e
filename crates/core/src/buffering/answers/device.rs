//! Claims about what reaches the device, decided by its requests.

use super::{Numbered, TargetRows};
use crate::answer::Verdict;
use crate::buffering::Mode;
use crate::figures::{number, rate};
use crate::judge::{Finding, Judged as _, Missing, numbers};

/// Flushes below this share of fsync's belong to another program: a flush request
/// carries no file, so a neighbour's on the same disk is counted too.
const NEIGHBOURS: f64 = 0.05;

/// From this share of fsync's flushes on, a mode is said to flush as well.
const FLUSHES_TOO: f64 = 0.5;

/// Device writes of about the payload's size: within a tenth.
const NOT_AMPLIFIED: std::ops::RangeInclusive<f64> = 0.9..=1.1;

/// The share of fsync's flushes that another row asked for.
///
/// `Err` when fsync itself flushed nothing: then the device has no volatile
/// cache, or the file system was told not to flush it, and flushes tell nothing.
fn flush_share(row: &Numbered<'_>, fsync: &Numbered<'_>) -> Result<(f64, String), Missing> {
    let each = row.each(row.device()?.flushes);
    let fsync_each = fsync.each(fsync.device()?.flushes);
    if fsync_each <= 0.0 {
        let why = "fsync also sent no flush: the device has no volatile write cache, or the mount \
                   does not flush it";
        return Err(Missing::Evidence(format!("{why} (row {})", fsync.number)));
    }
    Ok((each / fsync_each, rate(each)))
}

/// Neither `buffered` nor `flush` sends the flushes that `fsync` sends.
pub(super) fn only_a_sync_asks_the_device(target: &TargetRows<'_>) -> Result<Finding, Missing> {
    let [flush, fsync] = target.smallest([Mode::Flush, Mode::Fsync])?;
    let mut without = vec![("flush", flush)];
    without.extend(
        target
            .of_size(Mode::Buffered, flush.row.size_bytes())
            .map(|row| ("buffered", row)),
    );
    let mut most: f64 = 0.0;
    let mut figures = Vec::new();
    for (name, row) in &without {
        let (share, flushes) = flush_share(row, &fsync)?;
        most = most.max(share);
        figures.push(format!("{name} {flushes}"));
    }
    let asked = rate(fsync.each(fsync.device()?.flushes));
    let rows = without
        .iter()
        .map(|(_, row)| row.number)
        .chain([fsync.number])
        .collect();
    let because = format!(
        "device flushes per record: {}, fsync {asked}",
        figures.join(", ")
    );
    Ok(Finding {
        verdict: Verdict::by(most, ..=NEIGHBOURS, FLUSHES_TOO..),
        because,
        rows,
    })
}

/// The open flags and the write flag against the calls they stand for.
pub(super) fn flags_equal_calls(target: &TargetRows<'_>) -> Result<Finding, Missing> {
    let rows = target.smallest([
        Mode::OSync,
        Mode::ODsync,
        Mode::RwfDsync,
        Mode::Fsync,
        Mode::Fdatasync,
    ])?;
    let [o_sync, o_dsync, rwf_dsync, fsync, fdatasync] = &rows;
    let mut parts = Vec::new();
    for (flag, call) in [
        (o_sync, fsync),
        (o_dsync, fdatasync),
        (rwf_dsync, fdatasync),
    ] {
        let (flagged, called) = (flag.requests()?, call.requests()?);
        let names = (flag.row.name(), call.row.name());
        if called.sum() <= 0.0 {
            return Err(Missing::Evidence(format!(
                "{} asked the device for nothing (row {})",
                names.1, call.number
            )));
        }
        if !flagged.same_as(&called) {
            parts.push(format!("{} {flagged}, {} {called}", names.0, names.1));
        }
    }
    let verdict = Verdict::from_fact(parts.is_empty());
    if parts.is_empty() {
        let (fsync, fdatasync) = (fsync.requests()?, fdatasync.requests()?);
        parts.push(format!("o_sync like fsync: {fsync}"));
        parts.push(format!("o_dsync and rwf_dsync like fdatasync: {fdatasync}"));
    }
    Ok(Finding {
        verdict,
        because: format!("{} per record", parts.join("; ")),
        rows: numbers(&rows),
    })
}

/// Without a flush of the device's cache, data that was written back is not
/// durable; `sync_file_range(2)` warns of it.
pub(super) fn sync_file_range_is_durable(target: &TargetRows<'_>) -> Result<Finding, Missing> {
    let [ranged, fsync] = target.smallest([Mode::SyncFileRange, Mode::Fsync])?;
    let (share, _) = flush_share(&ranged, &fsync)?;
    Ok(Finding {
        verdict: Verdict::by(share, FLUSHES_TOO.., ..=NEIGHBOURS),
        because: format!(
            "device requests per record: sync_file_range {}, fsync {}",
            ranged.requests()?,
            fsync.requests()?
        ),
        rows: vec![ranged.number, fsync.number],
    })
}

/// Bytes the device wrote per byte the program wrote, with an fsync after each record.
pub(super) fn writes_are_not_amplified(target: &TargetRows<'_>) -> Result<Finding, Missing> {
    let mut equal = true;
    let mut parts = Vec::new();
    let mut rows = Vec::new();
    for [fsync] in target.each_size([Mode::Fsync])? {
        let size = fsync.row.size_bytes();
        let written = fsync.each(fsync.device()?.writes().bytes);
        let times = written / size as f64;
        equal &= NOT_AMPLIFIED.contains(&times);
        parts.push(format!(
            "{} and fsync {} B (×{})",
            fsync.size(),
            number(written),
            number(times)
        ));
        rows.push(fsync.number);
        if let Some(buffered) = target.of_size(Mode::Buffered, size)
            && let (Ok(device), Some(unpaid)) =
                (buffered.device(), buffered.row.per_write.unpaid_bytes)
        {
            let running = number(buffered.each(device.writes().bytes));
            parts.push(format!(
                "buffered {running} B, {} B after the program's end",
                number(unpaid)
            ));
            rows.push(buffered.number);
        }
    }
    let because = format!("the device wrote per record: {}", parts.join("; "));
    Ok(Finding::new(Verdict::from_fact(equal), because, rows))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{judge, made};
    use super::*;
    use crate::buffering::Case;
    use crate::lab::Row;

    fn requests(mode: Mode, per_record: [u64; 5]) -> Row<Case> {
        made(mode, 1).asking(per_record)
    }

    const NOTHING: [u64; 5] = [0; 5];
    const JOURNALLED: [u64; 5] = [1, 1, 1, 0, 2];

    #[test]
    fn flushes_of_flush_and_fsync() {
        let case = |flush: [u64; 5], fsync: [u64; 5]| {
            let made = vec![
                requests(Mode::Buffered, NOTHING),
                requests(Mode::Flush, flush),
                requests(Mode::Fsync, fsync),
            ];
            judge("only a sync", made)
        };
        let found = case(NOTHING, JOURNALLED).unwrap();
        assert_eq!((found.verdict, found.rows), (Verdict::Holds, vec![2, 1, 3]));
        assert_eq!(
            found.because,
            "device flushes per record: flush 0, buffered 0, fsync 2"
        );
        assert_eq!(
            case(JOURNALLED, JOURNALLED).unwrap().verdict,
            Verdict::Refuted
        );
        let some = case([0, 0, 0, 0, 1], [1, 0, 0, 0, 9]).unwrap();
        assert_eq!(some.verdict, Verdict::Inconclusive);
        assert!(
            case(NOTHING, [1, 1, 1, 0, 0])
                .unwrap_err()
                .into_why()
                .starts_with("fsync also sent no flush")
        );
    }

    #[test]
    fn a_neighbours_flush_does_not_refute() {
        let mut flush = requests(Mode::Flush, NOTHING);
        flush.change_device(|device| device.flushes = 3);
        let made = vec![flush, requests(Mode::Fsync, JOURNALLED)];
        let found = judge("only a sync", made).unwrap();
        assert_eq!(found.verdict, Verdict::Holds);
        assert_eq!(
            found.because,
            "device flushes per record: flush <0.01, fsync 2"
        );
    }

    #[test]
    fn unseen_or_lossy_evidence_decides_nothing() {
        let unseen = vec![made(Mode::Flush, 1), requests(Mode::Fsync, JOURNALLED)];
        let why = judge("only a sync", unseen).unwrap_err().into_why();
        assert_eq!(
            why,
            "the device requests of row 1 were not observed (device requests: not permitted)"
        );
        let lossy = vec![
            requests(Mode::Flush, NOTHING).losing(12_345),
            requests(Mode::Fsync, JOURNALLED),
        ];
        let why = judge("only a sync", lossy).unwrap_err().into_why();
        assert_eq!(why, "12,345 events lost in row 1");
    }

    #[test]
    fn flags_against_calls() {
        let case = |o_sync: [u64; 5], rwf_dsync: [u64; 5], fsync: [u64; 5]| {
            let made = vec![
                requests(Mode::OSync, o_sync),
                requests(Mode::ODsync, [1, 0, 0, 0, 1]),
                requests(Mode::RwfDsync, rwf_dsync),
                requests(Mode::Fsync, fsync),
                requests(Mode::Fdatasync, [1, 0, 0, 0, 1]),
            ];
            judge("O_SYNC makes", made)
        };
        let same = case(JOURNALLED, [1, 0, 0, 0, 1], JOURNALLED).unwrap();
        assert_eq!((same.verdict, same.rows.len()), (Verdict::Holds, 5));
        assert!(
            same.because
                .contains("o_sync like fsync: 1 data, 1 journal, 1 commit, 0 metadata")
        );
        let differs = case(JOURNALLED, JOURNALLED, JOURNALLED).unwrap();
        assert_eq!(differs.verdict, Verdict::Refuted);
        assert!(
            differs.because.starts_with("rwf_dsync 1 data, 1 journal"),
            "{differs:?}"
        );
        assert!(
            case(NOTHING, NOTHING, NOTHING)
                .unwrap_err()
                .into_why()
                .starts_with("fsync asked")
        );
        let few = judge("O_SYNC makes", vec![requests(Mode::OSync, JOURNALLED)]);
        assert_eq!(few, Err(Missing::Rows));
    }

    #[test]
    fn sync_file_range_needs_flushes() {
        let case = |ranged: [u64; 5]| {
            let made = vec![
                requests(Mode::SyncFileRange, ranged),
                requests(Mode::Fsync, JOURNALLED),
            ];
            judge("sync_file_range", made).unwrap()
        };
        assert_eq!(case([1, 0, 0, 0, 0]).verdict, Verdict::Refuted);
        assert_eq!(case(JOURNALLED).verdict, Verdict::Holds);
        assert!(case([1, 0, 0, 0, 0]).because.contains("1 data, 0 journal"));
    }

    #[test]
    fn amplification() {
        // Requests of the fixture carry 4096 bytes each.
        let found = judge(
            "the device writes as many",
            vec![
                requests(Mode::Fsync, JOURNALLED),
                made(Mode::Fsync, 4096).asking([1, 0, 0, 0, 1]),
                requests(Mode::Buffered, NOTHING).after_exit([1, 0, 0, 0, 0]),
            ],
        )
        .unwrap();
        assert_eq!(
            (found.verdict, found.rows),
            (Verdict::Refuted, vec![1, 3, 2])
        );
        assert_eq!(
            found.because,
            "the device wrote per record: 1 B and fsync 12,288 B (×12,288); buffered 0 B, \
             4,096 B after the program's end; 4 KiB and fsync 4,096 B (×1.00)"
        );
        let exact = vec![made(Mode::Fsync, 4096).asking([1, 0, 0, 0, 1])];
        assert_eq!(
            judge("the device writes as many", exact).unwrap().verdict,
            Verdict::Holds
        );
    }
}
