//! Programs that a test puts somewhere and runs. Other crates' tests include this file.
use std::path::Path;
use std::process::Command;

/// Copies a program to a file that everybody may execute.
///
/// Not by this process: a child that another test forks at that moment would keep the copy open for
/// writing, and such a file cannot be executed (ETXTBSY, execve(2)).
#[track_caller]
pub(crate) fn install(program: impl AsRef<Path>, to: impl AsRef<Path>) {
    let mut install = Command::new("install");
    install.args(["-m", "755", "--"]);
    install.arg(program.as_ref()).arg(to.as_ref());
    let installed = install.status().is_ok_and(|status| status.success());
    assert!(installed, "{}", to.as_ref().display());
}
