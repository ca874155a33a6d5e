//! The file of a call, and its name, where neither descriptors nor paths show them.
#![expect(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that fails"
)]

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use iostrata_core::observe::{Observation, Stream};
use iostrata_core::trace::{FileKind, Seen};
use iostrata_tracer::ebpf::{EbpfObserver, Limits};

use crate::session::{observe, workload};

fn run(program: &mut Command) -> (Observation, Seen) {
    let mut observer = EbpfObserver::with_limits(Limits::trace()).unwrap();
    let (mut seen, status) = observe(&mut observer, Stream::default(), program, || {});
    assert!(status.success());
    assert_eq!(seen.raw.losses.total(), 0);
    assert_eq!(seen.raw.missing, []);
    let history = seen.seen.take().unwrap();
    assert_eq!(history.missing, []);
    (seen, history)
}

pub(crate) fn on(program: &str, dir: &Path) -> (Observation, Seen) {
    run(Command::new(workload(program)).arg(dir))
}

/// Runs a shell script in its own mount namespace, where it may mount anything.
fn in_own_mounts(dir: &Path, script: &str) -> (Observation, Seen) {
    let mut command = Command::new("unshare");
    command
        .args(["--mount", "/bin/sh", "-euc", script])
        .arg(workload("append"))
        .arg(dir);
    run(&mut command)
}

/// Calls and bytes of `write`, by path without `dir`.
fn writes(dir: &Path, seen: &Observation, history: &Seen) -> BTreeMap<String, (u64, u64)> {
    let mut written: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for row in seen
        .raw
        .syscalls
        .iter()
        .flatten()
        .filter(|row| row.name == "write")
    {
        let named = history
            .names
            .iter()
            .find(|named| Some(named.file) == row.file);
        let path = String::from_utf8(named.unwrap().path.clone()).unwrap();
        if let Some(path) = path.strip_prefix(dir.to_str().unwrap()) {
            let sum = written
                .entry(path.trim_start_matches('/').to_owned())
                .or_default();
            sum.0 += row.count;
            sum.1 += row.returned;
        }
    }
    written
}

fn named(history: &Seen, path: &str) -> Option<FileKind> {
    let named = history
        .names
        .iter()
        .find(|named| named.path == path.as_bytes());
    named.map(|named| named.kind)
}

#[test]
fn a_descriptor_that_another_thread_opened_again_is_the_new_file() {
    let dir = tempfile::tempdir().unwrap();
    let (seen, history) = on("rotate", dir.path());
    let expected: BTreeMap<String, (u64, u64)> = (0..20)
        .map(|log| (format!("log.{log}"), (100, 1_000)))
        .collect();
    assert_eq!(writes(dir.path(), &seen, &history), expected);
}

#[test]
fn names_are_those_of_the_directories_that_changed() {
    let dir = tempfile::tempdir().unwrap();
    let (seen, history) = on("detours", dir.path());
    let top = dir.path().to_str().unwrap();
    let changed: BTreeMap<&str, (u64, u64, u64)> = history
        .followed
        .directories
        .iter()
        .filter_map(|row| {
            let path = row.path.strip_prefix(top)?;
            Some((path, (row.made, row.renamed, row.removed)))
        })
        .collect();
    let expected = BTreeMap::from([
        ("", (4, 0, 1)),                 // real, link twice, root; link
        ("/real", (1, 2, 1)),            // inner; b, moved; b
        ("/real/moved", (3, 2, 1)),      // was inner: a, c, deep; a, e; deep
        ("/real/moved/deep", (1, 1, 0)), // d; d
        ("/root", (1, 0, 0)),            // etc
        ("/root/etc", (2, 1, 0)),        // new, other; conf
    ]);
    assert_eq!(changed, expected);
    let written = writes(dir.path(), &seen, &history);
    let expected = [
        ("real/inner/a", (1, 1)),
        ("real/inner/deep/d", (1, 1)),
        ("root/etc/new", (1, 3)),
    ];
    assert_eq!(
        written,
        expected.map(|(path, row)| (path.to_owned(), row)).into()
    );
    let renamed: Vec<String> = history
        .followed
        .renamed_to
        .values()
        .map(|path| {
            let path = String::from_utf8(path.clone()).unwrap();
            path.strip_prefix(top).unwrap().to_owned()
        })
        .collect();
    let mut renamed = renamed;
    renamed.sort();
    assert_eq!(
        renamed,
        ["/real/moved/c", "/real/moved/e", "/root/etc/other"]
    );
}

#[test]
fn files_without_a_name_are_called_as_the_kernel_does() {
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    let (seen, history) = on("nameless", dir.path());
    for path in [
        "/memfd:shared things (deleted)",
        "anon_inode:[eventfd]",
        "anon_inode:[eventpoll]",
        "anon_inode:[pidfd]",
    ] {
        assert_eq!(named(&history, path), Some(FileKind::Anonymous), "{path}");
    }
    let expected = BTreeMap::from([("published".to_owned(), (1, 9))]);
    assert_eq!(writes(dir.path(), &seen, &history), expected);
    let all = writes(Path::new("/"), &seen, &history);
    assert_eq!(all["memfd:shared things (deleted)"], (1, 5));
}

#[test]
fn an_overlay_of_two_layers_with_the_same_numbers() {
    let dir = tempfile::tempdir().unwrap();
    // Inode numbers start over on each tmpfs.
    let script = "
        cd \"$1\"; mkdir lower upper merged
        mount -t tmpfs none lower; mount -t tmpfs none upper
        mkdir lower/sub upper/upper upper/work
        for i in 0 1 2 3 4 5 6 7 8 9; do echo old > lower/sub/old.$i; done
        mount -t overlay none merged -o lowerdir=lower,upperdir=upper/upper,workdir=upper/work
        cd merged/sub
        for i in 0 1 2 3 4 5 6 7 8 9; do \"$0\" new.$i 2 50 none; done
        for i in 0 1 2 3 4 5 6 7 8 9; do cat old.$i; done > /dev/null
        mv new.0 renamed; rm new.1; mkdir made; rmdir made";
    let (seen, history) = in_own_mounts(dir.path(), script);
    let merged = dir.path().join("merged/sub");
    let expected: BTreeMap<String, (u64, u64)> = (0..10)
        .map(|file| (format!("new.{file}"), (2, 100)))
        .collect();
    assert_eq!(writes(&merged, &seen, &history), expected);
    // The same file as below the overlay, where it was written.
    let old = format!("{}/lower/sub/old.7", dir.path().display());
    let old = history
        .names
        .iter()
        .find(|named| named.path == old.as_bytes());
    let rows = seen.raw.syscalls.iter().flatten();
    let read: u64 = rows
        .filter(|row| row.name == "read" && row.file == old.map(|named| named.file))
        .map(|row| row.returned)
        .sum();
    assert_eq!(read, 4);
    let changed = history.followed.directories.iter();
    let changed = changed.filter(|row| row.path == merged.to_str().unwrap());
    let changed: Vec<_> = changed
        .map(|row| (row.made, row.renamed, row.removed))
        .collect();
    assert_eq!(changed, [(11, 1, 2)]);
}

#[test]
fn btrfs_subvolumes_with_the_same_inode_numbers() {
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    let script = "
        cd \"$1\"; truncate -s 128M image; mkfs.btrfs -q image; mkdir on
        mount -o loop image on; cd on
        btrfs -q subvolume create one; btrfs -q subvolume create two
        \"$0\" one/f 3 10 none; \"$0\" two/f 5 10 none
        btrfs -q subvolume snapshot one three
        \"$0\" three/f 7 10 none; mv three/f three/g";
    let (seen, history) = in_own_mounts(dir.path(), script);
    let written = writes(&dir.path().join("on"), &seen, &history);
    let expected = [("one/f", (3, 30)), ("three/f", (7, 70)), ("two/f", (5, 50))];
    assert_eq!(
        written,
        expected.map(|(path, row)| (path.to_owned(), row)).into()
    );
    let on = dir.path().join("on/three");
    let renamed = history.followed.renamed_to.values();
    let renamed: Vec<_> = renamed.map(|path| String::from_utf8_lossy(path)).collect();
    assert_eq!(renamed, [format!("{}/g", on.display())]);
}
