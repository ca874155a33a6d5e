//! How long the cases will take.

use iostrata_core::buffering::{Case, GROUP_WRITES, Mode};

use super::runtimes::Language;
use crate::engine::StoppingRule;
use crate::pace::{Expected, Pace, START_S};

/// Steps of a timeline: a reader's process for each.
const TIMELINE_STARTS: f64 = 12.0;

/// Processes that are started for a language: compiler, version, programs.
const LANGUAGE_STARTS: f64 = 60.0;

/// Seconds for `cases` on targets of this pace.
pub fn expected(cases: &[Case], stopping: &StoppingRule, paces: &[Pace]) -> Expected {
    let languages = LANGUAGE_STARTS * Language::ALL.len() as f64;
    let of_target = |pace: &Pace| -> Expected {
        let rows = cases.iter().map(|case| {
            let around_s = START_S;
            Expected::case(stopping, run_s(case, pace), around_s)
        });
        let timelines = Mode::ALL.len() as f64 * TIMELINE_STARTS * START_S;
        rows.chain([Expected::once(timelines)]).sum()
    };
    let programs = Expected::once(languages * START_S);
    paces.iter().map(of_target).chain([programs]).sum()
}

/// One run: its calls, its bytes and its syncs.
fn run_s(case: &Case, pace: &Pace) -> f64 {
    let records = case.count as f64;
    let syncs = match case.mode {
        Mode::Buffered | Mode::Flush => 0.0,
        Mode::FinalFsync => 1.0,
        Mode::GroupFsync => (records / GROUP_WRITES as f64).ceil(),
        _ => records,
    };
    let byte_s = if syncs > 0.0 {
        pace.stored_byte_s
    } else {
        pace.copied_byte_s
    };
    records * (pace.call_s + case.size_bytes as f64 * byte_s) + syncs * pace.sync_s
}
