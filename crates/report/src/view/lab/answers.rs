//! The verdicts of an experiment.

use iostrata_core::{Answer, Verdict};

use crate::view::page::{Page, Tone};

/// Where claims stand: after the longest verdict.
const COLUMN: usize = 16;

/// The answers, each with the figures that decided it.
pub(super) fn draw(page: &mut Page, answers: &[Answer]) {
    if answers.is_empty() {
        return;
    }
    page.part("answers", "claims tested");
    page.blank();
    for answer in answers {
        let verdict = format!("  {}", answer.verdict.as_str());
        let claim = match &answer.machine {
            Some(machine) => format!("{machine}: {}", answer.claim),
            None => answer.claim.clone(),
        };
        page.entry(&verdict, style(answer.verdict), COLUMN, &claim);
        page.more_of_rows(COLUMN, &answer.because, &answer.rows);
    }
}

fn style(verdict: Verdict) -> Tone {
    match verdict {
        Verdict::Holds => Tone::Good,
        Verdict::Refuted => Tone::Bad,
        Verdict::Inconclusive => Tone::Quiet,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::text_of;

    #[test]
    fn a_long_list_of_rows_breaks_between_them() {
        let answer = Answer {
            claim: "a claim".to_owned(),
            verdict: Verdict::Holds,
            because: "because of many".to_owned(),
            rows: (1..200).step_by(2).collect(),
            row_ids: Vec::new(),
            machine: None,
        };
        let mut page = Page::new(80);
        draw(&mut page, &[answer]);
        let text = text_of(&page, false);
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
