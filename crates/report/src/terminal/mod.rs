//! Results as text for a terminal.

mod table;
mod text;

pub(crate) use text::draw as text_of;

use iostrata_core::cache::CacheResult;
use iostrata_core::compare::Comparison;
use iostrata_core::crash::{CalibrateResult, CrashResult, Finding};
use iostrata_core::doctor::DoctorResult;

use crate::view;
use crate::view::compare::Extent;
use crate::view::page::Page;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Style {
    /// Colour, which only repeats the text.
    pub colour: bool,
    /// Everything, not only the first or important entries: every row of every file system, every
    /// file, rows and counts without a difference beyond the noise.
    pub all_rows: bool,
}

fn drawn(width: usize, colour: bool, show: impl FnOnce(&mut Page)) -> String {
    let mut page = Page::new(width);
    show(&mut page);
    text::draw(&page, colour)
}

/// A page of the documentation, which is written in Markdown, at most `width` columns wide.
pub fn document(markdown: &str, width: usize, colour: bool) -> String {
    drawn(width, colour, |page| view::document::show(page, markdown))
}

/// Text of the result, `width` columns wide where words allow, without colour.
pub fn doctor(result: &DoctorResult, width: usize) -> String {
    drawn(width, false, |page| view::doctor::show(page, result))
}

/// Text of the result, at most `width` columns wide from 80 columns on.
pub fn cache(result: &CacheResult, width: usize, style: Style) -> String {
    drawn(width, style.colour, |page| {
        view::cache::show(page, result, style.all_rows);
    })
}

/// Lines of a screen.
const MOST_LINES: usize = 45;

/// Maximum entries of each list of a comparison, as long as they fit a screen.
const ENTRIES: [usize; 7] = [12, 8, 6, 4, 3, 2, 1];

/// Draws a comparison for a page of this width: one screen, or everything.
pub fn compare(comparison: &Comparison, width: usize, style: Style) -> String {
    let text = |extent| {
        drawn(width, style.colour, |page| {
            view::compare::show(page, comparison, extent);
        })
    };
    if style.all_rows {
        return text(Extent::All);
    }
    let mut screens = ENTRIES.iter().map(|most| text(Extent::Screen(*most)));
    let fits = |screen: &String| screen.lines().count() <= MOST_LINES;
    screens
        .find(fits)
        .unwrap_or_else(|| text(Extent::Screen(0)))
}

/// Text of the result, at most `width` columns wide.
pub fn crash(result: &CrashResult, width: usize, colour: bool) -> String {
    drawn(width, colour, |page| view::crash::show(page, result))
}

/// Columns of a story that is kept in a file.
const STORY_WIDTH: usize = 100;

/// How the state of a finding came about, operation by operation.
pub fn story(finding: &Finding) -> String {
    drawn(STORY_WIDTH, false, |page| view::crash::tell(page, finding))
}

/// Text of the result, at most `width` columns wide.
pub fn calibrate(result: &CalibrateResult, width: usize, colour: bool) -> String {
    drawn(width, colour, |page| view::calibrate::show(page, result))
}

/// The output of `iostrata lab`: its answers, or parts of experiments.
pub mod lab_screen {
    use iostrata_core::lab::{Experiment, LabResult};

    use super::drawn;
    use crate::view::lab::{Extent, digest, show_parts};
    pub use crate::view::lab::{Parts, digest::Kept};

    /// Maximum number of rows whose tables are shown with the answers, if both fit into this many
    /// lines.
    const FEW_ROWS: usize = 12;
    const MOST_LINES: usize = 60;

    #[derive(Debug, Clone, Copy, Default)]
    pub struct Screen<'a> {
        /// Colour, which only repeats the text.
        pub colour: bool,
        /// Names of experiments; none means all.
        pub names: &'a [&'a str],
        /// Parts of them; `None` means their answers on one screen.
        pub parts: Option<Parts>,
        /// Rows of every file system, not only of the first one.
        pub all_rows: bool,
        /// The location of the rest, for the line that states it.
        pub kept: Kept<'a>,
    }

    /// Text of the result, at most `width` columns wide from 60 columns on.
    pub fn draw(result: &LabResult, width: usize, screen: &Screen<'_>) -> String {
        let wanted = |experiment: &&Experiment| {
            screen.names.is_empty() || screen.names.contains(&experiment.shared().id)
        };
        let experiments: Vec<&Experiment> = result.experiments.iter().filter(wanted).collect();
        let extent = if screen.all_rows {
            Extent::AllRows
        } else {
            Extent::Usual
        };
        // Questions apply to one machine.
        let is_merged = !result.parts.is_empty();
        let parts = screen.parts.or(is_merged.then_some(Parts::CLAIMS));
        if let Some(mut parts) = parts {
            parts.answers &= !is_merged;
            return drawn(width, screen.colour, |page| {
                show_parts(page, result, &experiments, parts, extent);
            });
        }
        let answers = |tables| {
            drawn(width, screen.colour, |page| {
                digest::show(page, result, &experiments, screen.kept, tables);
            })
        };
        // A user who chooses a few cases wants their figures as well.
        if let [only] = experiments.as_slice()
            && only.rows() <= FEW_ROWS
        {
            let text = answers(true);
            if text.lines().count() <= MOST_LINES {
                return text;
            }
        }
        answers(false)
    }
}

pub mod trace {
    use iostrata_core::trace::TraceResult;
    use iostrata_core::trace::budget::Judged;

    use super::drawn;
    pub use crate::view::trace::{By, Style};
    use crate::view::trace::{show, show_budgets};

    /// Text of the result, at most `width` columns wide from 60 columns on.
    pub fn draw(result: &TraceResult, width: usize, style: &Style) -> String {
        drawn(width, style.colour, |page| show(page, result, style))
    }

    /// Text that lists the budgets that were exceeded, or could not be judged; empty when all were
    /// kept.
    pub fn draw_budgets(judged: &[Judged<'_>], width: usize) -> String {
        drawn(width, false, |page| show_budgets(page, judged))
    }
}

pub mod top {
    use iostrata_core::top::Interval;

    use super::drawn;
    use crate::view::page::Page;
    pub use crate::view::top::{Level, Style};
    use crate::view::top::{above, below, count, rows, show};

    /// Text of an interval, at most `width` columns wide from 80 columns on.
    pub fn draw(interval: &Interval, width: usize, style: Style) -> String {
        drawn(width, style.colour, |page| show(page, interval, style))
    }

    /// The parts of a screen whose rows can be chosen, in lines without colours.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Screen {
        /// The interval and the disks.
        pub above: Vec<String>,
        pub heads: Vec<String>,
        /// One line for each row; the sentence that there are none.
        pub rows: Vec<String>,
        /// Waits for syncs, and what was lost.
        pub below: Vec<String>,
    }

    /// Lines of an interval, at most `width` columns wide from 80 columns on; on a narrower page a row may
    /// have more than one.
    pub fn screen(interval: &Interval, width: usize, level: Level) -> Screen {
        let lines = |show: &dyn Fn(&mut Page)| -> Vec<String> {
            drawn(width, false, show)
                .lines()
                .map(str::to_owned)
                .collect()
        };
        let mut heads = lines(&|page| rows(page, interval, level));
        let count = count(interval, level).max(1);
        let rows = heads.split_off(heads.len().saturating_sub(count));
        Screen {
            above: lines(&|page| above(page, interval, level)),
            heads,
            rows,
            below: lines(&|page| below(page, interval, level)),
        }
    }
}
