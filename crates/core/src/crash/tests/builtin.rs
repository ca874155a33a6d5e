//! The built-in rules, and what the program shows to be complete.

use std::collections::BTreeSet;

use super::{Log, ROOT, letters, said};
use crate::crash::Model;
use crate::gap::{Listed, Missing, Reason};
use crate::op::FileId;

fn says(log: &Log, model: Model) -> BTreeSet<String> {
    said(&log.history(), model).0
}

const OLDER: &str = "log is older than it was when the program reported it";

fn append(log: &mut Log, node: FileId, number: u32) {
    let letter = char::from_u32('a' as u32 + number).unwrap();
    log.write(node, u64::from(number) * 10, letters(letter, 10));
}

fn loses(log: &Log, model: Model) -> bool {
    says(log, model).contains(OLDER)
}

/// A log of records that stays open, each reported, by the thread that wrote it or another.
fn kept_open(syncs: bool, reporter: u32) -> Log {
    let mut log = Log::new();
    let node = log.found(ROOT, "log", letters('z', 0));
    for number in 0..2 {
        append(&mut log, node, number);
        if syncs {
            log.fsync(node);
        }
        log.thread = reporter;
        log.print();
        log.thread = 1;
    }
    log
}

#[test]
fn records_of_a_log_that_stays_open_are_lost_after_their_report() {
    for reporter in [1, 2] {
        for model in [Model::Posix, Model::Ext4, Model::Xfs, Model::Btrfs] {
            assert!(loses(&kept_open(false, reporter), model), "{model:?}");
            assert!(!loses(&kept_open(true, reporter), model), "{model:?}");
        }
    }
}

/// A record that is synced, one that is not, and a report by another thread.
fn one_of_two_synced() -> (Log, FileId) {
    let mut log = Log::new();
    let node = log.found(ROOT, "log", letters('z', 0));
    append(&mut log, node, 0);
    log.fsync(node);
    append(&mut log, node, 1);
    log.thread = 2;
    log.print();
    log.thread = 1;
    (log, node)
}

/// It may stand for the first record while the writer is at the second one; not after the writer's end.
#[test]
fn a_report_by_another_thread_vouches_for_what_was_synced() {
    let (mut log, node) = one_of_two_synced();
    assert!(loses(&log, Model::Ext4));
    log.fsync(node);
    assert!(!loses(&log, Model::Ext4));
}

/// `rm app.conf`, `mv new app.conf`, with what is said in between, if anything.
fn removed_first(is_said: bool, by_rename: bool) -> BTreeSet<String> {
    let mut log = Log::new();
    let old = log.found(ROOT, "app.conf", letters('a', 10));
    let new = log.found(ROOT, "new", letters('b', 10));
    if by_rename {
        log.rename(old, (ROOT, "app.conf"), (ROOT, "old"));
    } else {
        log.unlink(old, ROOT, "app.conf");
    }
    if is_said {
        log.fsync(ROOT);
        log.print();
    }
    log.rename(new, (ROOT, "new"), (ROOT, "app.conf"));
    log.fsync(ROOT);
    says(&log, Model::Ext4)
}

#[test]
fn a_file_that_is_removed_before_it_is_replaced_may_be_missing() {
    let missing = || BTreeSet::from(["app.conf is missing".to_owned()]);
    assert_eq!(removed_first(false, false), missing());
    // Its user was told, or it has another name.
    assert_eq!(removed_first(true, false), [].into());
    assert_eq!(removed_first(false, true), [].into());
}

/// A directory with a file, renamed, and what a report says of it before the directory is synced.
#[test]
fn files_of_a_directory_that_is_renamed_are_complete_then() {
    for is_new in [true, false] {
        let mut log = Log::new();
        let directory = log.mkdir(ROOT, "x");
        let file = log.create(directory, "f");
        log.write(file, 0, letters('a', 10));
        for node in [file, directory, ROOT] {
            log.fsync(node);
        }
        log.rename(directory, (ROOT, "x"), (ROOT, "y"));
        if !is_new {
            log.fsync(ROOT);
        }
        log.print();
        let lost = says(&log, Model::Ext4);
        let older = "y/f is older than it was when the program reported it";
        assert_eq!(lost.contains(older), is_new, "{lost:?}");
        let is_old = |said: &String| said.contains("x/f");
        assert!(!lost.iter().any(is_old), "{lost:?}");
    }
}

#[test]
fn an_empty_file_is_vouched_for_too() {
    let mut log = Log::new();
    let file = log.found(ROOT, "log", letters('a', 10));
    log.open_truncated(file);
    log.print();
    assert_eq!(says(&log, Model::Ext4), [OLDER.to_owned()].into());
    let mut log = Log::new();
    log.create(ROOT, "made");
    log.print();
    let missing = "made is older than it was when the program reported it";
    assert_eq!(says(&log, Model::Ext4), [missing.to_owned()].into());
}

/// One thread replaces a file; another one prints before the directory is synced.
#[test]
fn another_thread_does_not_vouch_for_a_rename_that_is_still_synced() {
    let tick = |syncs: bool| {
        let mut log = Log::new();
        log.found(ROOT, "log", letters('a', 10));
        let new = log.create(ROOT, "new");
        log.write(new, 0, letters('b', 10));
        log.fsync(new);
        log.rename(new, (ROOT, "new"), (ROOT, "log"));
        log.thread = 2;
        log.print();
        log.thread = 1;
        if syncs {
            log.fsync(ROOT);
        }
        log.print();
        loses(&log, Model::Ext4)
    };
    assert!(tick(false));
    assert!(!tick(true));
}

#[test]
fn what_leaves_the_directory_is_named() {
    let mut log = Log::new();
    let under_test = log.found_directory(ROOT, "d");
    let [leaves, comes_back, stays] =
        ["leaves", "comes back", "stays"].map(|name| log.found(under_test, name, letters('a', 10)));
    log.rename(leaves, (under_test, "leaves"), (ROOT, "left"));
    log.rename(comes_back, (under_test, "comes back"), (ROOT, "x"));
    log.rename(comes_back, (ROOT, "x"), (under_test, "comes back"));
    log.link(stays, ROOT, "linked");
    let named = |log: &Log| {
        let history = log.history_of("/d");
        let gap = history
            .moved_out
            .gap(Listed::MovedOut, Reason::OutsideDirectory);
        match gap.map(|gap| gap.what) {
            Some(Missing::Listed(names)) => names.first,
            _ => Vec::new(),
        }
    };
    assert_eq!(named(&log), ["/left"]);
    log.unlink(stays, under_test, "stays");
    assert_eq!(named(&log), ["/left", "/linked"]);
    log.unlink(leaves, ROOT, "left");
    assert_eq!(named(&log), ["/linked"]);
}
