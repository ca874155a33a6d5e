//! Laws of the audit in words.

use iostrata_core::bytes::{exact, grouped};
use iostrata_core::figures::duration;
use iostrata_core::law::Law;
use iostrata_core::noun::counted;
use iostrata_core::trace::Judged;

use super::Words;

/// What a broken law says: both figures.
pub fn broken(judged: &Judged) -> Words {
    let count = |figure: f64| grouped(figure as u64);
    let bytes = |figure: f64| exact(figure as u64);
    let (ours, witness) = (judged.ours, judged.witness);
    match judged.law {
        Law::Calls => format!(
            "{} calls counted, {} made by threads",
            count(ours),
            count(witness)
        ),
        Law::Time => format!(
            "{} in calls on files, {} spent by threads",
            duration(ours),
            duration(witness)
        ),
        Law::Blocked => format!(
            "{} blocked in calls on files, {} by threads",
            duration(ours),
            duration(witness)
        ),
        Law::Bytes => format!(
            "{} moved by calls, {} by threads",
            bytes(ours),
            bytes(witness)
        ),
        Law::TimelineCalls => format!(
            "{} writes and syncs counted, {} in the timeline",
            count(ours),
            count(witness)
        ),
        Law::TimelineRequests => format!(
            "device requests of {} counted, of {} in the timeline, or not as many",
            bytes(ours),
            bytes(witness)
        ),
        Law::Histogram => broken_by(
            judged,
            "call",
            "has a time that its histogram does not have",
        ),
        Law::History => broken_by(judged, "file", "has a history without all of its writes"),
        Law::Dirtied => broken_by(
            judged,
            "file",
            "was written to, and no page of it turned dirty",
        ),
        Law::Synced => broken_by(
            judged,
            "file",
            "was synced, and nothing of it was written to a disk",
        ),
        Law::Bounds => broken_by(
            judged,
            "thread",
            "was longer on a CPU and blocked than it lived",
        ),
    }
    .into()
}

/// The number of those that do not obey.
fn broken_by(judged: &Judged, noun: &str, what: &str) -> String {
    let count = (judged.witness - judged.ours).max(0.0) as u64;
    format!(
        "{} of {}: each {what}",
        grouped(count),
        counted(judged.witness as u64, noun)
    )
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
