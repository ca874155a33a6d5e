//! How long the reads will take.

use iostrata_core::page_cache::{Case, Parse, Reader, State};

use super::settings::Plan;
use crate::engine::StoppingRule;
use crate::pace::{Expected, Pace, START_S};

/// Bytes of a random read.
const RANDOM_BYTES: f64 = 4096.0;

/// Times that parsing a byte takes as long as copying it, more or less.
const PARSE: f64 = 20.0;

/// Seconds for the cases of `plan` on targets of this pace.
pub fn expected(plan: &Plan, stopping: &StoppingRule, paces: &[Pace]) -> Expected {
    let of_target = |pace: &Pace| -> Expected {
        let rows = plan.cases.iter().map(|case| {
            let bytes = case.size_bytes as f64;
            // Before each run the file is evicted, or read until it is there.
            let prepared = START_S + bytes * pace.copied_byte_s;
            let reads = if case.reader == Reader::Read {
                plan.reads
            } else {
                1
            };
            let one_s = read_s(case, plan, pace);
            let again_s = one_s * f64::from(reads.saturating_sub(1));
            Expected::case(stopping, one_s, prepared + again_s)
        });
        rows.sum()
    };
    paces.iter().map(of_target).sum()
}

fn read_s(case: &Case, plan: &Plan, pace: &Pace) -> f64 {
    let bytes = case.size_bytes as f64;
    let from_device = case.state != State::Warm;
    if case.reader == Reader::PreadRandom {
        let reads = (plan.random_reads as f64).min((bytes / RANDOM_BYTES).ceil());
        let each = if from_device {
            pace.sync_s
        } else {
            pace.call_s
        };
        return reads * each;
    }
    let byte_s = if from_device {
        pace.stored_byte_s
    } else {
        pace.copied_byte_s
    };
    let parse = if case.parse == Parse::None {
        0.0
    } else {
        PARSE
    };
    pace.call_s + bytes * (byte_s + parse * pace.copied_byte_s)
}
