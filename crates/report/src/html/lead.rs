//! What a reader sees first: one sentence and the time bar of a trace, every question of a lab
//! result with its answer.

use iostrata_core::lab::{Experiment, LabResult, Shared};
use iostrata_core::reply::{Reply, overview};
use iostrata_core::trace::{TraceResult, spent};

use super::markup::Markup;
use super::outline::Outline;
use super::scope::Scope;
use super::time_bar;
use crate::view::lab::digest::{caution, elsewhere, tone};
use crate::view::lab::tone_of;
use crate::view::page::Tone;
use crate::view::trace::headline::summed;

/// Contents below the only title of a result.
pub(super) enum Lead<'a> {
    Trace(Markup),
    /// The answers of an experiment, which cite rows of its part of the page.
    Experiment(&'a LabResult),
}

/// Contents between the title of a trace and its findings.
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

struct Line {
    question: String,
    answer: String,
    tone: Tone,
    /// Why it is so, in a few words.
    figure: String,
    elsewhere: Vec<String>,
    rows: Vec<usize>,
}

/// Every question of an experiment; of several machines, every claim, which says its machine.
fn lines(experiment: &Experiment, is_merged: bool) -> Vec<Line> {
    if !is_merged {
        return experiment.replies().into_iter().map(asked).collect();
    }
    let answers = experiment.shared().answers.iter();
    answers
        .map(|answer| Line {
            question: answer.claim.clone(),
            answer: answer.verdict.as_str().to_owned(),
            tone: tone_of(answer.verdict),
            figure: first_clause(&answer.because).to_owned(),
            elsewhere: Vec::new(),
            rows: answer.rows.clone(),
        })
        .collect()
}

fn asked(reply: Reply) -> Line {
    Line {
        elsewhere: elsewhere(&reply).collect(),
        question: reply.question,
        answer: reply.answer,
        tone: tone(reply.standing),
        figure: reply.reason,
        rows: reply.rows,
    }
}

/// Up to the first semicolon.
fn first_clause(text: &str) -> &str {
    text.split("; ").next().unwrap_or(text)
}

/// The questions and answers of all experiments, below what would make a reader distrust them.
/// `scopes` are their parts of the page, in the same order.
pub(super) fn of_lab(result: &LabResult, scopes: &[Scope]) -> Markup {
    let mut markup = Markup::default();
    if let Some(caution) = caution(&overview(result), result.environment.backend) {
        markup.element("p", &[("class", "warning")], &caution);
        markup.line();
    }
    let is_only = scopes.len() == 1;
    let class = if is_only { "digest only" } else { "digest" };
    markup.open("div", &[("class", class)]);
    for (experiment, scope) in result.experiments.iter().zip(scopes) {
        markup.open("section", &[]);
        if !is_only {
            heading(&mut markup, &experiment.shared(), &scope.name);
        }
        markup.open("ul", &[]);
        for line in lines(experiment, !result.parts.is_empty()) {
            item(&mut markup, scope, &line);
        }
        markup.close("ul");
        markup.end("section");
    }
    markup.end("div");
    markup
}

fn heading(markup: &mut Markup, shared: &Shared<'_>, name: &str) {
    markup.open("p", &[("class", "of")]);
    let link = format!("#{name}");
    markup.element("a", &[("href", &link)], shared.id);
    markup.text(" ");
    markup.element("span", &[], shared.question);
    markup.close("p");
}

fn item(markup: &mut Markup, scope: &Scope, line: &Line) {
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
    markup.open("span", &[("class", "figure")]);
    markup.text(&line.figure);
    scope.cite(markup, &line.rows);
    markup.close("span");
    for more in &line.elsewhere {
        markup.text(" ");
        markup.element("span", &[("class", "figure")], more);
    }
    markup.end("li");
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
