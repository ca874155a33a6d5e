//! What sound files hold, apart from how: a database that was rolled back is the one that it was before.
//!
//! A list has, for each state of a run without a crash, what the files held then and until when: how many bytes the
//! program had printed when it was over. A user who was shown a later one must not find it again.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use super::Kind;
use super::look::{SQLITE, git, here, lmdb_dumps};

/// What a file holds: parts that may be of different ages, each with its value. A database is one part, so that half a
/// transaction is none of its states; of a repository each reference is one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in super::super) struct Held(BTreeMap<String, String>);

/// Begins what the process of a checker says when it tells the contents.
const HOLDS: &str = "holds ";

/// What is printed has to be a message, of which 64 KiB are read.
const MOST_BYTES: usize = 60_000;

/// The value of a part that is not there.
const NOTHING: &str = "-";

impl Held {
    pub(super) fn new(parts: impl IntoIterator<Item = (String, String)>) -> Self {
        Self(parts.into_iter().collect())
    }

    /// As the message of a checker of `path`.
    pub(super) fn told(&self, path: &Path) -> String {
        let parts = self.0.iter().map(|(part, value)| format!("{part}={value}"));
        let said = format!("{HOLDS}{}", parts.collect::<Vec<_>>().join(" "));
        if said.len() > MOST_BYTES {
            return format!("{} has more references than are compared", path.display());
        }
        said
    }

    /// Of such a message; `None` where it is another one: what is wrong with the file.
    pub(in super::super) fn of(message: &str) -> Option<Self> {
        let held = message.strip_prefix(HOLDS.trim_end())?;
        let parts = held.split_whitespace().map(|part| {
            let (part, value) = part.rsplit_once('=')?;
            Some((part.to_owned(), value.to_owned()))
        });
        parts.collect::<Option<_>>().map(Self)
    }

    fn value(&self, part: &str) -> &str {
        self.0.get(part).map_or(NOTHING, String::as_str)
    }
}

/// Writes a list: what was held, and the bytes that had been printed at the end of that.
pub(in super::super) fn write(list: &Path, all: &[(Held, u64)]) -> io::Result<()> {
    let parts: BTreeSet<&String> = all.iter().flat_map(|(held, _)| held.0.keys()).collect();
    let mut file = io::BufWriter::new(File::create(list)?);
    for part in parts {
        // A repository has many references, of which few change.
        let mut until: BTreeMap<&str, u64> = BTreeMap::new();
        for (held, printed_bytes) in all {
            let latest = until.entry(held.value(part)).or_default();
            *latest = (*latest).max(*printed_bytes);
        }
        for (value, printed_bytes) in until {
            writeln!(file, "{printed_bytes} {part}={value}")?;
        }
    }
    file.flush()
}

/// Fails where the list has not what a file holds, or had it before something was printed that came later.
pub(super) fn compare(held: &Held, list: &Path, path: &Path, printed: &Path) -> Result<(), String> {
    let shown = path.display();
    let unread = |error: io::Error| format!("cannot read {}: {error}", list.display());
    let printed_bytes = fs::metadata(printed).map_or(0, |printed| printed.len());
    // Of each part until when its value was that of the file; `None` where it never was.
    let known = held.0.keys().map(|part| (part.clone(), None));
    let mut until: BTreeMap<String, Option<u64>> = known.collect();
    for line in BufReader::new(File::open(list).map_err(unread)?).lines() {
        let line = line.map_err(unread)?;
        let fields = line.split_once(' ').and_then(|(at, rest)| {
            let (part, value) = rest.rsplit_once('=')?;
            Some((at.parse::<u64>().ok()?, part, value))
        });
        let Some((at, part, value)) = fields else {
            return Err(format!("{}: {line}: no part of a list", list.display()));
        };
        let latest = until.entry(part.to_owned()).or_default();
        if value == held.value(part) {
            *latest = (*latest).max(Some(at));
        }
    }
    let of = |part: &String| match part.as_str() {
        "" => String::new(),
        part => format!(" in {part}"),
    };
    for (part, until) in &until {
        let of = of(part);
        match until {
            None => {
                return Err(format!(
                    "{shown} is sound, but holds{of} what it never held in the run"
                ));
            }
            Some(until) if *until < printed_bytes => {
                return Err(format!(
                    "{shown} is older{of} than it was when the program reported it"
                ));
            }
            Some(_) => {}
        }
    }
    Ok(())
}

/// What a sound file holds.
pub(super) fn of(kind: Kind, path: &Path) -> Result<Held, String> {
    let mut hasher = blake3::Hasher::new();
    match kind {
        Kind::Sqlite => {
            let mut dump = Command::new("sqlite3");
            hash(&mut hasher, dump.args(SQLITE).arg(here(path)).arg(".dump"))?;
        }
        Kind::Lmdb => {
            for mut dump in lmdb_dumps(path) {
                hash(&mut hasher, &mut dump)?;
            }
        }
        Kind::Git => return git(path),
        Kind::Json | Kind::Archive => {
            let read = File::open(path).and_then(|file| hasher.update_reader(file).map(drop));
            read.map_err(|error| format!("{}: {error}", path.display()))?;
        }
    }
    let all = hasher.finalize().to_hex().to_string();
    Ok(Held::new([(String::new(), all)]))
}

/// Adds what a program prints, however much that is.
fn hash(hasher: &mut blake3::Hasher, command: &mut Command) -> Result<(), String> {
    let mut run = || -> io::Result<()> {
        command.stdin(Stdio::null()).stderr(Stdio::null());
        let mut child = command.stdout(Stdio::piped()).spawn()?;
        if let Some(printed) = child.stdout.take() {
            hasher.update_reader(printed)?;
        }
        child.wait()?;
        Ok(())
    };
    let ended = run();
    ended.map_err(|error| {
        let program = command.get_program().to_string_lossy();
        format!("cannot run {program}: {error}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(parts: &[(&str, &str)]) -> Held {
        let parts = parts.iter();
        Held(
            parts
                .map(|(part, value)| ((*part).to_owned(), (*value).to_owned()))
                .collect(),
        )
    }

    #[test]
    fn what_is_told_is_read_again() {
        for held in [
            held(&[]),
            held(&[("", "00ff")]),
            held(&[("HEAD", "refs/heads/a=b"), ("refs/heads/a", "12")]),
        ] {
            // A value has no equals sign but that of a branch, which is cut at its last one.
            let told = |held: &Held| held.told(Path::new("t"));
            let again = Held::of(&told(&held)).map(|again| told(&again));
            assert_eq!(again, Some(told(&held)));
        }
        assert_eq!(Held::of("t.db is empty"), None);
    }

    #[test]
    fn each_part_has_to_be_one_that_it_was() {
        let list = tempfile::NamedTempFile::new().unwrap();
        let all = [
            (held(&[("a", "1")]), 0),
            (held(&[("a", "2")]), 5),
            (held(&[("a", "2"), ("b", "7")]), 9),
        ];
        write(list.path(), &all).unwrap();
        // Nothing has been printed here.
        let (path, printed) = (Path::new("t"), Path::new("none"));
        let compared = |parts: &[(&str, &str)]| compare(&held(parts), list.path(), path, printed);
        for parts in [&[("a", "1")][..], &[("a", "2")], &[("a", "1"), ("b", "7")]] {
            assert_eq!(compared(parts), Ok(()));
        }
        let never = |part| {
            Err(format!(
                "t is sound, but holds in {part} what it never held in the run"
            ))
        };
        assert_eq!(compared(&[]), never("a"));
        assert_eq!(compared(&[("a", "3")]), never("a"));
        assert_eq!(compared(&[("a", "1"), ("b", "8")]), never("b"));
        assert_eq!(compared(&[("a", "1"), ("c", "1")]), never("c"));
    }
}
