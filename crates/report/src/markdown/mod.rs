//! Results as Markdown (GitHub Flavored Markdown 0.29), for issues and pull requests.

mod compare;
mod page;
mod text;

use iostrata_core::lab::{Experiment, LabResult};
use iostrata_core::trace::TraceResult;

pub use self::compare::draw as compare;
use crate::view::lab::digest::{self, Kept};
use crate::view::lab::{Extent, Parts, show_parts};
use crate::view::page::Page;
use crate::view::trace::{Style, show};

/// Renders the answers of experiments, all of them if none is named. Questions apply to one
/// machine: a merged result has its claims instead.
pub fn lab(result: &LabResult, names: &[&str]) -> String {
    let wanted = |one: &&Experiment| names.is_empty() || names.contains(&one.shared().id);
    let experiments: Vec<&Experiment> = result.experiments.iter().filter(wanted).collect();
    let mut shown = Page::endless();
    if result.parts.is_empty() {
        digest::show(&mut shown, result, &experiments, Kept::Elsewhere, false);
    } else {
        show_parts(
            &mut shown,
            result,
            &experiments,
            Parts::CLAIMS,
            Extent::Usual,
        );
    }
    page::draw(shown)
}

/// Renders the summary of a trace and the requested parts; nothing is shortened.
pub fn trace(result: &TraceResult, style: &Style) -> String {
    let mut shown = Page::endless();
    show(&mut shown, result, style);
    page::draw(shown)
}

#[cfg(test)]
mod tests;
