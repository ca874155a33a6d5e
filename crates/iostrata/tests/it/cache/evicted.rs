//! What was to go is gone, or who keeps it is named.

use std::fs;
use std::os::unix::fs::{FileExt as _, PermissionsExt as _, chown};

use iostrata_lab::scratch::ImageKind;

use super::holder::Holder;
use super::{PAGE, cache, cache_of, fincore, kinds, row, stored};
use crate::place::{Place, is_root, run, with_path};
use crate::undisturbed::undisturbed;

#[test]
fn dirty_files_go_on_every_file_system_when_they_are_written_first() {
    undisturbed(|| {
        if !is_root("mounting images") {
            return;
        }
        let place = Place::new();
        let kinds = [ImageKind::Ext4, ImageKind::Xfs, ImageKind::Btrfs];
        super::with_images(&place, &kinds, |prepared| {
            for image in prepared.images() {
                let (path, beside) = (image.path().join("f"), image.path().join("beside"));
                stored(&beside, 50_000);
                fs::write(&path, vec![7; 1_000_001]).unwrap();
                let result = cache(&place, "evict --sync", &path, 0);
                let row = row(&result, "f");
                assert_eq!(row["outcome"], "done");
                assert_eq!(row["after"]["resident_bytes"], 0);
                assert_eq!(row["before"]["resident_bytes"], 245 * PAGE);
                assert_eq!(fincore(&path), 0);
                assert_eq!(fincore(&beside), 13 * PAGE, "what was not named stays");
                assert_eq!(fs::read(&path).unwrap(), vec![7; 1_000_001]);
            }
        });
    });
}

#[test]
fn who_maps_a_file_that_stays_is_named() {
    undisturbed(|| {
        let place = Place::new();
        let path = place.path("dir/f");
        stored(&path, 64 * 4096);
        let holder = Holder::of(&path, "all");
        let result = cache(&place, "evict", &path, 3);
        let row = row(&result, "f");
        assert_eq!(row["outcome"], "not_done", "{row}");
        assert_eq!(row["after"]["resident_bytes"], fincore(&path));
        let hold = &row["reasons"][0];
        assert_eq!(
            (&hold["kind"], &hold["bytes"]),
            (&"mapped".into(), &(64 * PAGE).into())
        );
        let process = &hold["processes"][0];
        assert_eq!(process["pid"], holder.pid());
        assert_eq!(process["command"], "python3");
        assert_eq!(kinds(row), ["mapped"]);
        let text = run(with_path(place.iostrata("cache evict"), "--", &path)).expect(3);
        let said = format!("256.0 KiB mapped by process {} (python3)", holder.pid());
        assert!(text.stdout.contains(&said), "{}", text.stdout);
        drop(holder);
        cache(&place, "evict", &path, 0);
        assert_eq!(fincore(&path), 0);
    });
}

#[test]
fn who_locks_a_file_that_stays_is_named() {
    undisturbed(|| {
        let place = Place::new();
        let path = place.path("dir/f");
        stored(&path, 8 * 4096);
        let holder = Holder::of(&path, "lock");
        let result = cache(&place, "evict", &path, 3);
        let hold = &row(&result, "f")["reasons"][0];
        assert_eq!(hold["kind"], "locked", "{hold}");
        assert_eq!(hold["processes"][0]["pid"], holder.pid());
        assert_eq!(hold["processes"][0]["locked_bytes"], 8 * PAGE);
    });
}

/// How large the folios are is the file system's affair; what is mapped and what is only in
/// the same folio adds up to what stays.
#[test]
fn a_mapped_page_keeps_its_folio() {
    undisturbed(|| {
        let place = Place::new();
        let path = place.path("dir/f");
        stored(&path, 16 << 20);
        cache(&place, "evict", &path, 0);
        fs::read(&path).unwrap();
        let _holder = Holder::of(&path, "page");
        let result = cache(&place, "evict", &path, 3);
        let row = row(&result, "f");
        assert_eq!(row["outcome"], "partly", "{row}");
        let reasons = row["reasons"].as_array().unwrap();
        let told: u64 = reasons
            .iter()
            .map(|hold| hold["bytes"].as_u64().unwrap())
            .sum();
        assert_eq!(row["after"]["resident_bytes"], told, "{row}");
        assert_eq!(kinds(row)[0], "mapped");
        assert!(
            kinds(row)[1..].iter().all(|kind| *kind == "large_folio"),
            "{row}"
        );
        let map = row["map"]["resident_bytes"].as_array().unwrap();
        assert_eq!(map.last().unwrap(), 0, "only the beginning stays: {row}");
    });
}

#[test]
fn what_lies_in_memory_has_nowhere_to_go() {
    let place = Place::new();
    let dir = tempfile::tempdir_in("/dev/shm").unwrap();
    fs::write(dir.path().join("f"), [7; 5000]).unwrap();
    let result = cache(&place, "evict --sync", dir.path(), 3);
    let row = row(&result, "f");
    assert_eq!(
        (kinds(row), &row["outcome"]),
        (vec!["in_memory"], &"not_done".into())
    );
    assert_eq!(row["after"]["resident_bytes"], 2 * PAGE);
}

#[test]
fn processes_that_may_not_be_looked_at_are_counted() {
    undisturbed(|| {
        if !is_root("becoming another user") {
            return;
        }
        let place = Place::new();
        let path = place.path("dir/f");
        stored(&path, 5000);
        chown(&path, Some(65_534), Some(65_534)).unwrap();
        let _holder = Holder::of(&path, "all");
        let command = place.iostrata_of_nobody("cache");
        let result = cache_of(command, "evict", &path, 3);
        let row = row(&result, "f");
        assert_eq!(kinds(row), ["hidden_processes"], "{row}");
    });
}

#[test]
fn whether_anothers_file_went_is_not_known_to_nobody() {
    undisturbed(|| {
        if !is_root("becoming another user") {
            return;
        }
        let place = Place::new();
        let path = place.path("dir/f");
        let file = stored(&path, 5000);
        file.set_permissions(fs::Permissions::from_mode(0o644))
            .unwrap();
        file.read_exact_at(&mut [0; 10], 0).unwrap();
        let result = cache_of(place.iostrata_of_nobody("cache"), "evict", &path, 3);
        let row = row(&result, "f");
        assert_eq!(
            (&row["before"], &row["after"]),
            (&().into(), &().into()),
            "{row}"
        );
        assert_eq!(
            (&row["outcome"], kinds(row)),
            (&"unknown".into(), vec!["not_told"])
        );
        // It went: any reader may ask for that. Only its owner may know.
        assert_eq!(fincore(&path), 0);
    });
}
