//! The operations that programs do: `find`, `grep`, `cp`, `tar`, `git`, and one that is only
//! executed.

use std::ffi::OsString;
use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;

use iostrata_core::atime::{ClockState, Operation};

use super::tree::{LINE, Tree};
use crate::error::LabError;
use crate::tool::{self, Trouble};

/// Variables that would make git use another repository.
const GIT_VARIABLES: [&str; 5] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_COMMON_DIR",
];

pub(super) fn prepare(
    operation: Operation,
    tree: &Tree,
    stop: &dyn Fn() -> bool,
) -> Result<(), Trouble> {
    match operation {
        Operation::Exec => copy_program(tree),
        Operation::GitStatus => {
            // The same as later, so that git does not assume that the file was changed.
            let file = tree.subject(operation);
            tree.moments
                .set(&file, ClockState::Due)
                .map_err(|error| LabError::at("set the times of", &file, error))?;
            for arguments in [
                &["init", "--quiet"][..],
                // Setting times also sets ctime, from which git would assume that the file was
                // changed and read it (core.trustctime, git-config(1)).
                &["config", "core.trustctime", "false"],
                &["add", "tree/file"],
            ] {
                run(git(tree).args(arguments), stop)?;
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

pub(super) fn perform(
    operation: Operation,
    tree: &Tree,
    stop: &dyn Fn() -> bool,
) -> Result<(), Trouble> {
    let subject = tree.subject(operation);
    let mut command = match operation {
        Operation::GitStatus => git(tree),
        Operation::Exec => {
            // Its name too: for programs with several names, the name selects the function.
            let mut command = Command::new(&subject);
            command.arg0("true");
            command
        }
        _ => Command::new(operation.program().unwrap_or_default()),
    };
    match operation {
        Operation::Find => command.arg(tree.path("work/tree")).args(["-type", "f"]),
        Operation::Grep => command
            .args(["-r", LINE.trim_end()])
            .arg(tree.path("work/tree")),
        Operation::Cp => command.arg(&subject).arg(tree.path("out/copy")),
        // Not to /dev/null: GNU tar would then not read the files.
        Operation::Tar => {
            let archive: [OsString; 2] = ["-cf".into(), tree.path("out/tree.tar").into()];
            command
                .args(archive)
                .arg("-C")
                .arg(tree.path("work"))
                .arg("tree")
        }
        // Otherwise it would write its index.
        Operation::GitStatus => command.args(["--no-optional-locks", "status", "--porcelain"]),
        _ => &mut command,
    };
    run(&mut command, stop)
}

fn git(tree: &Tree) -> Command {
    let mut command = Command::new("git");
    command
        .arg("-C")
        .arg(tree.path("work"))
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null");
    for variable in GIT_VARIABLES {
        command.env_remove(variable);
    }
    command
}

/// Runs a program in the C locale to its end.
fn run(command: &mut Command, stop: &dyn Fn() -> bool) -> Result<(), Trouble> {
    tool::run(command.env("LC_ALL", "C"), tool::BUILDS, stop).map(drop)
}

/// Copies `true`, which does nothing, to be executed on the target.
fn copy_program(tree: &Tree) -> Result<(), Trouble> {
    let places = ["/usr/bin/true", "/bin/true"].map(PathBuf::from);
    let Some(program) = places.iter().find(|place| place.is_file()) else {
        let why = "no program to execute: neither /usr/bin/true nor /bin/true";
        return Err(Trouble::said(why.to_owned()));
    };
    let copied = fs::copy(program, tree.subject(Operation::Exec)).map(drop);
    copied.map_err(|error| Trouble::said(format!("cannot copy {}: {error}", program.display())))
}
