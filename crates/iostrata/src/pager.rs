//! Long texts on a terminal: shown by the user's pager, as git does.

use std::fs::File;
use std::io::{self, IsTerminal as _, Seek as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use rustix::fs::{MemfdFlags, memfd_create};

use crate::error::Failure;
use crate::ui;

/// Prints a text. If it is longer than the terminal, this process executes `$PAGER`, or less(1);
/// `PAGER=cat` or an empty one turns that off.
///
/// The pager reads a file in memory instead of a pipe, so no process has to wait for it and ignore
/// Ctrl-C meanwhile.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    if !is_longer_than_terminal(text) {
        return ui::print(text);
    }
    if let Some(mut pager) = pager()
        && let Ok(input) = in_memory(text)
    {
        // Returns only if the pager cannot be executed.
        drop(pager.stdin(input).exec());
    }
    ui::print(text)
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
