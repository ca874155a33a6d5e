//! The files of the traced processes' descriptors, looked up once per open.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fs::File;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt as _;
use std::rc::Rc;

use rustix::process::PidfdFlags;

use super::descriptions::Numbers;
use super::duplicate::{Absent, Duplicate, duplicate, handle};
use super::identity::{Identifier, Open};
use super::request::Tid;

/// Descriptors that iostrata keeps open at one time, for processes and positions: the default limit
/// is 1024 (`RLIMIT_NOFILE`). Beyond that they are reopened each time.
const MOST_KEPT: usize = 512;

/// A descriptor table; threads of a process share one.
pub(super) type SharedTable = Rc<RefCell<Table>>;

/// Lookups in one table. Entries are made at first use, so an empty one is correct at any moment.
#[derive(Debug)]
pub(super) struct Table {
    number: u32,
    process: Option<OwnedFd>,
    open: HashMap<i32, Open>,
    numbers: Numbers,
    positions: HashMap<i32, File>,
    kept: Rc<Cell<usize>>,
}

impl Table {
    /// The table of `process`. `kept` counts the descriptors that all tables keep.
    pub(super) fn of(process: u32, kept: &Rc<Cell<usize>>) -> SharedTable {
        Rc::new(RefCell::new(Self {
            number: process,
            process: None,
            open: HashMap::new(),
            numbers: Numbers::default(),
            positions: HashMap::new(),
            kept: Rc::clone(kept),
        }))
    }

    /// The file of `fd`; `None` when it is not open. `look` sees a file at its first lookup,
    /// through a duplicate that is closed afterwards.
    pub(super) fn resolve(
        &mut self,
        fd: i32,
        tid: Tid,
        identifier: &mut Identifier,
        look: impl FnOnce(BorrowedFd<'_>, &Open, &mut Identifier),
    ) -> Option<Open> {
        if fd < 0 {
            return None;
        }
        if let Some(open) = self.open.get(&fd) {
            return Some(*open);
        }
        let duplicate = match self.duplicate(fd, tid) {
            Ok(duplicate) => duplicate,
            Err(absent) => {
                identifier.refused += u64::from(absent == Absent::Refused);
                return None;
            }
        };
        let mut open = identifier.identify(duplicate.fd.as_fd(), tid).ok()?;
        open.flags = duplicate.flags.unwrap_or(open.flags);
        look(duplicate.fd.as_fd(), &open, identifier);
        self.open.insert(fd, open);
        Some(open)
    }

    fn duplicate(&mut self, fd: i32, tid: Tid) -> Result<Duplicate, Absent> {
        if self.process.is_none() && self.has_room() {
            self.process = handle(self.number, PidfdFlags::empty());
            self.keep(usize::from(self.process.is_some()));
        }
        let for_once = match self.process {
            Some(_) => None,
            None => handle(self.number, PidfdFlags::empty()),
        };
        duplicate(self.process.as_ref().or(for_once.as_ref()), tid, fd)
    }

    pub(super) fn process(&self) -> u32 {
        self.number
    }

    /// The open file descriptions of its descriptors.
    pub(super) fn numbers(&mut self) -> &mut Numbers {
        &mut self.numbers
    }

    /// The position of the open file. Read from the kernel each time, since it is shared by `fork`
    /// and `dup`. The descriptor kept open is one of `/proc`
    /// and holds no file (fs/proc/fd.c, `seq_show`, looks the file up at each reading).
    pub(super) fn position(&mut self, fd: i32, tid: Tid) -> Option<u64> {
        let kept = self.positions.get(&fd).and_then(read_position);
        if kept.is_some() {
            return kept;
        }
        self.forget_position(fd);
        let info = File::open(format!("/proc/{tid}/fdinfo/{fd}")).ok()?;
        let position = read_position(&info)?;
        if self.has_room() {
            self.keep(1);
            self.positions.insert(fd, info);
        }
        Some(position)
    }

    fn has_room(&self) -> bool {
        self.kept.get() < MOST_KEPT
    }

    fn keep(&self, more: usize) {
        self.kept.set(self.kept.get() + more);
    }

    fn forget_position(&mut self, fd: i32) {
        if self.positions.remove(&fd).is_some() {
            self.kept.set(self.kept.get().saturating_sub(1));
        }
    }

    /// The descriptor may refer to another file from now on.
    pub(super) fn forget(&mut self, fd: i32) {
        self.open.remove(&fd);
        self.numbers.forget(|other| other == fd);
    }

    /// The file that it refers to has changed.
    pub(super) fn look_again(&mut self, fd: i32) {
        self.open.remove(&fd);
    }

    pub(super) fn forget_all(&mut self) {
        self.open.clear();
        self.numbers.doubt();
    }

    pub(super) fn forget_range(&mut self, first: u32, last: u32) {
        let is_in = |fd: i32| u32::try_from(fd).is_ok_and(|fd| (first..=last).contains(&fd));
        self.open.retain(|fd, _| !is_in(*fd));
        self.numbers.forget(is_in);
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        let mine = self.positions.len() + usize::from(self.process.is_some());
        self.kept.set(self.kept.get().saturating_sub(mine));
    }
}

/// The first line is `pos:` and the number (`proc_pid_fdinfo(5)`).
fn read_position(info: &File) -> Option<u64> {
    let mut text = [0; 64];
    let bytes = info.read_at(&mut text, 0).ok()?;
    parse_position(text.get(..bytes)?)
}

pub(super) fn parse_position(text: &[u8]) -> Option<u64> {
    let line = text.split(|byte| *byte == b'\n').next()?;
    let number = line.strip_prefix(b"pos:")?.trim_ascii();
    std::str::from_utf8(number).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Seek as _, SeekFrom};
    use std::os::fd::AsRawFd as _;

    #[test]
    fn positions_are_those_of_the_moment() {
        let mut file = tempfile::tempfile().unwrap();
        let me = std::process::id();
        let kept = Rc::new(Cell::new(0));
        let table = Table::of(me, &kept);
        let mut table = table.borrow_mut();
        for position in [5, 123_456_789_012] {
            file.seek(SeekFrom::Start(position)).unwrap();
            assert_eq!(table.position(file.as_raw_fd(), me), Some(position));
        }
        assert_eq!(kept.get(), 1);
        assert_eq!(table.position(-1, me), None);
        assert_eq!(parse_position(b"pos:\t17\nflags:\t0100001\n"), Some(17));
        assert_eq!(parse_position(b""), None);
    }

    #[test]
    fn without_room_nothing_is_kept_and_all_is_found() {
        let file = tempfile::tempfile().unwrap();
        let me = std::process::id();
        let kept = Rc::new(Cell::new(MOST_KEPT));
        let table = Table::of(me, &kept);
        let fd = file.as_raw_fd();
        let mut identifier = Identifier::default();
        let open = table
            .borrow_mut()
            .resolve(fd, me, &mut identifier, |_, _, _| ());
        assert!(open.is_some());
        assert_eq!(table.borrow_mut().position(fd, me), Some(0));
        drop(table);
        assert_eq!(kept.get(), MOST_KEPT);
        let table = Table::of(me, &Rc::new(Cell::new(0)));
        let kept = Rc::clone(&table.borrow().kept);
        table
            .borrow_mut()
            .resolve(fd, me, &mut identifier, |_, _, _| ());
        table.borrow_mut().position(fd, me);
        assert_eq!(kept.get(), 2, "one for the process, one for the position");
        drop(table);
        assert_eq!(kept.get(), 0);
    }

    #[test]
    fn a_descriptor_is_looked_up_once_until_it_is_closed() {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let file = File::create(dir.path().join("f")).unwrap();
        let me = std::process::id();
        let table = Table::of(me, &Rc::new(Cell::new(0)));
        let mut table = table.borrow_mut();
        let mut identifier = Identifier::default();
        let (mut looks, fd) = (0, file.as_raw_fd());
        for _ in 0..2 {
            let open = table.resolve(fd, me, &mut identifier, |_, _, _| looks += 1);
            let open = open.unwrap();
            let inode = std::os::unix::fs::MetadataExt::ino(&file.metadata().unwrap());
            assert_eq!(open.file.inode, inode);
            assert!(open.is_regular() && open.is_writable());
        }
        assert_eq!(looks, 1);
        table.forget_range(0, 2);
        table.resolve(fd, me, &mut identifier, |_, _, _| looks += 1);
        assert_eq!(looks, 1, "it is not in the range");
        table.forget(fd);
        table.resolve(fd, me, &mut identifier, |_, _, _| looks += 1);
        assert_eq!(looks, 2);
        assert_eq!(table.resolve(-7, me, &mut identifier, |_, _, _| ()), None);
    }
}
