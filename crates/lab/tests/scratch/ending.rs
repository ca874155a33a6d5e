//! Runs that end by themselves, by a panic, or by a signal that they handle.

use rustix::process::Signal;

use crate::traces::{
    assert_nothing_left, assert_process_ends, entries, is_root, loop_devices, own_directory,
};
use crate::victim::{Role, Victim, fake_program};
use iostrata_lab::scratch::ImageKind;

#[test]
fn signals_end_a_run_in_order() {
    if !is_root("mounting images") {
        return;
    }
    for (signal, name) in [
        (Signal::INT, "SIGINT"),
        (Signal::TERM, "SIGTERM"),
        (Signal::HUP, "SIGHUP"),
    ] {
        let dir = own_directory();
        let mut victim = Victim::start(Role::Wait, dir.path(), &ImageKind::ALL, None);
        victim.hear("prepared");
        assert_eq!(loop_devices(dir.path()).len(), ImageKind::ALL.len());
        victim.signal(signal);
        assert_eq!(victim.hear("error"), format!("interrupted by {name}"));
        victim.wait();
        assert_nothing_left(dir.path());
    }
}

#[test]
fn more_signals_do_not_cut_the_cleanup_short() {
    if !is_root("mounting images") {
        return;
    }
    let dir = own_directory();
    let mut victim = Victim::start(Role::Write, dir.path(), &ImageKind::ALL, None);
    victim.hear("writing");
    victim.signal(Signal::INT);
    assert_eq!(victim.hear("error"), "interrupted by SIGINT");
    // It unmounts now, with data to write back.
    for _ in 0..20 {
        victim.signal(Signal::INT);
        victim.signal(Signal::TERM);
    }
    victim.wait();
    assert_nothing_left(dir.path());
}

#[test]
fn a_signal_ends_mkfs() {
    if !is_root("mounting images") {
        return;
    }
    let dir = own_directory();
    let programs = own_directory();
    let pid_file = programs.path().join("pid");
    let script = format!("echo $$ > {}; exec sleep 600", pid_file.display());
    fake_program(programs.path(), "mkfs.xfs", &script);
    let kinds = [ImageKind::Ext4, ImageKind::Xfs];
    let mut victim = Victim::start(Role::Wait, dir.path(), &kinds, Some(programs.path()));
    let mkfs = crate::killing::read_when_there(&pid_file);
    victim.signal(Signal::TERM);
    assert_eq!(victim.hear("error"), "interrupted by SIGTERM");
    victim.wait();
    assert_process_ends(&mkfs);
    assert_nothing_left(dir.path());
}

#[test]
fn a_panic_leaves_nothing() {
    if !is_root("mounting images") {
        return;
    }
    let dir = own_directory();
    let mut victim = Victim::start(Role::Panic, dir.path(), &ImageKind::ALL, None);
    victim.hear("prepared");
    victim.wait();
    assert_nothing_left(dir.path());
}

#[test]
fn a_run_does_not_touch_the_directory_of_another() {
    if !is_root("mounting images") {
        return;
    }
    let dir = own_directory();
    let kinds = [ImageKind::Ext4];
    let mut first = Victim::start(Role::Wait, dir.path(), &kinds, None);
    let first_path = first.hear("prepared");
    let mut second = Victim::start(Role::Wait, dir.path(), &kinds, None);
    let second_path = second.hear("prepared");
    assert_ne!(first_path, second_path);
    assert_eq!(entries(dir.path()).len(), 2);
    assert_eq!(loop_devices(dir.path()).len(), 2);
    first.signal(Signal::TERM);
    first.hear("error");
    first.wait();
    assert_eq!(entries(dir.path()), [std::path::PathBuf::from(second_path)]);
    second.signal(Signal::TERM);
    second.hear("error");
    second.wait();
    assert_nothing_left(dir.path());
}
