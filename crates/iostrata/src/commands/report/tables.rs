//! A directory of tables, which replaces an earlier export in one step.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use iostrata_report::export::{self, Format, Table, lab, trace};
use rustix::fs::{
    AtFlags, Dir, FileType, FlockOperation, Mode, RenameFlags, fchmod, flock, fstat, mkdirat,
    renameat_with, statat,
};
use rustix::io::Errno;

use crate::error::Failure;
use crate::replacement::{Contents, hidden, hidden_names, remove_flat, sync_names};
use iostrata_lab::place::{self, Found, Place};

/// The table that every export has.
const ALWAYS: &str = "results";

/// The directory, and tables that do not have their final names yet.
pub(super) struct Directory {
    path: PathBuf,
    format: Format,
    place: Place,
    written: Vec<(OsString, Contents)>,
    /// Mode of the existing directory.
    old_mode: Option<u32>,
}

impl Directory {
    /// Checks whether the directory can be created or replaced.
    pub(super) fn open(path: &Path, format: Format) -> Result<Self, Failure> {
        let refused = |error: io::Error| {
            Failure::Cannot(format!(
                "cannot make the directory {}: {error}; name a writable one",
                path.display()
            ))
        };
        let place = match place::find(path).map_err(refused)? {
            Found::Name(place) => place,
            Found::Directory(_) => return Err(without_name(path)),
            Found::Descriptor(_) => return Err(refused(Errno::EXIST.into())),
        };
        let old = place.stat().map_err(refused)?;
        if let Some(old) = &old {
            if FileType::from_raw_mode(old.st_mode) != FileType::Directory {
                return Err(refused(Errno::EXIST.into()));
            }
            if place::is_anothers(old.st_uid) {
                return Err(refused(place::anothers("directory", old.st_uid)));
            }
            let is_other = fstat(place.directory()).map_err(|e| refused(e.into()))?;
            if is_other.st_dev != old.st_dev {
                return Err(without_name(path));
            }
            check_that_it_is_an_export(path, &place, format).map_err(|other| match other {
                Other::Entry(name) => Failure::Cannot(format!(
                    "{} holds {}, which is not a table of an earlier export, and the directory \
                     would be replaced; name an empty or new directory",
                    path.display(),
                    Path::new(&name).display()
                )),
                Other::Error(errno) => refused(errno.into()),
            })?;
        }
        let directory = Self {
            path: path.to_owned(),
            format,
            place,
            written: Vec::new(),
            old_mode: old.map(|old| old.st_mode & 0o7777),
        };
        // Whether it can be written is checked before anything is read.
        drop(directory.contents().map_err(refused)?);
        Ok(directory)
    }

    fn contents(&self) -> io::Result<Contents> {
        Contents::begin(self.place.directory(), self.place.name())
    }

    /// Writes a table, without its final name.
    pub(super) fn write(&mut self, table: Table<'_>) -> Result<(), Failure> {
        let name = file_name(table.name(), self.format);
        let written = self.contents().and_then(|contents| {
            table.write(self.format, &mut contents.file())?;
            contents.file().sync_all()?;
            Ok(contents)
        });
        let contents = written.map_err(|error| self.cannot(&name, &error))?;
        self.written.push((name, contents));
        Ok(())
    }

    /// Gives all tables their names.
    pub(super) fn finish(self) -> Result<(), Failure> {
        // A signal does not end the process in between.
        let _names = hidden_names();
        let at = self.place.directory();
        let failed = |error: io::Error| {
            let path = self.path.display();
            Failure::Cannot(format!("cannot make the directory {path}: {error}"))
        };
        let staged = hidden(self.place.name()).map_err(failed)?;
        let directory = self.stage(&staged).map_err(|(name, error)| {
            remove(at, &staged);
            match name {
                Some(name) => self.cannot(&name, &error),
                None => failed(error),
            }
        })?;
        let flags = if self.old_mode.is_some() {
            RenameFlags::EXCHANGE
        } else {
            RenameFlags::NOREPLACE
        };
        let renamed = renameat_with(at, &staged, at, self.place.name(), flags);
        if let Err(errno) = renamed {
            _ = remove_flat(at, &staged, directory.as_fd());
            return Err(match errno {
                Errno::BUSY | Errno::XDEV => without_name(&self.path),
                errno => failed(errno.into()),
            });
        }
        if self.old_mode.is_some() {
            remove(at, &staged);
        }
        sync_names(at);
        Ok(())
    }

    /// A directory beside it with all tables, and those that could not be put there.
    fn stage(&self, name: &OsStr) -> Result<OwnedFd, (Option<OsString>, io::Error)> {
        let of_directory = |errno: Errno| (None, errno.into());
        let at = self.place.directory();
        mkdirat(at, name, Mode::from_raw_mode(0o777)).map_err(of_directory)?;
        let directory = place::open_to_list(at, name).map_err(of_directory)?;
        // Tells those that look for what killed runs left that this one lives.
        _ = flock(&directory, FlockOperation::NonBlockingLockExclusive);
        for (table, contents) in &self.written {
            let named = contents.name(directory.as_fd(), table);
            named.map_err(|errno| (Some(table.clone()), errno.into()))?;
        }
        if let Some(mode) = self.old_mode {
            fchmod(&directory, Mode::from_raw_mode(mode)).map_err(of_directory)?;
        }
        sync_names(directory.as_fd());
        Ok(directory)
    }

    fn cannot(&self, name: &OsStr, error: &io::Error) -> Failure {
        let path = self.path.join(name);
        Failure::Cannot(format!("cannot write {}: {error}", path.display()))
    }
}

/// `.` or a mount point: it cannot be exchanged.
fn without_name(path: &Path) -> Failure {
    Failure::Cannot(format!(
        "{} cannot be replaced in one step: it is the working directory, the root or a mount \
         point; name a subdirectory",
        path.display()
    ))
}

/// Leftovers are removed by the next export to the same place.
fn remove(at: BorrowedFd<'_>, name: &OsStr) {
    if let Ok(directory) = place::open_to_list(at, name) {
        _ = remove_flat(at, name, directory.as_fd());
    }
}

enum Other {
    Entry(OsString),
    Error(Errno),
}

impl From<Errno> for Other {
    fn from(errno: Errno) -> Self {
        Self::Error(errno)
    }
}

/// A directory that contains only tables of this format, including the table of every export, or
/// nothing.
fn check_that_it_is_an_export(path: &Path, place: &Place, format: Format) -> Result<(), Other> {
    let directory = place::open_to_list(place.directory(), place.name())?;
    let tables: HashSet<OsString> = names()
        .into_iter()
        .map(|table| file_name(table, format))
        .collect();
    let mut first = None;
    for entry in Dir::read_from(&directory)? {
        let name = OsStr::from_bytes(entry?.file_name().to_bytes()).to_owned();
        if name == "." || name == ".." {
            continue;
        }
        let found = statat(&directory, &name, AtFlags::SYMLINK_NOFOLLOW)?;
        let is_file = FileType::from_raw_mode(found.st_mode) == FileType::RegularFile;
        if !is_file || !tables.contains(&name) {
            return Err(Other::Entry(name));
        }
        first.get_or_insert(name);
    }
    let always = file_name(ALWAYS, format);
    match first {
        Some(first) if !path.join(&always).exists() => Err(Other::Entry(first)),
        _ => Ok(()),
    }
}

fn file_name(table: &str, format: Format) -> OsString {
    format!("{table}.{}", format.extension()).into()
}

/// The names of all tables.
fn names() -> Vec<&'static str> {
    let of_logs = [
        export::operations(Box::new(std::iter::empty())),
        export::recordings(&[]),
    ];
    let of_all = [export::results(&[]), export::missing(&[])];
    let tables = lab::tables(&[]).into_iter().chain(trace::tables(&[]));
    let tables = tables.chain(of_logs).chain(of_all);
    tables.map(|table| table.name()).collect()
}
