//! What the kernel's own tracer records of an ext4's journal.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{major, minor};

use crate::image::{done, text};
use crate::wait::until;

const EVENTS: [&str; 5] = [
    "jbd2/jbd2_handle_start",
    "jbd2/jbd2_end_commit",
    "ext4/ext4_mark_inode_dirty",
    "ext4/ext4_sync_file_enter",
    "ext4/ext4_sync_file_exit",
];

/// Kinds of handles (`EXT4_HT_*` in ext4's `ext4_jbd2.h`).
const WRITE_PAGE: u32 = 2;
const DIRECTORY: u32 = 4;
const CONVERT: u32 = 11;

/// An instance of the tracer. Removed when the test ends.
pub(crate) struct Journal {
    mounted: tempfile::TempDir,
    instance: PathBuf,
}

/// A handle of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Handle {
    transaction: u32,
    pid: u32,
    kind: u32,
}

/// What a process's syncs waited for, and who had handles there.
#[derive(Debug, Default)]
pub(crate) struct Waits {
    /// The transactions, in this order.
    pub(crate) transactions: Vec<u32>,
    handles: BTreeSet<Handle>,
    pid: u32,
}

impl Journal {
    /// Records the file system at `root`.
    pub(crate) fn record(root: &Path) -> Self {
        let mounted = tempfile::tempdir_in("/var/tmp").unwrap();
        done("mount", &["-t", "tracefs", "none", &text(mounted.path())]);
        let name = format!("instances/iostrata-journal-{}", std::process::id());
        let instance = mounted.path().join(name);
        fs::create_dir(&instance).unwrap();
        let journal = Self { mounted, instance };
        let device = fs::metadata(root).unwrap().dev();
        let device = major(device) << 20 | minor(device);
        journal.set("buffer_size_kb", "16384");
        // Of all CPUs one clock: the order of events matters.
        journal.set("trace_clock", "mono");
        for event in EVENTS {
            journal.set(
                &format!("events/{event}/filter"),
                &format!("dev == {device}"),
            );
            journal.set(&format!("events/{event}/enable"), "1");
        }
        journal
    }

    fn set(&self, file: &str, value: &str) {
        fs::write(self.instance.join(file), value).unwrap();
    }

    /// What the syncs of this process on this inode waited for: the transaction in which the inode was
    /// last marked dirty, if it was not committed before.
    pub(crate) fn waits(&self, pid: u32, inode: u64) -> Waits {
        let trace = fs::read_to_string(self.instance.join("trace")).unwrap();
        let of_all = trace
            .lines()
            .find_map(|line| line.split_once("entries-written: "));
        let counts = of_all.unwrap().1.split_whitespace().next().unwrap();
        let (kept, written) = counts.split_once('/').unwrap();
        assert_eq!(kept, written, "the buffer was too small");
        let mut waits = Waits {
            pid,
            ..Waits::default()
        };
        let mut handle_of = BTreeMap::new();
        let (mut committed, mut committed_before, mut changed_in) = (0, 0, 0);
        for (task, event, fields) in trace.lines().filter_map(event) {
            let number = |name| number(fields, name);
            match event {
                "jbd2_handle_start" => {
                    let transaction = number("tid");
                    handle_of.insert(task, transaction);
                    waits.handles.insert(Handle {
                        transaction,
                        pid: task,
                        kind: number("type"),
                    });
                }
                "jbd2_end_commit" => committed = number("transaction"),
                "ext4_mark_inode_dirty" if u64::from(number("ino")) == inode => {
                    changed_in = handle_of[&task];
                }
                "ext4_sync_file_enter" if task == pid => committed_before = committed,
                "ext4_sync_file_exit" if task == pid && changed_in > committed_before => {
                    waits.transactions.push(changed_in);
                }
                _ => {}
            }
        }
        waits
    }
}

impl Waits {
    /// In how many of the last `count` transactions the process had a handle for the file, or for any.
    pub(crate) fn own(&self, count: usize, of_file: bool) -> usize {
        // A new file's directory is the file system's as a whole (fs/ext4/ialloc.c, __ext4_new_inode).
        let is_own =
            |handle: &Handle| handle.pid == self.pid && !(of_file && handle.kind == DIRECTORY);
        self.having(count, is_own)
    }

    /// ... in how many others wrote the file back, or made what was written part of it: no other file
    /// there has contents that change.
    pub(crate) fn written_back(&self, count: usize) -> usize {
        self.having(count, |handle| {
            handle.pid != self.pid && matches!(handle.kind, WRITE_PAGE | CONVERT)
        })
    }

    fn having(&self, count: usize, what: impl Fn(&Handle) -> bool) -> usize {
        let handles = self.handles.iter().filter(|handle| what(handle));
        let having: BTreeSet<u32> = handles.map(|handle| handle.transaction).collect();
        let last = self.transactions.iter().rev().take(count);
        last.filter(|transaction| having.contains(transaction))
            .count()
    }
}

/// `bash-708     [000] ..... 38409.849800: jbd2_handle_start: dev 7,0 tid 199 type 4 line_no 2822 …`
fn event(line: &str) -> Option<(u32, &str, &str)> {
    let (task, rest) = line.split_once(" [")?;
    let pid = task.trim_end().rsplit('-').next()?.parse().ok()?;
    let (_, rest) = rest.split_once(": ")?;
    let (name, fields) = rest.split_once(": ")?;
    Some((pid, name, fields))
}

fn number(fields: &str, name: &str) -> u32 {
    let mut words = fields.split_whitespace().skip_while(|word| *word != name);
    words.nth(1).unwrap().parse().unwrap()
}

impl Drop for Journal {
    fn drop(&mut self) {
        drop(fs::write(self.instance.join("events/enable"), "0"));
        // Busy for a moment, while the kernel lets the events go.
        until(|| fs::remove_dir(&self.instance));
        done("umount", &[&text(self.mounted.path())]);
    }
}
