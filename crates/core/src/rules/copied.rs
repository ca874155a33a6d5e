//! Whether the contents of a file are, or come from, those of another one that still exists.

use std::collections::HashMap;

use super::calls::{has, is_stored};
use super::fault::name_of;
use crate::trace::{FileHistory, FileRow, TraceResult};

/// Location of programs, libraries and their settings (hier(7)).
const OF_PROGRAMS: &[&str] = &["/usr/", "/lib", "/bin/", "/sbin/", "/etc/", "/opt/"];

/// Whether the run read the file to its end, or may have done so through a mapping.
pub(super) fn was_read(file: &FileRow) -> bool {
    let bytes = file.size_before_bytes;
    bytes > 0 && (file.reads.bytes >= bytes || has(file, "mmap"))
}

/// Whether an input that the run read to its end, and removed, was there until the file, which may be made from it,
/// was durable.
pub(super) fn outlives(input: &FileRow, file: &FileRow, history: &FileHistory) -> bool {
    let synced_ns = history.syncs.first_ns.first();
    let is_program = OF_PROGRAMS
        .iter()
        .any(|place| input.path.starts_with(place));
    // What is left could be a script, and is nobody's input.
    let goes_later = |of: &FileHistory| {
        let gone = of.removed.first_ns.first();
        let changed = of.emptied.first_ns.first().or(of.first_written_ns.as_ref());
        !of.created
            && gone.is_some_and(|at_ns| synced_ns < Some(at_ns))
            && changed.is_none_or(|at_ns| synced_ns < Some(at_ns))
    };
    history.unsynced_bytes == 0
        && synced_ns.is_some()
        && name_of(input) != name_of(file)
        && is_stored(input)
        && was_read(input)
        && !is_program
        && input.history.as_deref().is_some_and(goes_later)
}

/// Files that the run read to their end, and left unchanged.
pub(super) struct Originals<'a> {
    by_bytes: HashMap<u64, Names<'a>>,
    /// Those that are not programs.
    data: Names<'a>,
}

/// Two different names are enough to decide whether several files include one other than a given
/// one.
#[derive(Default)]
struct Names<'a> {
    first: Option<&'a str>,
    second: Option<&'a str>,
}

impl<'a> Names<'a> {
    fn add(&mut self, name: &'a str) {
        match self.first {
            None => self.first = Some(name),
            Some(first) if first != name => self.second = Some(name),
            Some(_) => {}
        }
    }

    fn has_another_than(&self, name: &str) -> bool {
        let mut both = self.first.iter().chain(&self.second);
        both.any(|one| *one != name)
    }
}

impl<'a> Originals<'a> {
    pub(super) fn of(run: &'a TraceResult) -> Self {
        let is_left_alone = |history: &FileHistory| {
            !history.created
                && !history.unlinked
                && !history.removed.is_any()
                && history.writes == 0
        };
        let read = run
            .files
            .iter()
            .filter(|file| is_stored(file) && was_read(file));
        let left = read.filter(|file| file.history.as_deref().is_none_or(is_left_alone));
        let mut originals = Self {
            by_bytes: HashMap::new(),
            data: Names::default(),
        };
        for file in left {
            let of_bytes = originals.by_bytes.entry(file.size_before_bytes);
            of_bytes.or_default().add(name_of(file));
            if !OF_PROGRAMS.iter().any(|place| file.path.starts_with(place)) {
                originals.data.add(name_of(file));
            }
        }
        originals
    }

    /// Whether as many bytes were written to the file as another one has: a lost copy can be copied
    /// again.
    pub(super) fn has_one_of(&self, file: &FileRow) -> bool {
        let bytes = file
            .history
            .as_ref()
            .map_or(0, |history| history.written_bytes);
        let of_bytes = self.by_bytes.get(&bytes).filter(|_| bytes > 0);
        of_bytes.is_some_and(|names| names.has_another_than(name_of(file)))
    }

    /// Whether the run read any data: files derived from it can be made again, as an archive can be
    /// unpacked again.
    pub(super) fn has_data_for(&self, file: &FileRow) -> bool {
        self.data.has_another_than(name_of(file))
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{changed, file, run};
    use super::*;

    fn read(path: &str) -> FileRow {
        let mut read = file(path);
        read.size_before_bytes = 300;
        read.reads.bytes = 300;
        read
    }

    fn written(bytes: u64) -> FileRow {
        let history = FileHistory {
            created: true,
            writes: 1,
            written_bytes: bytes,
            ..FileHistory::default()
        };
        changed("/data/new", history)
    }

    #[test]
    fn a_copy_is_as_long_as_what_was_read_and_is_left() {
        let is = |bytes, source: FileRow| {
            let new = written(bytes);
            let run = run(vec![source]);
            let originals = Originals::of(&run);
            (originals.has_one_of(&new), originals.has_data_for(&new))
        };
        assert_eq!(is(300, read("/data/old")), (true, true));
        assert_eq!(is(200, read("/data/old")), (false, true));
        assert_eq!(is(200, read("/usr/lib/x.so")), (false, false));
        let mut half = read("/data/old");
        half.reads.bytes = 100;
        assert_eq!(is(300, half), (false, false));
        let mut gone = read("/data/old");
        gone.history = Some(Box::new(FileHistory {
            unlinked: true,
            ..FileHistory::default()
        }));
        assert_eq!(is(300, gone), (false, false));
    }
    #[test]
    fn a_file_is_no_copy_of_itself() {
        let mut own = read("/data/old");
        own.renamed_to = Some("/data/new".to_owned());
        let is = |files| {
            let run = run(files);
            Originals::of(&run).has_one_of(&written(300))
        };
        assert!(!is(vec![own.clone()]));
        assert!(is(vec![own.clone(), read("/data/other")]));
        assert!(is(vec![read("/data/other"), own]));
    }
}
