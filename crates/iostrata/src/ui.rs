//! Standard output, standard error, progress: the only file that prints.

use std::io::{self, IsTerminal as _, Write as _};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use iostrata_lab::engine::{Progress, Step};
use iostrata_lab::error::LabError;
use iostrata_report::printable;

use crate::error::Failure;

/// Columns when the terminal does not say.
const WIDTH: usize = 100;

/// A line for the user on standard error. Paths in it may hold anything; a terminal must not
/// act on it.
pub(crate) fn say(message: &str) {
    let line = format!("{}\n", printable(message));
    // Whoever closed standard error does not want to know.
    drop(io::stderr().write_all(line.as_bytes()));
}

/// A result that was drawn, on standard error: standard output is another program's.
pub(crate) fn say_drawn(text: &str) {
    drop(io::stderr().write_all(text.as_bytes()));
}

/// The result on standard output. A reader that has gone away (`| head`) is no error.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    match write(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::Cannot(format!(
            "cannot write to standard output: {error}"
        ))),
        _ => Ok(()),
    }
}

/// Bytes on standard output.
pub(crate) fn write(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes).and_then(|()| out.flush())
}

/// Where something is drawn.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Canvas {
    /// Standard output.
    Output,
    /// Standard error.
    Error,
}

impl Canvas {
    /// Columns to draw in: `COLUMNS` (POSIX, Base Definitions 8.3) before what the terminal says.
    pub(crate) fn width(self) -> usize {
        let asked = || std::env::var("COLUMNS").ok()?.parse().ok();
        let terminal = || {
            let size = match self {
                Self::Output => rustix::termios::tcgetwinsize(io::stdout()),
                Self::Error => rustix::termios::tcgetwinsize(io::stderr()),
            };
            size.ok().map(|size| size.ws_col)
        };
        let known = |columns: &u16| *columns > 0;
        let columns = asked().filter(known).or_else(|| terminal().filter(known));
        columns.map_or(WIDTH, usize::from)
    }

    /// Whether colour may be used: `NO_COLOR` (no-color.org) forbids it, `CLICOLOR_FORCE`
    /// (bixense.com/clicolors) wants it anywhere; else it needs a terminal that is not dumb.
    pub(crate) fn colour(self) -> bool {
        let is_terminal = match self {
            Self::Output => io::stdout().is_terminal(),
            Self::Error => io::stderr().is_terminal(),
        };
        let is_set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        if is_set("NO_COLOR").is_some() {
            return false;
        }
        let is_forced = is_set("CLICOLOR_FORCE").is_some_and(|value| value != "0");
        let is_dumb = is_set("TERM").is_some_and(|name| name == "dumb");
        is_forced || (is_terminal && !is_dumb)
    }
}

/// A bar on standard error; nothing when that is not a terminal.
pub(crate) struct Bar {
    drawn: ProgressBar,
    label: String,
    failed: Option<(String, LabError)>,
}

impl Bar {
    pub(crate) fn new() -> Self {
        let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
        let style = ProgressStyle::with_template("{bar:20} {pos}/{len}  {eta} left  {wide_msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Self {
            drawn: bar,
            label: String::new(),
            failed: None,
        }
    }

    /// What failed without losing the result, and at which step; the first of several.
    pub(crate) fn failed(self) -> Option<(String, LabError)> {
        self.failed
    }

    /// The last step that was started; empty before the first.
    pub(crate) fn label(&self) -> &str {
        &self.label
    }
}

impl Progress for Bar {
    fn step(&mut self, step: &Step<'_>) {
        step.label.clone_into(&mut self.label);
        self.drawn.set_length(step.total as u64);
        self.drawn.set_position(step.done as u64);
        self.drawn.set_message(self.label.clone());
    }

    fn line(&mut self, text: &str) {
        self.drawn.suspend(|| say(text));
    }

    fn failed(&mut self, error: LabError) {
        self.failed.get_or_insert((self.label.clone(), error));
    }

    fn finished(&mut self) {
        self.drawn.finish_and_clear();
    }
}
