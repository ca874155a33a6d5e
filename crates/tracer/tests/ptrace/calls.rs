//! Counts, bytes, shapes and files.

use iostrata_core::trace::{FileKind, Shape};
use iostrata_report::words;
use iostrata_tracer::ptrace::Stops;

use crate::ground::{file_at, moved, rows_of, run, scratch};

#[test]
fn every_write_and_sync_is_counted_with_its_shape() {
    for stops in [Stops::Io, Stops::All] {
        let dir = scratch();
        let path = dir.path().join("log");
        let outcome = run(
            "append",
            &[path.to_str().unwrap(), "500", "3", "fsync"],
            stops,
        );
        assert!(outcome.status.unwrap().success());
        let rows = rows_of(&outcome, &path);
        assert_eq!(moved(&rows, "write"), (500, 1500), "{stops:?}");
        assert_eq!(moved(&rows, "fsync").0, 500);
        assert_eq!((moved(&rows, "openat").0, moved(&rows, "close").0), (1, 1));
        let mut shape = Shape {
            pairs: 499,
            sequential: 499,
            furthest_bytes: 1500,
            ..Shape::default()
        };
        shape.sizes = vec![0, 500];
        assert_eq!(rows["write"].shape.as_deref(), Some(&shape));
        let all = outcome.observation.raw.syscalls.as_ref().unwrap();
        // The loader tries several paths before it finds a library.
        let failed: u64 = all.iter().map(|row| row.errors).sum();
        let seen = outcome.observation.seen.unwrap();
        // One open, then a run of one write and its sync each time, and the close.
        assert_eq!(seen.followed.events, failed + 1 + 2 * 500 + 1);
        assert_eq!(seen.tasks.len(), 1);
        assert_eq!(seen.tasks[0].name, b"append");
        assert_eq!(seen.tasks[0].written_bytes, 1500);
        assert!(seen.tasks[0].on_cpu_ns > Some(0) && seen.tasks[0].minor_faults > 0);
    }
}

#[test]
fn a_file_has_its_path_its_kind_and_its_file_system() {
    let dir = scratch();
    let path = dir.path().join("log");
    let outcome = run(
        "append",
        &[path.to_str().unwrap(), "2", "4096", "none"],
        Stops::Io,
    );
    let file = file_at(&outcome, &path);
    let seen = outcome.observation.seen.as_ref().unwrap();
    let named = seen.names.iter().find(|named| named.file == file).unwrap();
    let meta = std::fs::metadata(&path).unwrap();
    assert_eq!(std::os::unix::fs::MetadataExt::ino(&meta), file.inode);
    assert_eq!((named.kind, named.size_bytes), (FileKind::Regular, 0));
    let table = std::process::Command::new("stat")
        .args(["-f", "-c", "%T"])
        .arg(dir.path())
        .output()
        .unwrap();
    let kind = String::from_utf8(table.stdout).unwrap();
    // stat has one name for all three.
    assert_eq!(kind.trim().replace("ext2/ext3", "ext4"), named.filesystem);
    let residency = outcome
        .lower
        .residency
        .iter()
        .find(|r| r.file == file)
        .unwrap();
    assert_eq!(residency.before_bytes, Some(0));
    assert_eq!(residency.after_bytes, Some(2 * 4096));
    let io = outcome.lower.io.unwrap();
    assert_eq!(io.processes, 1);
    assert!(io.written_bytes >= 2 * 4096);
}

#[test]
fn descriptors_stand_for_what_they_stand_for_at_each_call() {
    for stops in [Stops::Io, Stops::All] {
        let dir = scratch();
        let outcome = run("descriptors", &[dir.path().to_str().unwrap()], stops);
        assert!(outcome.status.unwrap().success());
        let of = |name: &str, call: &str| moved(&rows_of(&outcome, &dir.path().join(name)), call);
        assert_eq!(of("a", "write"), (3, 3), "{stops:?}");
        assert_eq!(of("b", "write"), (2, 4));
        assert_eq!(of("c", "pwrite64"), (4, 12));
        assert_eq!(of("d", "write"), (1, 5));
        assert_eq!(of("e", "write"), (2, 14));
        assert_eq!(of("e", "fsync").0, 1, "renamed, it is the same file");
    }
}

#[test]
fn calls_that_do_no_io_run_free() {
    let dir = scratch();
    let path = dir.path().join("f");
    let with = |extra: &[&str]| {
        let arguments = [&[path.to_str().unwrap(), "200", "0"], extra].concat();
        run("steady", &arguments, Stops::Io)
    };
    let (few, many) = (with(&[]), with(&["calls"]));
    assert_eq!(
        few.stops, many.stops,
        "20,000 calls of getpid more make no stop more"
    );
    let rows = many.observation.raw.syscalls.unwrap();
    assert!(rows.iter().all(|row| row.name != "getpid"));
    // Each call stops at its entry and its exit; further stops are the program's exec, the
    // announcement of its end, and its end.
    let calls: u64 = rows.iter().map(|row| row.count).sum();
    assert_eq!(many.stops, 2 * calls + 3);
}

#[test]
fn what_is_not_seen_is_missing_and_not_zero() {
    let dir = scratch();
    let path = dir.path().join("f");
    let outcome = run(
        "append",
        &[path.to_str().unwrap(), "1", "1", "none"],
        Stops::Io,
    );
    let raw = outcome.observation.raw;
    assert_eq!((raw.cache, raw.block), (None, None));
    assert!(!raw.blocked_seen);
    for what in ["device", "blocked", "looked up", "no I/O"] {
        assert!(
            raw.missing
                .iter()
                .any(|gap| words::missing(&gap.what).to_string().contains(what)),
            "{what}"
        );
    }
    assert!(
        !raw.missing
            .iter()
            .any(|gap| words::missing(&gap.what).to_string().contains("io_uring"))
    );
}
