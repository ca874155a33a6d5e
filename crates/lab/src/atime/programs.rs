//! The operations that programs do: `find`, `grep`, `cp`, `tar`, `git`, and one that does
//! nothing but be executed.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use iostrata_core::atime::{ClockState, Operation};

use super::tree::{LINE, Tree};
use crate::engine::Process;
use crate::error::LabError;

/// Variables that would lead git to another repository.
const GIT_VARIABLES: [&str; 5] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_COMMON_DIR",
];

/// Whether an operation can be done here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Able {
    Yes,
    /// Why not, for the result.
    No(String),
}

/// Makes what the operation's program needs on this target.
pub(super) fn prepare(
    operation: Operation,
    tree: &Tree,
    stop: &dyn Fn() -> bool,
) -> Result<Able, LabError> {
    match operation {
        Operation::Exec => Ok(copy_program(tree)),
        Operation::GitStatus => {
            // As later, so that git does not take the file for a changed one.
            let file = tree.subject(operation);
            tree.moments.set(&file, ClockState::Due).map_err(|error| {
                LabError::io(format!("set the times of {}", file.display()), error)
            })?;
            for arguments in [
                &["init", "--quiet"][..],
                // Setting times sets ctime as well, by which git would take the file for
                // a changed one and read it (core.trustctime, git-config(1)).
                &["config", "core.trustctime", "false"],
                &["add", "tree/file"],
            ] {
                let able = run(git(tree).args(arguments), tree, stop)?;
                if able != Able::Yes {
                    return Ok(able);
                }
            }
            Ok(Able::Yes)
        }
        _ => Ok(Able::Yes),
    }
}

/// Runs the operation's program.
pub(super) fn perform(
    operation: Operation,
    tree: &Tree,
    stop: &dyn Fn() -> bool,
) -> Result<Able, LabError> {
    let subject = tree.subject(operation);
    let mut command = match operation {
        Operation::GitStatus => git(tree),
        Operation::Exec => {
            // Its name too: where one program is many, the name says which it shall be.
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
        // Not to /dev/null: GNU tar would not read the files then.
        Operation::Tar => {
            let archive: [OsString; 2] = ["-cf".into(), tree.path("out/tree.tar").into()];
            command
                .args(archive)
                .arg("-C")
                .arg(tree.path("work"))
                .arg("tree")
        }
        // It would write its index otherwise.
        Operation::GitStatus => command.args(["--no-optional-locks", "status", "--porcelain"]),
        _ => &mut command,
    };
    run(&mut command, tree, stop)
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

/// Runs a program to its end; what it says goes to a file.
fn run(command: &mut Command, tree: &Tree, stop: &dyn Fn() -> bool) -> Result<Able, LabError> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = tree.path("out/output");
    let failed = |error| LabError::io(format!("write {}", output.display()), error);
    let file = File::create(&output).map_err(failed)?;
    command
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stderr(file.try_clone().map_err(failed)?)
        .stdout(file);
    let mut process = match Process::start(command) {
        Ok(process) => process,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(Able::No(format!("not installed: no {name} in PATH")));
        }
        Err(error) => return Ok(Able::No(format!("cannot run {name}: {error}"))),
    };
    let status = process.wait(stop)?;
    if status.success() {
        return Ok(Able::Yes);
    }
    let said = fs::read(&output).unwrap_or_default();
    let said = String::from_utf8_lossy(&said);
    let line = said.lines().next().map(|line| format!(": {line}"));
    Ok(Able::No(format!(
        "{name} failed ({status}){}",
        line.unwrap_or_default()
    )))
}

/// Copies `true`, which does nothing, to be executed on the target.
fn copy_program(tree: &Tree) -> Able {
    let places = ["/usr/bin/true", "/bin/true"].map(PathBuf::from);
    let Some(program) = places.iter().find(|place| place.is_file()) else {
        return Able::No("no program to execute: neither /usr/bin/true nor /bin/true".to_owned());
    };
    match fs::copy(program, tree.subject(Operation::Exec)) {
        Ok(_) => Able::Yes,
        Err(error) => Able::No(format!("cannot copy {}: {error}", program.display())),
    }
}
