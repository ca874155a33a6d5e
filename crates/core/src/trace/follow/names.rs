//! The file of each name, as far as the run showed it.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use crate::op::FileId;

/// A shared path.
pub(super) type Path = Arc<[u8]>;

/// Maximum bytes of paths: some 100,000 of them.
const ROOM_BYTES: usize = 16 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Name {
    File(FileId),
    /// It is in use; the file is unknown.
    Present,
    /// It is not in use.
    Absent,
    /// The run removed a file of this name that was older than the run.
    Removed {
        /// When that call began, nanoseconds.
        at_ns: u64,
    },
}

#[derive(Debug, Default)]
pub(super) struct Names {
    by_path: BTreeMap<Path, Name>,
    bytes: usize,
    /// Lower bound of the names known not to be in use.
    absent: usize,
    /// Names that found no room.
    pub(super) left_out: u64,
}

impl Names {
    /// The state of a path.
    pub(super) fn get(&self, path: &[u8]) -> Option<Name> {
        self.by_path.get(path).copied()
    }

    /// Sets a name, and returns its previous state.
    pub(super) fn set(&mut self, path: &Path, name: Name) -> Option<Name> {
        self.absent += usize::from(name == Name::Absent);
        if let Some(place) = self.by_path.get_mut(path) {
            return Some(std::mem::replace(place, name));
        }
        if self.bytes + path.len() > ROOM_BYTES && !self.make_room(path.len()) {
            self.left_out += 1;
            return None;
        }
        self.bytes += path.len();
        self.by_path.insert(Arc::clone(path), name);
        None
    }

    /// Forgets names that are not in use, when there are many.
    fn make_room(&mut self, bytes: usize) -> bool {
        if self.absent < self.by_path.len() / 4 {
            return false;
        }
        self.by_path.retain(|_, name| *name != Name::Absent);
        self.bytes = self.by_path.keys().map(|path| path.len()).sum();
        self.absent = 0;
        self.bytes + bytes <= ROOM_BYTES
    }

    /// A directory got another name, or two exchanged theirs, which changes all paths below. Returns the moved files
    /// with their new paths.
    pub(super) fn move_below(&mut self, renames: &[Rename<'_>]) -> Vec<(FileId, Path)> {
        let mut moving = Vec::new();
        for Rename { from, to } in renames {
            for (old, new) in moved(&self.by_path, from, to) {
                if *old != **from
                    && let Some(name) = self.by_path.remove(&old)
                {
                    self.bytes -= old.len();
                    moving.push((new, name));
                }
            }
        }
        let mut files = Vec::new();
        for (new, name) in moving {
            self.set(&new, name);
            if let Name::File(file) = name {
                files.push((file, new));
            }
        }
        files
    }
}

/// A path that became another.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rename<'a> {
    pub(super) from: &'a [u8],
    pub(super) to: &'a [u8],
}

/// The paths of a directory and of everything below it, before and after it got another name.
pub(super) fn moved<T>(all: &BTreeMap<Path, T>, from: &[u8], to: &[u8]) -> Vec<(Path, Path)> {
    let is_below = |path: &&Path| path.get(from.len()).is_none_or(|&byte| byte == b'/');
    all.range::<[u8], _>((Bound::Included(from), Bound::Unbounded))
        .map(|(path, _)| path)
        .take_while(|path| path.starts_with(from))
        .filter(is_below)
        .map(|old| {
            let new = [to, &old[from.len()..]].concat();
            (Path::clone(old), new.into())
        })
        .collect()
}

/// The directory of a path.
pub(super) fn parent(path: &[u8]) -> &[u8] {
    match path.iter().rposition(|&byte| byte == b'/') {
        Some(0) => b"/",
        Some(end) => &path[..end],
        None => b"",
    }
}

/// Whether the kernel made up the name, for a file without one (`d_mark_tmpfile`, `fs/dcache.c`).
pub(super) fn is_nameless(path: &[u8], file: FileId) -> bool {
    let name = path.rsplit(|&byte| byte == b'/').next();
    name.and_then(|name| name.strip_prefix(b"#")) == Some(file.inode.to_string().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(inode: u64) -> FileId {
        FileId {
            device: 1,
            inode,
            generation: 0,
        }
    }

    fn path(text: &str) -> Path {
        text.as_bytes().into()
    }

    #[test]
    fn a_moved_directory_takes_along_what_is_below_it_and_nothing_else() {
        let mut names = Names::default();
        names.set(&path("/a"), Name::Present);
        names.set(&path("/a/x"), Name::File(file(1)));
        names.set(&path("/a/b/y"), Name::Absent);
        names.set(&path("/ab/z"), Name::File(file(2)));
        let moved = names.move_below(&[Rename {
            from: b"/a",
            to: b"/new",
        }]);
        assert_eq!(moved, [(file(1), path("/new/x"))]);
        assert_eq!(names.get(b"/new/b/y"), Some(Name::Absent));
        assert_eq!(names.get(b"/a/x"), None);
        assert_eq!(names.get(b"/ab/z"), Some(Name::File(file(2))));
        assert_eq!(names.bytes, "/a/new/x/new/b/y/ab/z".len());
    }

    #[test]
    fn names_without_room_are_counted() {
        let mut names = Names::default();
        for number in 0..5000 {
            let long = format!("/{number}/{}", "x".repeat(4000));
            names.set(&path(&long), Name::Present);
        }
        assert!(names.bytes <= ROOM_BYTES);
        assert_eq!(names.left_out + names.by_path.len() as u64, 5000);
        assert!(names.left_out > 0);
    }

    #[test]
    fn names_out_of_use_make_room() {
        let mut names = Names::default();
        for number in 0..20_000 {
            let long = path(&format!("/{number}/{}", "x".repeat(2000)));
            names.set(&long, Name::Present);
            names.set(&long, Name::Absent);
        }
        assert_eq!(names.left_out, 0);
        assert!(names.bytes <= ROOM_BYTES);
    }

    #[test]
    fn files_without_a_name_have_one_made_of_their_inode() {
        assert!(is_nameless(b"/d/#7", file(7)) && is_nameless(b"/#7", file(7)));
        assert!(!is_nameless(b"/d/#8", file(7)) && !is_nameless(b"/d/7", file(7)));
    }

    #[test]
    fn parents_of_paths() {
        assert_eq!(parent(b"/a/b"), b"/a");
        assert_eq!(parent(b"/a"), b"/");
        assert_eq!(parent(b"pipe:[7]"), b"");
    }
}
