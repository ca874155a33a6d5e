//! What is shown is what is there.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileExt as _, symlink};
use std::path::Path;
use std::time::Instant;

use iostrata_lab::scratch::ImageKind;
use rustix::mount::{MountFlags, mount};
use serde_json::Value;

use super::{PAGE, cache, fincore, row, stored};
use crate::place::{Place, is_root, run, with_own_mounts, with_path};
use crate::undisturbed::undisturbed;

/// A file that is there, one that is there in part, one with a hole, and an empty one.
fn files(dir: &Path) {
    stored(&dir.join("whole"), 1_000_001);
    File::create(dir.join("empty")).unwrap();
    let part = stored(&dir.join("part"), 8 << 20);
    rustix::fs::fadvise(&part, 0, None, rustix::fs::Advice::DontNeed).unwrap();
    rustix::fs::fadvise(&part, 0, None, rustix::fs::Advice::Random).unwrap();
    let mut bytes = vec![0; 300_000];
    part.read_exact_at(&mut bytes, 2 << 20).unwrap();
    let holed = File::create(dir.join("holed")).unwrap();
    holed.set_len(4 << 20).unwrap();
    holed.write_all_at(&[1; 10], 3 << 20).unwrap();
    holed.sync_all().unwrap();
}

/// Compares every file with `fincore`, and every map with its counts.
#[track_caller]
fn agrees(result: &Value, least: usize) {
    let files = result["files"].as_array().unwrap();
    assert!(files.len() >= least, "{result}");
    let mut sum = 0;
    for file in files {
        let path = Path::new(file["path"].as_str().unwrap());
        let resident = file["before"]["resident_bytes"].as_u64().unwrap();
        assert_eq!(resident, fincore(path), "{file}");
        sum += resident;
        let ranges = file["map"]["resident_bytes"].as_array();
        let ranges = ranges.into_iter().flatten();
        assert_eq!(
            ranges.map(|range| range.as_u64().unwrap()).sum::<u64>(),
            resident
        );
        assert_eq!(file["outcome"], "shown");
    }
    assert_eq!(result["totals"]["before"]["resident_bytes"], sum);
}

#[test]
fn counts_equal_those_of_fincore_on_every_file_system() {
    undisturbed(|| {
        if !is_root("mounting images") {
            return;
        }
        let place = Place::new();
        let kinds = [ImageKind::Ext4, ImageKind::Xfs, ImageKind::Btrfs];
        super::with_images(&place, &kinds, |prepared| {
            for image in prepared.images() {
                files(image.path());
                let result = cache(&place, "show", image.path(), 0);
                agrees(&result, 4);
                let name = image.kind().filesystem();
                assert_eq!(row(&result, "whole")["filesystem"], name);
                let part = &row(&result, "part")["before"];
                // Whole folios may come in, but not a file 25 times as long.
                let resident = part["resident_bytes"].as_u64().unwrap();
                assert!((300_000..4 << 20).contains(&resident), "{name}: {part}");
                assert_eq!(part["dirty_bytes"], 0);
                let map = &row(&result, "part")["map"];
                assert_eq!(map["range_bytes"], 16 * PAGE, "{name}");
                assert_eq!(map["resident_bytes"][0], 0);
                assert_eq!(map["resident_bytes"][33], 16 * PAGE, "{map}");
                assert_eq!(row(&result, "holed")["size_bytes"], 4 << 20);
                let stored = row(&result, "holed")["allocated_bytes"].as_u64().unwrap();
                assert!(stored < 1 << 20, "{name}: {stored}");
                assert_eq!(row(&result, "empty")["map"], Value::Null);
            }
        });
    });
}

#[test]
fn memory_is_counted_too() {
    let place = Place::new();
    let dir = tempfile::tempdir_in("/dev/shm").unwrap();
    fs::write(dir.path().join("f"), [7; 10_000]).unwrap();
    let result = cache(&place, "show", dir.path(), 0);
    agrees(&result, 1);
    assert_eq!(row(&result, "f")["before"]["resident_bytes"], 3 * PAGE);
}

#[test]
fn dirty_pages_are_where_they_are() {
    undisturbed(|| {
        let place = Place::new();
        let path = place.path("dir/f");
        let file = stored(&path, 64 * 4096);
        // One page alone is a folio of its own, and only it turns dirty.
        cache(&place, "evict", &path, 0);
        rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::Random).unwrap();
        file.read_exact_at(&mut [0; 4096], 0).unwrap();
        file.write_all_at(&[1; 4096], 63 * PAGE).unwrap();
        let result = cache(&place, "show", &path, 0);
        let row = row(&result, "f");
        let unwritten = |value: &Value, at: Option<usize>| {
            let of = |name: &str| match at {
                None => value[name].as_u64().unwrap(),
                Some(at) => value[name][at].as_u64().unwrap(),
            };
            of("dirty_bytes") + of("writeback_bytes")
        };
        assert_eq!(unwritten(&row["before"], None), PAGE, "{row}");
        assert_eq!(row["before"]["resident_bytes"], 2 * PAGE);
        let map = &row["map"];
        assert_eq!(map["range_bytes"], PAGE);
        assert_eq!(
            (unwritten(map, Some(63)), unwritten(map, Some(0))),
            (PAGE, 0)
        );
    });
}

#[test]
fn a_sparse_tebibyte_is_asked_at_once() {
    let place = Place::new();
    let path = place.path("dir/sparse");
    let file = File::create(&path).unwrap();
    file.set_len(1 << 40).unwrap();
    file.write_all_at(&[1], (1 << 40) - 1).unwrap();
    file.sync_all().unwrap();
    let begun = Instant::now();
    let result = cache(&place, "show", &path, 0);
    eprintln!("a sparse file of 1 TiB took {:?} in all", begun.elapsed());
    let row = row(&result, "sparse");
    assert_eq!(row["before"]["resident_bytes"], PAGE);
    let ranges = row["map"]["resident_bytes"].as_array().unwrap();
    assert_eq!(
        (ranges.len(), &ranges[127], &ranges[0]),
        (128, &PAGE.into(), &0.into())
    );
}

#[test]
fn a_tree_is_walked_without_links_and_each_file_once() {
    undisturbed(|| {
        let place = Place::new();
        let dir = place.dir();
        fs::create_dir_all(dir.join("a/b")).unwrap();
        stored(&dir.join("a/b/file"), 5000);
        fs::hard_link(dir.join("a/b/file"), dir.join("a/other")).unwrap();
        symlink("..", dir.join("a/up")).unwrap();
        symlink("/dev/zero", dir.join("zero")).unwrap();
        let fifo = std::process::Command::new("mkfifo")
            .arg(dir.join("fifo"))
            .status();
        assert!(fifo.unwrap().success());
        let result = cache(&place, "show", &dir, 0);
        assert_eq!(result["totals"]["files"], 1);
        assert_eq!(
            row(&result, "other")["path"],
            dir.join("a/other").to_str().unwrap()
        );
        let skipped = &result["skipped"];
        assert_eq!(skipped["hard_links"], 1);
        assert_eq!(skipped["symbolic_links"], 2);
        assert_eq!(skipped["special_files"], 1);
        // A link that is named means what it points to.
        let result = cache(&place, "show", &dir.join("a/up/a"), 0);
        assert_eq!(result["totals"]["files"], 1);
    });
}

#[test]
fn other_file_systems_are_entered_when_asked() {
    undisturbed(|| {
        if !is_root("mounting") {
            return;
        }
        let place = Place::new();
        with_own_mounts(|| {
            let inner = place.path("dir/inner");
            fs::create_dir(&inner).unwrap();
            mount("none", &inner, "tmpfs", MountFlags::empty(), None).unwrap();
            fs::write(inner.join("f"), "x").unwrap();
            let result = cache(&place, "show", &place.dir(), 0);
            assert_eq!(result["totals"]["files"], 0);
            assert_eq!(result["skipped"]["other_file_systems"], 1);
            let result = cache(&place, "show --cross", &place.dir(), 0);
            assert_eq!(row(&result, "f")["filesystem"], "tmpfs");
        });
    });
}

#[test]
fn hostile_names_are_shown_escaped_and_kept_in_hexadecimal() {
    undisturbed(|| {
        let place = Place::new();
        let name = OsStr::from_bytes(b"\x1b[31m\n\xff\xe2\x80\xae");
        stored(&place.path("dir").join(name), 10);
        let outcome = run(with_path(
            place.iostrata("cache show --all-rows"),
            "--",
            place.dir(),
        ))
        .expect(0);
        let acts = |char: char| (char.is_control() && char != '\n') || char == '\u{202e}';
        assert!(!outcome.stdout.contains(acts), "{:?}", outcome.stdout);
        assert!(
            outcome.stdout.contains("\\u{1b}[31m\\n"),
            "{}",
            outcome.stdout
        );
        let result = cache(&place, "show", &place.dir(), 0);
        let hex = result["files"][0]["path_hex"].as_str().unwrap();
        assert!(hex.ends_with("1b5b33316d0affe280ae"), "{hex}");
    });
}

#[test]
fn what_is_not_there_is_named_and_the_rest_is_shown() {
    undisturbed(|| {
        let place = Place::new();
        stored(&place.path("dir/f"), 10);
        let outcome = run(place.iostrata("cache show none /dev/zero f")).expect(3);
        for said in [
            "cache show · 1 file",
            "none       it cannot be opened: No such file or directory",
            "/dev/zero  it is neither a regular file nor a directory",
        ] {
            assert!(outcome.stdout.contains(said), "{said}: {}", outcome.stdout);
        }
        assert_eq!(outcome.stderr, "");
    });
}

#[test]
fn usage_that_makes_no_sense() {
    let place = Place::new();
    for arguments in [
        "cache",
        "cache show",
        "cache drop f",
        "cache evict --anyway f",
        "cache warm --sync f",
    ] {
        run(place.iostrata(arguments)).expect(2);
    }
    let outcome = run(place.iostrata("cache show . --json /dev/full")).expect(3);
    outcome.says(&["cannot write the result to /dev/full"]);
    // It was measured: it is shown all the same.
    assert!(outcome.stdout.contains("files: none"), "{}", outcome.stdout);
}

#[test]
fn a_saved_result_is_drawn_again_identically() {
    let place = Place::new();
    for name in 0..25 {
        stored(&place.path(format!("dir/{name}")), 5000);
    }
    let shown = run(place.iostrata("cache show . --json ../result.json")).expect(0);
    assert!(
        shown.stdout.contains("and 5 more; --all-rows shows all"),
        "{}",
        shown.stdout
    );
    let again = run(place.iostrata("report ../result.json")).expect(0);
    assert_eq!(again.stdout, shown.stdout);
    let all = run(place.iostrata("report --all-rows ../result.json")).expect(0);
    assert_eq!(all.stdout.matches("100").count(), 26, "{}", all.stdout);
}

#[test]
fn a_saved_result_has_its_page_of_html() {
    let place = Place::new();
    files(&place.dir());
    let name = OsStr::from_bytes(b"<script>alert(1)</script>\xff");
    stored(
        &place
            .path("dir")
            .join(name.to_string_lossy().replace('/', "|")),
        10,
    );
    run(place.iostrata("cache show . --json ../result.json")).expect(0);
    let page = run(place.iostrata("report ../result.json --html -"))
        .expect(0)
        .stdout;
    assert!(
        page.contains("<h1>cache show</h1>") || page.contains(">cache show<"),
        "{page}"
    );
    for said in ["part", "whole", "holed", "Cached parts of each file"] {
        assert!(page.contains(said), "{said}");
    }
    assert!(page.contains("&lt;script&gt;alert(1)"), "{page}");
    assert!(!page.contains("<script>alert"), "{page}");
}
