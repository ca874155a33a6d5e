//! The verdict on a difference in time: there is one, there is none beyond the limit, or the noise
//! leaves it open.

use serde::{Deserialize, Serialize};

use super::{Comparison, Judgement, Limit, TimeRatio};

/// The default limit of `same`. A quiet machine can detect about this much in an experiment with
/// five rounds.
pub const USUAL_LIMIT: Limit = Limit { percent: 10.0 };

/// The verdict on times, for a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// `new` takes longer, beyond the noise.
    Slower,
    /// `new` takes less time, beyond the noise.
    Faster,
    /// Some parts take longer and some take less time, beyond the noise.
    Mixed,
    /// The interval lies within the limit, and a change as large as the limit would have been
    /// found.
    Same,
    /// None of these: the noise can hide a change as large as the limit.
    Inconclusive,
}

impl Verdict {
    pub fn of(time: &TimeRatio, limit: Limit) -> Self {
        match time.judgement() {
            Judgement::Slower => Self::Slower,
            Judgement::Faster => Self::Faster,
            _ if limit.holds(time) => Self::Same,
            _ => Self::Inconclusive,
        }
    }

    /// Of all times together. Slower and faster parts decide; undecided parts count only after
    /// them.
    fn of_all(verdicts: &[Self]) -> Option<Self> {
        let has = |verdict| verdicts.contains(&verdict);
        Some(match (has(Self::Slower), has(Self::Faster)) {
            (true, true) => Self::Mixed,
            (true, false) => Self::Slower,
            (false, true) => Self::Faster,
            (false, false) if has(Self::Inconclusive) => Self::Inconclusive,
            (false, false) if has(Self::Same) => Self::Same,
            (false, false) => return None,
        })
    }

    /// The word printed.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Slower => "slower",
            Self::Faster => "faster",
            Self::Mixed => "slower and faster",
            Self::Same => "same",
            Self::Inconclusive => "inconclusive",
        }
    }
}

impl Limit {
    fn factor(self) -> f64 {
        1.0 + self.percent / 100.0
    }

    /// Whether the time is the same within the limit: the interval lies within it, and a change as
    /// large would have been found.
    fn holds(self, time: &TimeRatio) -> bool {
        let most = self.factor();
        time.low_ratio >= 1.0 / most && time.high_ratio <= most && time.visible_ratio <= most
    }

    /// Whether the estimate is as far from 1 as the limit.
    fn is_reached_by(self, time: &TimeRatio) -> bool {
        let most = self.factor();
        time.ratio >= most || time.ratio <= 1.0 / most
    }

    /// Whether the time may be longer by the limit, undecided.
    pub(super) fn may_be_exceeded(self, time: &TimeRatio) -> bool {
        match Verdict::of(time, self) {
            Verdict::Inconclusive => true,
            Verdict::Slower => time.ratio < self.factor() && time.high_ratio >= self.factor(),
            _ => false,
        }
    }

    /// Whether an inconclusive row alone leaves its experiment undecided. A few rounds of one row
    /// show only large changes, so that most rows are inconclusive on most machines: only those
    /// count whose estimate reaches the limit.
    pub(super) fn is_left_open_by(self, time: &TimeRatio) -> bool {
        Verdict::of(time, self) == Verdict::Inconclusive && self.is_reached_by(time)
    }
}

impl Comparison {
    /// Sets every verdict for a limit.
    pub(super) fn decide(&mut self, limit: Limit) {
        self.limit_percent = limit.percent;
        if let Some(timed) = self.trace.as_ref().and_then(|runs| runs.timed.as_ref()) {
            self.verdict = timed.verdict(limit);
        }
        let Some(lab) = &mut self.lab else {
            return;
        };
        let of = |time: Option<TimeRatio>| time.map(|time| Verdict::of(&time, limit));
        let mut all = Vec::new();
        for whole in &mut lab.experiments {
            whole.verdict = of(whole.time);
            all.extend(whole.verdict);
        }
        for row in &mut lab.rows {
            row.verdict = of(row.time);
            let counts = row.verdict != Some(Verdict::Inconclusive)
                || row.time.is_some_and(|time| limit.is_left_open_by(&time));
            // One equal row says nothing about the others.
            let decides = counts && row.verdict != Some(Verdict::Same);
            all.extend(row.verdict.filter(|_| decides));
        }
        self.verdict = Verdict::of_all(&all);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn change(ratio: f64, low_ratio: f64, high_ratio: f64, visible_ratio: f64) -> TimeRatio {
        TimeRatio {
            ratio,
            low_ratio,
            high_ratio,
            misses: 0.02,
            visible_ratio,
            rounds: 5,
        }
    }

    fn verdict(time: [f64; 4], percent: f64) -> Verdict {
        let [ratio, low, high, visible] = time;
        Verdict::of(&change(ratio, low, high, visible), Limit { percent })
    }

    #[test]
    fn verdicts_by_hand() {
        use Verdict::{Faster, Inconclusive, Same, Slower};
        for (time, percent, expected) in [
            // A comparison that was previously reported as no difference.
            ([3.93, 0.0026, 5957.0, 9000.0], 5.0, Inconclusive),
            ([3.93, 0.0026, 5957.0, 9000.0], 10_000.0, Inconclusive),
            ([1.01, 0.95, 1.07, 1.09], 10.0, Same),
            // The same noise, and a limit that is too small for it.
            ([1.01, 0.95, 1.07, 1.09], 5.0, Inconclusive),
            // Within the limit above, but not below: 0.90 is less than 1 / 1.1.
            ([0.99, 0.90, 1.09, 1.09], 10.0, Inconclusive),
            ([0.99, 0.92, 1.09, 1.09], 10.0, Same),
            // The interval fits, but a change as large would be missed too often.
            ([1.00, 0.93, 1.08, 1.11], 10.0, Inconclusive),
            ([1.31, 1.19, 1.44, 1.18], 10.0, Slower),
            ([0.50, 0.40, 0.60, 1.5], 10.0, Faster),
            // A small difference beyond the noise is a difference.
            ([1.04, 1.01, 1.07, 1.05], 10.0, Slower),
            // Beyond the noise, but below 3 %.
            ([1.02, 1.01, 1.03, 1.03], 10.0, Same),
            // Differences below 3 % are not distinguished.
            ([1.00, 0.999, 1.001, 1.03], 1.0, Inconclusive),
            ([1.00, 1.00, 1.00, 1.03], 0.0, Inconclusive),
        ] {
            assert_eq!(verdict(time, percent), expected, "{time:?} at {percent} %");
        }
    }

    #[test]
    fn what_may_be_slower_by_the_limit() {
        let may = |time: [f64; 4], percent: f64| {
            let [ratio, low, high, visible] = time;
            Limit { percent }.may_be_exceeded(&change(ratio, low, high, visible))
        };
        assert!(may([3.93, 0.0026, 5957.0, 9000.0], 5.0));
        // Slower by 4 %, and perhaps by 7 %.
        assert!(may([1.04, 1.01, 1.07, 1.05], 5.0));
        assert!(!may([1.04, 1.01, 1.07, 1.05], 10.0));
        // That is exceeded, not undecided.
        assert!(!may([1.31, 1.19, 1.44, 1.18], 5.0));
        assert!(!may([0.50, 0.40, 0.60, 1.5], 5.0));
        assert!(!may([1.01, 0.95, 1.07, 1.09], 10.0));
    }

    #[test]
    fn all_together() {
        use Verdict::{Faster, Inconclusive, Mixed, Same, Slower};
        for (verdicts, expected) in [
            (&[][..], None),
            (&[Same, Same], Some(Same)),
            (&[Same, Inconclusive], Some(Inconclusive)),
            (&[Inconclusive, Slower], Some(Slower)),
            (&[Same, Faster], Some(Faster)),
            (&[Faster, Slower, Inconclusive], Some(Mixed)),
        ] {
            assert_eq!(Verdict::of_all(verdicts), expected, "{verdicts:?}");
        }
    }

    proptest! {
        /// For any measurements: a result judged the same lies within the limit, and one judged
        /// different has an interval without 1.
        #[test]
        fn no_verdict_says_more_than_its_interval(
            log in -3.0..3.0_f64, width in 0.0..9.0_f64, reserve in 0.0..3.0_f64,
            percent in 0.0..500.0_f64,
        ) {
            let (low, high) = ((log - width).exp(), (log + width).exp());
            let time = change(log.exp(), low, high, (width + reserve).exp().max(1.03));
            let most = 1.0 + percent / 100.0;
            match Verdict::of(&time, Limit { percent }) {
                Verdict::Same => {
                    prop_assert!(low >= 1.0 / most && high <= most);
                    prop_assert!(time.visible_ratio <= most);
                }
                Verdict::Slower => prop_assert!(low > 1.0),
                Verdict::Faster => prop_assert!(high < 1.0),
                Verdict::Inconclusive => {
                    let is_within = low >= 1.0 / most && high <= most;
                    prop_assert!(!is_within || time.visible_ratio > most);
                }
                Verdict::Mixed => prop_assert!(false, "one time is not several"),
            }
        }

        /// A larger limit never turns another certain verdict into `same`, nor withdraws `same`.
        #[test]
        fn a_larger_limit_only_turns_inconclusive_into_same(
            log in -1.0..1.0_f64, width in 0.0..1.0_f64, percent in 0.0..100.0_f64,
            more in 0.0..100.0_f64,
        ) {
            let (low, high) = ((log - width).exp(), (log + width).exp());
            let time = change(log.exp(), low, high, (2.0 * width).exp().max(1.03));
            let narrow = Verdict::of(&time, Limit { percent });
            let wide = Verdict::of(&time, Limit { percent: percent + more });
            let turned = narrow == Verdict::Inconclusive && wide == Verdict::Same;
            prop_assert!(narrow == wide || turned, "{narrow:?} to {wide:?}");
        }
    }
}
