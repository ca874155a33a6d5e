//! Names of files and directories, as the kernel side reads them from dentries.

use std::collections::HashMap;

use iostrata_core::op::FileId;
use iostrata_core::trace::{FileKind, NamedFile};
use zerocopy::{FromBytes as _, IntoBytes as _};

use super::stream::file_id;
use super::wire::{NameEvent, path};
use crate::stack::mountinfo::Mounts;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Place {
    pub(super) directory: FileId,
    pub(super) name: Vec<u8>,
}

/// Files under the name of their first use, and directories by their current name.
#[derive(Debug, Default)]
pub(super) struct Names {
    files: Vec<NamedFile>,
    directories: HashMap<FileId, Vec<u8>>,
    /// The file that has a name now, and the last name of each file.
    by_place: HashMap<Place, FileId>,
    places: HashMap<FileId, Place>,
    /// Names in directories whose own name has not arrived: another CPU is sending it.
    waiting: Vec<(NameEvent, Vec<u8>)>,
    /// For directories reached through a mount that the kernel side could not report.
    mounts: Option<Mounts>,
}

impl Names {
    /// A file gets its name. Returns the files whose names this completes: none while the name of
    /// its directory is missing, several when other files waited for this directory.
    pub(super) fn add(&mut self, record: &[u8]) -> &[NamedFile] {
        let known = self.files.len();
        self.add_one(record);
        &self.files[known..]
    }

    fn add_one(&mut self, record: &[u8]) -> Option<()> {
        let (event, text) = NameEvent::read_from_prefix(record).ok()?;
        let text = text.get(..event.bytes as usize).unwrap_or(text);
        let file = file_id(&event.file)?;
        let kind = FileKind::from_mode(event.mode);
        let path = match file_id(&event.base).map(|base| self.directories.get(&base)) {
            None => self.whole_path(&event, kind, text),
            Some(Some(directory)) => beneath(directory, up_to_nul(text)),
            Some(None) => {
                self.waiting.push((event, text.to_vec()));
                return None;
            }
        };
        if kind == FileKind::Directory {
            self.directories.insert(file, path.clone());
        }
        if event.as_base != 0 {
            self.name_those_in(file);
            return None;
        }
        if let Some(directory) = file_id(&event.base) {
            let name = up_to_nul(text).to_vec();
            self.put(file, Place { directory, name });
        }
        self.files.push(NamedFile {
            file,
            path,
            kind,
            filesystem: String::from_utf8_lossy(up_to_nul(&event.filesystem)).into_owned(),
            size_bytes: event.size,
            is_removed: event.removed != 0,
            shown: (event.shown_device, event.shown_inode),
        });
        self.name_those_in(file);
        Some(())
    }

    /// The name of a directory has arrived, which completes the names in it.
    fn name_those_in(&mut self, directory: FileId) {
        if self.waiting.is_empty() {
            return;
        }
        let in_it = |event: &NameEvent| file_id(&event.base) == Some(directory);
        let waiting = std::mem::take(&mut self.waiting);
        let (now, later) = waiting.into_iter().partition(|(event, _)| in_it(event));
        self.waiting = later;
        let now: Vec<(NameEvent, Vec<u8>)> = now;
        for (event, text) in now {
            self.add_one(&[event.as_bytes(), &text].concat());
        }
    }

    /// `seen` has the names from the file up to the root of all mounts, each with its NUL, or up to
    /// the root of its file system. A path too long to be walked completely begins with an
    /// ellipsis.
    fn whole_path(&mut self, event: &NameEvent, kind: FileKind, text: &[u8]) -> Vec<u8> {
        let mut names: Vec<&[u8]> = text
            .split(|byte| *byte == 0)
            .filter(|name| !name.is_empty() && *name != b"/")
            .collect();
        names.reverse();
        let joined = names.join(&b'/');
        let within = event.complete == u16::from(path::IN_FILE_SYSTEM);
        let unreachable = within && !matches!(kind, FileKind::Regular | FileKind::Directory);
        if unreachable {
            return without_place(kind, event, &joined);
        }
        let mounted = within.then(|| self.mounted_at(event.superblock, &joined));
        match mounted.flatten() {
            Some(path) => path,
            None if within || event.complete == u16::from(path::CUT) => {
                ["…/".as_bytes(), &joined].concat()
            }
            None => [b"/", joined.as_slice()].concat(),
        }
    }

    /// The visible path of a location inside a file system.
    fn mounted_at(&mut self, device: u32, inner: &[u8]) -> Option<Vec<u8>> {
        let (major, minor) = FileId::device_numbers(device);
        let known = self.mounts.as_ref();
        let found = known.and_then(|mounts| mounts.path_of((major, minor), inner));
        if found.is_some() {
            return found;
        }
        // Mounted after the table was read.
        let table = std::fs::read("/proc/thread-self/mountinfo").ok()?;
        let mounts = self.mounts.insert(Mounts::parse(&table));
        mounts.path_of((major, minor), inner)
    }

    /// Path of a directory whose name is known.
    pub(super) fn directory(&self, directory: FileId) -> Option<&[u8]> {
        self.directories.get(&directory).map(Vec::as_slice)
    }

    pub(super) fn path_at(&self, place: &Place) -> Option<Vec<u8>> {
        let directory = self.directory(place.directory)?;
        Some(beneath(directory, &place.name))
    }

    /// The file that has the name, if it was used.
    pub(super) fn file_at(&self, place: &Place) -> Option<FileId> {
        self.by_place.get(place).copied()
    }

    /// The last name of the file, if it was used or renamed.
    pub(super) fn place_of(&self, file: FileId) -> Option<&Place> {
        self.places.get(&file)
    }

    pub(super) fn put(&mut self, file: FileId, place: Place) {
        self.by_place.insert(place.clone(), file);
        self.places.insert(file, place);
    }

    /// Another name of a file. A file that was opened without a name has this name from now on.
    pub(super) fn linked(&mut self, file: FileId, to: Place, had_none: bool) {
        if had_none {
            self.removed(file);
            let path = self.path_at(&to);
            let own = self.files.iter_mut().find(|named| named.file == file);
            if let (Some(own), Some(path)) = (own, path) {
                own.path = path;
            }
        }
        self.put(file, to);
    }

    pub(super) fn removed(&mut self, file: FileId) {
        if let Some(place) = self.places.remove(&file)
            && self.by_place.get(&place) == Some(&file)
        {
            self.by_place.remove(&place);
        }
    }

    pub(super) fn made(&mut self, directory: FileId, path: &[u8]) {
        self.directories.insert(directory, path.to_vec());
    }

    pub(super) fn renamed(&mut self, from: &Place, to: &Place, exchange: bool) {
        let (one, other) = (self.by_place.remove(from), self.by_place.remove(to));
        if let Some(file) = one {
            self.put(file, to.clone());
        }
        if let Some(file) = other.filter(|_| exchange) {
            self.put(file, from.clone());
        }
    }

    /// Everything below a directory gets another path.
    pub(super) fn moved(&mut self, from: &[u8], to: &[u8], exchange: bool) {
        let moved = |path: &[u8]| {
            let other = if exchange { Some((to, from)) } else { None };
            [Some((from, to)), other]
                .into_iter()
                .flatten()
                .find_map(|(old, new)| moved(path, old, new))
        };
        for path in self.directories.values_mut() {
            if let Some(new) = moved(path) {
                *path = new;
            }
        }
    }

    pub(super) fn finish(self) -> Vec<NamedFile> {
        self.files
    }
}

pub(super) fn beneath(directory: &[u8], name: &[u8]) -> Vec<u8> {
    let slash: &[u8] = if directory.ends_with(b"/") { b"" } else { b"/" };
    [directory, slash, name].concat()
}

/// The form in which `/proc/PID/fd` shows files without a directory (`fs/pipe.c` `pipefs_dname`,
/// `net/socket.c` `sockfs_dname`, `fs/d_path.c` `simple_dname`).
fn without_place(kind: FileKind, event: &NameEvent, name: &[u8]) -> Vec<u8> {
    let inode = event.file.inode;
    match (kind, up_to_nul(&event.filesystem)) {
        (FileKind::Pipe, _) => format!("pipe:[{inode}]").into_bytes(),
        (FileKind::Socket, _) => format!("socket:[{inode}]").into_bytes(),
        (_, b"anon_inodefs") => [b"anon_inode:", name].concat(),
        (_, b"pidfs") => b"anon_inode:[pidfd]".to_vec(),
        (_, b"tmpfs") => [b"/", name, b" (deleted)"].concat(),
        (_, kind) => [kind, format!(":[{inode}]").as_bytes()].concat(),
    }
}

pub(super) fn up_to_nul(text: &[u8]) -> &[u8] {
    let end = text.iter().position(|byte| *byte == 0);
    &text[..end.unwrap_or(text.len())]
}

/// Removes `.`, `..` and doubled slashes from an absolute path. Symbolic links stay: the part after
/// a `..` that follows one may be elsewhere.
pub(crate) fn normal(path: &[u8]) -> Vec<u8> {
    let mut names: Vec<&[u8]> = Vec::new();
    for name in path.split(|byte| *byte == b'/') {
        match name {
            b"" | b"." => {}
            b".." => {
                names.pop();
            }
            name => names.push(name),
        }
    }
    [b"/", names.join(&b'/').as_slice()].concat()
}

/// The path after `from` was renamed to `to`; `None` when it does not lie below `from`.
pub(crate) fn moved(path: &[u8], from: &[u8], to: &[u8]) -> Option<Vec<u8>> {
    let rest = path.strip_prefix(from)?;
    (rest.is_empty() || rest.starts_with(b"/")).then(|| [to, rest].concat())
}

#[cfg(test)]
mod tests {
    use super::super::wire::FileKey;
    use super::*;

    const FILE: u32 = 0o100_644;
    const DIRECTORY: u32 = 0o040_755;
    const WHOLE: u16 = 1;

    fn event(inode: u64, base: u64, mode: u32, as_base: u8, text: &[u8]) -> Vec<u8> {
        let key = |inode| FileKey {
            inode,
            device: u32::from(inode > 0),
            generation: 0,
        };
        let event = NameEvent {
            kind: 3,
            mode,
            file: key(inode),
            base: key(base),
            size: 0,
            bytes: u32::try_from(text.len()).unwrap(),
            complete: WHOLE,
            as_base,
            removed: 0,
            superblock: 0,
            shown_device: u32::from(inode > 0),
            shown_inode: inode,
            filesystem: [0; 16],
        };
        [event.as_bytes(), text].concat()
    }

    fn paths(named: &[NamedFile]) -> Vec<Vec<u8>> {
        named.iter().map(|named| named.path.clone()).collect()
    }

    #[test]
    fn a_name_waits_for_that_of_its_directory() {
        let mut names = Names::default();
        assert!(names.add(&event(2, 1, FILE, 0, b"leaf\0")).is_empty());
        let named = names.add(&event(1, 0, DIRECTORY, 1, b"dir\0mnt\0"));
        assert_eq!(
            paths(named),
            [b"/mnt/dir/leaf"],
            "nobody used the directory itself"
        );
        let named = names.add(&event(3, 1, FILE, 0, b"other\0"));
        assert_eq!(paths(named), [b"/mnt/dir/other"]);
        names.moved(b"/mnt/dir", b"/mnt/moved", false);
        let named = names.add(&event(1, 9, DIRECTORY, 0, b"moved\0"));
        assert!(named.is_empty());
        let named = names.add(&event(9, 0, DIRECTORY, 1, b"mnt\0"));
        assert_eq!(paths(named), [b"/mnt/moved"], "used under its later name");
    }

    fn path_of(mode: u32, file_system: &[u8], complete: u16, text: &[u8]) -> Vec<u8> {
        let mut event = NameEvent::read_from_prefix(&event(7, 0, mode, 0, b""))
            .unwrap()
            .0;
        event.complete = complete;
        event.superblock = u32::MAX;
        event.filesystem[..file_system.len()].copy_from_slice(file_system);
        Names::default().whole_path(&event, FileKind::from_mode(mode), text)
    }

    #[test]
    fn names_from_the_leaf_up_make_a_path() {
        let own = u16::from(path::IN_FILE_SYSTEM);
        assert_eq!(
            path_of(FILE, b"ext4", WHOLE, b"file\0dir\0mnt\0"),
            b"/mnt/dir/file"
        );
        let cut = path_of(FILE, b"ext4", u16::from(path::CUT), b"file\0dir\0");
        assert_eq!(cut, "…/dir/file".as_bytes());
        let nowhere = path_of(FILE, b"ext4", own, b"file\0dir\0/\0");
        assert_eq!(
            nowhere,
            "…/dir/file".as_bytes(),
            "mounted where it is not seen"
        );
        assert_eq!(path_of(DIRECTORY, b"ext4", WHOLE, b""), b"/");
        assert_eq!(path_of(0o010_600, b"pipefs", own, b"\0"), b"pipe:[7]");
        assert_eq!(
            path_of(0o010_600, b"ext4", WHOLE, b"fifo\0tmp\0"),
            b"/tmp/fifo"
        );
        assert_eq!(path_of(0o140_777, b"sockfs", own, b"UNIX\0"), b"socket:[7]");
    }

    #[test]
    fn what_lies_in_no_directory_is_called_as_the_kernel_does() {
        let named = |file_system: &[u8], text: &[u8]| {
            let path = path_of(0o600, file_system, u16::from(path::IN_FILE_SYSTEM), text);
            String::from_utf8(path).unwrap()
        };
        assert_eq!(
            named(b"anon_inodefs", b"[eventpoll]\0"),
            "anon_inode:[eventpoll]"
        );
        assert_eq!(named(b"pidfs", b"/\0"), "anon_inode:[pidfd]");
        assert_eq!(named(b"tmpfs", b"memfd:shm\0"), "/memfd:shm (deleted)");
        assert_eq!(named(b"nsfs", b"\0"), "nsfs:[7]");
    }

    fn id(inode: u64) -> FileId {
        FileId {
            device: 1,
            inode,
            generation: 0,
        }
    }

    fn place(directory: u64, name: &str) -> Place {
        Place {
            directory: id(directory),
            name: name.into(),
        }
    }

    #[test]
    fn a_file_without_a_name_gets_the_one_it_is_linked_to() {
        let mut names = Names::default();
        names.add(&event(1, 0, DIRECTORY, 1, b"dir\0"));
        names.add(&event(2, 1, FILE, 0, b"#2\0"));
        assert_eq!(names.file_at(&place(1, "#2")), Some(id(2)));
        names.linked(id(2), place(1, "published"), true);
        assert_eq!(names.file_at(&place(1, "#2")), None);
        assert_eq!(names.place_of(id(2)), Some(&place(1, "published")));
        assert_eq!(paths(&names.finish()), [b"/dir/published"]);
    }

    #[test]
    fn names_move_with_their_files_and_their_directories() {
        let mut names = Names::default();
        names.add(&event(1, 0, DIRECTORY, 1, b"one\0"));
        names.add(&event(5, 0, DIRECTORY, 1, b"five\0"));
        names.add(&event(2, 1, FILE, 0, b"a\0"));
        names.add(&event(3, 5, FILE, 0, b"b\0"));
        names.renamed(&place(1, "a"), &place(5, "b"), true);
        assert_eq!(names.file_at(&place(5, "b")), Some(id(2)));
        assert_eq!(names.file_at(&place(1, "a")), Some(id(3)));
        names.moved(b"/five", b"/one/six", false);
        let path = names.path_at(names.place_of(id(2)).unwrap());
        assert_eq!(path.as_deref(), Some(&b"/one/six/b"[..]));
    }

    #[test]
    fn dots_and_doubled_slashes_go() {
        assert_eq!(normal(b"/a/./b//c/../d"), b"/a/b/d");
        assert_eq!(normal(b"/../.."), b"/");
        assert_eq!(normal(b"/a/\xff"), b"/a/\xff");
    }

    #[test]
    fn only_what_lies_below_moves() {
        assert_eq!(moved(b"/a/b", b"/a", b"/c"), Some(b"/c/b".to_vec()));
        assert_eq!(moved(b"/a", b"/a", b"/c"), Some(b"/c".to_vec()));
        assert_eq!(moved(b"/ab", b"/a", b"/c"), None);
    }
}
