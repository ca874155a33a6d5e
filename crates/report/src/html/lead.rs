//! What a reader sees first: one sentence and the time bar of a trace, every question of a lab
//! result with its answer.

use iostrata_core::Verdict;
use iostrata_core::lab::{Experiment, LabResult};
use iostrata_core::reply::Reply;
use iostrata_core::trace::{TraceResult, spent};

use super::markup::Markup;
use super::outline::Outline;
use super::time_bar;
use crate::lab::Whole;
use crate::view::lab::digest::tone;
use crate::view::page::Tone;
use crate::view::trace::headline::summed;

/// What stands between the title of a trace and its findings.
pub(super) fn of_trace(outline: &mut Outline, result: &TraceResult) -> Markup {
    let mut markup = Markup::default();
    let summed = summed(result);
    for warning in &summed.warnings {
        markup.element("p", &[("class", "warning")], warning);
        markup.line();
    }
    markup.element("p", &[("class", "verdict")], &summed.sentence);
    markup.line();
    time_bar::draw(&mut markup, outline, &spent(result), result);
    markup
}

/// A question with its answer.
struct Line {
    question: String,
    answer: String,
    tone: Tone,
    /// Why it is so, in a few words.
    figure: String,
}

/// Every question of an experiment; of several machines, every claim, which says its machine.
fn lines(experiment: &Experiment, is_merged: bool) -> Vec<Line> {
    if !is_merged {
        return experiment.replies().into_iter().map(asked).collect();
    }
    let answers = Whole::of(experiment).answers.iter();
    answers
        .map(|answer| Line {
            question: answer.claim.clone(),
            answer: answer.verdict.as_str().to_owned(),
            tone: match answer.verdict {
                Verdict::Holds => Tone::Good,
                Verdict::Refuted => Tone::Bad,
                Verdict::Inconclusive => Tone::Quiet,
            },
            figure: first_clause(&answer.because).to_owned(),
        })
        .collect()
}

fn asked(reply: Reply) -> Line {
    Line {
        question: reply.question,
        answer: reply.answer,
        tone: tone(reply.standing),
        figure: reply.reason,
    }
}

/// Up to the first semicolon.
fn first_clause(text: &str) -> &str {
    text.split("; ").next().unwrap_or(text)
}

/// The questions and answers of all experiments. `names` are the names of their parts of the
/// page, in the same order.
pub(super) fn of_lab(result: &LabResult, names: &[String]) -> Markup {
    let mut markup = Markup::default();
    markup.open("div", &[("class", "digest")]);
    for (experiment, name) in result.experiments.iter().zip(names) {
        let whole = Whole::of(experiment);
        markup.open("section", &[]);
        markup.open("p", &[("class", "of")]);
        let link = format!("#{name}");
        markup.element("a", &[("href", &link)], whole.name);
        markup.text(" ");
        markup.element("span", &[], whole.question);
        markup.close("p");
        markup.open("ul", &[]);
        for line in lines(experiment, !result.parts.is_empty()) {
            let class = match line.tone {
                Tone::Good => "good",
                Tone::Bad => "bad",
                Tone::Plain => "fact",
                _ => "unclear",
            };
            markup.open("li", &[]);
            markup.element("span", &[("class", "question")], &line.question);
            markup.text(" ");
            markup.element("strong", &[("class", class)], &line.answer);
            markup.text(" ");
            markup.element("span", &[("class", "figure")], &line.figure);
            markup.close("li");
            markup.line();
        }
        markup.close("ul");
        markup.close("section");
        markup.line();
    }
    markup.close("div");
    markup.line();
    markup
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_clause_is_enough() {
        assert_eq!(
            first_clause("fsync 172 µs; both ask the device"),
            "fsync 172 µs"
        );
        assert_eq!(first_clause("one"), "one");
    }
}
