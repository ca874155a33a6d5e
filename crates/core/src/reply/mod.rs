//! Replies: what a reader asks, and the answer of the rows in one or two lines.
//!
//! A claim ([`crate::answer::Answer`]) is a statement that rows support or contradict, with every
//! figure. A reply is the question behind it, with the figure that answers it. Replies follow from
//! the rows, so those of an older result are made by the same code as those of a new one.

mod asked;
mod overview;
mod words;

use serde::Serialize;

pub(crate) use asked::{Question, Said, replies};
pub use overview::{Overview, overview};
pub use words::parenthesis;
pub(crate) use words::{by_requests, by_time, by_verdict, count, judged, percent, times};

/// A question with its answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Reply {
    /// What is asked: `Does the cache help?`
    pub question: String,
    /// The direct answer with its figure; begins with `Unclear` where the rows leave it open.
    pub answer: String,
    /// Why it is so, as one sentence; may be empty.
    pub reason: String,
    /// Other file systems of which something else is true.
    pub elsewhere: Vec<Elsewhere>,
    /// What the answer means to the reader.
    pub standing: Standing,
    /// Whether it stands among the few of several experiments.
    pub leads: bool,
    /// Rows that decided, as 1-based numbers in the order of the result.
    pub rows: Vec<usize>,
}

/// What another file system says to the same question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Elsewhere {
    /// Its name, as in the rows.
    pub target: String,
    /// The direct answer there.
    pub answer: String,
}

/// What an answer means to the reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Standing {
    /// It helps, or is as one would wish.
    Good,
    /// It harms who relies on it.
    Bad,
    /// It is a fact, neither good nor bad.
    Neutral,
    /// The rows leave it open.
    Unclear,
}
