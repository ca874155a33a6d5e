//! The parts of every experiment's verdicts: findings per target, joined into one answer, and two
//! rows' times compared.
//!
//! Each claim is judged on each target separately, because file systems and devices differ. The
//! answer has the verdict of the directory's own file system if it has the rows, otherwise of the
//! first target that has them, and names the targets that disagree.

mod claim;
mod compared;
#[cfg(test)]
pub(crate) mod fixture;
mod requests;
mod rows;

use crate::answer::{Answer, Verdict};
use crate::distinct;
use crate::lab::HOST;
pub(crate) use claim::{Also, By, Claim, Pair, Pick, Times, claims};
pub(crate) use compared::{Compared, Relation, SAME_WITHIN};
pub(crate) use requests::{Requests, longer_by_requests};
pub(crate) use rows::{Judged, Numbered, TargetRows, numbers};

/// The judgement of one target's rows on a claim.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Finding {
    pub(crate) verdict: Verdict,
    pub(crate) because: String,
    /// The rows they come from, 1-based.
    pub(crate) rows: Vec<usize>,
}

impl Finding {
    pub(crate) fn new(verdict: Verdict, because: String, rows: Vec<usize>) -> Self {
        Self {
            verdict,
            because,
            rows,
        }
    }

    pub(crate) fn answer(self, claim: &str) -> Answer {
        Answer {
            claim: claim.to_owned(),
            verdict: self.verdict,
            because: self.because,
            rows: self.rows,
            row_ids: Vec::new(),
            machine: None,
        }
    }
}

/// Why the rows of one target decide nothing about a claim.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Missing {
    /// The rows for it were not measured: not chosen, or the run was interrupted.
    Rows,
    /// The rows exist, but the evidence or the certainty is missing.
    Evidence(String),
}

/// Judges claims on every target: the host first, then in their order. In a result of several
/// machines each claim is judged on each machine separately.
pub(crate) fn answers<R: Judged, X>(
    claims: &[Claim<R, X>],
    mut targets: Vec<TargetRows<'_, R, X>>,
) -> Vec<Answer> {
    // One that is `None` where all are of one machine.
    let machines = distinct(targets.iter().map(TargetRows::machine));
    // Stable: the others keep their order.
    targets.sort_by_key(|target| target.name != HOST);
    let judged = claims.iter().flat_map(|claim| {
        let answers = machines.iter().map(|machine| on(*machine, claim, &targets));
        answers.collect::<Vec<_>>()
    });
    judged.flatten().collect()
}

/// The answer of a machine's targets; `None` when it measured nothing for the claim.
fn on<R: Judged, X>(
    machine: Option<&str>,
    claim: &Claim<R, X>,
    targets: &[TargetRows<'_, R, X>],
) -> Option<Answer> {
    let own = || targets.iter().filter(|one| one.machine() == machine);
    let each = own().map(|target| (target.name, claim.judge(target)));
    let mut answer = answer(claim.text, &each.collect::<Vec<_>>())?;
    answer.cite(|number| {
        let mut rows = own().flat_map(|target| &target.rows);
        Some(rows.find(|row| row.number == number)?.row.row().id())
    });
    answer.machine = machine.map(str::to_owned);
    Some(answer)
}

/// Joins the judgements of the targets, by name. `None` when no target was measured for it: claims
/// about rows that were not chosen are left out.
fn answer(claim: &str, judged: &[(&str, Result<Finding, Missing>)]) -> Option<Answer> {
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
    Some(Finding::new(verdict, parts.join("; "), rows).answer(claim))
}

/// Why no target decided: the reason of the first that has the rows; `None` when none has them.
fn nothing_said(judged: &[(&str, Result<Finding, Missing>)]) -> Option<String> {
    judged.iter().find_map(|(_, said)| match said {
        Err(Missing::Evidence(why)) => Some(why.clone()),
        _ => None,
    })
}
