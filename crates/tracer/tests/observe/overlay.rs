//! Files of an overlay that are copied up, replaced and hidden: each is one file with the numbers
//! that `stat(2)` shows, in the history and in the log.
#![expect(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that fails"
)]

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::Command;

use iostrata_core::observe::Observation;
use iostrata_core::op::FileId;
use iostrata_core::trace::{FileKind, Seen};
use iostrata_tracer::kernel::private_mounts;

use crate::identity::on;
use crate::unseen::{incomplete, recorded_with};

/// A file as the program's user sees it: device and number, bytes written and read, last name.
type Shown = ((u32, u64), u64, u64, String);

/// Files below `dir`, by their first name.
fn shown(dir: &Path, seen: &Observation, history: &Seen) -> BTreeMap<String, Shown> {
    let top = format!("{}/", dir.display());
    let within = |path: &[u8]| {
        let path = String::from_utf8(path.to_vec()).unwrap();
        path.strip_prefix(&top).map(str::to_owned)
    };
    let bytes = |name: &str, file| {
        let rows = seen.raw.syscalls.iter().flatten();
        let rows = rows.filter(|row| row.name == name && row.file == Some(file));
        rows.map(|row| row.returned).sum()
    };
    let files = history
        .names
        .iter()
        .filter(|named| named.kind == FileKind::Regular);
    let files = files.filter_map(|named| {
        let name = within(&named.path)?;
        let last = history.followed.renamed_to.get(&named.file);
        let last = last.map_or(Some(name.clone()), |path| within(path))?;
        let (written, read) = (bytes("write", named.file), bytes("read", named.file));
        Some((name, (named.shown, written, read, last)))
    });
    files.collect()
}

/// An overlay over two file systems with equal inode numbers, or over directories of one; in a
/// mount namespace of this thread.
fn mount_overlay(dir: &Path, layers: &str) {
    let script = "
        cd \"$0\"; mkdir lower high merged
        if [ $1 = two ]; then mount -t tmpfs none lower; mount -t tmpfs none high; fi
        mkdir high/upper high/work lower/at lower/at/was; cd lower/at
        for i in log target read gone moved; do printf old4 > $i; done; printf 22 > was/in
        cd ../..
        mount -t overlay none merged -o lowerdir=lower,upperdir=high/upper,workdir=high/work";
    let mut mount = Command::new("/bin/sh");
    let mounted = mount.args(["-euc", script]).arg(dir).arg(layers).status();
    assert!(mounted.unwrap().success());
}

/// Device and number that `stat(2)` shows.
fn by_stat(path: &Path) -> (u32, u64) {
    let found = std::fs::metadata(path).unwrap();
    let (major, minor) = (
        rustix::fs::major(found.dev()),
        rustix::fs::minor(found.dev()),
    );
    (FileId::kernel_device(major, minor), found.ino())
}

/// What `workloads/copied_up.c` does with the files: first name, bytes written and read, last name.
const COPIED_UP: [(&str, u64, u64, &str); 7] = [
    ("log", 6, 4, "log"),
    ("new", 5, 0, "target"),
    ("gone/inner", 3, 0, "gone/inner"),
    ("away", 2, 0, "away"),
    ("read", 0, 4, "read"),
    ("published", 7, 0, "published"),
    ("was/in", 0, 0, "was/in"),
];

fn copied_up(layers: &str) {
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    let _namespace = private_mounts().unwrap();
    mount_overlay(dir.path(), layers);
    let merged = dir.path().join("merged/at");
    let (seen, history) = on("copied_up", &merged);
    let found = shown(&merged, &seen, &history);
    for (name, written, read, last) in COPIED_UP {
        let place = by_stat(&merged.join(last));
        let expected = (place, written, read, last.to_owned());
        assert_eq!(found[name], expected, "{layers}: {name}");
    }
    assert_eq!(found.len(), COPIED_UP.len(), "{layers}: {found:?}");
    let mut names = history.names.iter();
    let log = names.find(|named| named.path.ends_with(b"at/log")).unwrap();
    let log = &history.followed.files[&log.file];
    assert_eq!((log.writes, log.syncs.count, log.unsynced_bytes), (1, 1, 0));
    // Pages of the copy are those of the file.
    let dirtied = seen.raw.cache.iter().flatten();
    let dirtied = dirtied.filter(|row| row.dirtied_bytes > 0 && !row.metadata);
    let is_named = |file| history.names.iter().any(|named| named.file == file);
    let unnamed: Vec<_> = dirtied.filter(|row| !is_named(row.file)).collect();
    assert!(unnamed.is_empty(), "{layers}: {unnamed:?}");
}

/// In a separate thread, since mounts belong to a thread.
fn on_both(test: fn(&str)) {
    for layers in ["one", "two"] {
        let thread = std::thread::spawn(move || test(layers));
        if let Err(panic) = thread.join() {
            std::panic::resume_unwind(panic);
        }
    }
}

#[test]
fn a_file_that_is_copied_up_remains_one_file() {
    on_both(copied_up);
}

fn logged(layers: &str) {
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    let _namespace = private_mounts().unwrap();
    mount_overlay(dir.path(), layers);
    let merged = dir.path().join("merged/at");
    let (again, log) = recorded_with("copied_up", &merged, &[]);
    assert_eq!(incomplete(&log), [""; 0], "{layers}");
    let rebuilt = again.path().join(merged.strip_prefix("/").unwrap());
    for (_, written, _, name) in COPIED_UP.iter().filter(|file| file.3 != "read") {
        let [real, made] = [&merged, &rebuilt].map(|top| std::fs::read(top.join(name)).unwrap());
        assert_eq!(made.len(), real.len(), "{layers}: {name}");
        // The log does not have the earlier contents.
        let from = real.len() - usize::try_from(*written).unwrap();
        assert_eq!(made[from..], real[from..], "{layers}: {name}");
    }
    for gone in ["moved", "new"] {
        assert!(!rebuilt.join(gone).exists(), "{layers}: {gone}");
    }
    assert!(rebuilt.join("gone").is_dir(), "{layers}");
}

#[test]
fn the_log_of_an_overlay_is_that_of_what_it_shows() {
    on_both(logged);
}
