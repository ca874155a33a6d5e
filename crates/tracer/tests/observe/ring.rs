//! Names and files that `io_uring` operations change: in the history, in the findings' figures and
//! in the log, however the operations are executed.
#![expect(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that fails"
)]

use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};

use iostrata_core::op::FileId;
use iostrata_core::trace::calls::{unfollowed, unrecorded};
use iostrata_core::trace::{FileHistory, NameHolder};

use crate::unseen::{Ran, incomplete, recorded_with, run_with};

const HOW: [&str; 4] = ["plain", "async", "sqpoll", "defer"];

fn ground() -> tempfile::TempDir {
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    std::fs::create_dir(dir.path().join("deep")).unwrap();
    symlink("deep", dir.path().join("way")).unwrap();
    dir
}

/// A file: its type and permissions, its length, and its contents or target.
type Entry = (u32, u64, Vec<u8>);

/// Everything in a directory, by its path there.
fn tree(top: &Path, found: &mut BTreeMap<PathBuf, Entry>, at: &Path) {
    for entry in std::fs::read_dir(at).unwrap() {
        let path = entry.unwrap().path();
        let meta = std::fs::symlink_metadata(&path).unwrap();
        let holds = if meta.is_symlink() {
            std::fs::read_link(&path).unwrap().into_os_string()
        } else if meta.is_file() {
            let mut all = vec![0; 100];
            let has = |name: &str| {
                let mut all = vec![0; 100];
                let bytes = rustix::fs::getxattr(&path, name, &mut all).unwrap_or(0);
                all.truncate(bytes);
                all
            };
            all.clear();
            for part in [std::fs::read(&path).unwrap(), has("user.a"), has("user.b")] {
                all.extend(part);
            }
            std::os::unix::ffi::OsStringExt::from_vec(all)
        } else {
            tree(top, found, &path);
            std::ffi::OsString::new()
        };
        let bytes = if meta.is_file() { meta.len() } else { 0 };
        let holds = std::os::unix::ffi::OsStringExt::into_vec(holds);
        let name = path.strip_prefix(top).unwrap().to_owned();
        found.insert(name, (meta.mode(), bytes, holds));
    }
}

fn whole_tree(top: &Path) -> BTreeMap<PathBuf, Entry> {
    let mut found = BTreeMap::new();
    tree(top, &mut found, top);
    found
}

#[test]
fn the_log_has_what_operations_did_to_names() {
    for how in HOW {
        let dir = ground();
        let (again, log) = recorded_with("ring_names", dir.path(), &[how]);
        assert_eq!(incomplete(&log), [""; 0], "{how}");
        let mut real = whole_tree(dir.path());
        // Older than the run and not accessed by it.
        real.remove(Path::new("way")).unwrap();
        let rebuilt = again.path().join(dir.path().strip_prefix("/").unwrap());
        assert_eq!(whole_tree(&rebuilt), real, "{how}");
        assert_eq!(real[Path::new("two")].2, b"onefirstsecond", "{how}");
    }
}

/// Calls and failures of each operation.
fn counts(ran: &Ran) -> BTreeMap<&str, (u64, u64)> {
    let mut counts: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    let names = [
        "io_uring.re",
        "io_uring.un",
        "io_uring.mk",
        "io_uring.sy",
        "io_uring.li",
    ];
    let is_one = |name: &str| names.iter().any(|begin| name.starts_with(begin));
    for row in ran.rows().iter().filter(|row| is_one(row.name)) {
        let sum = counts.entry(row.name).or_default();
        *sum = (sum.0 + row.count, sum.1 + row.errors);
    }
    counts
}

/// Last names of the files that were renamed, without the directory.
fn renamed_to(ran: &Ran, dir: &Path) -> BTreeMap<String, FileId> {
    let followed = &ran.observation.seen.as_ref().unwrap().followed;
    let renamed = followed.renamed_to.iter().map(|(file, path)| {
        let path = String::from_utf8(path.clone()).unwrap();
        let path = path.strip_prefix(dir.to_str().unwrap()).unwrap();
        (path.to_owned(), *file)
    });
    renamed.collect()
}

#[test]
fn the_history_has_what_operations_did_to_names() {
    for how in HOW {
        let dir = ground();
        let ran = run_with("ring_names", dir.path(), &[how]);
        assert_eq!(ran.missing(), [""; 0], "{how}");
        assert_eq!(unfollowed(ran.rows()), [], "{how}");
        assert_eq!(unrecorded(ran.rows()), [], "{how}");
        let expected = BTreeMap::from([
            ("io_uring.linkat", (2, 1)),
            ("io_uring.mkdirat", (3, 1)),
            ("io_uring.renameat", (6, 2)),
            ("io_uring.symlinkat", (2, 1)),
            ("io_uring.unlinkat", (4, 1)),
        ]);
        assert_eq!(counts(&ran), expected, "{how}");
        let files = &ran.observation.seen.as_ref().unwrap().followed.files;
        let renamed = renamed_to(&ran, dir.path());
        let history = |name: &str| -> &FileHistory { &files[&renamed[name]] };
        // write, fsync and renameat were submitted together, each linked to the next.
        let synced = history("/deeper/second");
        assert_eq!((synced.writes, synced.written_bytes), (1, 5000), "{how}");
        assert_eq!(
            (synced.syncs.count, synced.renamed_unsynced.count),
            (1, 0),
            "{how}"
        );
        let unsynced = history("/kept");
        assert_eq!(
            (unsynced.syncs.count, unsynced.renamed_unsynced.count),
            (0, 1),
            "{how}"
        );
        assert_eq!(unsynced.renamed_over, Some(NameHolder::Own), "{how}");
        for (name, bytes) in [("/one", 6), ("/two", 3), ("/deeper/dir/inner", 10)] {
            assert_eq!(history(name).written_bytes, bytes, "{how}: {name}");
        }
    }
}

#[test]
fn what_is_moved_without_a_buffer_is_missing_in_the_log() {
    let dir = ground();
    let (_, log) = recorded_with("ring_names", dir.path(), &["splice"]);
    let changed = format!("what changed {}/spliced", dir.path().display());
    assert_eq!(incomplete(&log), ["1 io_uring.splice", &changed]);
}
