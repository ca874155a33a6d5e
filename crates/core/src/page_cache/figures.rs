//! Figures derived from the rows: throughput, residency as shares, and where the time went.

use serde::{Deserialize, Serialize};

use super::{PageCacheRow, Parse, Reader, State};

/// Fewer faults between two rows say nothing about the cost of one: starting the
/// process and opening the file differ by more.
const FEWEST_FAULTS: u64 = 100;

/// Figures of a row. `null` where a part they need is missing.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(rename = "PageCacheFigures"))]
pub struct Figures {
    /// Bytes read per second, from the median time.
    pub bytes_per_s: Option<f64>,
    /// Share of the file that was resident before the observed run, 0 to 1.
    pub resident_before_share: Option<f64>,
    /// Share of the file that was resident after it, 0 to 1.
    pub resident_after_share: Option<f64>,
    /// Where the time went.
    pub spent: Spent,
}

/// Parts of a row's median time. Only `blocked_s` was measured, in the observed run;
/// the others are estimates from figures of other rows of the same size.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Spent {
    /// Estimate: the time that copying as many bytes from memory to memory took. 0 for
    /// readers that do not copy.
    pub copy_estimate_s: Option<f64>,
    /// Estimate: the row's minor faults at `fault_s` each.
    pub faults_estimate_s: Option<f64>,
    /// Seconds per fault on a fresh page: what a warm `read` takes longer than a warm
    /// `read_reused`, divided by the faults it has more.
    pub fault_s: Option<f64>,
    /// Time blocked inside system calls on the file, from the observed run. `null` for
    /// readers that wait elsewhere.
    pub blocked_s: Option<f64>,
}

/// The figures of each row, in the order of the rows.
pub fn figures(rows: &[PageCacheRow]) -> Vec<Figures> {
    rows.iter().map(|row| of(row, rows)).collect()
}

fn of(row: &PageCacheRow, rows: &[PageCacheRow]) -> Figures {
    let case = row.row.case;
    let median_s = row.row.timing.as_ref().map(|timing| timing.median_s);
    // Pages reach beyond the end of the file.
    let pages_bytes = case.size_bytes.div_ceil(4096) * 4096;
    let share = |bytes: Option<u64>| bytes.map(|bytes| bytes as f64 / pages_bytes as f64);
    let cache = &row.row.evidence.cache;
    Figures {
        bytes_per_s: median_s
            .filter(|median_s| *median_s > 0.0)
            .map(|median_s| row.read_bytes as f64 / median_s),
        resident_before_share: share(cache.resident_before_bytes),
        resident_after_share: share(cache.resident_after_bytes),
        spent: if case.parse == Parse::None {
            spent(row, rows)
        } else {
            Spent::default()
        },
    }
}

fn spent(row: &PageCacheRow, rows: &[PageCacheRow]) -> Spent {
    let case = row.row.case;
    let warm = |reader| {
        rows.iter().find(|other| {
            other.row.target == row.row.target
                && other.is_as_asked()
                && other.row.case.state == State::Warm
                && other.row.case.reader == reader
                && other.row.case.size_bytes == case.size_bytes
                && other.row.case.parse == Parse::None
        })
    };
    let fault_s = warm(Reader::Read)
        .zip(warm(Reader::ReadReused))
        .and_then(|(fresh, reused)| fault_s(fresh, reused));
    // Faults wait outside of calls, and the ring in one that names no file.
    let blocks_in_calls = !matches!(case.reader, Reader::Mmap | Reader::IoUring);
    let copies = case.state != State::Direct && case.reader != Reader::Mmap;
    let copy_s_per_byte = warm(Reader::ReadReused).and_then(|reused| {
        let copy = reused.memory_copy.as_ref()?;
        Some(copy.median_s / reused.read_bytes as f64)
    });
    // A fault on a mapping maps pages of the file; it clears none.
    let faults = row.row.evidence.faults.minor;
    let faults = faults.filter(|_| case.reader != Reader::Mmap);
    Spent {
        copy_estimate_s: if copies {
            copy_s_per_byte.map(|each| each * row.read_bytes as f64)
        } else {
            Some(0.0)
        },
        faults_estimate_s: faults.zip(fault_s).map(|(count, each)| count as f64 * each),
        fault_s,
        blocked_s: row.row.evidence.blocked_s.filter(|_| blocks_in_calls),
    }
}

fn fault_s(fresh: &PageCacheRow, reused: &PageCacheRow) -> Option<f64> {
    let median_s = |row: &PageCacheRow| Some(row.row.timing.as_ref()?.median_s);
    let faults = |row: &PageCacheRow| row.row.evidence.faults.minor;
    let longer_s = median_s(fresh)? - median_s(reused)?;
    let more = faults(fresh)?.checked_sub(faults(reused)?)?;
    (more >= FEWEST_FAULTS && longer_s > 0.0).then(|| longer_s / more as f64)
}

#[cfg(test)]
mod tests {
    use super::super::answers::fixture::{made, result};
    use super::*;

    const MIB: u64 = 1 << 20;

    fn close(a: Option<f64>, b: f64) -> bool {
        a.is_some_and(|a| (a - b).abs() < 1e-12)
    }

    #[test]
    fn the_time_of_a_fresh_buffer_is_faults_and_copy() {
        let rows = result(vec![
            made(State::Warm, Reader::Read, MIB)
                .timed(&[300.0; 5])
                .faulting(257)
                .blocked(1e-6),
            made(State::Warm, Reader::ReadReused, MIB)
                .timed(&[100.0; 5])
                .faulting(1)
                .copying(&[80.0; 5]),
            made(State::Cold, Reader::Mmap, MIB)
                .timed(&[500.0; 5])
                .faulting(16)
                .blocked(0.0),
        ])
        .rows;
        let figures = figures(&rows);
        let fresh = figures[0].spent;
        assert!(close(fresh.fault_s, 200e-6 / 256.0), "{fresh:?}");
        assert!(close(fresh.faults_estimate_s, 200e-6 * 257.0 / 256.0));
        assert!(close(fresh.copy_estimate_s, 80e-6));
        assert!(close(fresh.blocked_s, 1e-6));
        assert!(close(figures[0].bytes_per_s, MIB as f64 / 300e-6));
        let mapped = figures[2].spent;
        assert!(close(mapped.copy_estimate_s, 0.0));
        assert_eq!(mapped.blocked_s, None, "it waits outside of calls");
        assert_eq!(
            mapped.faults_estimate_s, None,
            "faults on a mapping cost something else"
        );
    }

    #[test]
    fn a_reused_buffer_that_is_slower_gives_no_cost_of_a_fault() {
        let rows = result(vec![
            made(State::Warm, Reader::Read, MIB)
                .timed(&[100.0; 5])
                .faulting(257),
            made(State::Warm, Reader::ReadReused, MIB)
                .timed(&[300.0; 5])
                .faulting(1),
        ])
        .rows;
        assert_eq!(figures(&rows)[0].spent.fault_s, None);
    }

    #[test]
    fn a_few_faults_give_no_cost_of_one() {
        let rows = result(vec![
            made(State::Warm, Reader::Read, 1024)
                .timed(&[60.0; 5])
                .faulting(4),
            made(State::Warm, Reader::ReadReused, 1024)
                .timed(&[5.0; 5])
                .faulting(2),
        ])
        .rows;
        assert_eq!(figures(&rows)[0].spent.fault_s, None);
    }

    #[test]
    fn shares_are_of_the_files_pages() {
        let rows = result(vec![
            made(State::Cold, Reader::Read, 5000).resident(0, 4096),
        ])
        .rows;
        let figures = figures(&rows)[0];
        assert!(close(figures.resident_before_share, 0.0));
        assert!(close(figures.resident_after_share, 0.5));
    }

    #[test]
    fn what_was_not_seen_is_not_zero() {
        let rows = result(vec![made(State::Cold, Reader::Read, MIB)]).rows;
        assert_eq!(figures(&rows)[0], Figures::default());
    }
}
