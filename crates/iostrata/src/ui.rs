//! Standard output, standard error, progress: the only file that prints.
#![expect(clippy::print_stderr, reason = "this file is where the program prints")]

use std::io::{self, IsTerminal as _, Write as _};
use std::path::Path;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use iostrata_lab::engine::{Progress, Step};

use crate::error::Failure;

/// Columns when the terminal does not say.
const WIDTH: usize = 100;

/// A line for the user on standard error.
pub(crate) fn say(message: &str) {
    eprintln!("{message}");
}

/// The result on standard output. A reader that has gone away (`| head`) is no error.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::Cannot(format!("cannot write to standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Writes a result to a file, or to standard output for `-`.
pub(crate) fn save(path: &Path, json: &str) -> Result<(), Failure> {
    if path == Path::new("-") {
        return print(json);
    }
    std::fs::write(path, json)
        .map_err(|error| Failure::Cannot(format!("cannot write {}: {error}", path.display())))
}

/// Columns to draw in.
pub(crate) fn width() -> usize {
    rustix::termios::tcgetwinsize(io::stdout())
        .ok()
        .map(|size| usize::from(size.ws_col))
        .filter(|columns| *columns > 0)
        .unwrap_or(WIDTH)
}

/// Whether colour may be used: a terminal, and `NO_COLOR` (no-color.org) unset or empty.
pub(crate) fn colour() -> bool {
    io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// A bar on standard error; nothing when that is not a terminal.
pub(crate) struct Bar(ProgressBar);

impl Bar {
    pub(crate) fn new() -> Self {
        let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
        let style = ProgressStyle::with_template("{bar:20} {pos}/{len}  {eta} left  {wide_msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Self(bar)
    }
}

impl Progress for Bar {
    fn step(&mut self, step: &Step<'_>) {
        self.0.set_length(step.total as u64);
        self.0.set_position(step.done as u64);
        self.0.set_message(step.label.to_owned());
    }

    fn finished(&mut self) {
        self.0.finish_and_clear();
    }
}
