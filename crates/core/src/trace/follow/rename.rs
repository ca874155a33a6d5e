//! Names that are made, moved and removed.

use super::directories::NameChange;
use super::names::{Name, Path, parent};
use super::{Follower, Span, shared};
use crate::op::FileId;
use crate::trace::{Event, FileKind, Target};

/// `EEXIST` (include/uapi/asm-generic/errno-base.h): what `RENAME_NOREPLACE` and `link` say
/// when the name is in use.
const EXISTS: i32 = 17;

/// What a rename does with the file that has the new name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// It is replaced.
    Replacing,
    /// There is none, or the call fails.
    Fresh,
    /// It gets the old name.
    Exchanged,
}

impl Follower {
    /// A name is that of a file which was used by another one, as a step tells that follows.
    pub fn is_at(&mut self, path: &[u8], file: FileId) {
        if self.known.contains_key(&file) && file_of(self.names.get(path)) != Some(file) {
            self.names.set(&shared(path), Name::File(file));
        }
    }

    pub(super) fn made(&mut self, event: &Event, path: &[u8], directory: bool) {
        let span = Span::of(event);
        self.names.set(&shared(path), Name::Present);
        self.change_name(path, NameChange::Made, None, span);
        if directory {
            self.directories.made(path, event.process, span.ended_ns);
        }
    }

    pub(super) fn refused(&mut self, to: &[u8], error: i32) {
        if error == EXISTS && !matches!(self.names.get(to), Some(Name::File(_))) {
            self.names.set(&shared(to), Name::Present);
        }
    }

    pub(super) fn linked(&mut self, event: &Event, file: Option<FileId>, from: &[u8], to: &[u8]) {
        let span = Span::of(event);
        let (path, directory) = (shared(to), shared(parent(to)));
        let file = file.or_else(|| file_of(self.names.get(from)));
        self.names
            .set(&path, file.map_or(Name::Present, Name::File));
        if let Some(file) = file {
            let whole = self.whole.of(Some(file.device));
            if let Some(life) = self.lives.get_mut(&file) {
                life.linked(span, &path, directory, whole);
            }
            self.may_be_reported(event, file);
        }
        self.change_name(to, NameChange::Made, file, span);
    }

    pub(super) fn unlinked(&mut self, event: &Event, path: &[u8], directory: bool) {
        let span = Span::of(event);
        let file = file_of(self.names.get(path)).filter(|_| !directory);
        let is_own = file.is_some_and(|file| self.is_own(file));
        let name = if directory || is_own {
            Name::Absent
        } else {
            Name::Removed {
                at_ns: span.started_ns,
            }
        };
        self.names.set(&shared(path), name);
        if directory {
            self.directories.removed(path);
        }
        if let Some(file) = file {
            self.with(file, |life| life.removed(event, shared(parent(path))));
            self.lost_name(file);
        }
        self.change_name(path, NameChange::Removed, file, span);
    }

    /// Whether the run itself created the file.
    fn is_own(&self, file: FileId) -> bool {
        self.lives
            .get(&file)
            .is_some_and(|life| life.history.created)
    }

    fn lost_name(&mut self, file: FileId) {
        if let Some(life) = self.lives.get_mut(&file) {
            life.unlinked();
            if life.history.unlinked {
                self.removed.push_back(file);
            }
        }
    }

    pub(super) fn renamed(&mut self, event: &Event, from: &[u8], to: &[u8], kind: Kind) {
        let span = Span::of(event);
        if from == to {
            return;
        }
        let (old, new) = (self.names.get(from), self.names.get(to));
        let (file, other) = (file_of(old), file_of(new));
        if file.is_some() && file == other {
            return; // two names of one file: rename(2) does nothing
        }
        let target = self.target_of(new, to, kind);
        let (from_path, to_path) = (shared(from), shared(to));
        self.names
            .set(&to_path, file.map_or(Name::Present, Name::File));
        if kind == Kind::Exchanged {
            self.names
                .set(&from_path, other.map_or(Name::Present, Name::File));
            self.move_file(span, other, &from_path, (Target::Existing, None));
            self.move_file(span, file, &to_path, (Target::Existing, None));
        } else {
            self.names.set(&from_path, Name::Absent);
            if let Some(other) = other {
                self.lost_name(other);
            }
            self.move_below(span, file, from, to);
            self.move_file(span, file, &to_path, target);
        }
        if let Some(file) = file {
            self.may_be_reported(event, file);
        }
        self.change_name(to, NameChange::Renamed, file, span);
        if parent(from) != parent(to) {
            self.change_name(from, NameChange::Renamed, file, span);
        }
    }

    /// What is below a directory moves with it.
    fn move_below(&mut self, span: Span, moved: Option<FileId>, from: &[u8], to: &[u8]) {
        let kind = moved.and_then(|file| self.known.get(&file).map(|known| known.kind));
        if kind == Some(FileKind::Regular) {
            return;
        }
        for (file, path) in self.names.move_below(from, to) {
            let whole = self.whole.of(Some(file.device));
            if let Some(life) = self.lives.get_mut(&file) {
                life.moved_along(span, &path, shared(parent(&path)), whole);
            }
            if let Some(known) = self.known.get_mut(&file) {
                known.path = path;
                known.moved = true;
            }
        }
        self.directories.moved(from, to);
    }

    /// What has the name `to`, as `new` says, and when the run had removed what had it.
    fn target_of(&self, new: Option<Name>, to: &[u8], kind: Kind) -> (Target, Option<u64>) {
        match new {
            Some(Name::File(file)) if self.is_own(file) => (Target::Own, None),
            Some(Name::File(_) | Name::Present) => (Target::Existing, None),
            Some(Name::Absent) => (Target::Vacant, None),
            Some(Name::Removed { at_ns }) => (Target::Vacant, Some(at_ns)),
            None if kind == Kind::Fresh || self.directories.is_own(parent(to)) => {
                (Target::Vacant, None)
            }
            None => (Target::Unknown, None),
        }
    }

    fn move_file(
        &mut self,
        span: Span,
        file: Option<FileId>,
        to: &Path,
        (target, removed_ns): (Target, Option<u64>),
    ) {
        let Some(file) = file else { return };
        if let Some(known) = self.known.get_mut(&file) {
            known.path = Path::clone(to);
            known.moved = true;
        }
        let whole = self.whole.of(Some(file.device));
        let directory = shared(parent(to));
        self.with(file, |life| {
            life.renamed(span, (to, &directory), target, removed_ns, whole);
        });
    }

    fn change_name(&mut self, path: &[u8], change: NameChange, file: Option<FileId>, span: Span) {
        let device = file.map(|file| file.device);
        let times = (span.started_ns, span.ended_ns);
        self.directories.change(parent(path), change, device, times);
    }
}

fn file_of(name: Option<Name>) -> Option<FileId> {
    match name {
        Some(Name::File(file)) => Some(file),
        _ => None,
    }
}
