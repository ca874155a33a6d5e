//! Runs that end by SIGKILL, at several moments.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use iostrata_lab::scratch::{ImageKind, Scratch};

use crate::traces::{
    assert_kernel_is_clean, assert_nothing_left, assert_process_ends, entries, is_root,
    own_directory,
};
use crate::victim::{Role, Victim, fake_program};
use crate::wait::until;

/// The contents of a file that a process is about to write.
pub(crate) fn read_when_there(path: &Path) -> String {
    until(|| {
        let text = fs::read_to_string(path).unwrap_or_default();
        let line = text.strip_suffix('\n').map(str::to_owned);
        line.ok_or(text)
    })
}

/// Only directories and the lock file may be left, and the next run removes them.
#[track_caller]
fn assert_next_run_removes_the_rest(dir: &Path) {
    assert_kernel_is_clean(dir);
    for scratch in entries(dir) {
        for entry in entries(&scratch) {
            let is_lock = entry.file_name().unwrap() == "lock";
            assert!(is_lock || entries(&entry).is_empty(), "{}", entry.display());
        }
    }
    drop(Scratch::create(dir, 0).unwrap());
    assert_nothing_left(dir);
}

#[test]
fn killed_while_waiting() {
    if !is_root("mounting images") {
        return;
    }
    let dir = own_directory();
    let mut victim = Victim::start(Role::Wait, dir.path(), &ImageKind::ALL, None);
    let scratch = victim.hear("prepared");
    victim.kill();
    assert_kernel_is_clean(dir.path());
    assert_eq!(entries(dir.path()), [Path::new(&scratch)]);
    assert_next_run_removes_the_rest(dir.path());
}

#[test]
fn killed_while_writing() {
    if !is_root("mounting images") {
        return;
    }
    let dir = own_directory();
    let mut victim = Victim::start(Role::Write, dir.path(), &ImageKind::ALL, None);
    victim.hear("writing");
    victim.kill();
    assert_next_run_removes_the_rest(dir.path());
}

#[test]
fn killed_while_a_child_runs() {
    if !is_root("mounting images") {
        return;
    }
    let dir = own_directory();
    let mut victim = Victim::start(Role::RunChild, dir.path(), &[ImageKind::Btrfs], None);
    let child = victim.hear("child");
    victim.kill();
    assert_process_ends(&child);
    assert_next_run_removes_the_rest(dir.path());
}

#[test]
fn killed_during_mkfs() {
    if !is_root("mounting images") {
        return;
    }
    let dir = own_directory();
    let programs = own_directory();
    let pid_file = programs.path().join("pid");
    let script = format!("echo $$ > {}; exec sleep 600", pid_file.display());
    fake_program(programs.path(), "mkfs.xfs", &script);
    let kinds = [ImageKind::Ext4, ImageKind::Xfs];
    let victim = Victim::start(Role::Wait, dir.path(), &kinds, Some(programs.path()));
    let mkfs = read_when_there(&pid_file);
    victim.kill();
    assert_process_ends(&mkfs);
    assert_next_run_removes_the_rest(dir.path());
}

#[test]
fn killed_at_any_moment() {
    if !is_root("mounting images") {
        return;
    }
    let dir = own_directory();
    // Creating all kinds takes a fraction of a second; the kill times are spread over it.
    for moment_ms in (0..400).step_by(20) {
        let victim = Victim::start(Role::Write, dir.path(), &ImageKind::ALL, None);
        thread::sleep(Duration::from_millis(moment_ms));
        victim.kill();
    }
    assert_next_run_removes_the_rest(dir.path());
}
