//! The verdicts of an experiment.

use anstyle::Style;
use iostrata_core::{Answer, Verdict};

use crate::format;
use crate::terminal::page::{BAD, DIM, GLUE, GOOD, Page};

/// Where claims stand: after the longest verdict.
const COLUMN: usize = 16;

/// Longer lists of rows may begin on one line and end on another.
const LONGEST_TOGETHER: usize = 40;

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
    let rows = format::rows(&answer.rows);
    // A short list stays together; a long one breaks like any text, but not after "rows".
    let rows = if rows.chars().count() <= LONGEST_TOGETHER {
        rows.replace(' ', GLUE)
    } else {
        rows.replacen(' ', GLUE, 1)
    };
    format!("{} [{rows}]", answer.because)
}

fn style(verdict: Verdict) -> Style {
    match verdict {
        Verdict::Holds => GOOD,
        Verdict::Refuted => BAD,
        Verdict::Inconclusive => DIM,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_list_of_rows_breaks_between_them() {
        let answer = Answer {
            claim: "a claim".to_owned(),
            verdict: Verdict::Holds,
            because: "because of many".to_owned(),
            rows: (1..200).step_by(2).collect(),
        };
        let mut page = Page::new(80, false);
        draw(&mut page, &[answer]);
        let text = page.finish();
        let words: Vec<&str> = text.split_whitespace().collect();
        assert!(
            text.contains("[rows 1,"),
            "kept with its first number: {text}"
        );
        assert!(words.contains(&"103,"), "{text}");
        assert_eq!(words.last(), Some(&"199]"), "{text}");
        assert!(
            text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
    }
}
