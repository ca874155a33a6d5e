//! Standard output, also through the user's pager as git does, and standard error: the only file that prints.

use std::fs::File;
use std::io::{self, IsTerminal as _, Seek as _, Write};
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::sync::OnceLock;

use iostrata_report::printable;
use rustix::fs::{MemfdFlags, memfd_create};

use crate::cli::Color;
use crate::error::Failure;
use crate::visible::Visible;

/// Columns when the terminal does not say.
const WIDTH: usize = 100;

/// The value of `--color`.
static COLOR: OnceLock<Color> = OnceLock::new();

/// Stores the value of `--color` before anything is drawn.
pub(crate) fn choose_color(color: Color) {
    // Set once: the command line is read once.
    _ = COLOR.set(color);
}

/// A line for the user on standard error. Paths in it may contain anything; a terminal must not
/// act on it.
pub(crate) fn say(message: &str) {
    let line = format!("{}\n", printable(message));
    // With standard error closed there is nobody to tell.
    drop(io::stderr().write_all(line.as_bytes()));
}

/// A drawn result, on standard error: standard output belongs to the traced program.
pub(crate) fn say_drawn(text: &str) -> io::Result<()> {
    unless_closed(io::stderr().write_all(text.as_bytes()))
}

/// A reader that has gone away (`| head`) is no error.
pub(crate) fn unless_closed(written: io::Result<()>) -> io::Result<()> {
    written.or_else(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => Ok(()),
        _ => Err(error),
    })
}

/// The result on standard output.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    unless_closed(write(text.as_bytes())).map_err(|error| unprinted(&error))
}

pub(crate) fn unprinted(error: &io::Error) -> Failure {
    Failure::Cannot(format!("cannot write to standard output: {error}"))
}

/// Bytes on standard output.
pub(crate) fn write(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes).and_then(|()| out.flush())
}

/// What is for a program, on standard output: as it is, but on a terminal with every character visible.
pub(crate) fn write_exactly(make: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut out = io::stdout().lock();
    if out.is_terminal() {
        let mut visible = Visible::new(out);
        return make(&mut visible).and_then(|()| visible.finish());
    }
    make(&mut out).and_then(|()| out.flush())
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Canvas {
    Output,
    Error,
}

impl Canvas {
    /// Columns to draw in: `COLUMNS` (POSIX, Base Definitions 8.3), else the terminal's width.
    pub(crate) fn width(self) -> usize {
        self.width_or(WIDTH)
    }

    /// The same, with a default where neither is known.
    pub(crate) fn width_or(self, otherwise: usize) -> usize {
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
        columns.map_or(otherwise, usize::from)
    }

    /// Whether colour may be used. `--color` comes first; then `NO_COLOR` (no-color.org)
    /// forbids it, and `CLICOLOR_FORCE` (bixense.com/clicolors) forces it; otherwise it needs a
    /// terminal that is not dumb.
    pub(crate) fn colour(self) -> bool {
        match COLOR.get() {
            Some(Color::Always) => return true,
            Some(Color::Never) => return false,
            Some(Color::Auto) | None => {}
        }
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

/// Prints a text. If it is longer than the terminal, this process executes `$PAGER`, or less(1);
/// `PAGER=cat` or an empty one turns that off.
///
/// The pager reads a file in memory instead of a pipe, so no process has to wait for it and ignore
/// Ctrl-C meanwhile.
pub(crate) fn page(text: &str) -> Result<(), Failure> {
    if !is_longer_than_terminal(text) {
        return print(text);
    }
    if let Some(mut pager) = pager()
        && let Ok(input) = in_memory(text)
    {
        // Returns only if the pager cannot be executed.
        drop(pager.stdin(input).exec());
    }
    print(text)
}

fn is_longer_than_terminal(text: &str) -> bool {
    let is_dumb = std::env::var_os("TERM").is_some_and(|name| name == "dumb");
    let size = rustix::termios::tcgetwinsize(io::stdout());
    let rows = size.map_or(0, |size| usize::from(size.ws_row));
    io::stdout().is_terminal() && !is_dumb && rows > 0 && text.lines().count() >= rows
}

/// The user's pager; `None` if there shall be none.
fn pager() -> Option<Command> {
    let chosen = std::env::var_os("PAGER");
    let mut pager = match &chosen {
        None => Command::new("less"),
        Some(words) if words.is_empty() || words == "cat" => return None,
        Some(words) => {
            let mut shell = Command::new("sh");
            shell.arg("-c").arg(words);
            shell
        }
    };
    // What git sets: end where one screen is enough, show colours, leave the text on the terminal.
    if std::env::var_os("LESS").is_none() {
        pager.env("LESS", "FRX");
    }
    Some(pager)
}

fn in_memory(text: &str) -> io::Result<File> {
    let mut file = File::from(memfd_create("text", MemfdFlags::CLOEXEC)?);
    file.write_all(text.as_bytes())?;
    file.rewind()?;
    Ok(file)
}
