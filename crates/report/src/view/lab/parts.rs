//! Parts of experiments: answers, tables, notes, and method.

use iostrata_core::lab::{Experiment, LabResult};

use super::{Extent, digest, show_one};
use crate::view::page::Page;
use crate::view::section::SectionId;

/// Which parts are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is asked for or not, whatever the others are"
)]
pub struct Parts {
    /// The questions, with the answers.
    pub answers: bool,
    /// The claims behind the answers, with every figure.
    pub claims: bool,
    /// Every table.
    pub rows: bool,
    pub notes: bool,
    /// How the figures were made, what was not measured, and caveats.
    pub method: bool,
}

impl Parts {
    pub const ALL: Self = Self {
        answers: true,
        claims: true,
        rows: true,
        notes: true,
        method: true,
    };

    /// Answers of several machines: the claims, each with its machine, and the tables.
    pub const CLAIMS: Self = Self {
        answers: false,
        claims: true,
        rows: true,
        notes: false,
        method: false,
    };

    /// An experiment with its tables.
    pub const TABLES: Self = Self {
        answers: true,
        claims: false,
        rows: true,
        notes: false,
        method: false,
    };

    fn has(self, id: SectionId) -> bool {
        match id {
            SectionId::Head | SectionId::Title | SectionId::Machine => true,
            SectionId::Answers => self.claims,
            SectionId::Notes => self.notes,
            SectionId::Method | SectionId::Missing | SectionId::Caveats => self.method,
            _ => self.rows,
        }
    }
}

pub(crate) fn show(
    page: &mut Page,
    result: &LabResult,
    experiments: &[&Experiment],
    parts: Parts,
    extent: Extent,
) {
    for (position, experiment) in experiments.iter().enumerate() {
        if position > 0 {
            page.blank();
        }
        let mut whole = page.draft();
        show_one(&mut whole, result, experiment, extent);
        let (head, rest) = halves(whole, parts);
        page.append(head);
        if parts.answers {
            digest::of_one(page, experiment);
        }
        page.append(rest);
    }
}

/// Adds the tables of experiments, and what must be known about their rows.
pub(super) fn tables(page: &mut Page, result: &LabResult, experiments: &[&Experiment]) {
    let parts = Parts {
        rows: true,
        notes: true,
        ..Parts::default()
    };
    for experiment in experiments {
        let mut whole = page.draft();
        show_one(&mut whole, result, experiment, Extent::AllRows);
        let (_, rows) = halves(whole, parts);
        page.blank();
        page.append(rows);
    }
}

/// Text above the answers, and the requested parts.
fn halves(mut head: Page, parts: Parts) -> (Page, Page) {
    head.retain(|id| parts.has(id));
    let rest = head.split_parts();
    (head, rest)
}
