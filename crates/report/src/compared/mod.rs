//! What a comparison says, in the words that every renderer uses.

mod timed;

use iostrata_core::compare::{
    Change, Comparison, Count, Exceeded, FailOn, Judgement, Part, Row, Runs, Sides,
};
use iostrata_core::duration;

use crate::format::{counted, number, rate};
use crate::view::cell::Cell;

pub(crate) use self::timed::from_start_to_end;

/// Rows of a list that are shown unless all are asked for.
const FEW: usize = 20;

/// The first line: times, then calls.
pub(crate) fn headline(comparison: &Comparison) -> String {
    let times = match comparison.judgement {
        Judgement::NoDifference => "no difference in time",
        Judgement::Slower => "slower",
        Judgement::Faster => "faster",
        Judgement::Mixed => "some of it slower, some faster",
        Judgement::NotJudged => "times are not judged",
    };
    let calls = match comparison.calls_differ {
        Some(true) => "different calls",
        Some(false) => "the same calls",
        None => "calls were not seen",
    };
    format!("{times}; {calls}")
}

/// `and 9 more pairs`, where several pairs of runs are held against each other.
pub(crate) fn more_pairs(comparison: &Comparison) -> Option<String> {
    match comparison.further.len() {
        0 => None,
        more => Some(format!("and {}", counted(more, "more pair"))),
    }
}

/// What the headline rests on: the experiments that were judged.
pub(crate) fn because(comparison: &Comparison) -> Vec<String> {
    let wholes = comparison.lab.iter().flat_map(|lab| &lab.experiments);
    let of_time = wholes.filter_map(|whole| {
        let time = whole.time.as_ref()?;
        let (ratio, found) = (factor(time.ratio), interval(time));
        let share = confidence(time);
        let id = &whole.id;
        let rest = match whole.judgement {
            Judgement::NoDifference => format!(
                "no difference found, and one of {} would have been",
                visible(time)
            ),
            other => other.as_str().to_owned(),
        };
        Some(format!(
            "{id} takes {ratio} times as long ({share}: {found}): {rest}"
        ))
    });
    of_time.collect()
}

/// `1.03`, with the digits that tell small changes apart.
pub(crate) fn factor(ratio: f64) -> String {
    if ratio < 9.995 {
        format!("{ratio:.2}")
    } else {
        number(ratio)
    }
}

/// `0.93–1.12`.
pub(crate) fn interval(time: &Change) -> String {
    format!("{}–{}", factor(time.low_ratio), factor(time.high_ratio))
}

/// `96 %`: how sure the interval is.
fn confidence(time: &Change) -> String {
    let percent = format!("{:.2}", (1.0 - time.misses) * 100.0);
    let short = percent.trim_end_matches('0').trim_end_matches('.');
    format!("{short} %")
}

/// The least change that would have been found: `8 %`, `×2.4`, `over ×10`.
pub(crate) fn visible(time: &Change) -> String {
    match (time.visible_ratio - 1.0) * 100.0 {
        percent if percent < 99.5 => format!("{:.0} %", percent.ceil()),
        percent if percent < 900.0 => format!("×{}", number(time.visible_ratio)),
        _ => "over ×10".to_owned(),
    }
}

/// CPUs that others kept busy: `0.41 → 1.62`.
pub(crate) fn busy(sides: Sides<Option<f64>>) -> Cell {
    let one = |side: Option<f64>| Cell::seen(side, number);
    match sides {
        Sides {
            base: None,
            new: None,
        } => Cell::NotSeen,
        Sides { base, new } => format!("{} → {}", one(base), one(new)).into(),
    }
}

/// The time of a side of a row, which may have none: `12.3 ms`, `71.0 µs/sync`.
pub(crate) fn seconds(row: &Row, side: Option<f64>) -> Cell {
    let per = if row.per == "run" {
        String::new()
    } else {
        format!("/{}", row.per)
    };
    Cell::applicable(side, |seconds| format!("{}{per}", duration(seconds)))
}

/// A count or a rate.
pub(crate) fn count(value: f64) -> String {
    rate(value)
}

/// A row by its case and target.
pub(crate) fn row_name(row: &Row) -> String {
    format!("{} on {}", row.label, row.target)
}

/// What is listed, and how many more there are.
pub(crate) struct Listed<T> {
    pub(crate) shown: Vec<T>,
    pub(crate) more: usize,
}

impl<T> Listed<T> {
    pub(crate) fn of(items: impl IntoIterator<Item = T>, all: bool) -> Self {
        let mut shown: Vec<T> = items.into_iter().collect();
        let more = if all {
            0
        } else {
            shown.len().saturating_sub(FEW)
        };
        shown.truncate(shown.len() - more);
        Self { shown, more }
    }
}

/// Rows to list: those that changed, or all.
pub(crate) fn rows(comparison: &Comparison, all: bool) -> Vec<&Row> {
    let changed = |row: &&Row| matches!(row.judgement, Judgement::Slower | Judgement::Faster);
    let rows = comparison.lab.iter().flat_map(|lab| &lab.rows);
    rows.filter(|row| all || changed(row)).collect()
}

/// Counts to list, each with the row it is of, and a sentence on those that are left out.
pub(crate) fn row_counts(
    comparison: &Comparison,
    all: bool,
) -> (Vec<(&Row, &Count)>, Option<String>) {
    let rows = || comparison.lab.iter().flat_map(|lab| &lab.rows);
    let counts = rows().flat_map(|row| row.counts.iter().map(move |count| (row, count)));
    let (listed, below): (Vec<_>, Vec<_>) = counts.partition(|(_, count)| all || is_own(count));
    if below.is_empty() {
        return (listed, None);
    }
    let is_below = |row: &&Row| row.counts.iter().any(|count| !is_own(count));
    let (differing, of) = (rows().filter(is_below).count(), rows().count());
    let disturbed = rows()
        .filter(is_below)
        .filter(|row| row.is_disturbed())
        .count();
    let others = match disturbed {
        0 => String::new(),
        _ => format!(", and others used the disk in {disturbed}"),
    };
    let sentence = format!(
        "counts that are a matter of time (page cache, device, waiting calls) differ in {differing} \
         of {}{others}; --all-rows lists them",
        counted(of, "row")
    );
    (listed, Some(sentence))
}

/// Whether the program decides a count.
fn is_own(count: &Count) -> bool {
    matches!(count.part, Part::Calls | Part::Filesystem)
}

/// What was to fail, as the title of what does.
pub(crate) fn limit(comparison: &Comparison, fail_on: &FailOn) -> String {
    let percent = fail_on.limit.percent;
    let is_timed = |trace: &Runs| trace.timed.is_some();
    let subject = match (comparison.trace.is_some(), fail_on.exceeded.is_empty()) {
        (true, false) if comparison.trace.as_ref().is_some_and(is_timed) => {
            "slower, or more calls or bytes,"
        }
        (true, true) if comparison.trace.as_ref().is_some_and(is_timed) => {
            "not slower, and no calls or bytes are more,"
        }
        (false, false) => "slower",
        (false, true) => "nothing is slower",
        (true, false) => "more calls or bytes",
        (true, true) => "no calls or bytes are more",
    };
    format!("{subject} by {percent} % or more")
}

/// `12.0 % (4.1–20.3 %)`, or the counts.
pub(crate) fn by_how_much(exceeded: &Exceeded) -> String {
    let percent = exceeded.percent.map(|percent| match percent {
        several if several < 999.5 => format!("{several:.1} %"),
        many => format!("{} %", number(many)),
    });
    let detail = match (exceeded.interval_percent, exceeded.counts) {
        (Some((low, high)), _) => format!("{low:.1} to {high:.1} %"),
        (None, Some(counts)) => format!("{} → {}", count(counts.base), count(counts.new)),
        (None, None) => String::new(),
    };
    match percent {
        Some(percent) => format!("{percent} ({detail})"),
        None => detail,
    }
}

#[cfg(test)]
pub(crate) mod fixture;
