//! Whether transfers of one file could be fewer and larger.

use super::calls::Sum;
use super::draft::{Found, cited};
use crate::bytes::{grouped, short};
use crate::trace::{FileRow, Remedy, WORTH_A_BUFFER};

/// Only adjacent pieces can share a buffer; a file with half of its pieces elsewhere is accessed at
/// random.
const NEIGHBOURS: f64 = 0.5;

/// Whether nearly all transfers (nine of ten, since files begin and end with others) are below
/// `below` bytes (a power of two), numerous, and adjacent. The average is also below it: otherwise
/// the few large ones took the time.
pub(super) fn is_gatherable(sum: &Sum, below: u64) -> bool {
    let small = sum.shape.smaller_than(below);
    small >= WORTH_A_BUFFER
        && (1..below).contains(&sum.piece_bytes())
        && small.saturating_mul(10) >= sum.moves().saturating_mul(9)
        && sum.is_sequential(NEIGHBOURS)
}

/// The cost of many pieces of less than a page, which share a buffer in the improved variant.
pub(super) fn small_pieces(file: &FileRow, sum: &Sum, write: bool, better_bytes: u64) -> Found {
    let title = format!(
        "{} {} of {} on average",
        grouped(sum.moves()),
        if write { "writes" } else { "reads" },
        short(sum.piece_bytes())
    );
    let what = format!(
        "{title}, {} in all; {} of them sequential",
        short(sum.stats.bytes),
        grouped(sum.shape.sequential)
    );
    in_larger_pieces(file, sum, (title, what), write, better_bytes)
}

/// The cost of transfers; a trial measures how much larger pieces save.
pub(super) fn in_larger_pieces(
    file: &FileRow,
    sum: &Sum,
    (title, what): (String, String),
    write: bool,
    better_bytes: u64,
) -> Found {
    Found {
        title,
        evidence: vec![cited(what, sum.name, file, sum.moves())],
        cost_s: sum.on_cpu_s(),
        remedy: Some(Remedy::LargerPieces {
            write,
            piece_bytes: sum.piece_bytes(),
            count: sum.moves(),
            better_bytes,
        }),
        ..Found::default()
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{file, in_order, with_calls};
    use super::*;

    #[test]
    fn time_that_large_pieces_took_is_not_that_of_small_ones() {
        let mixed = |large| {
            let calls = vec![
                in_order("write", 9_000, 100, 0.1),
                in_order("pwrite64", large, 1 << 20, 0.1),
            ];
            Sum::of(&with_calls(file("/a"), calls), &["write", "pwrite64"])
        };
        assert!(is_gatherable(&mixed(0), 4096));
        assert!(is_gatherable(&mixed(10), 4096));
        assert!(!is_gatherable(&mixed(100), 4096), "11 KiB on average");
        assert!(!is_gatherable(&mixed(1_100), 4096), "not nine of ten");
    }
}
