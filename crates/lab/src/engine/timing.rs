//! The number of runs of each case, and their order.

use iostrata_core::timing::{Sample, Timing};

use super::xorshift::XorShift;

/// The same order of cases in every invocation, so that two results differ by their measurements
/// and not by the order.
const ORDER_SEED: u64 = 0x10_57_2a_7a;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StoppingRule {
    /// Runs a case gets before its interval may stop it.
    pub min_runs: usize,
    /// Maximum number of runs, however wide the interval is.
    pub max_runs: usize,
    /// Sufficient width of the 95 % interval, as a share of the median.
    pub target_width: f64,
    /// Measured seconds, warm-up included, after which a case gets no further run.
    pub budget_s: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Round {
    /// Not counted: fills caches and lets the file system allocate its structures.
    WarmUp,
    /// Counted; numbered from 0.
    Timed(usize),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// Samples per case, in the order of the runs.
    pub samples: Vec<Vec<Sample>>,
    /// Runs made but not counted.
    pub warm_ups: usize,
    /// For each case, whether it has as many samples as the stopping rule requires.
    pub enough: Vec<bool>,
    /// Whether `stop` ended it before every case was finished.
    pub interrupted: bool,
}

/// Times `cases` cases, interleaved.
///
/// In every round each unfinished case runs once, in a new random order, so that a disturbance of
/// some seconds spreads over all cases instead of spoiling one. `stop` is called before each run; a
/// run that fails while `stop` returns true counts as interrupted, not as failed, and earlier
/// samples stay.
pub fn measure<E>(
    cases: usize,
    stopping: &StoppingRule,
    mut run: impl FnMut(usize, Round) -> Result<Sample, E>,
    stop: &dyn Fn() -> bool,
) -> Result<Measured, E> {
    let mut by_case = vec![CaseRuns::default(); cases];
    let mut warm_ups = 0;
    let mut random = XorShift::new(ORDER_SEED);
    let rounds = std::iter::once(Round::WarmUp).chain((0..stopping.max_runs).map(Round::Timed));
    for round in rounds {
        let mut order: Vec<usize> = (0..cases)
            .filter(|&case| !by_case[case].is_finished(stopping))
            .collect();
        random.shuffle(&mut order);
        for case in order {
            if stop() {
                return Ok(Measured::new(by_case, stopping, warm_ups, true));
            }
            let sample = match run(case, round) {
                Ok(sample) => sample,
                Err(_) if stop() => return Ok(Measured::new(by_case, stopping, warm_ups, true)),
                Err(error) => return Err(error),
            };
            by_case[case].spent_s += sample.real_s;
            match round {
                Round::WarmUp => warm_ups += 1,
                Round::Timed(_) => by_case[case].samples.push(sample),
            }
        }
    }
    Ok(Measured::new(by_case, stopping, warm_ups, false))
}

#[derive(Debug, Clone, Default)]
struct CaseRuns {
    samples: Vec<Sample>,
    /// Warm-up included.
    spent_s: f64,
}

impl CaseRuns {
    fn is_finished(&self, stopping: &StoppingRule) -> bool {
        let runs = self.samples.len();
        let narrow = || {
            Timing::from_samples(&self.samples)
                .is_some_and(|timing| timing.relative_width() <= stopping.target_width)
        };
        runs > 0
            && (runs >= stopping.max_runs
                || self.spent_s >= stopping.budget_s
                || (runs >= stopping.min_runs && narrow()))
    }
}

impl Measured {
    fn new(
        by_case: Vec<CaseRuns>,
        stopping: &StoppingRule,
        warm_ups: usize,
        interrupted: bool,
    ) -> Self {
        let enough =
            |case: &CaseRuns| case.samples.len() >= stopping.min_runs || case.is_finished(stopping);
        Self {
            enough: by_case.iter().map(enough).collect(),
            samples: by_case.into_iter().map(|case| case.samples).collect(),
            warm_ups,
            interrupted,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::convert::Infallible;

    use super::*;

    const RULES: StoppingRule = StoppingRule {
        min_runs: 3,
        max_runs: 8,
        target_width: 0.1,
        budget_s: 100.0,
    };

    fn took(real_s: f64) -> Sample {
        Sample {
            real_s,
            user_s: 0.0,
            system_s: 0.0,
        }
    }

    fn never() -> bool {
        false
    }

    /// Scripted durations: even runs take 1 s, odd ones `1 + spread` s.
    fn alternating(spread: f64) -> impl FnMut(usize, Round) -> Result<Sample, Infallible> {
        move |_, round| {
            Ok(took(match round {
                Round::Timed(n) if n % 2 == 1 => 1.0 + spread,
                _ => 1.0,
            }))
        }
    }

    #[test]
    fn every_round_runs_every_case_once_in_a_changing_order() {
        let mut log = Vec::new();
        measure(
            6,
            &RULES,
            |case, round| {
                log.push((round, case));
                Ok::<_, Infallible>(took(1.0))
            },
            &never,
        )
        .unwrap();
        let rounds: Vec<&[(Round, usize)]> = log.chunks(6).collect();
        assert_eq!(rounds.len(), 4, "one warm-up and min_runs rounds");
        for round in &rounds {
            assert!(
                round.iter().all(|(label, _)| *label == round[0].0),
                "rounds do not mix"
            );
            let mut cases: Vec<usize> = round.iter().map(|(_, case)| *case).collect();
            cases.sort_unstable();
            assert_eq!(cases, [0, 1, 2, 3, 4, 5]);
        }
        let order = |n: usize| rounds[n].iter().map(|(_, case)| *case).collect::<Vec<_>>();
        assert!(
            (1..4).any(|n| order(n) != order(0)),
            "the order is drawn for each round"
        );
    }

    #[test]
    fn the_order_is_the_same_in_every_invocation() {
        let order = || {
            let mut log = Vec::new();
            measure(
                9,
                &RULES,
                |case, _| {
                    log.push(case);
                    Ok::<_, Infallible>(took(1.0))
                },
                &never,
            )
            .unwrap();
            log
        };
        assert_eq!(order(), order());
    }

    #[test]
    fn stable_samples_stop_at_the_minimum() {
        let measured = measure(1, &RULES, alternating(0.0), &never).unwrap();
        assert_eq!(measured.samples[0].len(), RULES.min_runs);
        assert_eq!(measured.warm_ups, 1);
        assert!(!measured.interrupted);
    }

    #[test]
    fn noisy_samples_go_to_the_maximum() {
        let measured = measure(1, &RULES, alternating(3.0), &never).unwrap();
        assert_eq!(measured.samples[0].len(), RULES.max_runs);
    }

    #[test]
    fn a_case_that_used_its_budget_stops_and_keeps_a_sample() {
        let stopping = StoppingRule {
            budget_s: 2.5,
            ..RULES
        };
        let slow_and_quick = |case: usize, _| Ok::<_, Infallible>(took([2.0, 0.1][case]));
        let measured = measure(2, &stopping, slow_and_quick, &never).unwrap();
        assert_eq!(
            measured.samples[0].len(),
            1,
            "warm-up and one run are over the budget"
        );
        assert_eq!(measured.samples[1].len(), RULES.min_runs);

        let stopping = StoppingRule {
            budget_s: 0.5,
            ..RULES
        };
        let measured = measure(1, &stopping, alternating(0.0), &never).unwrap();
        assert_eq!(
            measured.samples[0].len(),
            1,
            "a budget used by the warm-up leaves one run"
        );
    }

    #[test]
    fn the_warm_up_is_not_a_sample() {
        let mut first = true;
        let run = |_, _| {
            let sample = took(if std::mem::take(&mut first) {
                50.0
            } else {
                1.0
            });
            Ok::<_, Infallible>(sample)
        };
        let measured = measure(1, &RULES, run, &never).unwrap();
        assert!(
            measured.samples[0]
                .iter()
                .all(|s| (s.real_s - 1.0).abs() < f64::EPSILON)
        );
    }

    #[test]
    fn an_interruption_keeps_the_samples_so_far() {
        let runs = Cell::new(0);
        let run = |_, _| {
            runs.set(runs.get() + 1);
            Ok::<_, Infallible>(took(1.0))
        };
        let measured = measure(2, &RULES, run, &|| runs.get() == 5).unwrap();
        assert!(measured.interrupted);
        assert_eq!(
            measured.samples.iter().map(Vec::len).sum::<usize>(),
            3,
            "5 less 2 warm-ups"
        );
        assert_eq!(measured.enough, [false, false]);

        runs.set(0);
        let measured = measure(2, &RULES, run, &|| runs.get() == 7).unwrap();
        let with_enough = measured.enough.iter().filter(|enough| **enough).count();
        assert_eq!(with_enough, 1, "of 5 timed runs, 3 were of one case");
    }

    #[test]
    fn a_run_killed_by_the_interruption_is_not_an_error() {
        let stopped = Cell::new(false);
        let run = |case: usize, round| {
            if round == Round::Timed(1) && case == 0 {
                stopped.set(true);
                return Err("killed");
            }
            Ok(took(1.0))
        };
        let measured = measure(1, &RULES, run, &|| stopped.get()).unwrap();
        assert!(measured.interrupted);
        assert_eq!(measured.samples[0].len(), 1);
    }

    #[test]
    fn a_failing_run_is_an_error() {
        let run = |_, _| Err::<Sample, _>("no space");
        assert_eq!(measure(1, &RULES, run, &never), Err("no space"));
    }
}
