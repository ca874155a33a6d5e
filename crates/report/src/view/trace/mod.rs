//! A trace: a summary that fits a screen, then the tables that were asked for.

mod budgets;
mod calls;
mod descent;
mod files;
mod findings;
mod heading;
mod sites;
mod summary;
mod tasks;
mod wall;

use iostrata_core::op::Gap;
use iostrata_core::trace::TraceResult;

use super::page::Page;
use super::table::LeftOut;
pub(crate) use budgets::show as show_budgets;
pub(crate) use descent::{device_read, device_written, of_calls};

/// What the drawing may use and should hold besides the summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent parts, each with its option"
)]
pub struct Style {
    /// Colour, which only repeats what the text says.
    pub colour: bool,
    /// Every finding with its evidence and advice.
    pub findings: bool,
    /// Every file.
    pub files: bool,
    /// Every call, over all files and of each file.
    pub calls: bool,
    /// Every process or thread.
    pub by: Option<By>,
}

/// Whose calls are summed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// Processes.
    Process,
    /// Threads.
    Thread,
}

/// Adds the summary and the parts that are asked for.
pub(crate) fn show(page: &mut Page, result: &TraceResult, style: Style) {
    let view = View { result };
    summary::draw(page, &view);
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
    if let Some(by) = style.by {
        left_out.push(tasks::draw(page, &view, by));
    }
    no_room(page, left_out);
}

/// Adds everything that a result holds.
pub(crate) fn show_all(page: &mut Page, result: &TraceResult) {
    let view = View { result };
    heading::draw(page, &view);
    page.part("bytes", "where the time and the bytes went");
    wall::draw(page, &view);
    descent::draw(page, &view);
    findings::all(page, &view);
    files::all(page, &view);
    if result.syscalls.is_empty() {
        // None, or none seen: that is not the same.
        page.part("calls", "calls");
        calls::top(page, &view, 0);
    } else {
        calls::all(page, &view);
    }
    tasks::draw(page, &view, By::Process);
    tasks::draw(page, &view, By::Thread);
    summary::missing(page, &view, true);
}

fn no_room(page: &mut Page, left_out: Vec<LeftOut>) {
    let mut heads: Vec<String> = Vec::new();
    for head in left_out.into_iter().flat_map(|table| table.no_room) {
        if !heads.contains(&head) {
            heads.push(head);
        }
    }
    if !heads.is_empty() {
        page.blank();
        page.no_room(&heads);
    }
}

/// A result as it is drawn.
struct View<'a> {
    result: &'a TraceResult,
}

impl<'a> View<'a> {
    /// A path as it is shown: from the working directory on, when it is below it.
    fn path<'p>(&self, path: &'p str) -> &'p str {
        let directory = self.result.environment.target.path.trim_end_matches('/');
        let below = path
            .strip_prefix(directory)
            .and_then(|rest| rest.strip_prefix('/'));
        // Of the root directory everything is below, and paths are best left as they are.
        below
            .filter(|rest| !rest.is_empty() && !directory.is_empty())
            .unwrap_or(path)
    }

    /// What is missing, of the run and of its strata, each once.
    fn missing(&self) -> Vec<&'a Gap> {
        let gaps = self.result.missing.iter();
        gaps.chain(&self.result.evidence.missing)
            .fold(Vec::new(), |mut known, gap| {
                if !known.contains(&gap) {
                    known.push(gap);
                }
                known
            })
    }
}

#[cfg(test)]
pub(crate) mod fixture;
#[cfg(test)]
mod tests;
