//! The answers of a lab result for an issue.

use iostrata_core::lab::{Experiment, LabResult};

use super::page;
use crate::view::lab::digest::{self, Kept};
use crate::view::lab::{Extent, Parts, show_parts};
use crate::view::page::Page;

/// Renders the answers of experiments, all of them if none is named. Questions apply to one
/// machine: a merged result has its claims instead.
pub fn draw(result: &LabResult, names: &[&str]) -> String {
    let wanted = |one: &&Experiment| names.is_empty() || names.contains(&one.shared().id);
    let experiments: Vec<&Experiment> = result.experiments.iter().filter(wanted).collect();
    let mut shown = Page::endless();
    if result.parts.is_empty() {
        digest::show(&mut shown, result, &experiments, Kept::Elsewhere, false);
    } else {
        let parts = Parts {
            answers: false,
            ..Parts::CLAIMS
        };
        show_parts(&mut shown, result, &experiments, parts, Extent::Usual);
    }
    page::draw(shown)
}
