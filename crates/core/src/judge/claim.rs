//! Claims: the rows to compare, the expected difference, and the words.

use super::rows::{Judged, Numbered, TargetRows, numbers};
use super::{Compared, Finding, Missing, Relation};
use crate::figures::duration;

/// A claim about rows `R` of a result `X`.
pub(crate) struct Claim<R: Judged + 'static, X: 'static> {
    /// The statement to be judged, as a sentence.
    pub(crate) text: &'static str,
    pub(crate) by: By<R, X>,
}

/// Claims, each with what decides it.
macro_rules! claims {
    ($($text:literal => $by:expr;)+) => { [$($crate::judge::Claim { text: $text, by: $by }),+] };
}
pub(crate) use claims;

/// What decides a claim on one target.
pub(crate) enum By<R: Judged + 'static, X: 'static> {
    /// The times of two rows.
    Times(Times<R, X>),
    /// Anything else.
    Rows(fn(&TargetRows<'_, R, X>) -> Result<Finding, Missing>),
}

/// A claim about the times of two rows.
pub(crate) struct Times<R: Judged + 'static, X: 'static> {
    pub(crate) rows: Pick<R, X>,
    /// The relation of the first row's time to the second's for the claim to hold.
    pub(crate) relation: Relation,
    /// The text for the times, see [`Pair::words`].
    pub(crate) words: &'static str,
    /// Additional text, if its figures are known.
    pub(crate) also: &'static [Also<R, X>],
}

/// The two rows of a target to compare.
pub(crate) enum Pick<R: Judged + 'static, X: 'static> {
    /// One of each kind, at the smallest size that both have.
    Smallest([R::Kind; 2]),
    /// The same at the largest size.
    Largest([R::Kind; 2]),
    /// The largest size of a kind, and its smallest.
    Sizes(R::Kind),
    /// For each kind, the fastest row at its largest size.
    Best([R::Kind; 2]),
    By(for<'a> fn(&TargetRows<'a, R, X>) -> Picked<'a, R>),
}

/// The two rows, or why they are missing.
type Picked<'a, R> = Result<[Numbered<'a, R>; 2], Missing>;

/// Text about two rows besides their times.
pub(crate) enum Also<R: Judged + 'static, X: 'static> {
    /// A figure of either row, in place of `{0}` and `{1}`; nothing when one is unknown.
    Each(&'static str, fn(&Numbered<'_, R>) -> Option<String>),
    /// Any text about both; nothing when it is unknown.
    Both(fn(&Pair<'_, '_, R, X>) -> Option<String>),
}

/// Two rows of a target, compared.
pub(crate) struct Pair<'a, 'b, R, X> {
    pub(crate) target: &'b TargetRows<'a, R, X>,
    pub(crate) rows: [Numbered<'a, R>; 2],
    pub(crate) time: Compared,
}

impl<R: Judged, X> Claim<R, X> {
    pub(super) fn judge(&self, target: &TargetRows<'_, R, X>) -> Result<Finding, Missing> {
        match &self.by {
            By::Times(times) => times.judge(target),
            By::Rows(judge) => judge(target),
        }
    }
}

impl<R: Judged, X> Times<R, X> {
    /// The judgement of a target's rows.
    pub(crate) fn judge(&self, target: &TargetRows<'_, R, X>) -> Result<Finding, Missing> {
        let pair = Pair::of(target, self.rows.of(target)?)?;
        let said = self.also.iter().filter_map(|also| also.said(&pair));
        Ok(Finding {
            verdict: pair.time.is(self.relation),
            because: std::iter::once(pair.words(self.words))
                .chain(said)
                .collect(),
            rows: numbers(&pair.rows),
        })
    }
}

impl<R: Judged, X> Pick<R, X> {
    fn of<'a>(&self, target: &TargetRows<'a, R, X>) -> Picked<'a, R> {
        match self {
            Self::Smallest(kinds) => target.smallest(*kinds),
            Self::Largest(kinds) => target.largest(*kinds),
            Self::Sizes(kind) => {
                let [[smallest], [largest]] = target.extremes([*kind])?;
                Ok([largest, smallest])
            }
            Self::Best([ours, theirs]) => Ok([
                target.best(|row| row.kind() == *ours)?,
                target.best(|row| row.kind() == *theirs)?,
            ]),
            Self::By(pick) => pick(target),
        }
    }
}

impl<R: Judged, X> Also<R, X> {
    pub(crate) fn said(&self, pair: &Pair<'_, '_, R, X>) -> Option<String> {
        match self {
            Self::Each(words, figure) => {
                let [ours, theirs] = &pair.rows;
                let said = words.replace("{0}", &figure(ours)?);
                Some(said.replace("{1}", &figure(theirs)?))
            }
            Self::Both(said) => said(pair),
        }
    }
}

impl<'a, 'b, R: Judged, X> Pair<'a, 'b, R, X> {
    pub(crate) fn of(
        target: &'b TargetRows<'a, R, X>,
        rows: [Numbered<'a, R>; 2],
    ) -> Result<Self, Missing> {
        let time = rows[0].time_over(&rows[1])?;
        Ok(Self { target, rows, time })
    }

    /// `words` with the figures of the two rows in place of `{name0}`, `{name1}`, `{size0}`,
    /// `{size1}`, `{time0}` and `{time1}`, and their comparison in place of `{times}`.
    pub(crate) fn words(&self, words: &str) -> String {
        let mut said = words.replace("{times}", &self.time.times());
        for (index, row) in self.rows.iter().enumerate() {
            for (what, figure) in [
                ("name", row.row.name()),
                ("size", row.size()),
                ("time", duration(self.time.median_s[index])),
            ] {
                said = said.replace(&format!("{{{what}{index}}}"), &figure);
            }
        }
        said
    }
}
