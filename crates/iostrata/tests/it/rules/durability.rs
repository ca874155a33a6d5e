//! Rules of what durability costs, and of where it fails.

use std::fs::File;
use std::path::Path;
use std::process::Command;

use rustix::mount::{MountFlags, mount};

use super::{assert_told_apart, speaking, traced};
use crate::place::{Place, is_root, run, with_own_mounts};

#[test]
fn fsync_per_record() {
    assert_told_apart("fsync-per-record", false);
}

#[test]
fn fdatasync_suffices() {
    assert_told_apart("fdatasync-suffices", false);
}

#[test]
fn fsync_of_nothing() {
    assert_told_apart("fsync-of-nothing", false);
}

#[test]
fn sync_everything() {
    assert_told_apart("sync-everything", false);
}

#[test]
fn small_synchronous_writes() {
    assert_told_apart("small-synchronous-writes", false);
}

#[test]
fn preallocate_log() {
    assert_told_apart("preallocate-log", false);
}

#[test]
fn rename_without_fsync() {
    assert_told_apart("rename-without-fsync", false);
}

#[test]
fn directory_not_synced() {
    assert_told_apart("directory-not-synced", false);
}

#[test]
fn truncate_then_write() {
    assert_told_apart("truncate-then-write", true);
}

#[test]
fn close_without_sync() {
    assert_told_apart("close-without-sync", false);
}

#[test]
fn unlink_before_durable() {
    assert_told_apart("unlink-before-durable", true);
}

#[test]
fn mapped_not_synced() {
    assert_told_apart("mapped-not-synced", false);
}

#[test]
fn acknowledged_not_synced() {
    assert_told_apart("acknowledged-not-synced", false);
}

#[test]
fn overwritten_in_place() {
    assert_told_apart("overwritten-in-place", true);
}

#[test]
fn sync_range_is_not_durable() {
    assert_told_apart("sync-range-is-not-durable", false);
}

#[test]
fn journal_amplification() {
    let journal = |place: &Place| place.path("image");
    assert_told_apart_on("journal-amplification", journal, "has_journal");
}

/// The image has more room than the memory that holds it: the disk fails.
#[test]
fn ignored_fsync_error() {
    let failing = |place: &Place| {
        let small = place.path("small");
        std::fs::create_dir(&small).unwrap();
        mount(
            "none",
            &small,
            "tmpfs",
            MountFlags::empty(),
            Some(c"size=12m"),
        )
        .unwrap();
        small.join("image")
    };
    assert_told_apart_on("ignored-fsync-error", failing, "^has_journal");
}

/// As [`assert_told_apart`], each program on an ext4 image of its own.
#[track_caller]
fn assert_told_apart_on(
    rule: &str,
    image: impl Fn(&Place) -> std::path::PathBuf + Sync,
    feature: &str,
) {
    if !is_root("mounting an image") {
        return;
    }
    for (name, is_expected) in [
        (rule.to_owned(), true),
        (format!("{rule}-near-miss"), false),
    ] {
        let place = Place::new();
        with_own_mounts(|| {
            mount_image(&image(&place), feature, &place.dir());
            let speaking = speaking(&traced(&name, &place, false));
            assert_eq!(
                speaking.iter().any(|id| id == rule),
                is_expected,
                "of {name} these speak: {speaking:?}"
            );
        });
    }
}

/// The loop device goes with the mount, and the mount with this thread.
fn mount_image(image: &Path, feature: &str, directory: &Path) {
    File::create(image).unwrap().set_len(64 << 20).unwrap();
    let mut make = Command::new("/usr/sbin/mkfs.ext4");
    // Tables that the kernel makes later are one more that uses the disk.
    let at_once = "lazy_itable_init=0,lazy_journal_init=0";
    make.args(["-q", "-O", feature, "-E", at_once]).arg(image);
    run(make).expect(0);
    let mut attach = Command::new("/bin/mount");
    attach.args(["-o", "loop"]).arg(image).arg(directory);
    run(attach).expect(0);
}

/// A program that asks for no durability gets no finding about it.
#[test]
fn an_ordinary_copy_has_no_fault() {
    if !is_root("observing a program in the kernel") {
        return;
    }
    let place = Place::new();
    let (from, to, result) = (place.path("from"), place.dir().join("to"), place.path("r"));
    std::fs::write(&from, vec![b'x'; 300_000]).unwrap();
    // The second time over what is there.
    for _ in 0..2 {
        let mut command = place.iostrata("trace --json");
        command
            .arg(&result)
            .args(["--", "/bin/cp"])
            .arg(&from)
            .arg(&to);
        run(command).expect(0);
        let text = std::fs::read(&result).unwrap();
        let seen: iostrata_core::trace::TraceResult = serde_json::from_slice(&text).unwrap();
        let copied = to.to_str();
        let copied = seen
            .files
            .iter()
            .find(|file| Some(file.path.as_str()) == copied);
        assert_eq!(copied.unwrap().writes.bytes, 300_000);
        let drafts = iostrata_core::rules::look(&seen, &[]);
        let faults: Vec<_> = drafts.into_iter().filter(|draft| draft.is_fault).collect();
        assert_eq!(faults, vec![]);
    }
}
