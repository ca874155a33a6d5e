//! What is said first: of two labs the verdict, of two traces the wall time.

use iostrata_core::compare::{Change, Comparison, PAGE_CACHE, Runs, Sides, Verdict, Whole};

use super::{factor, interval, is_telling, ratio, visible};
use crate::format::{number, time};

/// CPUs that others keep busy from which on they are named as the reason.
const BUSY_CPUS: f64 = 0.5;

/// The first line: time, then calls.
pub(crate) fn headline(comparison: &Comparison) -> String {
    let time = match &comparison.trace {
        Some(runs) => wall(runs),
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

/// `wall time 4.73 s → 547 ms, 0.12 times as long`.
fn wall(runs: &Runs) -> String {
    let wall_s = runs.wall_s;
    let as_long = if wall_s.base > 0.0 {
        format!(", {} times as long", ratio(wall_s.new / wall_s.base))
    } else {
        String::new()
    };
    format!(
        "wall time {} → {}{as_long}",
        time(wall_s.base),
        time(wall_s.new)
    )
}

/// `10 %`.
fn limit(comparison: &Comparison) -> String {
    format!("{} %", comparison.limit_percent)
}

/// What the headline rests on: a line for each experiment that was judged, or that the wall time is
/// of one run each.
pub(crate) fn because(comparison: &Comparison) -> Vec<String> {
    if comparison.trace.is_some() {
        let times = "one run each: not judged; measure with --runs".to_owned();
        return std::iter::once(times).chain(cache(comparison)).collect();
    }
    let wholes = comparison.lab.iter().flat_map(|lab| &lab.experiments);
    wholes
        .filter_map(|whole| Some(sentence(comparison, whole, whole.time.as_ref()?)))
        .collect()
}

/// That the times are those of a cold and of a warm cache.
fn cache(comparison: &Comparison) -> Option<String> {
    let mut conditions = comparison.conditions.iter();
    let Sides { base, new } = &conditions.find(|one| one.what == PAGE_CACHE)?.sides;
    Some(format!(
        "not the same page cache: {base} → {new}; run both cold or both warm"
    ))
}

fn sentence(comparison: &Comparison, whole: &Whole, time: &Change) -> String {
    let limit = limit(comparison);
    let id = &whole.id;
    if whole.verdict == Some(Verdict::Inconclusive) {
        let why = if is_visible(time, comparison.limit_percent) {
            format!("the interval reaches beyond the limit of {limit}")
        } else {
            let least = if is_telling(time, whole.verdict) {
                visible(time)
            } else {
                "10x".to_owned()
            };
            format!("only changes above {least} were detectable, and the limit is {limit}")
        };
        let estimate = if is_telling(time, whole.verdict) {
            format!("{}; ", estimate(time))
        } else {
            String::new()
        };
        return format!("{id}: inconclusive: {estimate}{why}{}", busy(whole));
    }
    let rest = match whole.verdict {
        Some(Verdict::Same) => format!("same, within {limit}"),
        one => super::verdict(one).to_owned(),
    };
    format!("{id}: {rest}: {}", estimate(time))
}

/// `1.31 times as long (98 %: 1.19–1.44)`.
fn estimate(time: &Change) -> String {
    format!(
        "{} times as long ({}: {})",
        factor(time.ratio),
        confidence(time),
        interval(time)
    )
}

/// Why so little could be told, where others used the machine.
fn busy(whole: &Whole) -> String {
    let sides = [whole.others_cpus.base, whole.others_cpus.new];
    let most = sides.into_iter().flatten().fold(0.0, f64::max);
    if most < BUSY_CPUS {
        return String::new();
    }
    format!("; other processes kept {} CPUs busy", number(most))
}

/// Whether a change as large as the limit would have been found.
fn is_visible(time: &Change, limit_percent: f64) -> bool {
    time.visible_ratio <= 1.0 + limit_percent / 100.0
}

/// `96 %`: how sure the interval is.
fn confidence(time: &Change) -> String {
    let percent = format!("{:.2}", (1.0 - time.misses) * 100.0);
    let short = percent.trim_end_matches('0').trim_end_matches('.');
    format!("{short} %")
}
