//! A directory of tables: they replace those of an earlier export together, or not at all.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use iostrata_report::export::{self, Format, Table, lab, trace};

use crate::error::Failure;
use crate::replacement::Replacement;

/// The directory and the tables that wait for their names.
pub(super) struct Directory {
    path: PathBuf,
    format: Format,
    written: Vec<(PathBuf, Replacement)>,
    /// Removed again unless tables come into it.
    made: Option<Made>,
}

struct Made(PathBuf);

impl Drop for Made {
    fn drop(&mut self) {
        // Only an empty directory can be removed so.
        drop(fs::remove_dir(&self.0));
    }
}

impl Directory {
    /// Makes the directory if it is not there; what is above it has to be.
    pub(super) fn open(path: &Path, format: Format) -> Result<Self, Failure> {
        let made = match fs::create_dir(path) {
            Ok(()) => Some(Made(path.to_owned())),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => None,
            Err(error) => {
                return Err(Failure::Cannot(format!(
                    "cannot make the directory {}: {error}; name one that you may write",
                    path.display()
                )));
            }
        };
        Ok(Self {
            path: path.to_owned(),
            format,
            written: Vec::new(),
            made,
        })
    }

    /// Writes a table, still without a name.
    pub(super) fn write(&mut self, table: Table<'_>) -> Result<(), Failure> {
        let path = self.file(table.name());
        let written = Replacement::begin(&path).and_then(|replacement| {
            table.write(self.format, &mut replacement.file())?;
            Ok(replacement)
        });
        let replacement = written.map_err(|error| cannot(&path, &error))?;
        self.written.push((path, replacement));
        Ok(())
    }

    /// Gives all tables their names.
    pub(super) fn finish(mut self) -> Result<(), Failure> {
        self.check_that_no_other_table_stays()?;
        for (path, replacement) in self.written.drain(..) {
            replacement
                .finish()
                .map_err(|error| cannot(&path, &error))?;
        }
        // It is not empty now.
        drop(self.made.take());
        Ok(())
    }

    /// A table of an earlier export beside these would belong to other files.
    fn check_that_no_other_table_stays(&self) -> Result<(), Failure> {
        let stays = names()
            .into_iter()
            .map(|name| self.file(name))
            .find(|path| {
                let is_written = self.written.iter().any(|(written, _)| written == path);
                !is_written && path.exists()
            });
        stays.map_or(Ok(()), |path| {
            Err(Failure::Cannot(format!(
                "{} is of an earlier export and would not belong to these files; remove it, or \
                 name another directory",
                path.display()
            )))
        })
    }

    fn file(&self, table: &str) -> PathBuf {
        self.path
            .join(format!("{table}.{}", self.format.extension()))
    }
}

/// The names of all tables that there are.
fn names() -> Vec<&'static str> {
    let of_logs = [
        export::operations(Box::new(std::iter::empty())),
        export::recordings(&[]),
    ];
    let tables = lab::tables(&[]).into_iter().chain(trace::tables(&[]));
    let tables = tables.chain(of_logs);
    tables.map(|table| table.name()).collect()
}

fn cannot(path: &Path, error: &io::Error) -> Failure {
    Failure::Cannot(format!("cannot write {}: {error}", path.display()))
}
