//! What every experiment's verdicts are made of: findings per target, joined into
//! one answer, and two rows' times compared.
//!
//! A claim is judged on each target by itself, because file systems and devices
//! differ. The answer gives the verdict of the directory's own file system where
//! it has the rows, else of the first target that has them, and names the targets
//! that disagree.

mod compared;
pub(crate) mod figures;

use crate::answer::{Answer, Verdict};
pub(crate) use compared::{Compared, SAME_WITHIN};

/// Name of the target that is the measured directory's own file system.
pub(crate) const HOST: &str = "host";

/// What the rows of one target say about a claim.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Finding {
    pub(crate) verdict: Verdict,
    /// The figures that decided.
    pub(crate) because: String,
    /// The rows they come from, 1-based.
    pub(crate) rows: Vec<usize>,
}

/// Why the rows of one target say nothing about a claim.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Missing {
    /// The rows it is about were not measured: nobody asked, or the run was interrupted.
    Rows(String),
    /// The rows are there, but not the evidence or the certainty.
    Evidence(String),
}

impl Missing {
    pub(crate) fn why(&self) -> &str {
        match self {
            Self::Rows(why) | Self::Evidence(why) => why,
        }
    }

    #[cfg(test)]
    pub(crate) fn into_why(self) -> String {
        self.why().to_owned()
    }
}

/// Judges claims on every target, in their order; `name` is that of a target.
pub(crate) fn answers<T>(
    claims: &[(&str, impl Fn(&T) -> Result<Finding, Missing>)],
    targets: &[T],
    name: impl Fn(&T) -> &str,
) -> Vec<Answer> {
    let mut answers = Vec::new();
    for (claim, judge) in claims {
        let each = targets.iter().map(|target| (name(target), judge(target)));
        answers.extend(answer(claim, &each.collect::<Vec<_>>()));
    }
    answers
}

/// Joins what each target, by name, says about a claim. `None` when no target was
/// measured for it: a claim about rows that nobody asked for is not made.
pub(crate) fn answer(claim: &str, judged: &[(&str, Result<Finding, Missing>)]) -> Option<Answer> {
    let leading = judged
        .iter()
        .find_map(|(name, said)| Some((*name, said.as_ref().ok()?)));
    let (verdict, because, mut rows) = match leading {
        None => (Verdict::Inconclusive, nothing_said(judged)?, Vec::new()),
        Some((name, finding)) if judged.len() == 1 || name == HOST => (
            finding.verdict,
            finding.because.clone(),
            finding.rows.clone(),
        ),
        Some((name, finding)) => (
            finding.verdict,
            format!("on {name}: {}", finding.because),
            finding.rows.clone(),
        ),
    };
    let mut parts = vec![because];
    let others = judged
        .iter()
        .filter_map(|(name, said)| Some((name, said.as_ref().ok()?)));
    for (name, other) in others.filter(|(_, other)| other.verdict != verdict) {
        parts.push(format!(
            "on {name} {}: {}",
            other.verdict.as_str(),
            other.because
        ));
        rows.extend(&other.rows);
    }
    rows.sort_unstable();
    rows.dedup();
    Some(Answer {
        claim: claim.to_owned(),
        verdict,
        because: parts.join("; "),
        rows,
    })
}

/// Why no target decided: the reason of the first that has the rows; `None` when
/// none has them.
fn nothing_said(judged: &[(&str, Result<Finding, Missing>)]) -> Option<String> {
    judged.iter().find_map(|(_, said)| match said {
        Err(missing @ Missing::Evidence(_)) => Some(missing.why().to_owned()),
        _ => None,
    })
}
