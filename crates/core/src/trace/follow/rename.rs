//! Names that are created, moved and removed.

use super::names::{Name, Path, Rename, parent};
use super::{Follower, Span, shared};
use crate::op::{Call, FileId};
use crate::record::RENAME_EXCHANGE;
use crate::trace::{DirectoryRow, FileKind, NameChange, NameHolder};

/// `EEXIST` (include/uapi/asm-generic/errno-base.h): the result of `RENAME_NOREPLACE` and `link`
/// when the name is in use.
const EXISTS: i32 = 17;

/// The effect of a rename on the file that has the new name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Replacing,
    /// There is none, or the call fails.
    Fresh,
    /// It gets the old name.
    Exchanged,
}

impl Follower {
    /// A name belongs to a file that was used under another one, as a later step shows.
    pub fn is_at(&mut self, path: &[u8], file: FileId) {
        if self.known.contains_key(&file) && file_of(self.names.get(path)) != Some(file) {
            self.names.set(&shared(path), Name::File(file));
        }
    }

    pub(super) fn named_anew(&mut self, call: &Call, names: &NameChange) {
        match names {
            NameChange::Opened {
                file,
                created,
                truncated,
                ..
            } => self.opened(call, *file, *created, *truncated),
            NameChange::Renamed {
                from, to, flags, ..
            } => {
                let kind = match call.name {
                    _ if flags & RENAME_EXCHANGE != 0 => Kind::Exchanged,
                    // Without flags it is rename or renameat; the only flag left besides
                    // RENAME_EXCHANGE is RENAME_NOREPLACE (rename(2)).
                    "renameat2" => Kind::Fresh,
                    _ => Kind::Replacing,
                };
                self.renamed(call, &from.path, &to.path, kind);
            }
            NameChange::Linked { node, from, to } => {
                let from = from.as_ref().map_or(&b""[..], |from| &from.path);
                self.linked(call, node.map(|node| node.id), from, &to.path);
            }
            NameChange::Unlinked { at, directory, .. } => self.unlinked(call, &at.path, *directory),
            NameChange::Made { at, kind, .. } => {
                self.made(call, &at.path, *kind == FileKind::Directory);
            }
        }
    }

    fn made(&mut self, call: &Call, path: &[u8], directory: bool) {
        let span = Span::of(call);
        self.names.set(&shared(path), Name::Present);
        self.change_name(path, |row| &mut row.made, None, span);
        if directory {
            self.directories.made(path, call.process, span.ended_ns);
        }
    }

    pub(super) fn refused(&mut self, to: &[u8], error: i32) {
        if error == EXISTS && !matches!(self.names.get(to), Some(Name::File(_))) {
            self.names.set(&shared(to), Name::Present);
        }
    }

    fn linked(&mut self, call: &Call, file: Option<FileId>, from: &[u8], to: &[u8]) {
        let span = Span::of(call);
        let (path, directory) = (shared(to), shared(parent(to)));
        let file = file.or_else(|| file_of(self.names.get(from)));
        self.names
            .set(&path, file.map_or(Name::Present, Name::File));
        if let Some(file) = file {
            let whole = self.whole.of(Some(file.device));
            if let Some(life) = self.lives.get_mut(&file) {
                life.linked(span, &path, directory, whole);
            }
            self.may_be_reported(call, file, false);
        }
        self.change_name(to, |row| &mut row.made, file, span);
    }

    fn unlinked(&mut self, call: &Call, path: &[u8], directory: bool) {
        let span = Span::of(call);
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
            self.with(file, |life| life.removed(call, shared(parent(path))));
            self.lost_name(file);
        }
        self.change_name(path, |row| &mut row.removed, file, span);
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

    fn renamed(&mut self, call: &Call, from: &[u8], to: &[u8], kind: Kind) {
        let span = Span::of(call);
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
        let rename = Rename { from, to };
        if kind == Kind::Exchanged {
            let back = Rename { from: to, to: from };
            self.names
                .set(&from_path, other.map_or(Name::Present, Name::File));
            self.move_below(span, &[file, other], &[rename, back]);
            self.move_file(span, other, &from_path, (NameHolder::Existing, None));
            self.move_file(span, file, &to_path, (NameHolder::Existing, None));
        } else {
            self.names.set(&from_path, Name::Absent);
            if let Some(other) = other {
                self.lost_name(other);
            }
            self.move_below(span, &[file], &[rename]);
            self.move_file(span, file, &to_path, target);
        }
        if let Some(file) = file {
            self.may_be_reported(call, file, false);
        }
        self.change_name(to, |row| &mut row.renamed, file, span);
        if parent(from) != parent(to) {
            self.change_name(from, |row| &mut row.renamed, file, span);
        }
    }

    /// Everything below a directory moves with it.
    fn move_below(&mut self, span: Span, moved: &[Option<FileId>], renames: &[Rename<'_>]) {
        let is_regular = |file: &Option<FileId>| {
            let known = file.and_then(|file| self.known.get(&file));
            known.is_some_and(|known| known.kind == FileKind::Regular)
        };
        if moved.iter().all(is_regular) {
            return;
        }
        for (file, path) in self.names.move_below(renames) {
            let whole = self.whole.of(Some(file.device));
            if let Some(life) = self.lives.get_mut(&file) {
                life.moved_along(span, &path, shared(parent(&path)), whole);
            }
            if let Some(known) = self.known.get_mut(&file) {
                known.path = path;
                known.moved = true;
            }
        }
        self.directories.moved(renames);
    }

    /// The file that has the name `to`, according to `new`, and when the run had removed its
    /// previous file.
    fn target_of(&self, new: Option<Name>, to: &[u8], kind: Kind) -> (NameHolder, Option<u64>) {
        match new {
            Some(Name::File(file)) if self.is_own(file) => (NameHolder::Own, None),
            Some(Name::File(_) | Name::Present) => (NameHolder::Existing, None),
            Some(Name::Absent) => (NameHolder::Vacant, None),
            Some(Name::Removed { at_ns }) => (NameHolder::Vacant, Some(at_ns)),
            None if kind == Kind::Fresh || self.directories.is_own(parent(to)) => {
                (NameHolder::Vacant, None)
            }
            None => (NameHolder::Unknown, None),
        }
    }

    fn move_file(
        &mut self,
        span: Span,
        file: Option<FileId>,
        to: &Path,
        (target, removed_ns): (NameHolder, Option<u64>),
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

    fn change_name(
        &mut self,
        path: &[u8],
        count: impl FnOnce(&mut DirectoryRow) -> &mut u64,
        file: Option<FileId>,
        span: Span,
    ) {
        let device = file.map(|file| file.device);
        self.directories.change(parent(path), count, device, span);
    }
}

fn file_of(name: Option<Name>) -> Option<FileId> {
    match name {
        Some(Name::File(file)) => Some(file),
        _ => None,
    }
}
