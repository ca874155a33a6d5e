//! Intervals on standard output.

use std::io;

use iostrata_core::top::{Interval, Selection};
use iostrata_report::Json as _;
use iostrata_report::terminal::top::{Style, draw};

use super::{ROWS, Reader};
use crate::cli::Top;
use crate::error::Failure;
use crate::ui::{self, Canvas};

pub(super) struct Shown {
    selection: Selection,
    style: Style,
    as_json: bool,
}

impl Shown {
    pub(super) fn new(options: &Top) -> Self {
        let top = options.rows.map(|rows| rows as usize);
        Self {
            selection: Selection {
                by: options.by.into(),
                sort: options.sort.into(),
                name: options.name.clone(),
                top: top.or((!options.json).then_some(ROWS)),
            },
            style: Style {
                by: options.by.into(),
                is_first: true,
                colour: Canvas::Output.colour(),
            },
            as_json: options.json,
        }
    }

    pub(super) fn show(&mut self, mut interval: Interval) -> Result<Reader, Failure> {
        self.selection.apply(&mut interval);
        let written = if self.as_json {
            interval.write_json(&mut io::stdout().lock())
        } else {
            let text = draw(&interval, Canvas::Output.width(), self.style);
            ui::write(text.as_bytes())
        };
        self.style.is_first = false;
        match written {
            Ok(()) => Ok(Reader::Reads),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Reader::HasGone),
            Err(error) => Err(Failure::Cannot(format!(
                "cannot write to standard output: {error}"
            ))),
        }
    }
}
