//! The text of a comparison, in the words that every renderer uses.

pub(crate) mod lead;

use iostrata_core::bytes;
use iostrata_core::compare::{
    Comparison, Count, Exceeded, FailOn, Part, Row, Sides, TimeRatio, Undecided, Verdict,
};
use iostrata_core::figures::duration;

use crate::format::{counted, join, number, rate};
use crate::view::table::Cell;

/// Maximum number of list entries in a comment, unless all are requested.
pub(crate) const FEW: usize = 20;

/// An interval that reaches further than this is meaningless, and so is its estimate.
const TELLING: f64 = 10.0;

/// `and 9 more pairs`, when several pairs of runs are compared.
pub(crate) fn more_pairs(comparison: &Comparison) -> Option<String> {
    match comparison.further.len() {
        0 => None,
        more => Some(format!("and {}", counted(more, "more pair"))),
    }
}

/// `1.03`, with enough digits to show small changes.
pub(crate) fn factor(ratio: f64) -> String {
    if ratio < 9.995 {
        format!("{ratio:.2}")
    } else {
        number(ratio)
    }
}

/// `0.93–1.12`.
pub(crate) fn interval(time: &TimeRatio) -> String {
    format!("{}–{}", factor(time.low_ratio), factor(time.high_ratio))
}

/// Whether estimate and interval are worth showing: not for an inconclusive time for which only
/// changes above tenfold were detectable.
pub(crate) fn is_telling(time: &TimeRatio, verdict: Option<Verdict>) -> bool {
    verdict != Some(Verdict::Inconclusive) || time.visible_ratio < TELLING
}

/// The basis of the rows' ratios, if any is shown: the medians beside them have others.
pub(crate) fn of_ratios(rows: &[&Row]) -> Option<&'static str> {
    let is_shown = |row: &&Row| row.time.is_some_and(|time| is_telling(&time, row.verdict));
    let text = "ratio: the mean of the ratios round by round, not that of the medians";
    rows.iter().any(is_shown).then_some(text)
}

/// The word for a verdict; `not judged` where there is none.
pub(crate) fn verdict(verdict: Option<Verdict>) -> &'static str {
    verdict.map_or("not judged", Verdict::as_str)
}

/// A ratio, with two digits for small ones: `0.0066`, `0.12`, `3.93`.
pub(crate) fn ratio(ratio: f64) -> String {
    match ratio {
        none if none <= 0.0 => "0".to_owned(),
        tiny if tiny < 1e-4 => "<0.0001".to_owned(),
        small if small < 0.00995 => format!("{small:.4}"),
        small if small < 0.0995 => format!("{small:.3}"),
        usual => factor(usual),
    }
}

/// The smallest detectable change: `8 %`, `2.40x`, `over 10x`.
pub(crate) fn visible(time: &TimeRatio) -> String {
    match (time.visible_ratio - 1.0) * 100.0 {
        percent if percent < 99.5 => format!("{:.0} %", percent.ceil()),
        percent if percent < 900.0 => format!("{}x", number(time.visible_ratio)),
        _ => "over 10x".to_owned(),
    }
}

/// CPUs kept busy by others: `0.41 → 1.62`.
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

/// The time on one side of a row, if it has one: `12.3 ms`, `71.0 µs/sync`.
pub(crate) fn seconds(row: &Row, side: Option<f64>) -> Cell {
    let per = if row.per == "run" {
        String::new()
    } else {
        format!("/{}", row.per)
    };
    Cell::applicable(side, |seconds| format!("{}{per}", duration(seconds)))
}

/// The labels of rows: the case, and the target if there are several.
pub(crate) struct Names {
    several_targets: bool,
}

impl Names {
    pub(crate) fn of(comparison: &Comparison) -> Self {
        let mut rows = comparison.lab.iter().flat_map(|lab| &lab.rows);
        let first = rows.next();
        Self {
            several_targets: rows.any(|row| Some(&row.target) != first.map(|row| &row.target)),
        }
    }

    pub(crate) fn name(&self, row: &Row) -> String {
        if self.several_targets {
            format!("{} on {}", row.label, row.target)
        } else {
            row.label.clone()
        }
    }
}

pub(crate) struct Listed<T> {
    pub(crate) shown: Vec<T>,
    pub(crate) more: usize,
}

impl<T> Listed<T> {
    pub(crate) fn of(items: impl IntoIterator<Item = T>, most: usize) -> Self {
        let mut shown: Vec<T> = items.into_iter().collect();
        let more = shown.len().saturating_sub(most);
        shown.truncate(most);
        Self { shown, more }
    }
}

/// Rows ordered by verdict: slower or faster, then inconclusive; each with the largest change
/// first.
pub(crate) fn rows(comparison: &Comparison) -> Vec<&Row> {
    let rank = |row: &&Row| match row.verdict {
        Some(Verdict::Slower | Verdict::Faster | Verdict::Mixed) => 0,
        Some(Verdict::Inconclusive) => 1,
        Some(Verdict::Same) => 2,
        None => 3,
    };
    let far = |row: &Row| row.time.map_or(0.0, |time| time.ratio.ln().abs());
    let mut rows: Vec<&Row> = comparison.lab.iter().flat_map(|lab| &lab.rows).collect();
    rows.sort_by(|a, b| rank(a).cmp(&rank(b)).then(far(b).total_cmp(&far(a))));
    rows
}

/// `12 rows paired: 1 slower, 3 same, 8 inconclusive`.
pub(crate) fn paired(comparison: &Comparison) -> String {
    let rows = || comparison.lab.iter().flat_map(|lab| &lab.rows);
    let verdicts = [
        Some(Verdict::Slower),
        Some(Verdict::Faster),
        Some(Verdict::Same),
        Some(Verdict::Inconclusive),
        None,
    ];
    let counts = verdicts.map(|one| (rows().filter(|row| row.verdict == one).count(), one));
    let counts = counts.iter().filter(|(count, _)| *count > 0);
    let words =
        counts.map(|(count, one)| format!("{} {}", bytes::grouped(*count as u64), verdict(*one)));
    let all = counted(rows().count(), "row");
    format!("{all} paired: {}", join(words, ", "))
}

/// Counts to list, each with its row, and a sentence about those left out.
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
         of {}{others}; --all lists them",
        counted(of, "row")
    );
    (listed, Some(sentence))
}

/// Whether the program determines a count.
fn is_own(count: &Count) -> bool {
    matches!(count.part, Part::Calls | Part::Filesystem)
}

/// The failure limit, as the title of the values that exceed it.
pub(crate) fn limit(comparison: &Comparison, fail_on: &FailOn) -> String {
    let percent = fail_on.limit.percent;
    let is_timed = comparison.trace.as_ref().map(|runs| runs.timed.is_some());
    let subject = match (is_timed, fail_on.exceeded.is_empty()) {
        (Some(true), false) => "slower, or more calls or bytes,",
        (Some(true), true) => "not slower, and no calls or bytes are more,",
        (Some(false), false) => "calls or bytes that grew",
        (Some(false), true) => "no calls or bytes grew",
        (None, false) => "slower",
        (None, true) => "nothing is slower",
    };
    format!("{subject} by {percent} % or more")
}

/// The title of values that may reach the limit.
pub(crate) fn open_limit(comparison: &Comparison, fail_on: &FailOn) -> String {
    let percent = fail_on.limit.percent;
    let subject = match comparison.trace {
        Some(_) => "calls or bytes may have grown",
        None => "may be slower",
    };
    format!("inconclusive: {subject} by {percent} % or more")
}

/// Why a value may reach the limit.
pub(crate) fn why_open(undecided: &Undecided) -> String {
    match (&undecided.time, undecided.lost_events) {
        (Some(time), _) if !is_telling(time, Some(Verdict::Inconclusive)) => {
            "only changes above 10x were detectable".to_owned()
        }
        (Some(time), _) => {
            let (low, high) = (time.low_ratio - 1.0, time.high_ratio - 1.0);
            format!("{:+.1} to {:+.1} %", low * 100.0, high * 100.0)
        }
        (None, Some(lost)) => {
            let lost = bytes::grouped(lost.base.saturating_add(lost.new));
            format!("{lost} events were lost: counts may be too low")
        }
        (None, None) => "the noise is unknown with one run each".to_owned(),
    }
}

/// `12.0 % (4.1–20.3 %)`, or the counts.
pub(crate) fn by_how_much(exceeded: &Exceeded) -> String {
    let percent = exceeded.percent.map(|percent| match percent {
        several if several < 999.5 => format!("{several:.1} %"),
        many => format!("{} %", number(many)),
    });
    let detail = match (exceeded.interval_percent, exceeded.counts) {
        (Some((low, high)), _) => format!("{low:.1} to {high:.1} %"),
        (None, Some(counts)) => format!("{} → {}", rate(counts.base), rate(counts.new)),
        (None, None) => String::new(),
    };
    match percent {
        Some(percent) => format!("{percent} ({detail})"),
        None => detail,
    }
}

#[cfg(test)]
pub(crate) mod fixture;
