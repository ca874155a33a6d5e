//! Results as text for a terminal.

mod table;
mod text;

pub(crate) use text::draw as text_of;

/// `iostrata lab` on a terminal.
pub mod lab {
    use iostrata_core::lab::LabResult;

    use crate::terminal::text;
    use crate::view;
    use crate::view::lab::Extent;
    use crate::view::page::Page;

    /// What the drawing may use and should hold.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
    pub struct Style {
        /// Colour, which only repeats what the text says.
        pub colour: bool,
        /// Every row of every file system, instead of those of the first one and a
        /// comparison of its syncs with the others'.
        pub all_rows: bool,
    }

    /// Text of the result, at most `width` columns wide from 80 columns on.
    pub fn draw(result: &LabResult, width: usize, style: Style) -> String {
        let mut page = Page::new(width);
        let extent = if style.all_rows {
            Extent::AllRows
        } else {
            Extent::Usual
        };
        view::lab::show(&mut page, result, extent);
        text::draw(&page, style.colour)
    }
}

/// `iostrata trace` on a terminal: a summary that fits a screen, then the tables that were
/// asked for.
pub mod trace {
    use iostrata_core::trace::TraceResult;
    use iostrata_core::trace::budget::Judged;

    use crate::terminal::text;
    use crate::view;
    use crate::view::page::Page;
    pub use crate::view::trace::{By, Style};

    /// Text of the result, at most `width` columns wide from 80 columns on.
    pub fn draw(result: &TraceResult, width: usize, style: Style) -> String {
        let mut page = Page::new(width);
        view::trace::show(&mut page, result, style);
        text::draw(&page, style.colour)
    }

    /// Text that lists the budgets that were not kept, or for which that cannot be told; empty
    /// when all were kept.
    pub fn draw_budgets(judged: &[Judged<'_>], width: usize) -> String {
        let mut page = Page::new(width);
        view::trace::show_budgets(&mut page, judged);
        text::draw(&page, false)
    }
}

/// `iostrata doctor` on a terminal.
pub mod doctor {
    use iostrata_core::doctor::DoctorResult;

    use crate::terminal::text;
    use crate::view;
    use crate::view::page::Page;

    /// Text of the result, `width` columns wide where words allow, without colour.
    pub fn draw(result: &DoctorResult, width: usize) -> String {
        let mut page = Page::new(width);
        view::doctor::show(&mut page, result);
        text::draw(&page, false)
    }
}

/// `iostrata cache` on a terminal.
pub mod cache {
    use iostrata_core::cache::CacheResult;

    use crate::terminal::text;
    use crate::view;
    use crate::view::page::Page;

    /// What the drawing may use and should hold.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
    pub struct Style {
        /// Colour, which only repeats what the text says.
        pub colour: bool,
        /// Every file, map and reason, not only the first ones.
        pub all_rows: bool,
    }

    /// Text of the result, at most `width` columns wide from 80 columns on.
    pub fn draw(result: &CacheResult, width: usize, style: Style) -> String {
        let mut page = Page::new(width);
        view::cache::show(&mut page, result, style.all_rows);
        text::draw(&page, style.colour)
    }
}

/// `iostrata compare` on a terminal.
pub mod compare {
    use iostrata_core::compare::Comparison;

    use crate::terminal::text;
    use crate::view;
    use crate::view::page::Page;

    /// How a comparison is drawn.
    #[derive(Debug, Clone, Copy)]
    pub struct Style {
        /// Whether colour may be used.
        pub colour: bool,
        /// Whether rows and counts that do not differ beyond the noise are listed too.
        pub all_rows: bool,
    }

    /// Draws a comparison for a page of this width.
    pub fn draw(comparison: &Comparison, width: usize, style: Style) -> String {
        let mut page = Page::new(width);
        view::compare::show(&mut page, comparison, style.all_rows);
        text::draw(&page, style.colour)
    }
}
