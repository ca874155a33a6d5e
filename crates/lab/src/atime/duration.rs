//! How long the matrix and the loops will take.

use iostrata_core::atime::{Loop, Reading};

use super::settings::Chosen;
use crate::pace::{Expected, Pace, START_S};

/// System calls for each file of a loop: times are set, then open, read, close.
const CALLS: f64 = 5.0;

/// A cell of the matrix waits for the clock's tick and starts a program, twice.
const CELL_STARTS: f64 = 4.0;

/// Seconds on targets of this pace.
pub fn expected(chosen: &Chosen, paces: &[Pace]) -> Expected {
    let mounts = chosen.mounts.len() as f64;
    let cells = chosen.operations.len() as f64 * mounts;
    let of_target = |pace: &Pace| -> Expected {
        let matrix = Expected::once(cells * CELL_STARTS * START_S);
        let loops = chosen.loops.iter().map(|&files| {
            let (_, reads) = chosen.size_of(files);
            let readings = match files {
                Loop::OneFile => 1.0,
                Loop::ManyFiles => [Reading::First, Reading::Second].len() as f64,
            };
            let run_s = reads as f64 * CALLS * pace.call_s + pace.sync_s;
            let one = Expected::case(&chosen.stopping, run_s, run_s + START_S);
            Expected {
                least_s: one.least_s * readings * mounts,
                most_s: one.most_s * readings * mounts,
            }
        });
        loops.chain([matrix]).sum()
    };
    paces.iter().map(of_target).sum()
}
