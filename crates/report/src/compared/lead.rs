//! The first statement: for two labs the verdict, for two traces the wall time.

use iostrata_core::compare::{
    Comparison, PAGE_CACHE, Runs, Sides, TimeRatio, Timed, Verdict, Whole,
};

use super::{factor, interval, is_telling, ratio, visible};
use crate::format::{counted, number, time};
use crate::words::{self, Words};
use iostrata_core::gap::Missing;

/// CPUs kept busy by others above which they are named as the reason.
const BUSY_CPUS: f64 = 0.5;

/// The first line: time, then calls.
pub(crate) fn headline(comparison: &Comparison) -> String {
    let time = match &comparison.trace {
        Some(runs) => wall(comparison, runs),
        None => verdict(comparison),
    };
    let calls = match comparison.calls_differ {
        Some(true) => "different calls",
        Some(false) => "the same calls",
        None => "calls were not seen",
    };
    format!("{time}; {calls}")
}

fn verdict(comparison: &Comparison) -> String {
    match comparison.verdict {
        Some(Verdict::Same) => format!("same, within {}", limit(comparison)),
        Some(Verdict::Mixed) => "some of it slower, some faster".to_owned(),
        Some(one) => one.as_str().to_owned(),
        None => "times are not judged".to_owned(),
    }
}

/// `wall time 4.73 s → 547 ms, 0.12 times as long`; for timed runs medians, after the verdict.
fn wall(comparison: &Comparison, runs: &Runs) -> String {
    let (verdict, wall_s, as_long) = if let Some(timed) = &runs.timed {
        let verdict = if timed.time.is_some() {
            format!("{}: ", verdict(comparison))
        } else {
            String::new()
        };
        let time = timed.time.as_ref();
        let as_long = time.filter(|time| is_telling(time, comparison.verdict));
        let as_long = as_long.map(|time| factor(time.ratio));
        (verdict, timed.median_s, as_long)
    } else {
        let is_known = runs.wall_s.base > 0.0;
        let as_long = is_known.then(|| ratio(runs.wall_s.new / runs.wall_s.base));
        (String::new(), runs.wall_s, as_long)
    };
    let as_long = as_long.map_or(String::new(), |times| format!(", {times} times as long"));
    let (base, new) = (time(wall_s.base), time(wall_s.new));
    format!("{verdict}wall time {base} → {new}{as_long}")
}

fn limit(comparison: &Comparison) -> String {
    format!("{} %", comparison.limit_percent)
}

/// The basis of the headline: a line for each experiment that was judged; for two traces the number
/// of runs, and what it means.
pub(crate) fn because(comparison: &Comparison) -> Vec<String> {
    if let Some(runs) = &comparison.trace {
        let times = match &runs.timed {
            Some(timed) => of_timed(comparison, timed),
            None => format!("not judged: {}", unjudged(comparison)),
        };
        return std::iter::once(times).chain(cache(comparison)).collect();
    }
    let wholes = comparison.lab.iter().flat_map(|lab| &lab.experiments);
    wholes
        .filter_map(|whole| {
            let word = word(comparison, whole.verdict);
            let found = found(comparison, whole.verdict, whole.time.as_ref()?);
            Some(format!("{}: {word}: {found}{}", whole.id, busy(whole)))
        })
        .collect()
}

fn unjudged(comparison: &Comparison) -> Words {
    let mut gaps = comparison.missing.iter();
    let gap = gaps.find(|gap| gap.what == Missing::Times);
    gap.map_or_else(|| "not known".into(), |gap| words::reason(&gap.why))
}

/// `medians of 10 runs each, not traced; 1.20 times as long (97 %: 1.10–1.31)`.
fn of_timed(comparison: &Comparison, timed: &Timed) -> String {
    let runs = if timed.runs.base == timed.runs.new {
        format!("{} each", counted(timed.runs.base, "run"))
    } else {
        format!("{} and {}", timed.runs.base, counted(timed.runs.new, "run"))
    };
    let found = match &timed.time {
        Some(time) => found(comparison, comparison.verdict, time),
        None => format!("not judged: {}", unjudged(comparison)),
    };
    format!("medians of {runs}, not traced; {found}")
}

/// States that the times are those of a cold and of a warm cache.
fn cache(comparison: &Comparison) -> Option<String> {
    let mut conditions = comparison.conditions.iter();
    let Sides { base, new } = &conditions.find(|one| one.what == PAGE_CACHE)?.sides;
    Some(format!(
        "not the same page cache: {base} → {new}; run both cold or both warm"
    ))
}

/// The verdict in one or two words.
fn word(comparison: &Comparison, verdict: Option<Verdict>) -> String {
    match verdict {
        Some(Verdict::Same) => format!("same, within {}", limit(comparison)),
        Some(Verdict::Inconclusive) => "inconclusive".to_owned(),
        one => super::verdict(one).to_owned(),
    }
}

/// The basis of the verdict.
fn found(comparison: &Comparison, verdict: Option<Verdict>, time: &TimeRatio) -> String {
    if verdict != Some(Verdict::Inconclusive) {
        return estimate(time);
    }
    let limit = limit(comparison);
    let is_telling = is_telling(time, verdict);
    let why = if is_visible(time, comparison.limit_percent) {
        format!("the interval reaches beyond the limit of {limit}")
    } else {
        let least = if is_telling {
            visible(time)
        } else {
            "10x".to_owned()
        };
        format!("only changes above {least} were detectable, and the limit is {limit}")
    };
    if is_telling {
        format!("{}; {why}", estimate(time))
    } else {
        why
    }
}

/// `1.31 times as long (98 %: 1.19–1.44)`.
fn estimate(time: &TimeRatio) -> String {
    let (times, interval) = (factor(time.ratio), interval(time));
    format!("{times} times as long ({}: {interval})", confidence(time))
}

/// Why the comparison is inconclusive, if others used the machine.
fn busy(whole: &Whole) -> String {
    let sides = [whole.others_cpus.base, whole.others_cpus.new];
    let most = sides.into_iter().flatten().fold(0.0, f64::max);
    if most < BUSY_CPUS || whole.verdict != Some(Verdict::Inconclusive) {
        return String::new();
    }
    format!("; other processes kept {} CPUs busy", number(most))
}

/// Whether a change as large as the limit was detectable.
fn is_visible(time: &TimeRatio, limit_percent: f64) -> bool {
    time.visible_ratio <= 1.0 + limit_percent / 100.0
}

/// `96 %`: the confidence of the interval.
fn confidence(time: &TimeRatio) -> String {
    let percent = format!("{:.2}", (1.0 - time.misses) * 100.0);
    let short = percent.trim_end_matches('0').trim_end_matches('.');
    format!("{short} %")
}
