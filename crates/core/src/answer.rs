//! Answers: a claim, the verdict that the rows give on it, and why.

use std::ops::RangeBounds;

use serde::{Deserialize, Serialize};

names! {
    /// What the measured rows say about a claim.
    pub enum Verdict {
        /// The evidence supports the claim.
        Holds = "holds",
        /// The evidence contradicts the claim.
        Refuted = "refuted",
        /// The difference is inside the noise, or a needed row is missing.
        Inconclusive = "inconclusive",
    }
}

impl Verdict {
    /// `Holds` or `Refuted` by the condition that decides the claim.
    pub fn from_fact(holds: bool) -> Self {
        if holds { Self::Holds } else { Self::Refuted }
    }

    /// By a figure: `Holds` and `Refuted` in these ranges, inconclusive between them.
    pub(crate) fn by(
        figure: f64,
        holds: impl RangeBounds<f64>,
        refuted: impl RangeBounds<f64>,
    ) -> Self {
        if holds.contains(&figure) {
            Self::Holds
        } else if refuted.contains(&figure) {
            Self::Refuted
        } else {
            Self::Inconclusive
        }
    }
}

/// A claim with its computed verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Answer {
    /// The statement to be judged, as a sentence.
    pub claim: String,
    pub verdict: Verdict,
    /// The figures that decided, with units.
    pub because: String,
    /// Rows that decided, as 1-based numbers in the order of the result.
    pub rows: Vec<usize>,
    /// The same rows by their ids ([`crate::lab::Row::id`]), which other results have as well.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub row_ids: Vec<String>,
    /// The machine whose rows were judged, in a result of several machines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
}

impl Answer {
    /// Names its rows by their ids; `id` returns the id of a row number.
    pub(crate) fn cite(&mut self, id: impl Fn(usize) -> Option<String>) {
        self.row_ids = self.rows.iter().filter_map(|row| id(*row)).collect();
    }
}
