//! Checkers that have a name: `sqlite:app.db`, `git`, `json:settings.json`.
//!
//! Such a checker is another process of iostrata, which keeps running as one of `--check-server` does, in the same bounds.

mod archive;
mod contents;
mod look;

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Component, Path, PathBuf};

use iostrata_core::crash::History;
use iostrata_core::record::Body;

use crate::CHECK;
use crate::error::Failure;

pub(super) use contents::{Held, write as write_list};
use look::CONTENTS;
pub(super) use look::serve;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Sqlite,
    Git,
    Lmdb,
    Json,
    Archive,
}

const KINDS: [(&str, Kind); 5] = [
    ("sqlite", Kind::Sqlite),
    ("git", Kind::Git),
    ("lmdb", Kind::Lmdb),
    ("json", Kind::Json),
    ("archive", Kind::Archive),
];

/// The file of an LMDB environment that is a directory.
const LMDB_DATA: &str = "data.mdb";

/// What is at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum There {
    Directory,
    Symlink,
    Other,
}

impl From<&Body> for There {
    fn from(body: &Body) -> Self {
        match body {
            Body::Directory(_) => Self::Directory,
            Body::Symlink(_) => Self::Symlink,
            _ => Self::Other,
        }
    }
}

/// A checker with a name, and its path in the directory under test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Named {
    kind: Kind,
    path: PathBuf,
}

impl Named {
    /// The one that `--check` names; `None` for a command.
    pub(super) fn of(check: &OsStr) -> Result<Option<Self>, Failure> {
        let bytes = check.as_bytes();
        let colon = bytes.iter().position(|byte| *byte == b':');
        let (name, path) = match colon {
            Some(at) => (&bytes[..at], Some(&bytes[at + 1..])),
            None => (bytes, None),
        };
        let Some((name, kind)) = KINDS.into_iter().find(|(own, _)| own.as_bytes() == name) else {
            // A shell command has no colon behind its first word.
            let is_word = !name.is_empty() && name.iter().all(u8::is_ascii_lowercase);
            if is_word && path.is_some_and(|path| path.iter().all(u8::is_ascii_graphic)) {
                let names: Vec<&str> = KINDS.iter().map(|(name, _)| *name).collect();
                return Err(Failure::Usage(format!(
                    "--check {}: no checker has this name; name {}, or give a command",
                    check.display(),
                    names.join(", ")
                )));
            }
            return Ok(None);
        };
        let path = match path {
            None | Some(b"") if kind == Kind::Git => b".",
            // A program of this name.
            None => return Ok(None),
            Some(path) => path,
        };
        let path = PathBuf::from(OsString::from_vec(path.to_vec()));
        let is_below =
            |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
        if path.as_os_str().is_empty() || !path.components().all(is_below) {
            return Err(Failure::Usage(format!(
                "--check {name}:{}: name a path within the directory under test, such as {name}:data",
                path.display()
            )));
        }
        Ok(Some(Self { kind, path }))
    }

    /// Whether it was there before the program ran; `began_with` says what was at a path.
    pub(super) fn was_there(&self, began_with: impl Fn(&Path) -> Option<There>) -> bool {
        let has = |name: &str| began_with(&self.path.join(name)).is_some();
        match self.kind {
            Kind::Lmdb if began_with(&self.path) == Some(There::Directory) => has(LMDB_DATA),
            Kind::Git if began_with(&self.path) == Some(There::Symlink) => true,
            Kind::Git => has(".git") || has("HEAD"),
            _ => began_with(&self.path).is_some(),
        }
    }

    /// Fails where there is nothing at its path, neither before the program ran nor after it.
    pub(super) fn find_in(&self, history: &History) -> Result<(), Failure> {
        let began = |path: &Path| history.began_with(path).map(There::from);
        let ended = |path: &Path| history.ended_with(path).as_ref().map(There::from);
        if self.was_there(began) || self.was_there(ended) {
            return Ok(());
        }
        Err(Failure::Usage(format!(
            "--check: {} is not in the directory, neither before the program runs nor after it; name a path that is",
            self.path.display()
        )))
    }

    /// Fails where its program is not installed. `dir` is where the path leads from before the program runs.
    pub(super) fn find_program(&self, dir: Option<&Path>) -> Result<(), Failure> {
        let program = match self.kind {
            Kind::Archive => Some(archive::program(&self.path, dir)?),
            _ => self.program(),
        };
        match program.and_then(missing) {
            None => Ok(()),
            Some(missing) => Err(Failure::Cannot(format!("--check needs {missing}"))),
        }
    }

    /// What its program lacks, if that is not installed.
    pub(super) fn missing(&self) -> Option<String> {
        self.program().and_then(missing)
    }

    /// The program that it runs, and its package; an archive tells it by its format.
    fn program(&self) -> Option<(&'static str, &'static str)> {
        match self.kind {
            Kind::Sqlite => Some(("sqlite3", "sqlite3")),
            Kind::Git => Some(("git", "git")),
            Kind::Lmdb => Some(("mdb_dump", "lmdb-utils")),
            Kind::Json | Kind::Archive => None,
        }
    }

    /// What [`serve`] gets for it, for `/bin/sh`. `was_there`: whether the path was there before the program ran; then
    /// it has to stay. `list`: a file with contents of which it wants one.
    pub(super) fn arguments(&self, was_there: bool, list: &Path) -> Result<String, Failure> {
        let name = KINDS.iter().find(|(_, kind)| *kind == self.kind);
        let name = name.map_or("", |(name, _)| name);
        let was = if was_there { "there" } else { "absent" };
        let [path, list] = [&*self.path, list].map(|path| quoted(path.as_os_str()));
        Ok(format!(" {name} {was} {} {}", path?, list?))
    }

    pub(super) fn arguments_for_contents(&self, was_there: bool) -> Result<String, Failure> {
        self.arguments(was_there, Path::new(CONTENTS))
    }
}

/// The command for `/bin/sh` that looks at files by these arguments.
pub(super) fn command(arguments: &str) -> Result<String, Failure> {
    let itself = std::env::current_exe().map_err(super::cannot("find itself"))?;
    let itself = quoted(itself.as_os_str())?;
    Ok(format!("exec {itself} {CHECK}{arguments}"))
}

/// That a program is not installed, if so, and which package has it.
fn missing((program, package): (&str, &str)) -> Option<String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = std::env::split_paths(&path).any(|at| at.join(program).is_file());
    (!is_there).then(|| format!("{program}, which is not installed; install the package {package}"))
}

/// For `/bin/sh`. Paths are bytes, and a command is text here.
pub(super) fn quoted(word: &OsStr) -> Result<String, Failure> {
    let word = word.to_str().ok_or_else(|| {
        Failure::Usage(format!(
            "{}: --check takes paths in UTF-8",
            word.to_string_lossy()
        ))
    })?;
    Ok(format!("'{}'", word.replace('\'', "'\\''")))
}
