//! How long the cases will take.

use iostrata_core::sync::{Case, Write};

use super::item::Length;
use super::settings::{direct_writes, file_bytes, run_length, stretches};
use crate::engine::StoppingRule;
use crate::pace::{Expected, Pace, START_S};
use crate::session::Effort;

/// Seconds for `cases` on targets of this pace.
pub fn expected(
    effort: Effort,
    cases: &[Case],
    stopping: &StoppingRule,
    paces: &[Pace],
) -> Expected {
    let of_target = |(target, pace): (usize, &Pace)| -> Expected {
        let rows = cases.iter().enumerate().map(|(index, case)| {
            let made_bytes = match case.write {
                Write::Overwrite => file_bytes(effort, case) * case.writers,
                Write::Append | Write::Preallocated => 0,
            };
            let around_s = START_S + made_bytes as f64 * pace.stored_byte_s;
            let watched = stretches(effort, case, index == 0, target == 0);
            let watched_s = match watched.length {
                Length::Time(length) => length.as_secs_f64(),
                Length::Either(syncs, longest) => {
                    (syncs as f64 * pace.sync_s).min(longest.as_secs_f64())
                }
                Length::Syncs(syncs) => syncs as f64 * pace.sync_s,
            };
            let runs = Expected::case(stopping, run_length(effort).as_secs_f64(), around_s);
            let watched = Expected::once(watched_s * watched.count as f64);
            [runs, watched].into_iter().sum()
        });
        let calibration = 2.0 * direct_writes(effort) as f64 * pace.sync_s;
        rows.chain([Expected::once(calibration)]).sum()
    };
    paces.iter().enumerate().map(of_target).sum()
}
