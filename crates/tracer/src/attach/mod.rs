//! Which running processes are meant: by a name, a control group, a unit of systemd or a container.

mod containers;
mod groups;
mod names;
mod units;

pub use containers::ContainerError;
pub use groups::{Group, GroupError, Hierarchy};
pub use names::{Named, name_of, named};
pub use units::UnitError;

use std::process::{Command, Stdio};

/// What a program of the engine or of systemd says, where it is there and knows an answer.
fn said(program: &str, arguments: &[&str]) -> Option<String> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null());
    let output = command.stderr(Stdio::null()).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let text = text.trim();
    (output.status.success() && !text.is_empty()).then(|| text.to_owned())
}
