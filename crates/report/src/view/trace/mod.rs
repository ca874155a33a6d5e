//! A trace: a summary that fits a screen, then the requested tables.

mod budgets;
mod calls;
mod descent;
mod files;
mod findings;
mod groups;
mod heading;
pub(crate) mod headline;
mod names;
mod runs;
mod summary;
mod wall;

use std::cell::OnceCell;

use iostrata_core::gap::Gap;

use iostrata_core::trace::{FileGroup, Selection, Together, TraceResult};

use super::page::Page;
use super::table::LeftOut;
use crate::view::section::SectionId;
pub(crate) use budgets::show as show_budgets;
pub(crate) use descent::{moved, of_calls};
pub(crate) use findings::severity;
pub(crate) use groups::lived;
pub(crate) use names::shortened;

#[derive(Debug, Clone, PartialEq, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent parts, each with its option"
)]
pub struct Style {
    /// Colour, which only repeats the text.
    pub colour: bool,
    /// Every finding with its evidence and advice.
    pub findings: bool,
    pub files: bool,
    /// Every call, over all files and of each file.
    pub calls: bool,
    /// The key of sums.
    pub by: Option<By>,
    pub selection: Selection,
}

/// The key over which calls or files are summed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    Process,
    Thread,
    Directory,
    Extension,
}

pub(crate) fn show(page: &mut Page, result: &TraceResult, style: &Style) {
    let view = View::new(result, &style.selection);
    summary::draw(page, &view, style);
    let mut left_out = Vec::new();
    if style.findings {
        findings::all(page, &view);
    }
    if style.files {
        left_out.extend(files::all(page, &view));
    }
    if style.calls {
        left_out.extend(calls::all(page, &view));
    }
    match style.by {
        None => {}
        Some(By::Process) => left_out.push(groups::processes(page, &view)),
        Some(By::Thread) => left_out.push(groups::threads(page, &view)),
        Some(By::Directory) => left_out.push(groups::files(page, &view, Together::Directory)),
        Some(By::Extension) => left_out.push(groups::files(page, &view, Together::Extension)),
    }
    no_room(page, left_out);
}

pub(crate) fn show_all(page: &mut Page, result: &TraceResult) {
    let everything = Selection::default();
    let view = View::new(result, &everything);
    heading::draw(page, &view);
    page.part(SectionId::Bytes, "where the time and the bytes went");
    runs::draw(page, &view);
    wall::draw(page, &view);
    descent::draw(page, &view);
    findings::all(page, &view);
    files::all(page, &view);
    if result.syscalls.is_empty() {
        // No rows, or not observed, which is different.
        page.part(SectionId::Calls, "calls");
        calls::top(page, &view, 0);
    } else {
        calls::all(page, &view);
    }
    groups::processes(page, &view);
    groups::threads(page, &view);
    summary::missing(page, &view, true);
}

fn no_room(page: &mut Page, left_out: Vec<LeftOut>) {
    let heads = iostrata_core::distinct(left_out.into_iter().flat_map(|table| table.no_room));
    if !heads.is_empty() {
        page.blank();
        page.no_room(&heads);
    }
}

struct View<'a> {
    result: &'a TraceResult,
    selection: &'a Selection,
    files: OnceCell<Vec<FileGroup<'a>>>,
}

impl<'a> View<'a> {
    fn new(result: &'a TraceResult, selection: &'a Selection) -> Self {
        Self {
            result,
            selection,
            files: OnceCell::new(),
        }
    }

    /// A path as shown: relative to the working directory if it is below it.
    fn path<'p>(&self, path: &'p str) -> &'p str {
        self.result.below(path)
    }

    /// The requested files, with one row per path.
    fn files(&self) -> &[FileGroup<'a>] {
        self.files
            .get_or_init(|| self.selection.files(self.result, Together::Path))
    }

    /// Gaps of the run and of its strata, each once.
    fn missing(&self) -> Vec<&'a Gap> {
        let gaps = self.result.missing.iter();
        iostrata_core::distinct(gaps.chain(&self.result.evidence.missing))
    }
}

#[cfg(test)]
pub(crate) mod fixture;
#[cfg(test)]
mod tests;
