//! What the process of a checker does.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, BufRead as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::super::cannot;
use super::archive::archive;
use super::contents::{self, Held};
use super::{KINDS, Kind, LMDB_DATA};
use crate::error::Failure;
use crate::ui;

/// Stands for the file with the list: the contents are to be told.
pub(in super::super) const CONTENTS: &str = "--contents";

/// A message is cut where a longer line would be none.
const MOST_BYTES: usize = 60_000;

/// One file to look at.
struct Look<'a> {
    kind: Kind,
    /// Whether its path was there before the program ran.
    was_there: bool,
    path: &'a Path,
    /// The file with the list, or [`CONTENTS`]; empty where nothing is compared.
    list: &'a OsStr,
}

/// The work of the process that looks, by the protocol of `--check-server`. Each file has four arguments. A state fails with
/// what is wrong with the first file that is; with a list of contents, also where that holds none of these; with
/// [`CONTENTS`], with what it holds.
pub(in super::super) fn serve(arguments: &[OsString]) -> Result<(), Failure> {
    let (chunks, rest) = arguments.as_chunks();
    let looks: Option<Vec<_>> = chunks.iter().map(Look::of).collect();
    let looks = looks.filter(|_| rest.is_empty());
    let looks = looks.ok_or_else(|| Failure::cannot("look: no such checker"))?;
    for line in io::stdin().lock().split(b'\n') {
        let line = line.map_err(cannot("read what to look at"))?;
        let mut paths = line.split(|byte| *byte == b'\t').map(OsStr::from_bytes);
        let (copy, printed) = (paths.next().unwrap_or_default(), paths.next());
        let printed = Path::new(printed.unwrap_or_default());
        // Messages name paths in the copy.
        std::env::set_current_dir(copy).map_err(cannot("enter the copy"))?;
        let answer = match looks.iter().try_for_each(|look| look.at(printed)) {
            Ok(()) => "ok\n".to_owned(),
            Err(message) => {
                let message = first_line(&message);
                let end = message.floor_char_boundary(MOST_BYTES);
                format!("fail {}\n", &message[..end])
            }
        };
        ui::print(&answer)?;
    }
    Ok(())
}

impl<'a> Look<'a> {
    fn of([name, was, path, list]: &'a [OsString; 4]) -> Option<Self> {
        let (_, kind) = KINDS.into_iter().find(|(own, _)| *own == name)?;
        Some(Self {
            kind,
            was_there: was == "there",
            path: Path::new(path),
            list,
        })
    }

    /// `printed` is a file with what the program had printed.
    fn at(&self, printed: &Path) -> Result<(), String> {
        let Self { kind, path, .. } = *self;
        let held = if !self.was_there && is_nothing(kind, path) {
            Held::default()
        } else {
            match sound(kind, path)? {
                Some(held) => held,
                None if self.list.is_empty() => return Ok(()),
                None => contents::of(kind, path)?,
            }
        };
        if self.list.is_empty() {
            Ok(())
        } else if self.list == CONTENTS {
            Err(held.told(path))
        } else {
            contents::compare(&held, Path::new(self.list), path, printed)
        }
    }
}

/// Whether there is nothing yet: libraries take an empty file for a new database.
fn is_nothing(kind: Kind, path: &Path) -> bool {
    let has = |name: &str| path.join(name).symlink_metadata().is_ok();
    match kind {
        Kind::Sqlite => is_empty(path) || path.symlink_metadata().is_err(),
        Kind::Lmdb => {
            let data = environment(path);
            is_empty(&data) || data.symlink_metadata().is_err()
        }
        Kind::Git => !has(".git") && !has("HEAD"),
        Kind::Json | Kind::Archive => path.symlink_metadata().is_err(),
    }
}

/// The file of an LMDB environment.
fn environment(path: &Path) -> PathBuf {
    if path.is_dir() {
        path.join(LMDB_DATA)
    } else {
        path.to_owned()
    }
}

/// Fails where it is not; gives what it holds where that is known without another program.
fn sound(kind: Kind, path: &Path) -> Result<Option<Held>, String> {
    if path.symlink_metadata().is_err() {
        return Err(format!("{} is missing", path.display()));
    }
    match kind {
        Kind::Sqlite => sqlite(path)?,
        Kind::Git => return git(path).map(Some),
        Kind::Lmdb => lmdb(path)?,
        Kind::Json => json(path)?,
        Kind::Archive => archive(path)?,
    }
    Ok(None)
}

pub(super) fn is_empty(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|metadata| metadata.is_file() && metadata.len() == 0)
}

/// As an argument: no option, and no name that means something else, such as `:memory:`.
pub(super) fn here(path: &Path) -> PathBuf {
    Path::new(".").join(path)
}

/// Without what this user has sqlite3 do at each start.
pub(super) const SQLITE: [&str; 3] = ["-batch", "-init", "/dev/null"];

fn sqlite(path: &Path) -> Result<(), String> {
    let shown = path.display();
    // SQLite takes an empty file for a new database.
    if is_empty(path) {
        return Err(format!("{shown} is empty"));
    }
    let said = output(
        Command::new("sqlite3")
            .args(SQLITE)
            .arg(here(path))
            .arg("pragma integrity_check"),
    )?;
    match said.1.trim() {
        "ok" if said.0 => Ok(()),
        said => {
            // A headline, and what it is about in the next line.
            let wrong = said
                .lines()
                .find(|line| !line.starts_with("*** in database"));
            Err(format!("{shown}: {}", first_line(wrong.unwrap_or(said))))
        }
    }
}

/// What each name of a sound repository refers to. Two processes tell, and a third one of a `HEAD` without a branch.
pub(super) fn git(path: &Path) -> Result<Held, String> {
    let run = |words: &str| run_git(path, words);
    let (is_fine, said) = run("fsck --full --strict --no-dangling --no-progress")?;
    if !is_fine {
        // Notices come first, and are none of what is wrong.
        let wrong = said.lines().find(|line| !line.starts_with("notice: "));
        return Err(format!("git fsck: {}", first_line(wrong.unwrap_or(&said))));
    }
    let (is_fine, listed) = run("for-each-ref --format=%(HEAD)%(refname)=%(objectname)")?;
    if !is_fine {
        return Err(format!("git for-each-ref: {}", first_line(&listed)));
    }
    let lines = listed.lines().filter(|line| line.starts_with(['*', ' ']));
    let references: Vec<_> = lines
        .filter_map(|line| line[1..].rsplit_once('='))
        .collect();
    let current = listed
        .lines()
        .find_map(|line| line.strip_prefix('*')?.rsplit_once('='));
    // A repository without a commit has a branch that does not exist (fsck_head_link, builtin/fsck.c).
    let unborn = said
        .lines()
        .find_map(|line| line.strip_prefix(UNBORN)?.strip_suffix(')'));
    let unreadable = |why: &str| Err(format!("git: HEAD is not readable: {why}"));
    let head = match (current, unborn) {
        // It was read by fsck, with its tree.
        (Some((branch, _)), _) => branch.to_owned(),
        (None, Some(branch)) if references.is_empty() => format!("refs/heads/{branch}"),
        (None, Some(branch)) => return unreadable(&format!("there is no branch {branch}")),
        (None, None) => {
            let (is_fine, commit) = run("rev-parse --verify HEAD")?;
            if !is_fine {
                return unreadable(first_line(&commit));
            }
            commit.trim().to_owned()
        }
    };
    let all = references.into_iter().chain([("HEAD", &*head)]);
    Ok(Held::new(
        all.map(|(name, value)| (name.to_owned(), value.to_owned())),
    ))
}

const UNBORN: &str = "notice: HEAD points to an unborn branch (";

/// Runs git with words that have no spaces.
fn run_git(path: &Path, words: &str) -> Result<(bool, String), String> {
    let mut git = Command::new("git");
    // What it says is read.
    git.env("LC_ALL", "C");
    // A copy has another owner than the process that reads it, within a user namespace.
    git.args(["-c", "safe.directory=*", "-C"]).arg(here(path));
    output(git.args(words.split(' ')))
}

fn lmdb(path: &Path) -> Result<(), String> {
    let shown = path.display();
    if is_empty(&environment(path)) {
        return Err(format!("{} is empty", environment(path).display()));
    }
    for mut dump in lmdb_dumps(path) {
        let (is_fine, said) = output(dump.stdout(Stdio::null()))?;
        if !is_fine && !said.contains("does not contain multiple databases") {
            return Err(format!("{shown}: {}", first_line(&said)));
        }
    }
    Ok(())
}

/// Of the unnamed database, which has the names of the others, and of these.
pub(super) fn lmdb_dumps(path: &Path) -> [Command; 2] {
    [&[][..], &["-a"]].map(|more| {
        let mut dump = Command::new("mdb_dump");
        dump.args(more)
            .args(path.is_file().then_some("-n"))
            .arg(here(path));
        dump
    })
}

fn json(path: &Path) -> Result<(), String> {
    let shown = path.display();
    let file = File::open(path).map_err(|error| format!("{shown}: {error}"))?;
    if is_empty(path) {
        return Err(format!("{shown} is empty"));
    }
    let read: Result<serde::de::IgnoredAny, _> = serde_json::from_reader(io::BufReader::new(file));
    match read {
        Ok(_) => Ok(()),
        Err(error) => Err(format!("{shown} is not JSON: {error}")),
    }
}

/// Whether it ended well, and what it said: standard output, then standard error.
pub(super) fn output(command: &mut Command) -> Result<(bool, String), String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("cannot run {program}: {error}"))?;
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    Ok((output.status.success(), said))
}

pub(super) fn first_line(said: &str) -> &str {
    let mut lines = said.lines().map(str::trim);
    lines
        .find(|line| !line.is_empty())
        .unwrap_or("it says nothing")
}
