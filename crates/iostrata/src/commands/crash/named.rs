//! Checkers that have a name: `sqlite:app.db`, `git`, `json:settings.json`.
//!
//! Such a checker runs like a user's command, as another process of iostrata in the same bounds.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};

use crate::CHECK;
use crate::error::Failure;

/// What is looked at.
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

/// A format of archives: its name, how it begins and where, its suffixes, the program that tests it, its
/// package.
struct Format {
    magic: (u64, &'static [u8]),
    suffixes: &'static [&'static str],
    program: &'static str,
    package: &'static str,
    arguments: &'static [&'static str],
}

const FORMATS: [Format; 6] = [
    Format {
        magic: (0, b"\x1f\x8b"),
        suffixes: &["gz", "tgz"],
        program: "gzip",
        package: "gzip",
        arguments: &["-t", "--"],
    },
    Format {
        magic: (0, b"\xfd7zXZ\0"),
        suffixes: &["xz", "txz"],
        program: "xz",
        package: "xz-utils",
        arguments: &["-t", "--"],
    },
    Format {
        magic: (0, b"\x28\xb5\x2f\xfd"),
        suffixes: &["zst", "tzst"],
        program: "zstd",
        package: "zstd",
        arguments: &["-q", "-t", "--"],
    },
    Format {
        magic: (0, b"BZh"),
        suffixes: &["bz2", "tbz", "tbz2"],
        program: "bzip2",
        package: "bzip2",
        arguments: &["-t", "--"],
    },
    Format {
        magic: (0, b"PK\x03\x04"),
        suffixes: &["zip", "jar", "whl"],
        program: "unzip",
        package: "unzip",
        arguments: &["-qq", "-t"],
    },
    Format {
        magic: (257, b"ustar"),
        suffixes: &["tar"],
        program: "tar",
        package: "tar",
        arguments: &["-tf"],
    },
];

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

    /// Its path.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Fails where its program is not installed. `dir` is where the path leads from before the program runs.
    pub(super) fn find_program(&self, dir: Option<&Path>) -> Result<(), Failure> {
        let (program, package) = match self.kind {
            Kind::Sqlite => ("sqlite3", "sqlite3"),
            Kind::Git => ("git", "git"),
            Kind::Lmdb => ("mdb_dump", "lmdb-utils"),
            Kind::Json => return Ok(()),
            Kind::Archive => {
                let format = by_suffix(&self.path)
                    .or_else(|| by_content(&dir?.join(&self.path)).ok().flatten());
                let format = format.ok_or_else(|| {
                    Failure::Usage(format!(
                        "--check archive:{}: neither its name nor its content tells a format; it has to \
                         end with .gz, .xz, .zst, .bz2, .zip or .tar",
                        self.path.display()
                    ))
                })?;
                (format.program, format.package)
            }
        };
        let path = std::env::var_os("PATH").unwrap_or_default();
        if std::env::split_paths(&path).any(|at| at.join(program).is_file()) {
            return Ok(());
        }
        Err(Failure::Cannot(format!(
            "--check needs {program}, which is not installed; install the package {package}"
        )))
    }

    /// The command for `/bin/sh`. `was_there`: whether the path was there before the program ran; then it has to
    /// stay.
    pub(super) fn command(&self, was_there: bool) -> Result<String, Failure> {
        let itself =
            std::env::current_exe().map_err(|error| super::cannot("find itself", &error))?;
        let name = KINDS.iter().find(|(_, kind)| *kind == self.kind);
        let name = name.map_or("", |(name, _)| name);
        let was = if was_there { "there" } else { "absent" };
        let (itself, path) = (quoted(itself.as_os_str())?, quoted(self.path.as_os_str())?);
        Ok(format!("exec {itself} {CHECK} {name} {was} {path}"))
    }
}

/// For `/bin/sh`. Paths are bytes, and a command is text here.
fn quoted(word: &OsStr) -> Result<String, Failure> {
    let word = word.to_str().ok_or_else(|| {
        Failure::Usage(format!(
            "{}: --check takes paths in UTF-8",
            word.to_string_lossy()
        ))
    })?;
    Ok(format!("'{}'", word.replace('\'', "'\\''")))
}

/// The work of the process that looks: prints what is wrong, and gives whether something is.
pub(super) fn look(arguments: &[OsString]) -> Result<(), String> {
    let [name, was, path] = arguments else {
        return Err("three arguments".to_owned());
    };
    let kind = KINDS.into_iter().find(|(own, _)| *own == name);
    let (_, kind) = kind.ok_or("no such checker")?;
    let (path, shown) = (Path::new(path), Path::new(path).display());
    let is_there = path.symlink_metadata().is_ok();
    if !is_there && was == "absent" {
        return Ok(());
    }
    if !is_there {
        return Err(format!("{shown} is missing"));
    }
    match kind {
        Kind::Sqlite => sqlite(path),
        Kind::Git => git(path),
        Kind::Lmdb => lmdb(path),
        Kind::Json => json(path),
        Kind::Archive => archive(path),
    }
}

fn is_empty(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|metadata| metadata.is_file() && metadata.len() == 0)
}

fn sqlite(path: &Path) -> Result<(), String> {
    let shown = path.display();
    // SQLite takes an empty file for a new database.
    if is_empty(path) {
        return Err(format!("{shown} is empty"));
    }
    let said = output(
        Command::new("sqlite3")
            .arg("-batch")
            .arg(path)
            .arg("pragma integrity_check"),
    )?;
    match said.1.trim() {
        "ok" if said.0 => Ok(()),
        said => Err(format!("{shown}: {}", first_line(said))),
    }
}

fn git(path: &Path) -> Result<(), String> {
    let run = |arguments: &[&str]| {
        let mut git = Command::new("git");
        // A copy has another owner than whoever looks, within a user namespace.
        git.args(["-c", "safe.directory=*", "-C"]).arg(path);
        output(git.args(arguments))
    };
    let (is_fine, said) = run(&[
        "fsck",
        "--full",
        "--strict",
        "--no-dangling",
        "--no-progress",
    ])?;
    if !is_fine {
        // Notices come first, and are none of what is wrong.
        let wrong = said.lines().find(|line| !line.starts_with("notice: "));
        return Err(format!("git fsck: {}", first_line(wrong.unwrap_or(&said))));
    }
    let (is_fine, said) = run(&["rev-parse", "--verify", "HEAD^{tree}"])?;
    if is_fine {
        return Ok(());
    }
    // A repository without a commit has a branch that does not exist.
    let (has_refs, refs) = run(&["for-each-ref", "--count=1"])?;
    let (is_branch, _) = run(&["symbolic-ref", "HEAD"])?;
    if has_refs && refs.trim().is_empty() && is_branch {
        return Ok(());
    }
    Err(format!("git: HEAD is not readable: {}", first_line(&said)))
}

fn lmdb(path: &Path) -> Result<(), String> {
    let shown = path.display();
    let mut dump = Command::new("mdb_dump");
    dump.arg("-a");
    if path.is_file() {
        if is_empty(path) {
            return Err(format!("{shown} is empty"));
        }
        dump.arg("-n");
    }
    dump.arg(path).stdout(Stdio::null());
    let (is_fine, said) = output(&mut dump)?;
    if is_fine {
        return Ok(());
    }
    Err(format!("{shown}: {}", first_line(&said)))
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

fn archive(path: &Path) -> Result<(), String> {
    let shown = path.display();
    if is_empty(path) {
        return Err(format!("{shown} is empty"));
    }
    let format = by_content(path).map_err(|error| format!("{shown}: {error}"))?;
    let format = format.ok_or_else(|| format!("{shown} does not begin like an archive"))?;
    let mut test = Command::new(format.program);
    test.args(format.arguments).arg(path);
    if format.program == "tar" {
        // tar takes a file that ends after any member for a whole one.
        let mut file = File::open(path).map_err(|error| format!("{shown}: {error}"))?;
        let mut last = Vec::new();
        let end = file
            .seek(SeekFrom::End(-1024))
            .and_then(|_| file.read_to_end(&mut last));
        if end.is_err() || last.iter().any(|byte| *byte != 0) {
            return Err(format!("{shown} has no end"));
        }
        test.stdout(Stdio::null());
    }
    let (is_fine, said) = output(&mut test)?;
    if is_fine {
        return Ok(());
    }
    Err(format!("{shown}: {}", first_line(&said)))
}

fn by_suffix(path: &Path) -> Option<&'static Format> {
    let suffix = path.extension()?.to_str()?;
    FORMATS
        .iter()
        .find(|format| format.suffixes.contains(&suffix))
}

fn by_content(path: &Path) -> io::Result<Option<&'static Format>> {
    let mut begin = Vec::new();
    File::open(path)?.take(512).read_to_end(&mut begin)?;
    let is_of = |format: &&Format| {
        let (at, magic) = format.magic;
        usize::try_from(at)
            .is_ok_and(|at| begin.get(at..).is_some_and(|rest| rest.starts_with(magic)))
    };
    Ok(FORMATS.iter().find(is_of))
}

/// Whether it ended well, and what it said: standard output, then standard error.
fn output(command: &mut Command) -> Result<(bool, String), String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("cannot run {program}: {error}"))?;
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    Ok((output.status.success(), said))
}

fn first_line(said: &str) -> &str {
    let mut lines = said.lines().map(str::trim);
    lines
        .find(|line| !line.is_empty())
        .unwrap_or("it says nothing")
}
