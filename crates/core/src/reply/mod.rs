//! Replies: a reader's questions, and the answers from the rows in one or two lines.
//!
//! A claim ([`crate::answer::Answer`]) is a statement that rows support or contradict, with every
//! figure. A reply is a user's question with the figure that answers it. Replies are computed from
//! the rows, and are not saved.

mod asked;
mod overview;
mod words;

use serde::Serialize;

pub(crate) use asked::{Question, Said, replies};
pub use overview::{Overview, overview};
pub use words::parenthesis;
pub(crate) use words::{by_requests, by_time, by_verdict, count, judged, times};

/// A question with its answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Reply {
    pub question: String,
    /// The direct answer with its figure; begins with `Unclear` where the rows leave it open.
    pub answer: String,
    /// The reason, as one sentence; may be empty.
    pub reason: String,
    /// Other file systems with a different answer.
    pub elsewhere: Vec<Elsewhere>,
    /// What the answer means to the reader.
    pub standing: Standing,
    /// Whether it is among the few shown for several experiments.
    pub leads: bool,
    /// Rows that decided, as 1-based numbers in the order of the result.
    pub rows: Vec<usize>,
}

/// Another file system's answer to the same question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Elsewhere {
    pub target: String,
    pub answer: String,
}

/// What an answer means to the reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Standing {
    /// It helps, or is as desired.
    Good,
    /// It harms programs that rely on it.
    Bad,
    /// It is a fact, neither good nor bad.
    Neutral,
    /// The rows leave it undecided.
    Unclear,
}
