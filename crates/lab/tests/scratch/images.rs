//! Each image is the requested file system, or there is an error and nothing else.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;
use std::thread;

use iostrata_lab::interrupt::Interrupt;
use iostrata_lab::scratch::{self, ImageKind, Images, Plan, Prepared, ScratchError};

use crate::directory::mount_tmpfs;
use crate::traces::{assert_nothing_left, entries, is_root, own_directory};
use crate::victim::{Role, Victim, fake_program};

/// Runs `test` with `kinds` prepared, in a thread with its own mounts.
fn with_prepared(dir: &Path, kinds: &[ImageKind], test: impl FnOnce(Prepared) + Send) {
    thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let mounts = scratch::isolate().unwrap();
            test(prepare(dir, kinds, &mounts).unwrap());
        });
        thread.join().unwrap();
    });
}

fn prepare(
    dir: &Path,
    kinds: &[ImageKind],
    mounts: &iostrata_tracer::kernel::PrivateMounts,
) -> Result<Prepared, ScratchError> {
    let images = Some(Images {
        kinds,
        bytes: 0,
        mounts,
    });
    let plan = Plan {
        dir,
        enter: false,
        host_bytes: 0,
        images,
    };
    scratch::prepare(&plan, None, &Interrupt::never())
}

/// Uses other tools than the code under test.
fn output(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().unwrap();
    assert!(output.status.success(), "{program}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn every_kind_is_what_its_name_says() {
    if !is_root("mounting images") {
        return;
    }
    let dir = own_directory();
    with_prepared(dir.path(), &ImageKind::ALL, |prepared| {
        let kinds: Vec<_> = prepared.images().iter().map(scratch::Image::kind).collect();
        assert_eq!(kinds, ImageKind::ALL);
        assert!(entries(prepared.host()).is_empty());
        for image in prepared.images() {
            let path = image.path().to_str().unwrap();
            let device = image.device().path().to_str().unwrap();
            let found = output("findmnt", &["-no", "FSTYPE,SOURCE,FS-OPTIONS", path]);
            let words: Vec<_> = found.split_whitespace().collect();
            assert_eq!(words[..2], [image.kind().filesystem(), device]);
            assert_eq!(output("stat", &["-fc", "%S", path]).trim(), "4096");
            let data_journal = words[2].split(',').any(|option| option == "data=journal");
            assert_eq!(data_journal, image.kind() == ImageKind::Ext4DataJournal);
            if image.kind().filesystem() == "ext4" {
                let superblock = output("/usr/sbin/dumpe2fs", &["-h", device]);
                let features = superblock
                    .lines()
                    .find(|line| line.starts_with("Filesystem features:"))
                    .unwrap();
                let journal = image.kind() != ImageKind::Ext4NoJournal;
                assert_eq!(features.contains("has_journal"), journal);
                let fast_commit = image.kind() == ImageKind::Ext4FastCommit;
                assert_eq!(features.contains("fast_commit"), fast_commit);
            }
            let dio = format!("/sys/block/{}/loop/dio", image.device().name());
            assert_eq!(fs::read_to_string(dio).unwrap().trim(), "1");
            assert!(!image.backing_cached());
            let file = File::create(image.path().join("file")).unwrap();
            file.sync_all().unwrap();
        }
        assert!(prepared.close().is_empty());
    });
    assert_nothing_left(dir.path());
}

#[test]
fn an_image_in_memory_is_said_to_be_cached() {
    if !is_root("mounting images") {
        return;
    }
    let dir = own_directory();
    thread::scope(|scope| {
        scope.spawn(|| {
            let mounts = scratch::isolate().unwrap();
            mount_tmpfs(dir.path(), "160m");
            let prepared = prepare(dir.path(), &[ImageKind::Ext4], &mounts).unwrap();
            assert!(prepared.images()[0].backing_cached());
            assert!(prepared.close().is_empty());
        });
    });
    assert_nothing_left(dir.path());
}

#[test]
fn a_busy_mount_is_detached_and_named() {
    if !is_root("mounting images") {
        return;
    }
    let dir = own_directory();
    with_prepared(dir.path(), &[ImageKind::Ext4], |prepared| {
        let path = prepared.images()[0].path().to_owned();
        let busy = File::create(path.join("file")).unwrap();
        let leftovers = prepared.close();
        assert_eq!(leftovers.len(), 1, "{leftovers:?}");
        assert_eq!(leftovers[0].path, path);
        assert!(leftovers[0].cause.contains("detached"), "{leftovers:?}");
        drop(busy);
    });
    assert_nothing_left(dir.path());
}

#[test]
fn a_panic_in_a_thread_leaves_nothing() {
    if !is_root("mounting images") {
        return;
    }
    let dir = own_directory();
    let path = dir.path().to_owned();
    let thread = thread::spawn(move || {
        let mounts = scratch::isolate().unwrap();
        let _prepared = prepare(&path, &[ImageKind::Ext4, ImageKind::Xfs], &mounts).unwrap();
        panic!("as asked");
    });
    assert!(thread.join().is_err());
    assert_nothing_left(dir.path());
}

#[test]
fn a_failed_mount_leaves_nothing() {
    assert_fails(
        "exit 0",
        "cannot mount ext4-nojournal from /dev/loop",
        "Invalid argument",
    );
}

#[test]
fn a_failed_mkfs_is_quoted_and_leaves_nothing() {
    assert_fails(
        "echo no magic today; exit 3",
        "cannot make an image of ext4-nojournal: mkfs.ext4 -q",
        "exit status: 3 and said: no magic today",
    );
}

#[test]
fn another_file_system_than_asked_for_is_refused() {
    assert_fails(
        "for device; do :; done; exec /usr/sbin/mkfs.ext4 -q -F -b 4096 -O has_journal $device",
        "asked for ext4-nojournal but the file system has a journal",
        "leave ext4-nojournal out",
    );
    assert_fails(
        "for device; do :; done; exec /usr/sbin/mkfs.ext4 -q -F -b 1024 -O ^has_journal $device",
        "asked for ext4-nojournal but blocks have 1024 bytes, not 4096",
        "leave ext4-nojournal out",
    );
}

/// With this script as mkfs.ext4 the error contains both texts and nothing is left.
#[track_caller]
fn assert_fails(mkfs: &str, start: &str, inside: &str) {
    if !is_root("mounting images") {
        return;
    }
    let dir = own_directory();
    let programs = own_directory();
    fake_program(programs.path(), "mkfs.ext4", mkfs);
    let kinds = [ImageKind::Xfs, ImageKind::Ext4NoJournal];
    let mut victim = Victim::start(Role::Wait, dir.path(), &kinds, Some(programs.path()));
    let error = victim.hear("error");
    assert!(error.starts_with(start), "{error}");
    assert!(error.contains(inside), "{error}");
    victim.wait();
    assert_nothing_left(dir.path());
}

#[test]
fn a_missing_mkfs_is_named_with_its_package() {
    if !is_root("hiding programs") {
        return;
    }
    let dir = own_directory();
    for (kind, message) in [
        (
            ImageKind::Ext4,
            "mkfs.ext4 was not found in PATH, /usr/sbin or /sbin; install it (Debian package e2fsprogs)",
        ),
        (
            ImageKind::Xfs,
            "mkfs.xfs was not found in PATH, /usr/sbin or /sbin; install it (Debian package xfsprogs)",
        ),
        (
            ImageKind::Btrfs,
            "mkfs.btrfs was not found in PATH, /usr/sbin or /sbin; install it (Debian package btrfs-progs)",
        ),
    ] {
        let mut victim = Victim::start(Role::WithoutMkfs, dir.path(), &[kind], None);
        let error = victim.hear("error");
        assert_eq!(error, format!("cannot make {kind} images: {message}"));
        victim.wait();
    }
    assert_nothing_left(dir.path());
}

#[test]
fn a_disk_that_fills_up_during_mkfs_is_said_to_be_full() {
    if !is_root("mounting images") {
        return;
    }
    let dir = own_directory();
    let programs = own_directory();
    let fill = dir.path().join("fill");
    let script = format!(
        "cat /dev/zero > {}; exec /usr/sbin/mkfs.ext4 \"$@\"",
        fill.display()
    );
    fake_program(programs.path(), "mkfs.ext4", &script);
    thread::scope(|scope| {
        scope.spawn(|| {
            let _mounts = scratch::isolate().unwrap();
            mount_tmpfs(dir.path(), "136m");
            let kinds = [ImageKind::Ext4];
            let mut victim = Victim::start(Role::Wait, dir.path(), &kinds, Some(programs.path()));
            let error = victim.hear("error");
            assert!(error.starts_with("not enough space in"), "{error}");
            assert!(
                error.contains("128.0 MiB are needed, 0 B are free"),
                "{error}"
            );
            victim.wait();
            assert_eq!(entries(dir.path()), [fill]);
        });
    });
    assert_nothing_left(dir.path());
}

#[test]
fn a_disk_too_small_is_said_before_anything_is_written() {
    if !is_root("mounting images") {
        return;
    }
    let dir = own_directory();
    thread::scope(|scope| {
        scope.spawn(|| {
            let mounts = scratch::isolate().unwrap();
            mount_tmpfs(dir.path(), "1m");
            let error = prepare(dir.path(), &[ImageKind::Ext4], &mounts).unwrap_err();
            let ScratchError::NoSpace { needed_bytes, .. } = error else {
                panic!("{error}");
            };
            assert_eq!(needed_bytes, (128 << 20) + (128 << 20) / 20);
            assert!(entries(dir.path()).is_empty());
        });
    });
    assert_nothing_left(dir.path());
}
