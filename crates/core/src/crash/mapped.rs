//! Files that a program stores to through shared mappings. A log has what they held at each sync, each report and at the
//! end, but not each store in its order, so a state that could be on disk may not be among those that are explored. And
//! files of which the user said that they do not matter.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::effect::BLOCK_BYTES;
use super::format::Format;
use super::history::{History, below};
use crate::op::FileId;
use crate::record::{Body, Contents, Examples, Node, Tree};

/// A file of which it does not matter what a crash leaves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct RebuiltRow {
    /// Its path in the directory.
    pub file: String,
    /// Who rebuilds it, and when.
    pub because: String,
}

/// What the program mapped of a file.
#[derive(Debug, Default)]
pub(super) struct Mapping {
    /// The paths that the file had then.
    paths: BTreeSet<Vec<u8>>,
    /// From the first byte to the end, bytes of the file.
    range: Range<u64>,
    /// Of each page that was seen to change by more than one store, what changed of it.
    unseen: BTreeMap<u64, Range<u64>>,
}

impl Mapping {
    /// Bytes of one page were seen to change between two calls. Of a single one both contents were on their way to the disk,
    /// or one: a state has the page as it was before or after. Of several some may be there without the others, in an order
    /// that nobody saw: whether a word was stored at once or byte by byte is not known either.
    pub(super) fn stored(&mut self, bytes: Range<u64>) {
        if bytes.end - bytes.start == 1 {
            return;
        }
        let page = self.unseen.entry(bytes.start / BLOCK_BYTES);
        let all = page.or_insert_with(|| bytes.clone());
        *all = all.start.min(bytes.start)..all.end.max(bytes.end);
    }

    pub(super) fn add(&mut self, path: Option<Vec<u8>>, offset: u64, bytes: u64) {
        self.paths.extend(path);
        let end = offset.saturating_add(bytes);
        let is_first = self.range.is_empty();
        self.range = if is_first {
            offset..end
        } else {
            self.range.start.min(offset)..self.range.end.max(end)
        };
    }
}

/// A file with a writable shared mapping, or one that is ignored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mapped {
    node: FileId,
    /// One of its paths, in the directory if it has one there.
    path: Vec<u8>,
    /// The bytes of it that stores could change.
    range: Range<u64>,
    /// The bytes of it, page by page, that held something between two calls that nobody saw.
    unseen: Vec<Range<u64>>,
    /// Why it does not matter what a crash leaves of it; `None` where it does.
    rebuilt: Option<&'static str>,
}

/// `unixLockSharedMemory` (`os_unix.c`): the first connection truncates the file. The page of its format:
/// sqlite.org/walformat.html, section 2.
const WAL_INDEX: &str =
    "SQLite rebuilds its WAL index for the first process that opens the database after a crash";

/// `mdb_env_setup_locks` (mdb.c): the first opener initializes the file.
const LOCK_TABLE: &str =
    "LMDB rebuilds its lock table for the first process that opens the environment after a crash";

const IGNORED: &str = "--ignore takes it out";

/// Files of the directory that were mapped. `now` is the tree at the end, and `head` gives
/// the first bytes of a file in it.
pub(super) fn files(
    mappings: BTreeMap<FileId, Mapping>,
    now: &Tree,
    (root, directory): (FileId, &[u8]),
    mut head: impl FnMut(&Contents) -> Vec<u8>,
) -> Vec<Mapped> {
    let within = [directory.strip_suffix(b"/").unwrap_or(directory), b"/"].concat();
    let mut names: BTreeMap<FileId, Vec<Vec<u8>>> = BTreeMap::new();
    for (path, node) in below(now, root) {
        let path = [within.as_slice(), &path].concat();
        names.entry(node).or_default().push(path);
    }
    let mut format_at = |path: &[u8]| {
        let node = now.node(now.resolve(path)?)?;
        match &node.body {
            Body::File(contents) => Format::of(&head(contents)),
            _ => None,
        }
    };
    let all = mappings.into_iter().map(|(node, mapping)| {
        let Mapping {
            mut paths,
            range,
            unseen,
        } = mapping;
        paths.extend(names.remove(&node).unwrap_or_default());
        let reasons = paths.iter().map(|path| rebuilt_by(path, &mut format_at));
        // All of them, or none.
        let reasons: Option<Vec<_>> = reasons.collect();
        let mut inside = paths.iter().filter_map(|path| path.strip_prefix(&*within));
        let path = inside.next().or(paths.first().map(Vec::as_slice));
        Mapped {
            node,
            range: range.start..range.end.min(now.size_bytes(node)),
            unseen: unseen.into_values().collect(),
            path: path.unwrap_or(b"a file without a name").to_vec(),
            rebuilt: reasons.and_then(|all| all.first().copied()),
        }
    });
    all.collect()
}

/// Who rebuilds the file at an absolute path. The name alone could be anybody's: the file that it belongs to has to be
/// beside it.
fn rebuilt_by(
    path: &[u8],
    mut format_at: impl FnMut(&[u8]) -> Option<Format>,
) -> Option<&'static str> {
    if let Some(database) = path.strip_suffix(b"-shm") {
        return (format_at(database) == Some(Format::Sqlite)).then_some(WAL_INDEX);
    }
    let above = path.strip_suffix(b"lock.mdb")?;
    if !above.ends_with(b"/") {
        return None;
    }
    let environment = [above, b"data.mdb"].concat();
    (format_at(&environment) == Some(Format::Lmdb)).then_some(LOCK_TABLE)
}

impl History {
    /// Files with writable shared mappings whose contents matter after a crash.
    pub fn mapped(&self) -> Examples {
        self.named(|file| std::slice::from_ref(&file.range))
    }

    /// Of a log whose mappings were read before and after each call: what of these files held something in between that
    /// nobody saw.
    pub fn unseen(&self) -> Examples {
        self.named(|file| &file.unseen)
    }

    fn named(&self, ranges: impl Fn(&Mapped) -> &[Range<u64>]) -> Examples {
        let mut named = Examples::default();
        let matters = self.mapped.iter().filter(|file| file.rebuilt.is_none());
        for file in matters.filter(|file| !self.is_ignored(&file.path)) {
            let path = String::from_utf8_lossy(&file.path);
            for Range { start, end } in ranges(file) {
                named.add(|| format!("{path}, bytes {start} to {end}"));
            }
        }
        named
    }

    /// Files whose contents do not matter after a crash.
    pub fn rebuilt(&self) -> Vec<RebuiltRow> {
        let rebuilt = self.mapped.iter().filter_map(|file| {
            Some(RebuiltRow {
                file: String::from_utf8_lossy(&file.path).into_owned(),
                because: file.rebuilt?.to_owned(),
            })
        });
        rebuilt.collect()
    }

    /// Takes out the files all of whose paths in the directory, at both ends, are ignored.
    pub(super) fn ignore(&mut self, now: &Tree) {
        let mut paths: BTreeMap<FileId, BTreeSet<Vec<u8>>> = BTreeMap::new();
        for tree in [&self.base, now] {
            for (path, node) in below(tree, self.root) {
                let is_file = |node: &Node| matches!(node.body, Body::File(_));
                if tree.node(node).is_some_and(is_file) {
                    paths.entry(node).or_default().insert(path);
                }
            }
        }
        for (node, paths) in paths {
            if paths.iter().all(|path| self.is_ignored(path)) {
                self.mapped.retain(|file| file.node != node);
                let path = paths.into_iter().next().unwrap_or_default();
                self.mapped.push(Mapped {
                    node,
                    path,
                    range: 0..0,
                    unseen: Vec::new(),
                    rebuilt: Some(IGNORED),
                });
            }
        }
    }

    /// Gives these files what they hold at the end, in all states: the rest has more combinations than are tried.
    pub(super) fn fix_rebuilt(&mut self, end: &Tree) {
        let rebuilt = self.rebuilt_nodes();
        // That of a name is of its directory.
        self.retain(|effect| !rebuilt.contains(&effect.node()));
        for node in rebuilt {
            let Some(Body::File(last)) = end.node(node).map(|node| &node.body) else {
                continue;
            };
            // A file of the end is one of the beginning, where it may have no name.
            drop(self.base.change_contents(node, |contents| {
                *contents = last.clone();
                Ok(())
            }));
        }
    }

    /// The same files as nodes.
    pub(super) fn rebuilt_nodes(&self) -> BTreeSet<FileId> {
        let rebuilt = self.mapped.iter().filter(|file| file.rebuilt.is_some());
        rebuilt.map(|file| file.node).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Model;
    use super::super::litmus::{Log, ROOT, letters};
    use super::super::tests::said;
    use super::*;
    use crate::gap::{Listed, Missing, Reason};
    use crate::record::{Change, STORE};

    /// Their sizes tell databases and environments of these tests, bytes.
    const DATABASE: u32 = 10;
    const ENVIRONMENT: u32 = 20;

    fn head(contents: &Contents) -> Vec<u8> {
        match u32::try_from(contents.size_bytes()) {
            Ok(DATABASE) => b"SQLite format 3\0".to_vec(),
            Ok(ENVIRONMENT) => [&[0; 16][..], &0xBEEF_C0DE_u32.to_le_bytes()].concat(),
            _ => Vec::new(),
        }
    }

    fn history(log: &Log) -> History {
        log.history_with("/", head)
    }

    fn write(log: &mut Log, (parent, name): (FileId, &str), bytes: u32) {
        let node = log.create(parent, name);
        log.write(node, 0, letters('a', bytes));
    }

    fn map(log: &mut Log, node: FileId) {
        let change = Change::Mapped {
            node,
            offset: 0,
            bytes: 4096,
        };
        log.push("mmap", change);
    }

    fn named(history: &History) -> Vec<String> {
        let gap = history
            .mapped()
            .gap(Listed::MappedStores, Reason::NotInOrder);
        match gap.map(|gap| gap.what) {
            Some(Missing::Listed(names)) => names.first,
            _ => Vec::new(),
        }
    }

    fn rebuilt(history: &History) -> Vec<String> {
        history.rebuilt().into_iter().map(|row| row.file).collect()
    }

    #[test]
    fn an_index_and_a_lock_table_may_hold_anything_beside_what_they_belong_to() {
        let mut log = Log::new();
        let environment = log.mkdir(ROOT, "e");
        write(&mut log, (ROOT, "t.db"), DATABASE);
        write(&mut log, (ROOT, "text"), 1);
        for (parent, name) in [
            (ROOT, "t.db-shm"),
            (ROOT, "text-shm"),
            (ROOT, "other-shm"),
            (ROOT, "-shm"),
            (ROOT, "lock.mdb"),
            (environment, "lock.mdb"),
            (ROOT, "data"),
        ] {
            let node = log.create(parent, name);
            map(&mut log, node);
            map(&mut log, node);
        }
        // It is made after the lock table is mapped.
        write(&mut log, (environment, "data.mdb"), ENVIRONMENT);
        write(&mut log, (ROOT, "data.mdb"), DATABASE);
        let history = history(&log);
        assert_eq!(rebuilt(&history), ["t.db-shm", "e/lock.mdb"]);
        assert_eq!(
            named(&history),
            ["text-shm", "other-shm", "-shm", "lock.mdb", "data"]
                .map(|name| format!("{name}, bytes 0 to 0"))
        );
        assert_eq!(history.rebuilt_nodes().len(), 2);
    }

    /// What the built-in rules say of the states that a crash leaves of stores to a file beside a database.
    fn said_of(name: &str) -> (BTreeSet<String>, u64) {
        let mut log = Log::new();
        log.found(ROOT, "t.db", letters('a', DATABASE));
        let node = log.found(ROOT, name, letters('a', 8192));
        map(&mut log, node);
        let (offset, payload) = (0, letters('b', 8192));
        let stored = Change::Stored {
            node,
            offset,
            payload,
        };
        log.push("munmap", stored);
        let history = history(&log);
        said(&history, Model::Posix)
    }

    #[test]
    fn the_built_in_rules_accept_any_index() {
        // It is in no combination either.
        assert_eq!(said_of("t.db-shm"), (BTreeSet::new(), 0));
        let torn = "t.db-data is torn: neither as it was nor as the program completed it";
        assert_eq!(said_of("t.db-data"), ([torn.to_owned()].into(), 3));
    }

    /// What is unseen of a file with stores between two calls: from, and how many bytes.
    fn unseen(stores: &[[u32; 2]]) -> Vec<String> {
        let mut log = Log::new();
        let node = log.found(ROOT, "f", letters('a', 8192));
        map(&mut log, node);
        for &[offset, bytes] in stores {
            let payload = letters('b', bytes);
            let offset = u64::from(offset);
            let stored = Change::Stored {
                node,
                offset,
                payload,
            };
            log.push(STORE, stored);
        }
        match history(&log)
            .unseen()
            .gap(Listed::MappedStores, Reason::BetweenCalls)
            .map(|gap| gap.what)
        {
            Some(Missing::Listed(names)) => names.first,
            _ => Vec::new(),
        }
    }

    #[test]
    fn one_byte_between_two_calls_is_seen_and_several_are_not() {
        assert_eq!(unseen(&[[0, 1], [8, 1], [23, 1], [4096, 1]]), [""; 0]);
        assert_eq!(unseen(&[[8, 2]]), ["f, bytes 8 to 10"]);
        assert_eq!(unseen(&[[7, 2], [13, 9]]), ["f, bytes 7 to 22"]);
        let two_pages = ["f, bytes 7 to 9", "f, bytes 4096 to 4112"];
        assert_eq!(unseen(&[[4096, 16], [7, 2]]), two_pages);
    }

    #[test]
    fn what_is_removed_at_the_end_was_an_index_and_what_is_renamed_is_none() {
        let mut log = Log::new();
        write(&mut log, (ROOT, "t.db"), DATABASE);
        let removed = log.create(ROOT, "t.db-shm");
        map(&mut log, removed);
        log.unlink(removed, ROOT, "t.db-shm");
        assert_eq!(rebuilt(&history(&log)), ["t.db-shm"]);
        let renamed = log.create(ROOT, "t.db-shm");
        map(&mut log, renamed);
        log.rename(renamed, (ROOT, "t.db-shm"), (ROOT, "kept"));
        let history = history(&log);
        assert_eq!(rebuilt(&history), ["t.db-shm"]);
        assert_eq!(named(&history), ["kept, bytes 0 to 0"]);
    }

    #[test]
    fn what_is_mapped_elsewhere_is_nobodys_matter_until_it_comes_into_the_directory() {
        let mut log = Log::new();
        let under_test = log.found_directory(ROOT, "d");
        let [stays, comes] = ["stays", "comes"].map(|name| log.create(ROOT, name));
        map(&mut log, stays);
        map(&mut log, comes);
        assert_eq!(named(&log.history_of("/d")), [""; 0]);
        log.rename(comes, (ROOT, "comes"), (under_test, "came"));
        assert_eq!(named(&log.history_of("/d")), ["came, bytes 0 to 0"]);
    }
}
