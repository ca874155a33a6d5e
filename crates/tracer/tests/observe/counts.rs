//! Calls and bytes equal those of the program.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use iostrata_core::evidence::{Submitter, SyscallRow};
use iostrata_core::observe::{Observation, Stream};
use iostrata_tracer::ebpf::{EbpfObserver, Limits};

use crate::session::{charged, identity, observe, workload};

#[test]
fn counts_every_write_and_sync_of_one_file() {
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    let path = dir.path().join("log");
    let mut observer = EbpfObserver::open().unwrap();
    let (seen, status) = observe(
        &mut observer,
        Stream::default(),
        Command::new(workload("append"))
            .arg(&path)
            .args(["500", "1024", "fsync"]),
        || (),
    );
    assert!(status.success());
    let evidence = charged(&seen, &[&path], vec![]);
    let calls = evidence.syscalls.unwrap();
    assert_eq!(
        (
            calls.get("write").unwrap().count,
            calls.get("write").unwrap().bytes,
            calls.get("write").unwrap().errors
        ),
        (500, 512_000, 0)
    );
    assert_eq!(calls.get("fsync").unwrap().count, 500);
    assert_eq!(
        (
            calls.get("openat").unwrap().count,
            calls.get("close").unwrap().count
        ),
        (1, 1)
    );
    assert_eq!(evidence.lost_events, 0, "{:?}", evidence.missing);
    // 512,000 bytes are 125 pages, each dirtied again after every fsync that cleaned it.
    assert_eq!(evidence.cache.dirtied_bytes, Some(500 * 4096));
    assert!(evidence.blocked_s.unwrap() > 0.0);
}

#[test]
fn counts_four_processes_with_eight_threads_each() {
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    let mut observer = EbpfObserver::open().unwrap();
    let (seen, status) = observe(
        &mut observer,
        Stream::default(),
        Command::new(workload("tree"))
            .arg(dir.path())
            .args(["4", "8", "1000", "10"]),
        || (),
    );
    assert!(status.success());
    let files: Vec<_> = std::fs::read_dir(dir.path())
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    assert_eq!(files.len(), 32);
    for path in &files {
        let calls = charged(&seen, &[path], vec![]).syscalls.unwrap();
        assert_eq!(
            (
                calls.get("pwrite64").unwrap().count,
                calls.get("pwrite64").unwrap().bytes
            ),
            (1000, 10_000)
        );
        assert_eq!(
            (
                calls.get("openat").unwrap().count,
                calls.get("close").unwrap().count
            ),
            (1, 1)
        );
    }
    let tasks = seen.raw.totals.unwrap().tasks;
    assert_eq!(
        tasks,
        1 + 4 + 32,
        "the root, its children and their threads"
    );
    assert_eq!(seen.raw.losses.total(), 0);
}

/// Sums of few calls come through the ring; larger sums, or those without room in it, are in
/// tables.
#[test]
fn counts_the_same_whichever_way_sums_come() {
    for (ring_bytes, writes) in [(4096, 3), (4096, 40), (16 << 20, 3), (16 << 20, 40)] {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let limits = Limits {
            ring_bytes,
            ..Limits::trace()
        };
        let mut observer = EbpfObserver::with_limits(limits).unwrap();
        let (seen, status) = observe(
            &mut observer,
            Stream::default(),
            Command::new(workload("tree")).arg(dir.path()).args([
                "5",
                "40",
                &writes.to_string(),
                "4096",
            ]),
            || (),
        );
        assert!(status.success());
        let losses = seen.raw.losses;
        assert_eq!((losses.unattributed_calls, losses.cache), (0, 0));
        let files: Vec<_> = std::fs::read_dir(dir.path()).unwrap().collect();
        assert_eq!(files.len(), 5 * 40);
        for file in files {
            wrote_pages(&seen, &file.unwrap().path(), writes);
        }
    }
}

/// The file was opened, written page by page and closed.
fn wrote_pages(seen: &Observation, path: &Path, writes: u64) {
    let evidence = charged(seen, &[path], vec![]);
    assert_eq!(evidence.cache.dirtied_bytes, Some(writes * 4096));
    let calls = evidence.syscalls.expect("system calls are seen");
    for call in ["openat", "close"] {
        assert_eq!(calls.get(call).map(|made| made.count), Some(1), "{call}");
    }
    let (_, inode) = identity(path);
    let is_it = |row: &&SyscallRow| {
        row.name == "pwrite64" && row.file.is_some_and(|file| file.inode == inode)
    };
    let rows = seen.raw.syscalls.iter().flatten().filter(is_it);
    let [row] = rows.collect::<Vec<_>>()[..] else {
        panic!("one row for one call on one file");
    };
    assert_eq!((row.count, row.returned), (writes, writes * 4096));
    assert_eq!(row.histogram.iter().sum::<u64>(), writes);
    let shape = row.shape.as_ref().expect("writes have a shape");
    assert_eq!((shape.pairs, shape.sequential), (writes - 1, writes - 1));
    assert_eq!(shape.sizes[12], writes, "transfers of 2^12 bytes");
    assert_eq!(shape.furthest_bytes, writes * 4096);
}

/// Most have their state in one of 512 slots, the others in task storage.
#[test]
fn counts_more_threads_than_there_are_places_for() {
    const THREADS: u64 = 700;
    for casts in [true, false] {
        let dir = tempfile::tempdir_in("/dev/shm").unwrap();
        let limits = Limits {
            casts,
            ..Limits::trace()
        };
        let mut observer = EbpfObserver::with_limits(limits).unwrap();
        let (seen, status) = observe(
            &mut observer,
            Stream::default(),
            Command::new(workload("crowd"))
                .arg(dir.path())
                .args([&THREADS.to_string(), "10"]),
            || (),
        );
        assert!(status.success());
        assert_eq!(seen.raw.losses.total(), 0);
        let history = seen.seen.as_ref().unwrap();
        for number in 0..THREADS {
            let path = dir.path().join(format!("t{number}"));
            let calls = charged(&seen, &[&path], vec![]).syscalls.unwrap();
            assert_eq!(
                (
                    calls.get("write").unwrap().count,
                    calls.get("write").unwrap().bytes
                ),
                (10, 160)
            );
            assert_eq!(
                (
                    calls.get("openat").unwrap().count,
                    calls.get("close").unwrap().count
                ),
                (1, 1)
            );
            let path = path.as_os_str().as_encoded_bytes();
            assert!(history.names.iter().any(|named| named.path == path));
        }
        assert_eq!(seen.raw.totals.unwrap().tasks, 1 + THREADS);
        let threads = history
            .tasks
            .iter()
            .filter(|task| task.written_bytes == 160);
        assert_eq!(threads.count() as u64, THREADS, "casts: {casts}");
    }
}

/// Results that are offsets or addresses add up to more than 64 bits, in the ring's reader and
/// where its sums are added to those of the tables.
#[test]
fn sums_bytes_and_nothing_else() {
    for (children, calls) in [("5", "1"), ("6", "1"), ("7", "5")] {
        let dir = tempfile::tempdir_in("/dev/shm").unwrap();
        let path = dir.path().join("far");
        let mut observer = EbpfObserver::with_limits(Limits::trace()).unwrap();
        let (seen, status) = observe(
            &mut observer,
            Stream::default(),
            Command::new(workload("far"))
                .arg(&path)
                .args([children, calls]),
            || (),
        );
        assert!(status.success());
        assert_eq!(seen.raw.losses.total(), 0);
        let (_, inode) = identity(&path);
        let rows = seen.raw.syscalls.iter().flatten();
        let sums: BTreeMap<_, _> = rows
            .filter(|row| row.file.is_some_and(|file| file.inode == inode))
            .map(|row| (row.name, (row.count, row.returned)))
            .collect();
        let seeks = children.parse::<u64>().unwrap() * calls.parse::<u64>().unwrap();
        assert_eq!(sums["lseek"], (seeks, 0));
        assert_eq!((sums["write"], sums["openat"]), ((1, 1), (1, 0)));
    }
}

#[test]
fn charges_write_back_that_comes_after_the_end_to_the_file() {
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    let path = dir.path().join("data");
    let mut observer = EbpfObserver::open().unwrap();
    let (seen, _) = observe(
        &mut observer,
        Stream::default(),
        Command::new(workload("append"))
            .arg(&path)
            .args(["256", "4096", "none"]),
        || {
            let file = std::fs::File::open(&path).unwrap();
            rustix::fs::fsync(&file).unwrap();
        },
    );
    let (_, inode) = identity(&path);
    let rows = seen.raw.block.unwrap();
    let (during, after): (Vec<_>, Vec<_>) = rows
        .iter()
        .filter(|row| row.file.is_some_and(|file| file.inode == inode))
        .partition(|row| row.phase == iostrata_core::evidence::Phase::Running);
    let bytes =
        |rows: &[&iostrata_core::evidence::BlockRow]| -> u64 { rows.iter().map(|r| r.bytes).sum() };
    assert_eq!(bytes(&during) + bytes(&after), 256 * 4096);
    assert_eq!(bytes(&during), 0, "nothing asked for it to be written");
    assert!(after.iter().all(|row| row.submitter != Submitter::Run));
}

#[test]
fn watches_one_session_after_another_without_mixing_them() {
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    let mut observer = EbpfObserver::open().unwrap();
    for count in ["7", "11"] {
        let path = dir.path().join(count);
        let (seen, _) = observe(
            &mut observer,
            Stream::default(),
            Command::new(workload("append"))
                .arg(&path)
                .args([count, "1", "none"]),
            || (),
        );
        let calls = charged(&seen, &[&path], vec![]).syscalls.unwrap();
        assert_eq!(calls.get("write").unwrap().count.to_string(), count);
        let writes: u64 = seen
            .raw
            .syscalls
            .unwrap()
            .iter()
            .filter(|r| r.name == "write")
            .map(|r| r.count)
            .sum();
        assert_eq!(
            writes.to_string(),
            count,
            "the other session's rows are gone"
        );
    }
}
