//! How long two traced programs take.

use iostrata_core::compare::Runs;

use super::{confidence, factor, interval, visible};
use crate::format::{counted, time};

/// Of programs with timed runs their medians and how many times as long `new` takes; of others the
/// observed runs.
pub(crate) fn from_start_to_end(runs: &Runs) -> String {
    let Some(timed) = &runs.timed else {
        let (base, new) = (time(runs.wall_s.base), time(runs.wall_s.new));
        return format!("from start to end {base} → {new}, one run each");
    };
    let (base, new) = (time(timed.median_s.base), time(timed.median_s.new));
    let of = if timed.runs.base == timed.runs.new {
        format!("{} each", counted(timed.runs.base, "run"))
    } else {
        format!("{} and {}", timed.runs.base, counted(timed.runs.new, "run"))
    };
    let judged = timed.time.as_ref().map_or_else(String::new, |change| {
        format!(
            ": {} times as long ({} interval {}; changes from {} on would have been found)",
            factor(change.ratio),
            confidence(change),
            interval(change),
            visible(change)
        )
    });
    format!("from start to end {base} → {new}, medians of {of} without tracing{judged}")
}

#[cfg(test)]
mod tests {
    use iostrata_core::compare::{Change, Judgement, Sides, Timed};

    use super::super::fixture;
    use super::*;

    #[test]
    fn medians_are_told_with_their_ratio() {
        let mut runs = fixture::trace().trace.unwrap();
        assert_eq!(
            from_start_to_end(&runs).replace('\u{a0}', " "),
            "from start to end 1.25 s → 1.50 s, one run each"
        );
        let change = Change {
            ratio: 1.2,
            low_ratio: 1.1,
            high_ratio: 1.31,
            misses: 0.03,
            visible_ratio: 1.15,
            rounds: 10,
        };
        let of = |base, new, time| Timed {
            median_s: Sides {
                base: 1.0,
                new: 1.2,
            },
            runs: Sides { base, new },
            others_cpus: Sides::default(),
            time,
            judgement: Judgement::Slower,
        };
        runs.timed = Some(of(10, 10, Some(change)));
        assert_eq!(
            from_start_to_end(&runs).replace('\u{a0}', " "),
            "from start to end 1.00 s → 1.20 s, medians of 10 runs each without tracing: 1.20 times as \
             long (97 % interval 1.10–1.31; changes from 15 % on would have been found)"
        );
        runs.timed = Some(of(1, 10, None));
        assert_eq!(
            from_start_to_end(&runs).replace('\u{a0}', " "),
            "from start to end 1.00 s → 1.20 s, medians of 1 and 10 runs without tracing"
        );
    }
}
