//! Files of formats that the built-in rules do not know. A database that is torn by a crash is repaired from its journal when
//! its library opens it; by the rules it is damaged.

use std::collections::BTreeMap;

use iostrata_core::crash::{Format, FormatRow};
use iostrata_core::record::{Body, Contents};

use super::log::{Log, head};

impl Log {
    /// Files that the program changed, of formats that a checker with a name knows. A file that cannot be read is of none.
    pub fn formats(&mut self) -> Vec<FormatRow> {
        let [before, after] = self.history.files_at_ends();
        let mut rows = BTreeMap::new();
        for (path, body) in &after {
            if before.get(path) == Some(body) {
                continue;
            }
            let git = repository(path).filter(|above| {
                let head = [above.as_slice(), b".git/HEAD"].concat();
                after.contains_key(&head)
            });
            let row = match (git, after.get(database_of(path))) {
                (Some(above), _) => git_row(&above),
                (None, Some(Body::File(contents))) => self.database(database_of(path), contents),
                (None, _) => None,
            };
            rows.extend(row.map(|row| (row.file.clone(), row)));
        }
        rows.into_values().collect()
    }

    fn database(&mut self, path: &[u8], contents: &Contents) -> Option<FormatRow> {
        let format = Format::of(&head(&mut self.reader, contents))?;
        let file = std::str::from_utf8(path).ok()?;
        let environment = match file.strip_suffix("data.mdb") {
            Some("") => ".",
            Some(directory) if directory.ends_with('/') => &directory[..directory.len() - 1],
            _ => file,
        };
        let (format, check) = match format {
            Format::Sqlite => ("an SQLite database", format!("sqlite:{file}")),
            Format::Lmdb => ("an LMDB environment", format!("lmdb:{environment}")),
        };
        Some(row(file.to_owned(), format, check))
    }
}

/// The database of a journal; of another file itself.
fn database_of(path: &[u8]) -> &[u8] {
    let mut journals = [&b"-wal"[..], b"-journal"].into_iter();
    let of_journal = journals.find_map(|end| path.strip_suffix(end));
    of_journal.unwrap_or(path)
}

/// The directory above `.git` of a file in it, with a slash at its end or empty.
fn repository(path: &[u8]) -> Option<Vec<u8>> {
    let mut above = Vec::new();
    for name in path.split_inclusive(|byte| *byte == b'/') {
        if name == b".git/" {
            return Some(above);
        }
        above.extend_from_slice(name);
    }
    None
}

fn git_row(above: &[u8]) -> Option<FormatRow> {
    let above = std::str::from_utf8(above).ok()?;
    let check = match above.strip_suffix('/') {
        Some(directory) => format!("git:{directory}"),
        None => "git".to_owned(),
    };
    Some(row(format!("{above}.git"), "a git repository", check))
}

/// A file that was not checked yet.
fn row(file: String, format: &str, check: String) -> FormatRow {
    FormatRow {
        file,
        format: format.to_owned(),
        check,
        checked: false,
        unchecked_because: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_in_the_outermost_repository() {
        let above =
            |path: &str| repository(path.as_bytes()).map(|it| String::from_utf8(it).unwrap());
        assert_eq!(above(".git/HEAD").as_deref(), Some(""));
        assert_eq!(above("a/b/.git/refs/x").as_deref(), Some("a/b/"));
        assert_eq!(above("a/.git/modules/b/.git/c").as_deref(), Some("a/"));
        assert_eq!(above("a/.gitignore"), None);
        assert_eq!(above(".git"), None);
    }

    #[test]
    fn a_repository_has_the_checker_of_its_directory() {
        let row = |above: &str| git_row(above.as_bytes()).map(|row| (row.file, row.check));
        let named = |file: &str, check: &str| Some((file.to_owned(), check.to_owned()));
        assert_eq!(row(""), named(".git", "git"));
        assert_eq!(row("a/b/"), named("a/b/.git", "git:a/b"));
    }
}
