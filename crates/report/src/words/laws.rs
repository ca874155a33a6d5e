//! Laws of the audit in words.

use iostrata_core::law::Law;
use iostrata_core::trace::Judged;

use super::Words;

/// What a broken law says: both figures.
pub fn broken(judged: &Judged) -> Words {
    let Judged { ours, witness, .. } = judged;
    match judged.law {
        Law::Calls => format!("{ours} calls counted, {witness} made by threads"),
        Law::Time => format!("{ours} in calls on files, {witness} spent by threads"),
        Law::Blocked => format!("{ours} blocked in calls on files, {witness} by threads"),
        Law::Bytes => format!("{ours} moved by calls, {witness} by threads"),
        Law::TimelineCalls => {
            format!("{ours} writes and syncs counted, {witness} in the timeline")
        }
        Law::TimelineRequests => {
            format!(
                "device requests of {ours} counted, of {witness} in the timeline, or not as many"
            )
        }
        Law::Histogram => {
            format!("{ours} of {witness} calls have a time that their histogram has, too")
        }
        Law::History => {
            format!("{ours} of {witness} files have a history with all of their writes")
        }
        Law::Dirtied => {
            format!("{ours} of {witness} files that were written to have pages that turned dirty")
        }
        Law::Synced => format!("{ours} of {witness} files that were synced have data on a disk"),
        Law::Bounds => {
            format!(
                "{ours} of {witness} threads were on a CPU and blocked no longer than they lived"
            )
        }
    }
    .into()
}

/// The figures that are not to be believed.
pub(super) fn reason(law: Law) -> &'static str {
    match law {
        Law::Calls | Law::Time | Law::Blocked | Law::Bytes => {
            "the sums of calls and of threads differ"
        }
        Law::Histogram => "the sums of calls and their histograms differ",
        Law::TimelineCalls => "the sums of calls and of moments differ",
        Law::TimelineRequests => "the sums of requests and of moments differ",
        Law::History => "the sums of calls and the histories of files differ",
        Law::Dirtied => "files were written to of which no page turned dirty",
        Law::Synced => "files were synced of which nothing was written to a disk",
        Law::Bounds => "threads were longer on a CPU and blocked than they lived",
    }
}
