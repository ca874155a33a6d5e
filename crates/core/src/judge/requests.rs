//! Device requests for each record or sync.

use super::rows::{Judged, TargetRows, numbers};
use super::{Finding, Missing, Pair, Relation, SAME_WITHIN};
use crate::answer::Verdict;
use crate::evidence::{Cause, DeviceCounts, RequestsPer};
use crate::figures::{rate, requests};

/// The device requests of one record or sync.
pub(crate) struct Requests([(Cause, f64); 6]);

/// Fewer requests than this per record or sync are not listed.
const RARE: f64 = 0.05;

/// Requests may differ by this much and count as equal: checkpoints of the journal and block
/// allocation happen at any time.
const SAME_REQUESTS: f64 = 0.1;

impl Requests {
    /// These counts, each divided.
    pub(super) fn of(device: &DeviceCounts, each: impl Fn(u64) -> f64) -> Self {
        let per = RequestsPer::new(|cause| Some(each(device.of(cause).count)));
        Self(
            per.each()
                .map(|(cause, each)| (cause, each.unwrap_or_default())),
        )
    }

    /// Whether each cause has as many requests, within a tenth of a request or of the count.
    pub(crate) fn same_as(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).all(|((_, ours), (_, theirs))| {
            (ours - theirs).abs() <= SAME_REQUESTS * f64::max(1.0, f64::max(*ours, *theirs))
        })
    }

    /// `1 data`, `1 flush`: the causes with requests.
    pub(crate) fn named(&self) -> Vec<String> {
        let made = self.0.iter().filter(|(_, each)| *each >= RARE);
        made.map(|(cause, each)| {
            let figure = rate(*each);
            let name = if figure == "1" {
                cause.singular()
            } else {
                cause.name()
            };
            format!("{figure} {name}")
        })
        .collect()
    }

    /// The same without causes that occur at any time, for comparison as text.
    pub(crate) fn rounded(&self) -> String {
        let whole = self
            .0
            .iter()
            .map(|(_, each)| format!("{:.0}", each.round()));
        whole.collect::<Vec<_>>().join(" ")
    }

    /// All of them, flushes included.
    pub(crate) fn sum(&self) -> f64 {
        self.0.iter().map(|(_, each)| each).sum()
    }

    pub(crate) fn by(&self, cause: Cause) -> f64 {
        let wanted = |(of, _): &&(Cause, f64)| *of == cause;
        self.0.iter().find(wanted).map_or(0.0, |(_, each)| *each)
    }
}

impl std::fmt::Display for Requests {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&requests(&self.0))
    }
}

/// Whether a row of the first kind takes longer than one of the second.
///
/// Decided by the device requests where they were observed: with the same requests the second saves
/// nothing, whatever two noisy times show. `words` describes the times, `per` follows the requests,
/// and `unseen` says why there are none.
pub(crate) fn longer_by_requests<R: Judged, X>(
    target: &TargetRows<'_, R, X>,
    kinds: [R::Kind; 2],
    (words, per): (&str, &str),
    unseen: impl FnOnce(&Missing) -> String,
) -> Result<Finding, Missing> {
    let rows = target.smallest(kinds)?;
    let [ours, theirs] = &rows;
    let pair = Pair::of(target, rows);
    let time = pair.as_ref().map(|pair| pair.time).map_err(Missing::clone);
    let (verdict, reason) = match (ours.requests(), theirs.requests()) {
        // Far cheaper with the same requests: nothing observed here explains it.
        (Ok(full), Ok(less)) if full.same_as(&less) => {
            let far =
                time.is_ok_and(|time| time.is(Relation::Above(SAME_WITHIN)) == Verdict::Holds);
            let (verdict, yet) = if far {
                (Verdict::Inconclusive, "yet ")
            } else {
                (Verdict::Refuted, "")
            };
            (verdict, format!("{yet}both ask the device for {full}{per}"))
        }
        (Ok(full), Ok(less)) => {
            let names = (ours.row.name(), theirs.row.name());
            let reason = format!("{} asks for {full}, {} for {less}{per}", names.0, names.1);
            (time?.is(Relation::LONGER), reason)
        }
        (Err(why), _) | (_, Err(why)) => (time?.is(Relation::LONGER), unseen(&why)),
    };
    let times = pair.map_or_else(|_| ours.size() + ": ", |pair| pair.words(words) + "; ");
    Ok(Finding::new(verdict, times + &reason, numbers(&rows)))
}
