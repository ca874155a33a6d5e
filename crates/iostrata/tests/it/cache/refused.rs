//! Files and kernels whose residency is unknown: never a false figure.

use std::fs;
use std::os::unix::fs::{FileExt as _, PermissionsExt as _, chown};
use std::path::Path;
use std::process::Command;

use rustix::mount::{MountFlags, mount};
use serde_json::Value;

use super::{PAGE, cache, cache_of, fincore, kinds, row, stored};
use crate::place::{Place, is_root, run, with_own_mounts, with_path};
use crate::refusing::{CACHESTAT, ENOSYS, EPERM, refusing};
use crate::undisturbed::undisturbed;

fn as_nobody(command: &mut Command) {
    use std::os::unix::process::CommandExt as _;
    command.uid(65_534).gid(65_534);
}

/// Half of it resident, readable for all.
fn half(path: &Path) {
    let file = stored(path, 64 * 4096);
    rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
    rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::Random).unwrap();
    file.read_exact_at(&mut vec![0; 32 * 4096], 0).unwrap();
    file.set_permissions(fs::Permissions::from_mode(0o644))
        .unwrap();
}

#[test]
fn without_cachestat_mincore_tells_of_own_files() {
    undisturbed(|| {
        let place = Place::new();
        let path = place.path("dir/f");
        half(&path);
        for error in [EPERM, ENOSYS] {
            let command = refusing(CACHESTAT, error, &place.iostrata("cache"));
            let result = cache_of(command, "show", &path, 0);
            let row = row(&result, "f");
            assert_eq!(row["source"], "mincore");
            assert_eq!(row["before"]["resident_bytes"], fincore(&path));
            for unknown in ["dirty_bytes", "writeback_bytes", "evicted_bytes"] {
                assert_eq!(row["before"][unknown], Value::Null);
                assert_eq!(result["totals"]["before"][unknown], Value::Null);
            }
            assert_eq!(row["map"]["resident_bytes"][63], 0);
            assert_eq!(row["map"]["dirty_bytes"], Value::Null);
        }
        let command = refusing(CACHESTAT, ENOSYS, &place.iostrata("cache"));
        let result = cache_of(command, "evict --sync", &path, 0);
        assert_eq!(
            (&row(&result, "f")["outcome"], fincore(&path)),
            (&"done".into(), 0)
        );
    });
}

#[test]
fn of_anothers_file_nothing_is_known_rather_than_all_or_nothing() {
    if !is_root("becoming another user") {
        return;
    }
    let place = Place::new();
    let (others, own) = (place.path("dir/others"), place.path("dir/own"));
    half(&others);
    half(&own);
    chown(&own, Some(65_534), Some(65_534)).unwrap();
    let unfiltered = || place.iostrata_of_nobody("cache");
    let with = |error| {
        let mut command = refusing(CACHESTAT, error, &unfiltered());
        as_nobody(&mut command);
        command
    };
    for command in [unfiltered(), with(EPERM), with(ENOSYS)] {
        let result = cache_of(command, "show", &place.dir(), 3);
        let hidden = row(&result, "others");
        assert_eq!(
            (&hidden["before"], &hidden["map"]),
            (&Value::Null, &Value::Null)
        );
        assert_eq!(
            (&hidden["source"], kinds(hidden)),
            (&"none".into(), vec!["not_told"])
        );
        let why = hidden["reasons"][0]["why"].as_str().unwrap();
        assert!(
            why.contains("mincore reports") && why.contains("run as"),
            "{why}"
        );
        let resident = &row(&result, "own")["before"]["resident_bytes"];
        assert_eq!(*resident, fincore(&own));
        assert_eq!(result["totals"]["unknown_files"], 1);
        assert_eq!(result["totals"]["before"]["resident_bytes"], *resident);
    }
    let text = run(with_path(unfiltered(), "show", place.dir())).expect(3);
    assert!(text.stdout.contains("n/a"), "{}", text.stdout);
    assert!(
        text.stdout.contains("residency unknown for 1 file"),
        "{}",
        text.stdout
    );
}

#[test]
fn what_cannot_be_opened_is_named() {
    if !is_root("becoming another user") {
        return;
    }
    let place = Place::new();
    let (file, dir) = (place.path("dir/secret"), place.path("dir/closed"));
    stored(&file, 10);
    fs::create_dir(&dir).unwrap();
    for path in [&file, &dir] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o000)).unwrap();
    }
    let result = cache_of(place.iostrata_of_nobody("cache"), "show", &place.dir(), 3);
    let missing = result["missing"].as_array().unwrap();
    let whats: Vec<_> = missing
        .iter()
        .map(|gap| gap["what"].as_str().unwrap())
        .collect();
    assert_eq!(whats, [file.to_str().unwrap(), dir.to_str().unwrap()]);
    for gap in missing {
        assert!(
            gap["why"].as_str().unwrap().contains("Permission denied"),
            "{gap}"
        );
    }
}

/// Pages of an overlay are those of the file below: cachestat would say that none is there.
#[test]
fn files_of_an_overlay_are_told_by_mincore() {
    undisturbed(|| {
        if !is_root("mounting") {
            return;
        }
        let place = Place::new();
        with_own_mounts(|| {
            let names = ["lower", "upper", "work", "merged"];
            for name in names {
                fs::create_dir(place.path(name)).unwrap();
            }
            half(&place.path("lower/f"));
            let [lower, upper, work, merged] = names.map(|name| place.path(name));
            let data = format!(
                "lowerdir={},upperdir={},workdir={}",
                lower.display(),
                upper.display(),
                work.display()
            );
            let data = std::ffi::CString::new(data).unwrap();
            mount(
                "none",
                &merged,
                "overlay",
                MountFlags::empty(),
                data.as_c_str(),
            )
            .unwrap();
            let path = merged.join("f");
            let expected = fincore(&lower.join("f"));
            assert!(expected >= 32 * PAGE);
            let result = cache(&place, "show", &path, 0);
            let row = row(&result, "f");
            assert_eq!(
                (&row["filesystem"], &row["source"]),
                (&"overlay".into(), &"mincore".into())
            );
            assert_eq!(row["before"]["resident_bytes"], expected);
            cache(&place, "evict", &path, 0);
            assert_eq!(fincore(&lower.join("f")), 0);
        });
    });
}
