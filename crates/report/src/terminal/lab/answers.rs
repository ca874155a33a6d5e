//! The verdicts of an experiment.

use anstyle::Style;
use iostrata_core::{Answer, Verdict};

use crate::format;
use crate::terminal::page::{BAD, DIM, GLUE, GOOD, Page};

/// Where claims stand: after the longest verdict.
const COLUMN: usize = 16;

/// The answers, each with the figures that decided it.
pub(super) fn draw(page: &mut Page, answers: &[Answer]) {
    if answers.is_empty() {
        return;
    }
    page.blank();
    for answer in answers {
        let verdict = format!("  {}", answer.verdict.as_str());
        page.entry(&verdict, style(answer.verdict), COLUMN, &answer.claim);
        page.paragraph(COLUMN, &because(answer));
    }
}

fn because(answer: &Answer) -> String {
    if answer.rows.is_empty() {
        return answer.because.clone();
    }
    let rows = format::rows(&answer.rows).replace(' ', GLUE);
    format!("{} [{rows}]", answer.because)
}

fn style(verdict: Verdict) -> Style {
    match verdict {
        Verdict::Holds => GOOD,
        Verdict::Refuted => BAD,
        Verdict::Inconclusive => DIM,
    }
}
