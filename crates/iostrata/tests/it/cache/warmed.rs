//! What was to come in is in.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::time::UNIX_EPOCH;

use iostrata_lab::scratch::ImageKind;
use rustix::process::Signal;
use serde_json::Value;

use super::{PAGE, cache, fincore, kinds, row, stored};
use crate::place::{Place, is_root, run, until};
use crate::results::valid;
use crate::running::Running;
use crate::undisturbed::undisturbed;

/// Takes the program a while to read, and little storage.
const LONG_BYTES: u64 = 6 << 30;

#[test]
fn files_are_in_on_every_file_system_holes_too() {
    undisturbed(|| {
        if !is_root("mounting images") {
            return;
        }
        let place = Place::new();
        let kinds = [ImageKind::Ext4, ImageKind::Xfs, ImageKind::Btrfs];
        super::with_images(&place, &kinds, |prepared| {
            for image in prepared.images() {
                let path = image.path().join("f");
                let file = stored(&path, 1_000_001);
                file.set_len(3_000_000).unwrap();
                file.sync_all().unwrap();
                cache(&place, "evict", &path, 0);
                let result = cache(&place, "warm", &path, 0);
                let row = row(&result, "f");
                assert_eq!((&row["outcome"], kinds_of(row)), (&"done".into(), 0));
                assert_eq!(row["before"]["resident_bytes"], 0);
                assert_eq!(row["after"]["resident_bytes"], 733 * PAGE);
                assert_eq!(fincore(&path), 733 * PAGE);
            }
        });
    });
}

fn kinds_of(row: &Value) -> usize {
    kinds(row).len()
}

#[test]
fn the_access_time_of_an_own_file_stays() {
    undisturbed(|| {
        let place = Place::new();
        let path = place.path("dir/f");
        let file = stored(&path, 5000);
        cache(&place, "evict", &path, 0);
        file.set_times(fs::FileTimes::new().set_accessed(UNIX_EPOCH))
            .unwrap();
        cache(&place, "warm", &path, 0);
        assert_eq!(
            (fs::metadata(&path).unwrap().atime(), fincore(&path)),
            (0, 2 * PAGE)
        );
    });
}

#[test]
fn more_than_the_memory_is_refused_before_a_byte_is_read() {
    let place = Place::new();
    let path = place.path("dir/sparse");
    File::create(&path).unwrap().set_len(1 << 40).unwrap();
    let outcome = run(place.iostrata("cache warm sparse")).expect(3);
    outcome.says(&["not enough memory: the files need 1.0 TiB more", "--anyway"]);
    assert_eq!((outcome.stdout.as_str(), fincore(&path)), ("", 0));
}

#[test]
fn an_end_in_the_middle_lists_what_was_done() {
    let place = Place::new();
    let (first, long) = (place.path("dir/a"), place.path("dir/b"));
    stored(&first, 5000);
    File::create(&long).unwrap().set_len(LONG_BYTES).unwrap();
    let command = place.iostrata("cache warm --anyway --json ../result.json a b");
    let running = Running::start(&place, "run", command);
    until("nothing is read", || (fincore(&long) > 0).then_some(()));
    running.signal(Signal::INT);
    let outcome = running.finish().expect(130);
    outcome.says(&["interrupted by SIGINT: the result holds the finished files"]);
    assert!(
        outcome.stdout.contains("interrupted: only finished files"),
        "{}",
        outcome.stdout
    );
    let saved = fs::read_to_string(place.path("result.json")).unwrap();
    let result = valid(super::SCHEMA, &saved);
    assert_eq!(result["interrupted_by"], 2);
    assert_eq!(result["totals"]["files"], 1);
    assert_eq!(row(&result, "a")["outcome"], "done");
}

#[test]
fn a_file_that_is_cut_meanwhile_is_judged_by_what_is_left() {
    undisturbed(|| {
        let place = Place::new();
        let long = place.path("dir/f");
        let file = File::create(&long).unwrap();
        file.set_len(LONG_BYTES).unwrap();
        file.write_all_at(&[1; 10], 0).unwrap();
        let command = place.iostrata("cache warm --anyway --json ../result.json f");
        let running = Running::start(&place, "run", command);
        until("nothing is read", || {
            (fincore(&long) > 1 << 20).then_some(())
        });
        file.set_len(5000).unwrap();
        running.finish().expect(0);
        let saved = fs::read_to_string(place.path("result.json")).unwrap();
        let result = valid(super::SCHEMA, &saved);
        let row = row(&result, "f");
        assert_eq!(
            (&row["size_bytes"], &row["outcome"]),
            (&5000.into(), &"done".into())
        );
        assert_eq!(row["after"]["resident_bytes"], 2 * PAGE);
    });
}

#[test]
fn holes_of_memory_stay_holes() {
    let place = Place::new();
    let dir = tempfile::tempdir_in("/dev/shm").unwrap();
    File::create(dir.path().join("f"))
        .unwrap()
        .set_len(10_000)
        .unwrap();
    let result = cache(&place, "warm", dir.path(), 3);
    let row = row(&result, "f");
    assert_eq!(kinds(row), ["in_memory"], "{row}");
    assert_eq!(row["reasons"][0]["bytes"], 3 * PAGE);
}
