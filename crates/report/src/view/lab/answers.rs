//! The verdicts of an experiment.

use std::collections::BTreeSet;

use iostrata_core::reply::parenthesis;
use iostrata_core::{Answer, Verdict};

use crate::view::page::{Page, Tone};
use crate::view::section::SectionId;

/// Where claims stand: after the longest verdict.
const COLUMN: usize = 16;

/// Shorter parentheses are shown each time, bytes.
const LONG: usize = 40;

pub(super) fn draw(page: &mut Page, answers: &[Answer]) {
    if answers.is_empty() {
        return;
    }
    page.part(SectionId::Answers, "claims tested");
    page.blank();
    let mut told = BTreeSet::new();
    for answer in answers {
        let verdict = format!("  {}", answer.verdict.as_str());
        let claim = match &answer.machine {
            Some(machine) => format!("{machine}: {}", answer.claim),
            None => answer.claim.clone(),
        };
        page.entry(&verdict, tone_of(answer.verdict), COLUMN, &claim);
        let because = once(&answer.because, &mut told);
        page.more_of_rows(COLUMN, &because, &answer.rows);
    }
}

/// A reason in parentheses that a claim above has too is not told again.
fn once<'a>(because: &'a str, told: &mut BTreeSet<&'a str>) -> String {
    let parenthesis = parenthesis(because).filter(|range| range.len() > LONG);
    match parenthesis {
        Some(range) if !told.insert(&because[range.clone()]) => {
            format!(
                "{} (as above){}",
                &because[..range.start],
                &because[range.end..]
            )
        }
        _ => because.to_owned(),
    }
}

pub(crate) fn tone_of(verdict: Verdict) -> Tone {
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

    #[test]
    fn one_reason_of_several_claims_is_told_once() {
        let why =
            "not observed (device requests: not permitted (os error 1); run as root (see there))";
        let because = |row: usize| format!("those of row {row} were {why}, so it is open");
        let mut told = BTreeSet::new();
        let [first, second] = [1, 2].map(because);
        assert_eq!(once(&first, &mut told), first);
        assert_eq!(
            once(&second, &mut told),
            "those of row 2 were not observed (as above), so it is open"
        );
        // Figures are shown each time.
        for _ in 0..2 {
            assert_eq!(
                once("3 times (95 %: 2-4)", &mut told),
                "3 times (95 %: 2-4)"
            );
        }
    }
}
