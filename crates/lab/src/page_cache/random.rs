//! The measuring loop of `pread_random`: one clock reading for each operation, and all
//! latencies in a histogram.

use std::io;

use hdrhistogram::Histogram;
use iostrata_core::page_cache::Percentiles;
use iostrata_core::timing::seconds;

use crate::engine::{XorShift, monotonic_ns};

/// Two digits: latencies are distinguished to 1 %.
const DIGITS: u8 = 2;

/// Longer latencies count as this: an hour. The memory for them is allocated before, since the loop
/// must not wait for memory.
const LONGEST_NS: u64 = 3_600_000_000_000;

/// Latencies of single operations.
#[derive(Debug, Clone)]
pub struct Latencies(Histogram<u64>);

impl Latencies {
    pub fn new() -> Self {
        let histogram = Histogram::new_with_bounds(1, LONGEST_NS, DIGITS);
        Self(histogram.expect("bounds and digits are constants that it takes"))
    }

    pub fn add(&mut self, nanoseconds: u64, count: u64) {
        self.0.saturating_record_n(nanoseconds, count);
    }

    /// Every latency with its count, for another process.
    pub fn counts(&self) -> Vec<(u64, u64)> {
        let recorded = self.0.iter_recorded();
        recorded
            .map(|step| (step.value_iterated_to(), step.count_at_value()))
            .collect()
    }

    /// The distribution; `None` without operations.
    pub fn percentiles(&self) -> Option<Percentiles> {
        if self.0.is_empty() {
            return None;
        }
        let at = |quantile| seconds(self.0.value_at_quantile(quantile));
        Some(Percentiles {
            p50: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
            p999: at(0.999),
            max: at(1.0),
            count: self.0.len(),
        })
    }
}

impl Default for Latencies {
    fn default() -> Self {
        Self::new()
    }
}

/// Calls `read` for each offset and records its duration. The end of one operation is the start of
/// the next, so the clock is read once for each, and recording one is part of the next.
pub fn read_randomly(
    offsets: &[u64],
    latencies: &mut Latencies,
    mut read: impl FnMut(u64) -> io::Result<()>,
) -> io::Result<()> {
    let mut started_ns = monotonic_ns();
    for &offset in offsets {
        read(offset)?;
        let ended_ns = monotonic_ns();
        latencies.0.saturating_record(ended_ns - started_ns);
        started_ns = ended_ns;
    }
    Ok(())
}

/// Offsets of `count` blocks of `block_bytes` in a file, in random order, without repetition; all
/// blocks when the file has fewer. Deterministic.
pub(super) fn offsets(size_bytes: u64, block_bytes: u64, count: u64) -> Vec<u64> {
    let blocks = size_bytes.div_ceil(block_bytes);
    let mut offsets: Vec<u64> = (0..blocks).map(|block| block * block_bytes).collect();
    XorShift::new(size_bytes).shuffle(&mut offsets);
    offsets.truncate(usize::try_from(count).unwrap_or(usize::MAX));
    offsets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_is_counted_once_and_in_order() {
        let (mut seen, mut latencies) = (Vec::new(), Latencies::new());
        let asked = offsets(10 * 4096 + 1, 4096, 100);
        read_randomly(&asked, &mut latencies, |offset| {
            seen.push(offset);
            Ok(())
        })
        .unwrap();
        assert_eq!(seen, asked);
        assert_eq!(latencies.percentiles().unwrap().count, 11);
        assert_eq!(
            latencies
                .counts()
                .iter()
                .map(|(_, count)| count)
                .sum::<u64>(),
            11
        );
    }

    #[test]
    fn a_failing_read_ends_the_loop() {
        let mut latencies = Latencies::new();
        let failing = |offset| match offset {
            4096 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        };
        assert!(read_randomly(&[0, 4096, 8192], &mut latencies, failing).is_err());
        assert_eq!(latencies.percentiles().unwrap().count, 1);
    }

    #[test]
    fn percentiles_are_those_of_the_samples_to_a_hundredth() {
        let mut latencies = Latencies::new();
        for nanoseconds in 1..=10_000 {
            latencies.add(nanoseconds, 1);
        }
        let mut copy = Latencies::new();
        for (nanoseconds, count) in latencies.counts() {
            copy.add(nanoseconds, count);
        }
        let seen = copy.percentiles().unwrap();
        for (figure, due) in [
            (seen.p50, 5000e-9),
            (seen.p90, 9000e-9),
            (seen.p99, 9900e-9),
            (seen.p999, 9990e-9),
            (seen.max, 10_000e-9),
        ] {
            assert!((figure / due - 1.0).abs() < 0.01, "{figure} for {due}");
        }
        assert_eq!(seen.count, 10_000);
        assert_eq!(Latencies::new().percentiles(), None);
    }

    #[test]
    fn no_block_twice_and_not_in_order() {
        let mut blocks = offsets(1 << 20, 4096, 256);
        assert!(!blocks.is_sorted());
        blocks.sort_unstable();
        assert!(
            blocks
                .iter()
                .copied()
                .eq((0..256).map(|block| block * 4096))
        );
        assert_eq!(offsets(1 << 30, 4096, 1000).len(), 1000);
        assert_eq!(offsets(10, 4096, 1000), [0]);
    }
}
