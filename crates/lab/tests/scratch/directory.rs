//! The scratch directory alone: refusals, leftovers of others, removal.

use std::ffi::CString;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::thread;

use iostrata_lab::scratch::{self, Scratch, ScratchError};
use rustix::mount::{MountFlags, UnmountFlags, mount, mount_remount, unmount};
use rustix::process::Uid;

use crate::traces::{entries, is_root, own_directory};

/// A tmpfs in a thread that has its own mounts.
pub(crate) fn mount_tmpfs(path: &Path, size: &str) {
    let data = CString::new(format!("size={size}")).unwrap();
    mount("none", path, "tmpfs", MountFlags::empty(), data.as_c_str()).unwrap();
}

#[test]
fn is_private_and_removed_with_its_contents() {
    let dir = own_directory();
    let scratch = Scratch::create(dir.path(), 0).unwrap();
    assert_eq!(entries(dir.path()), [scratch.path()]);
    let mode = fs::metadata(scratch.path()).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o700);
    let outside = dir.path().join("outside");
    fs::write(&outside, "mine").unwrap();
    fs::create_dir_all(scratch.path().join("a/b")).unwrap();
    fs::write(scratch.path().join("a/b/file"), "x").unwrap();
    symlink(&outside, scratch.path().join("a/link")).unwrap();
    symlink(dir.path(), scratch.path().join("directory-link")).unwrap();
    scratch.close().unwrap();
    assert_eq!(entries(dir.path()), [outside]);
}

#[test]
fn what_is_not_a_directory_is_refused() {
    let dir = own_directory();
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    let error = Scratch::create(&file, 0).unwrap_err().to_string();
    assert!(error.ends_with("it is not a directory; name an existing directory with --dir"));
    let error = Scratch::create(&dir.path().join("none"), 0).unwrap_err();
    assert!(error.to_string().contains("it does not exist"), "{error}");
}

#[test]
fn more_than_is_free_is_refused() {
    let dir = own_directory();
    let error = Scratch::create(dir.path(), u64::MAX).unwrap_err();
    assert!(matches!(error, ScratchError::NoSpace { .. }), "{error}");
    assert!(entries(dir.path()).is_empty());
}

#[test]
fn a_full_file_system_is_refused() {
    if !is_root("mounting") {
        return;
    }
    let dir = own_directory();
    thread::scope(|scope| {
        scope.spawn(|| {
            let _mounts = scratch::isolate().unwrap();
            mount_tmpfs(dir.path(), "1m");
            let fill = dir.path().join("fill");
            let full = fs::write(&fill, vec![1; 2 << 20]).unwrap_err();
            assert_eq!(full.kind(), ErrorKind::StorageFull);
            let error = Scratch::create(dir.path(), 0).unwrap_err();
            assert!(matches!(error, ScratchError::NoSpace { .. }), "{error}");
            assert_eq!(entries(dir.path()), [fill]);
        });
    });
}

#[test]
fn a_read_only_file_system_is_refused() {
    if !is_root("mounting") {
        return;
    }
    let dir = own_directory();
    thread::scope(|scope| {
        scope.spawn(|| {
            let _mounts = scratch::isolate().unwrap();
            mount_tmpfs(dir.path(), "1m");
            mount_remount(dir.path(), MountFlags::RDONLY, c"").unwrap();
            let error = Scratch::create(dir.path(), 0).unwrap_err();
            assert!(matches!(error, ScratchError::ReadOnly { .. }), "{error}");
        });
    });
}

#[test]
fn a_user_without_privilege_is_told_so() {
    if !is_root("becoming another user") {
        return;
    }
    let dir = own_directory();
    thread::scope(|scope| {
        // The thread alone changes user.
        scope.spawn(|| {
            rustix::thread::set_thread_uid(Uid::from_raw(65534)).unwrap();
            let error = Scratch::create(dir.path(), 0).unwrap_err();
            assert!(
                matches!(error, ScratchError::NoPermission { .. }),
                "{error}"
            );
            let error = scratch::isolate().unwrap_err();
            assert!(error.to_string().contains("images need root"), "{error}");
        });
    });
}

#[test]
fn directories_of_killed_runs_are_removed_and_nothing_else_is() {
    let dir = own_directory();
    let make = |name: &str, file: &str, text: &str| {
        let path = dir.path().join(name);
        fs::create_dir(&path).unwrap();
        if !file.is_empty() {
            fs::write(path.join(file), text).unwrap();
        }
        path
    };
    let signed = "iostrata scratch directory\nboot b\npid 1\n";
    let stale = make(".iostrata-000000000001", "lock", signed);
    fs::create_dir(stale.join("ext4")).unwrap();
    make(".iostrata-000000000002", "lock", "");
    make(".iostrata-000000000003", "", "");
    let mut kept = vec![
        make(".iostrata-00000000000A", "lock", signed),
        make(".iostrata-00000000000", "lock", signed),
        make("iostrata-000000000004", "lock", signed),
        make(".iostrata-000000000005", "notes", signed),
        make(".iostrata-000000000006", "lock", "somebody else's lock\n"),
    ];
    let linked = dir.path().join(".iostrata-000000000007");
    symlink(&kept[0], &linked).unwrap();
    kept.push(linked);
    drop(Scratch::create(dir.path(), 0).unwrap());
    let mut found = entries(dir.path());
    found.sort();
    kept.sort();
    assert_eq!(found, kept);
    assert!(
        kept.iter()
            .all(|path| fs::read_dir(path).unwrap().count() == 1)
    );
}

#[test]
fn a_living_run_keeps_its_directory() {
    let dir = own_directory();
    let first = Scratch::create(dir.path(), 0).unwrap();
    let second = Scratch::create(dir.path(), 0).unwrap();
    assert!(first.path().join("lock").exists());
    drop(second);
    assert_eq!(entries(dir.path()), [first.path()]);
}

#[test]
fn many_runs_that_start_at_once_do_not_disturb_each_other() {
    let dir = own_directory();
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..50 {
                    let scratch = Scratch::create(dir.path(), 0).unwrap();
                    let file = scratch.path().join("file");
                    fs::write(&file, "x").unwrap();
                    assert_eq!(fs::read(&file).unwrap(), b"x");
                    scratch.close().unwrap();
                }
            });
        }
    });
    assert!(entries(dir.path()).is_empty());
}

#[test]
fn removal_never_enters_a_mount() {
    if !is_root("mounting") {
        return;
    }
    let dir = own_directory();
    thread::scope(|scope| {
        scope.spawn(|| {
            let _mounts = scratch::isolate().unwrap();
            let scratch = Scratch::create(dir.path(), 0).unwrap();
            let inside = scratch.path().join("mounted");
            fs::create_dir(&inside).unwrap();
            mount_tmpfs(&inside, "1m");
            fs::write(inside.join("precious"), "data").unwrap();
            let leftover = scratch.close().unwrap_err();
            assert!(leftover.to_string().contains("could not be removed"));
            assert_eq!(fs::read(inside.join("precious")).unwrap(), b"data");
            unmount(&inside, UnmountFlags::empty()).unwrap();
        });
    });
    drop(Scratch::create(dir.path(), 0).unwrap());
    assert!(entries(dir.path()).is_empty());
}
