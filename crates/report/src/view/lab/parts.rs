//! Parts of experiments: answers, tables, notes, and method.

use iostrata_core::lab::{Experiment, LabResult};

use super::{Extent, digest, show_one};
use crate::view::page::{Block, Page};

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
    /// Notes on single rows.
    pub notes: bool,
    /// How the figures were made, what was not measured, and caveats.
    pub method: bool,
}

impl Parts {
    /// Everything there is.
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

    fn has(self, section: Section) -> bool {
        match section {
            Section::Head => true,
            Section::Claims => self.claims,
            Section::Rows => self.rows,
            Section::Notes => self.notes,
            Section::Method => self.method,
        }
    }
}

/// Where a block of an experiment belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Section {
    Head,
    Claims,
    Rows,
    Notes,
    Method,
}

impl Section {
    /// By the heading that begins a part.
    fn of(anchor: &str) -> Self {
        match anchor {
            "answers" => Self::Claims,
            "notes" => Self::Notes,
            "method" | "missing" | "caveats" => Self::Method,
            _ => Self::Rows,
        }
    }
}

/// Adds parts of experiments.
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
fn halves(mut whole: Page, parts: Parts) -> (Page, Page) {
    let mut head = whole.draft();
    let mut section = Section::Head;
    whole.retain(|block| {
        if let Block::Heading {
            anchor: Some(anchor),
            ..
        } = block
        {
            section = Section::of(anchor);
        }
        section == Section::Head || parts.has(section)
    });
    let end = whole.blocks().iter().position(|block| {
        matches!(
            block,
            Block::Heading {
                anchor: Some(_),
                ..
            }
        )
    });
    let end = end.unwrap_or(whole.blocks().len());
    head.take(&mut whole, end);
    (head, whole)
}
