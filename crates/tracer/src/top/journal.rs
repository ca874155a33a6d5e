//! Who took part in which transaction, for as long as a sync may wait for its commit: longer than an interval.

use std::collections::{BTreeMap, HashMap, HashSet};

use iostrata_core::op::FileId;
use iostrata_core::top::{CommitPart, CommitWait, Commits, Named, Transaction};

use crate::ebpf::top::{Handle, Process};

/// Transactions that are kept for a file system. Two are under way at one time, one of which takes changes
/// (fs/jbd2/journal.c); an interval may have hundreds.
const MOST_TRANSACTIONS: usize = 2048;
/// Parts that are kept for a file system.
const MOST_PARTS: usize = 8192;
/// Files of one process in a transaction that are named: one that unpacks an archive changes thousands.
const MOST_FILES: usize = 16;

/// By the file system.
#[derive(Debug, Default)]
pub(super) struct Journals(HashMap<u32, Journal>);

#[derive(Debug, Default)]
struct Journal {
    /// The first that was seen may have begun before.
    first: u32,
    transactions: BTreeMap<u32, Parts>,
    parts: usize,
}

#[derive(Debug, Default)]
struct Parts {
    all: HashSet<CommitPart>,
    /// By process.
    files: HashMap<Option<u32>, usize>,
}

impl Parts {
    /// Whether it is a new one.
    fn add(&mut self, mut part: CommitPart) -> bool {
        if self.all.contains(&part) {
            return false;
        }
        let files = self.files.entry(part.process).or_default();
        if *files == MOST_FILES {
            part.path = None;
        } else {
            *files += 1;
        }
        self.all.insert(part)
    }
}

impl Journals {
    /// Takes the handles of an interval, with the names of the same.
    pub(super) fn add(
        &mut self,
        mut handles: Vec<Handle>,
        processes: &HashMap<u32, Process>,
        names: &HashMap<FileId, Named>,
    ) {
        // The first number of a journal decides.
        handles.sort_by_key(|handle| handle.transaction);
        for handle in handles {
            let (device, number) = handle.transaction;
            let process = handle.process.and_then(|process| processes.get(&process));
            let named = handle.file.and_then(|file| names.get(&file));
            let part = CommitPart {
                process: handle.process,
                name: process.map(|process| process.name.clone()),
                path: named.map(|named| named.path.clone()),
            };
            self.0.entry(device).or_default().add(number, part);
        }
        for journal in self.0.values_mut() {
            journal.forget();
        }
    }

    /// With those who took part in what was waited for.
    pub(super) fn commits(&self, are_seen: bool, waits: Vec<CommitWait>) -> Commits {
        let parts = waits.iter().filter_map(|wait| {
            let parts = self.parts(wait.transaction)?;
            Some((wait.transaction, parts.all.iter().cloned().collect()))
        });
        Commits {
            are_seen,
            parts: parts.collect(),
            waits,
        }
    }

    fn parts(&self, (device, number): Transaction) -> Option<&Parts> {
        let journal = self.0.get(&device)?;
        journal
            .transactions
            .get(&number)
            .filter(|_| number != journal.first)
    }
}

impl Journal {
    fn add(&mut self, number: u32, part: CommitPart) {
        // Another file system on this device, or the numbers have wrapped.
        let is_other = number < self.first;
        if self.transactions.is_empty() || is_other {
            *self = Self {
                first: number,
                ..Self::default()
            };
        }
        let is_new = self.transactions.entry(number).or_default().add(part);
        self.parts += usize::from(is_new);
    }

    /// The oldest.
    fn forget(&mut self) {
        while self.transactions.len() > MOST_TRANSACTIONS || self.parts > MOST_PARTS {
            let Some((number, parts)) = self.transactions.pop_first() else {
                return;
            };
            self.parts -= parts.all.len();
            // What comes of it later is not all.
            self.first = self.first.max(number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn handle(number: u32, process: u32, inode: u64) -> Handle {
        Handle {
            transaction: (9, number),
            process: (process > 0).then_some(process),
            file: Some(file(inode)),
        }
    }

    fn file(inode: u64) -> FileId {
        FileId {
            device: 9,
            inode,
            generation: 0,
        }
    }

    fn wait(number: u32) -> CommitWait {
        CommitWait {
            process: 5,
            file: Some(file(1)),
            transaction: (9, number),
            count: 1,
        }
    }

    fn names() -> HashMap<FileId, Named> {
        let named = Named {
            path: b"/a".to_vec(),
            filesystem: "ext4".to_owned(),
        };
        [(file(1), named)].into()
    }

    #[test]
    fn a_transaction_that_may_have_begun_before_is_not_known() {
        let mut journals = Journals::default();
        journals.add(
            vec![handle(7, 5, 1), handle(8, 5, 1), handle(8, 0, 2)],
            &HashMap::new(),
            &names(),
        );
        // The same in a later interval is the same part, and another one joins it.
        journals.add(
            vec![handle(8, 5, 1), handle(8, 6, 1)],
            &HashMap::new(),
            &names(),
        );
        let commits = journals.commits(true, vec![wait(7), wait(8), wait(9)]);
        assert_eq!(commits.waits.len(), 3);
        assert_eq!(commits.parts.len(), 1);
        let mut parts = commits.parts[&(9, 8)].clone();
        parts.sort();
        let told: Vec<_> = parts
            .iter()
            .map(|part| (part.process, part.path.as_deref()))
            .collect();
        let a = Some(b"/a".as_slice());
        assert_eq!(told, [(None, None), (Some(5), a), (Some(6), a)]);
    }

    #[test]
    fn a_process_with_many_files_is_one_part_more() {
        let mut journals = Journals::default();
        let many = u64::try_from(MOST_FILES).unwrap() + 100;
        let names = (1..=many).map(|inode| {
            let named = Named {
                path: inode.to_string().into_bytes(),
                filesystem: "ext4".to_owned(),
            };
            (file(inode), named)
        });
        let handles = (1..=many).map(|inode| handle(8, 5, inode));
        let first = std::iter::once(handle(7, 5, 1));
        journals.add(
            first.chain(handles).collect(),
            &HashMap::new(),
            &names.collect(),
        );
        let commits = journals.commits(true, vec![wait(8)]);
        let parts = &commits.parts[&(9, 8)];
        assert_eq!(parts.len(), MOST_FILES + 1);
        assert!(parts.iter().any(|part| part.path.is_none()));
    }

    #[test]
    fn the_oldest_are_forgotten_and_smaller_numbers_are_another_journal() {
        let mut journals = Journals::default();
        for number in 0..=u32::try_from(MOST_TRANSACTIONS).unwrap() + 1 {
            journals.add(vec![handle(number, 5, 1)], &HashMap::new(), &names());
        }
        let known = |journals: &Journals, number| {
            !journals.commits(true, vec![wait(number)]).parts.is_empty()
        };
        assert!(!known(&journals, 1) && known(&journals, 2));
        journals.add(
            vec![handle(0, 5, 1), handle(1, 5, 1)],
            &HashMap::new(),
            &names(),
        );
        assert!(!known(&journals, 0) && known(&journals, 1) && !known(&journals, 2));
        assert_eq!(journals.0[&9].parts, 2);
    }
}
