use proptest::prelude::*;

use super::*;
use crate::record::{Change, Durability};
use crate::trace::{FileKind, Writes};

const FILE: FileId = FileId {
    device: 1 << 20,
    inode: 40,
    generation: 3,
};

fn write(at_ns: u64, offset: u64, bytes: u64) -> Ended {
    Ended {
        call: Call {
            process: 10,
            thread: 11,
            started_ns: at_ns,
            ended_ns: at_ns + 100,
            name: "write",
            outcome: Ok(bytes),
        },
        number: 1,
        file: Some(FILE),
        source: None,
        transfer: Some(Transfer {
            direction: Direction::Write,
            offset: Some(offset),
            durable: false,
            appends: false,
            size_bytes: None,
        }),
        did: None,
    }
}

fn sync(at_ns: u64) -> Ended {
    let mut sync = Ended {
        number: 74,
        transfer: None,
        did: Some(Did::Changed(Change::Synced {
            node: Some(FILE),
            description: None,
            scope: Durability::File,
        })),
        ..write(at_ns, 0, 0)
    };
    sync.call.name = "fsync";
    sync
}

fn row<'a>(tallied: &'a Tallied, name: &str) -> &'a SyscallRow {
    tallied
        .rows
        .iter()
        .find(|row| row.name == name && !row.is_source)
        .unwrap()
}

#[test]
fn counts_errors_bytes_and_times() {
    let mut tally = Tally::new(100);
    tally.begin_task(11, 10, 9, 5);
    tally.call(write(1_000, 0, 10));
    let mut failed = write(2_000, 10, 0);
    failed.call.outcome = Err(28);
    failed.call.ended_ns = 2_000 + 1_024;
    tally.call(failed);
    let used = Used {
        name: b"w".to_vec(),
        on_cpu_ns: 7,
        minor_faults: 2,
        major_faults: 1,
    };
    tally.end_task(11, Some(used), Some(9_000));
    let tallied = tally.finish();
    let row = row(&tallied, "write");
    assert_eq!((row.count, row.errors, row.returned), (2, 1, 10));
    assert_eq!(row.time_ns, 1_124);
    // 100 ns are in the bucket of 64, 1,024 ns in that of 1,024.
    assert_eq!((row.histogram[6], row.histogram[10]), (1, 1));
    let task = &tallied.seen.tasks[0];
    assert_eq!(
        (task.calls, task.written_bytes, task.time_ns),
        (2, 10, 1_124)
    );
    assert_eq!(
        (task.process, task.parent, task.on_cpu_ns),
        (10, 9, Some(7))
    );
    assert_eq!(task.ended_ns, Some(9_000));
}

#[test]
fn a_transfer_is_judged_by_the_one_before_it_in_the_same_thread() {
    let mut tally = Tally::new(100);
    tally.call(write(0, 0, 10));
    tally.call(write(1, 10, 5));
    tally.call(write(2, 3, 5));
    let mut elsewhere = write(3, 8, 2);
    elsewhere.call.thread = 12;
    tally.call(elsewhere);
    let tallied = tally.finish();
    let shape = row(&tallied, "write").shape.as_ref().unwrap();
    assert_eq!(
        (shape.pairs, shape.sequential, shape.backward),
        (2, 1, 1),
        "the other thread's write has no predecessor"
    );
    assert_eq!((shape.furthest_bytes, shape.sizes[2]), (15, 2));
}

/// Writes to `FILE` alternating with as many other files, whose inodes are equal modulo 64.
fn in_turn_with(others: u64) -> u64 {
    let mut tally = Tally::new(100);
    for round in 0..3 {
        tally.call(write(round, round * 10, 10));
        for number in 1..=others {
            let inode = FILE.inode + number * 64;
            tally.call(Ended {
                file: Some(FileId { inode, ..FILE }),
                ..write(round, round * 10, 10)
            });
        }
    }
    let tallied = tally.finish();
    let of_file = tallied.rows.iter().find(|row| row.file == Some(FILE));
    of_file.unwrap().shape.as_ref().unwrap().pairs
}

#[test]
fn of_eight_files_in_turn_it_is_known_where_each_was_left() {
    assert_eq!(in_turn_with(1), 2);
    assert_eq!(in_turn_with(7), 2);
}

#[test]
fn of_more_the_one_used_longest_ago_is_forgotten() {
    assert_eq!(in_turn_with(8), 0);
}

#[test]
fn a_transfer_without_offset_has_no_shape_and_is_in_no_run() {
    let mut tally = Tally::new(100);
    tally.call(Ended {
        transfer: Some(Transfer {
            direction: Direction::Write,
            offset: None,
            durable: false,
            appends: false,
            size_bytes: None,
        }),
        ..write(0, 0, 10)
    });
    let tallied = tally.finish();
    assert_eq!(row(&tallied, "write").shape, None);
    assert_eq!(tallied.seen.followed.events, 0);
    assert_eq!(tallied.seen.tasks[0].written_bytes, 10);
}

#[test]
fn what_is_read_from_has_a_row_of_its_own() {
    let source = FileId { inode: 41, ..FILE };
    let mut tally = Tally::new(100);
    let mut copy = Ended {
        number: 326,
        source: Some(source),
        transfer: Some(Transfer {
            direction: Direction::Write,
            offset: None,
            durable: false,
            appends: false,
            size_bytes: None,
        }),
        ..write(0, 0, 4096)
    };
    copy.call.name = "copy_file_range";
    tally.call(copy.clone());
    copy.call.outcome = Err(22);
    tally.call(copy);
    let tallied = tally.finish();
    let of_source: Vec<_> = tallied.rows.iter().filter(|row| row.is_source).collect();
    assert_eq!(of_source.len(), 1);
    assert_eq!(of_source[0].file, Some(source));
    assert_eq!(
        (of_source[0].count, of_source[0].returned),
        (1, 4096),
        "the call that failed read nothing"
    );
    let task = &tallied.seen.tasks[0];
    assert_eq!((task.read_bytes, task.written_bytes), (4096, 4096));
}

#[test]
fn writes_that_follow_each_other_are_one_run_that_a_step_ends() {
    let mut thread = Thread::new(11, 10, 0, 0);
    assert_eq!(thread.lengthen_run(&write(100, 50, 10)), None);
    assert_eq!(thread.lengthen_run(&write(200, 60, 10)), None);
    assert_eq!(thread.lengthen_run(&write(300, 0, 5)), None);
    assert_eq!(
        thread.lengthen_run(&write(400, 5, 0)),
        None,
        "wrote nothing"
    );
    assert_eq!(
        thread.end_run(),
        Some(Event {
            call: Call {
                process: 10,
                thread: 11,
                started_ns: 100,
                ended_ns: 400,
                name: "write",
                outcome: Ok(10),
            },
            open: None,
            did: Did::Wrote(Writes {
                file: FILE,
                count: 3,
                bytes: 25,
                from: 0,
                to: 70,
                durable: false,
                appends: false,
                size_bytes: None,
            }),
        })
    );
    assert_eq!(thread.end_run(), None);

    let mut tally = Tally::new(100);
    tally.call(write(0, 0, 1));
    tally.call(write(1, 1, 1));
    tally.call(sync(2));
    tally.call(write(3, 2, 1));
    let events = tally.finish().seen.followed.events;
    assert_eq!(events, 3, "a run, its sync, and the run that was left");
}

#[test]
fn another_file_or_call_ends_the_run() {
    let mut thread = Thread::new(11, 10, 0, 0);
    assert_eq!(thread.lengthen_run(&write(0, 0, 1)), None);
    let other = FileId { inode: 41, ..FILE };
    let to_other = Ended {
        file: Some(other),
        ..write(1, 0, 1)
    };
    let ended = thread.lengthen_run(&to_other).unwrap();
    assert!(matches!(
        ended.did,
        Did::Wrote(Writes {
            file: FILE,
            count: 1,
            ..
        })
    ));
    let mut by_other = to_other;
    by_other.call.name = "pwrite64";
    let ended = thread.lengthen_run(&by_other).unwrap();
    assert_eq!(ended.call.name, "write");
}

#[test]
fn what_finds_no_room_is_counted_without_its_file() {
    let mut tally = Tally::new(2);
    for inode in 1..=5 {
        tally.call(Ended {
            file: Some(FileId { inode, ..FILE }),
            ..write(inode, 0, 1)
        });
    }
    let tallied = tally.finish();
    assert_eq!(tallied.unattributed_calls, 3);
    let total: u64 = tallied.rows.iter().map(|row| row.count).sum();
    assert_eq!(total, 5);
    let other = tallied.rows.iter().find(|row| row.file.is_none()).unwrap();
    assert_eq!(other.count, 3);
}

#[test]
fn a_file_is_named_once() {
    let named = |path: &[u8]| NamedFile {
        file: FILE,
        path: path.to_vec(),
        kind: FileKind::Regular,
        filesystem: "ext4".to_owned(),
        size_bytes: 0,
        is_removed: false,
        shown: (FILE.device, FILE.inode),
    };
    let mut tally = Tally::new(10);
    assert!(tally.is_new(FILE));
    tally.name(named(b"/a"));
    assert!(!tally.is_new(FILE));
    tally.name(named(b"/b"));
    let names = tally.finish().seen.names;
    assert_eq!(names, [named(b"/a")]);
}

#[test]
fn a_thread_keeps_its_sums_under_its_new_number() {
    let mut tally = Tally::new(10);
    tally.begin_task(10, 10, 1, 0);
    tally.begin_task(11, 10, 1, 0);
    tally.call(write(5, 0, 7));
    tally.name_task(10, b"first");
    assert!(tally.renumber(11, 10, 50));
    tally.end_task(10, None, Some(60));
    assert!(!tally.renumber(11, 10, 70));
    let tasks = tally.finish().seen.tasks;
    assert_eq!(tasks.len(), 2);
    assert_eq!((tasks[0].thread, tasks[0].ended_ns), (10, Some(50)));
    assert_eq!(
        (&tasks[0].name[..], tasks[0].on_cpu_ns),
        (&b"first"[..], None)
    );
    assert_eq!(
        (tasks[1].thread, tasks[1].written_bytes, tasks[1].ended_ns),
        (10, 7, Some(60))
    );
}

proptest! {
    /// Whatever the calls, none is lost and every sum is consistent.
    #[test]
    fn sums_add_up(
        calls in prop::collection::vec((0_u64..6, 0_u64..3, 0_u64..100, any::<bool>()), 0..200),
        room in 1_usize..8,
    ) {
        let mut tally = Tally::new(room);
        let mut bytes = 0;
        for (at, (inode, thread, size, fails)) in (0_u64..).zip(&calls) {
            let outcome = if *fails { Err(5) } else { Ok(*size) };
            bytes += outcome.unwrap_or(0);
            let mut ended = write(at, at, 0);
            ended.call.thread = u32::try_from(*thread).unwrap();
            ended.call.outcome = outcome;
            ended.file = Some(FileId { inode: *inode, ..FILE });
            tally.call(ended);
        }
        let tallied = tally.finish();
        let sum = |of: fn(&SyscallRow) -> u64| tallied.rows.iter().map(of).sum::<u64>();
        prop_assert_eq!(sum(|row| row.count), calls.len() as u64);
        prop_assert_eq!(sum(|row| row.returned), bytes);
        prop_assert_eq!(sum(|row| row.histogram.iter().sum()), calls.len() as u64);
        let fails = calls.iter().filter(|call| call.3).count() as u64;
        prop_assert_eq!(sum(|row| row.errors), fails);
        let by_task: u64 = tallied.seen.tasks.iter().map(|task| task.written_bytes).sum();
        prop_assert_eq!(by_task, bytes);
        let judged = sum(|row| row.shape.as_ref().map_or(0, |shape| {
            shape.sizes.iter().sum::<u64>() + shape.empty
        }));
        prop_assert_eq!(judged, calls.len() as u64 - fails);
    }
}

#[test]
fn a_row_has_the_begin_of_its_first_call_and_the_end_of_its_last() {
    let mut tally = Tally::new(100);
    for at_ns in [2_000, 1_000, 3_000] {
        tally.call(write(at_ns, 0, 10));
    }
    let tallied = tally.finish();
    assert_eq!(row(&tallied, "write").span_ns, Some((1_000, 3_100)));
}
