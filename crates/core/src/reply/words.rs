//! Words shared by the replies of all experiments.

use std::ops::Range;

use super::{Said, Standing};
use crate::answer::Verdict;
use crate::figures::number;
use crate::judge::{
    Compared, Finding, Judged, Missing, Pair, Relation, TargetRows, longer_by_requests, numbers,
};

/// `63x [49-97]`: ratio of the first time to the second, with the 95 % interval.
pub(crate) fn times(time: &Compared) -> String {
    let Compared { times, bounds, .. } = time;
    format!(
        "{}x [{}-{}]",
        brief(*times),
        brief(bounds.low),
        brief(bounds.high)
    )
}

/// Two significant digits of a ratio, and three near 1, where they matter.
fn brief(ratio: f64) -> String {
    match ratio {
        ratio if ratio >= 99.5 => number(ratio.round()),
        ratio if ratio >= 9.95 => format!("{ratio:.0}"),
        ratio if ratio >= 1.095 => format!("{ratio:.1}"),
        ratio => format!("{ratio:.2}"),
    }
}

/// `1 flush`, `2 flushes`.
pub(crate) fn count(figure: &str, one: &str, several: &str) -> String {
    format!("{figure} {}", if figure == "1" { one } else { several })
}

/// One of three answers, selected by a verdict; `open` has the figures that leave it open.
pub(crate) fn by_verdict(
    verdict: Verdict,
    rows: Vec<usize>,
    holds: String,
    refuted: String,
    open: &str,
) -> Said {
    match verdict {
        Verdict::Holds => Said::fact(holds, rows),
        Verdict::Refuted => Said::fact(refuted, rows),
        Verdict::Inconclusive => Said::unclear(open, rows),
    }
}

/// Whether the first row of a pair takes longer: the texts for yes and for no. In both, `{0}` and
/// `{1}` are the two times, and `{x}` is their ratio.
pub(crate) fn by_time<R: Judged, X>(pair: &Pair<'_, '_, R, X>, longer: &str, less: &str) -> Said {
    let said = |words: &str| {
        let words = words.replace("{x}", &times(&pair.time));
        let words = words.replace("{0}", "{time0}").replace("{1}", "{time1}");
        Said::fact(pair.words(&words), numbers(&pair.rows))
    };
    match pair.time.is(Relation::LONGER) {
        Verdict::Holds => said(longer),
        Verdict::Refuted => said(less),
        Verdict::Inconclusive => {
            let figures = format!("{}, within noise.", times(&pair.time));
            Said::unclear(&figures, numbers(&pair.rows))
        }
    }
}

/// Whether the second of two kinds is cheaper; with the same device requests it is not, whatever
/// two noisy times show.
pub(crate) fn by_requests<R: Judged, X>(
    target: &TargetRows<'_, R, X>,
    kinds: [R::Kind; 2],
) -> Result<Said, Missing> {
    let found = longer_by_requests(target, kinds, ("", ""), |_| String::new())?;
    let rows = target.smallest(kinds)?;
    let time = rows[0].time_over(&rows[1]).ok();
    let asked = rows.map(|row| row.requests().ok());
    let is_same = matches!(&asked, [Some(ours), Some(theirs)] if ours.same_as(theirs));
    let figures = time.as_ref().map(times);
    let compared = figures
        .clone()
        .map_or_else(String::new, |figures| format!(" {figures}"));
    let said = match (found.verdict, is_same) {
        (Verdict::Holds, _) => {
            Said::fact(format!("Yes:{compared} faster."), found.rows).standing(Standing::Good)
        }
        (Verdict::Refuted, true) => {
            let said = Said::fact("No: it makes the same device requests.", found.rows);
            let is_noise =
                time.is_some_and(|time| time.is(Relation::LONGER) == Verdict::Inconclusive);
            let end = if is_noise {
                ", within noise"
            } else {
                " as fast"
            };
            let as_fast = |figures| format!("{figures}{end}.");
            said.because(figures.map_or_else(String::new, as_fast))
        }
        (Verdict::Refuted, false) => Said::fact(format!("No:{compared}."), found.rows),
        (Verdict::Inconclusive, _) => {
            let figures = figures.unwrap_or_else(|| "it was not timed".to_owned());
            Said::unclear(&format!("{figures}, within noise."), found.rows)
        }
    };
    Ok(said)
}

/// A claim's finding as an answer, with its figures as the reason.
pub(crate) fn judged(found: Finding, holds: &str, refuted: &str) -> Said {
    let reason = sentence(&found.because);
    let rows = found.rows;
    let said = match found.verdict {
        Verdict::Holds => Said::fact(holds, rows),
        Verdict::Refuted => Said::fact(refuted, rows),
        Verdict::Inconclusive => Said::fact("Unclear.", rows).standing(Standing::Unclear),
    };
    said.gist(found.verdict.as_str()).because(reason)
}

/// The first parenthesis of a text, with the space before it and everything nested in it.
pub fn parenthesis(text: &str) -> Option<Range<usize>> {
    let start = text.find(" (")?;
    let mut depth = 0_usize;
    for (at, char) in text[start..].char_indices() {
        match char {
            '(' => depth += 1,
            ')' if depth == 1 => return Some(start..start + at + 1),
            ')' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// With a capital letter, unless it begins with the name of a call.
pub(super) fn sentence(words: &str) -> String {
    let mut chars = words.chars();
    let is_name = words
        .split(' ')
        .next()
        .is_some_and(|word| word.contains('_'));
    match chars.next() {
        Some(first) if !is_name => format!("{}{}.", first.to_uppercase(), chars.as_str()),
        _ => format!("{words}."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_short() {
        let ours = [70.0, 71.0, 72.0, 73.0, 74.0];
        let theirs = [1.0, 1.1, 1.2, 1.3, 1.4];
        let time = Compared::of((1, &ours), (2, &theirs)).unwrap();
        assert_eq!(times(&time), "60x [51-72]");
        for (ratio, text) in [
            (1.094, "1.09"),
            (1.1, "1.1"),
            (0.0, "0.00"),
            (1234.5, "1,235"),
        ] {
            assert_eq!(brief(ratio), text);
        }
        assert_eq!(count("1", "flush", "flushes"), "1 flush");
        assert_eq!(count("0.5", "flush", "flushes"), "0.5 flushes");
    }
}
