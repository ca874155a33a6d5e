//! Which descriptors share an open file description.
#![expect(unsafe_code, reason = "kcmp is wrapped by no library")]

use std::collections::HashMap;

use iostrata_core::op::FileId;

use super::recorder::Recorder;
use super::request::Tid;

/// `KCMP_FILE` (include/uapi/linux/kcmp.h)
const KCMP_FILE: libc::c_long = 0;

/// The open file descriptions of a table's descriptors, by numbers that are never reused.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    known: HashMap<i32, (FileId, u64)>,
    /// The descriptions before the table was copied, or before a program was executed: still
    /// correct unless another thread opened the same file at the same descriptor at that moment.
    before: HashMap<i32, (FileId, u64)>,
}

impl Numbers {
    pub(super) fn forget(&mut self, is_closed: impl Fn(i32) -> bool) {
        self.known.retain(|fd, _| !is_closed(*fd));
        self.before.retain(|fd, _| !is_closed(*fd));
    }

    /// Any of them may have been closed.
    pub(super) fn doubt(&mut self) {
        self.before.extend(self.known.drain());
    }

    /// This table is a copy of the other.
    pub(super) fn inherit(&mut self, makers: &Self) {
        let all = makers.before.iter().chain(&makers.known);
        self.before.extend(all.map(|(fd, known)| (*fd, *known)));
    }

    /// A descriptor became another one for the same description.
    fn duplicate(&mut self, fd: i32, file: FileId, number: u64) {
        self.known.remove(&fd);
        self.before.insert(fd, (file, number));
    }

    /// The descriptors of a file.
    pub(super) fn of(&self, file: FileId) -> impl Iterator<Item = (i32, u64)> {
        let all = self.known.iter().filter(move |(_, (own, _))| *own == file);
        all.map(|(fd, (_, number))| (*fd, *number))
    }
}

impl Recorder {
    pub(super) fn description(&mut self, tid: Tid, fd: i32, file: FileId) -> Option<u64> {
        let table = self.tasks.table(tid)?;
        let (known, before) = {
            let mut table = table.borrow_mut();
            let numbers = table.numbers();
            let of_it = |found: Option<&(FileId, u64)>| {
                let same = found.filter(|(own, _)| *own == file);
                same.map(|(_, number)| *number)
            };
            (
                of_it(numbers.known.get(&fd)),
                of_it(numbers.before.get(&fd)),
            )
        };
        if known.is_some() {
            return known;
        }
        let others = self.tasks.descriptors_of(file);
        let mut same = None;
        for other in &others {
            match is_same(tid, fd, other.0, other.1) {
                Some(true) => {
                    same = Some(other);
                    break;
                }
                Some(false) => {}
                None => self.notes.not_compared += 1,
            }
        }
        let is_other = |number: &u64| others.iter().any(|(.., other)| other == number);
        let number = match (same, before.filter(|number| !is_other(number))) {
            (Some((.., number)), _) => *number,
            (None, Some(number)) => number,
            (None, None) => self.new_description(),
        };
        table
            .borrow_mut()
            .numbers()
            .known
            .insert(fd, (file, number));
        Some(number)
    }

    pub(super) fn opened(&mut self, tid: Tid, fd: i32, file: FileId) -> Option<u64> {
        let number = self.new_description();
        let table = self.tasks.table(tid)?;
        table
            .borrow_mut()
            .numbers()
            .known
            .insert(fd, (file, number));
        Some(number)
    }

    pub(super) fn duplicated(&mut self, tid: Tid, from: i32, fd: i32, file: FileId) {
        let number = self.description(tid, from, file);
        if let (Some(number), Some(table)) = (number, self.tasks.table(tid)) {
            table.borrow_mut().numbers().duplicate(fd, file, number);
        }
    }

    fn new_description(&mut self) -> u64 {
        self.descriptions += 1;
        self.descriptions
    }
}

/// Whether two descriptors share one open file description (`kcmp(2)`). `None` where the kernel
/// refuses the query.
fn is_same(tid: Tid, fd: i32, other: Tid, other_fd: i32) -> Option<bool> {
    // SAFETY: takes numbers and no addresses.
    let compared = unsafe { libc::syscall(libc::SYS_kcmp, tid, other, KCMP_FILE, fd, other_fd) };
    if compared >= 0 {
        return Some(compared == 0);
    }
    let refused = [Some(libc::EPERM), Some(libc::EACCES), Some(libc::ENOSYS)];
    (!refused.contains(&std::io::Error::last_os_error().raw_os_error())).then_some(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd as _;

    const FILE: FileId = FileId {
        device: 1,
        inode: 2,
        generation: 3,
    };

    #[test]
    fn the_kernel_tells_duplicates_from_other_openings() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let (one, other) = (file.reopen().unwrap(), file.reopen().unwrap());
        let duplicate = one.try_clone().unwrap();
        let me = std::process::id();
        let same = |other: i32| is_same(me, one.as_raw_fd(), me, other);
        assert_eq!(same(duplicate.as_raw_fd()), Some(true));
        assert_eq!(same(other.as_raw_fd()), Some(false));
        assert_eq!(same(-1), Some(false));
    }

    #[test]
    fn a_copy_of_a_table_is_taken_for_what_it_was() {
        let mut makers = Numbers::default();
        makers.known.insert(3, (FILE, 7));
        makers.duplicate(1, FILE, 7);
        let mut own = Numbers::default();
        own.inherit(&makers);
        assert_eq!(own.before.get(&1), Some(&(FILE, 7)));
        assert_eq!(own.of(FILE).count(), 0, "until it was looked at");
        own.forget(|fd| fd == 1);
        assert!(!own.before.contains_key(&1));
        makers.doubt();
        assert_eq!(makers.before.get(&3), Some(&(FILE, 7)));
    }
}
