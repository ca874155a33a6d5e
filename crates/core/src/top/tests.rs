use super::*;
use crate::environment::TRACEPOINTS;
use crate::evidence::Cause;
use crate::gap::{Countable, Missing};
use crate::op::FileId;

const DISK: u32 = 7 << 20;
const ID: &str = "3f2a00000000000000000000000000000000000000000000000000000000beef";

/// A cgroup of a container.
fn b() -> String {
    format!("/docker-{ID}.scope/b")
}

fn ways() -> Vec<Way> {
    vec![Way {
        what: "system calls".to_owned(),
        by: TRACEPOINTS.to_owned(),
    }]
}

fn file(inode: u64) -> FileId {
    FileId {
        device: DISK,
        inode,
        generation: 1,
    }
}

fn calls(count: u64, bytes: u64, time_ns: u64) -> CallFigures {
    CallFigures {
        stats: CallStats {
            count,
            errors: 0,
            bytes,
            time_s: time_ns as f64 / 1e9,
        },
        longest_s: (time_ns / count.max(1)) as f64 / 1e9,
    }
}

fn share(process: u32, inode: Option<u64>) -> Share {
    Share {
        process,
        file: inode.map(file),
        calls: Calls::default(),
        synchronous: CallFigures::default(),
        pages: Pages::default(),
    }
}

fn requests(cause: Cause, inode: Option<u64>, process: Option<u32>, count: u64) -> RequestRow {
    RequestRow {
        disk: DISK,
        cause,
        file: inode.map(file),
        process,
        sum: RequestFigures {
            count,
            bytes: count * 4096,
            ended: count,
            time_s: (count * 1_000_000) as f64 / 1e9,
            longest_s: 0.002,
        },
    }
}

fn actor(name: &str, cgroup: &str) -> Actor {
    Actor {
        name: Some(name.to_owned()),
        parent: Some(1),
        cgroup: Some(cgroup.to_owned()),
    }
}

fn named(path: &str) -> Named {
    Named {
        path: path.into(),
        filesystem: "ext4".to_owned(),
    }
}

fn part(process: Option<u32>, name: &str, path: &str) -> CommitPart {
    CommitPart {
        process,
        name: Some(name.to_owned()),
        path: Some(path.into()),
    }
}

fn commits() -> Commits {
    Commits {
        are_seen: true,
        waits: [(7, 6), (8, 3)]
            .map(|(number, count)| CommitWait {
                process: 41,
                file: Some(file(11)),
                transaction: (DISK, number),
                count,
            })
            .to_vec(),
        parts: [(
            (DISK, 8),
            vec![
                part(Some(41), "append", "/mnt/a.log"),
                part(Some(42), "write", "/mnt/sub/b"),
            ],
        )]
        .into(),
    }
}

/// An appender that syncs, another one that writes to the same file system without, and write-back.
pub(super) fn counted() -> Counted {
    let appender = Share {
        calls: Calls {
            writes: calls(10, 1000, 50_000),
            syncs: calls(10, 0, 30_000_000),
            ..Calls::default()
        },
        pages: Pages {
            dirtied_bytes: 40_960,
            ..Pages::default()
        },
        ..share(41, Some(11))
    };
    let writer = Share {
        calls: Calls {
            writes: calls(4, 400, 20_000),
            reads: calls(2, 8192, 10_000),
            ..Calls::default()
        },
        pages: Pages {
            lookups_pages: 2,
            missed_pages: 1,
            prefetched_pages: 7,
            dirtied_bytes: 4096,
        },
        ..share(42, Some(12))
    };
    let by_path = Share {
        calls: Calls {
            metadata: calls(3, 0, 9_000),
            ..Calls::default()
        },
        ..share(42, None)
    };
    Counted {
        started_ns: 1_700_000_000_000_000_000,
        length_ns: 2_000_000_000,
        strata: Strata {
            calls: true,
            pages: true,
            device: true,
        },
        ways: ways(),
        shares: vec![appender, writer, by_path],
        requests: vec![
            requests(Cause::Data, Some(11), Some(41), 10),
            requests(Cause::Data, Some(12), None, 1),
            requests(Cause::Read, Some(12), Some(42), 2),
            requests(Cause::Journal, None, None, 10),
            requests(Cause::Commit, None, None, 10),
            requests(Cause::Flush, None, None, 20),
        ],
        commits: commits(),
        actors: [(41, actor("append", "/a")), (42, actor("write", &b()))].into(),
        names: [
            (file(11), named("/mnt/a.log")),
            (file(12), named("/mnt/sub/b")),
        ]
        .into(),
        disks: [(
            DISK,
            Disk {
                name: Some("loop0".to_owned()),
                filesystems: vec![("ext4".to_owned(), b"/mnt".to_vec())],
            },
        )]
        .into(),
        disk_of: [(DISK, DISK)].into(),
        dirty: Some(Dirty {
            waiting_bytes: 45_056,
            writeback_bytes: 4096,
        }),
        own: Own {
            process: 7,
            cpu_ns: 10_000_000,
            peak_resident_bytes: 1 << 20,
        },
        lost_events: 0,
        missing: Vec::new(),
    }
}

#[test]
fn what_names_no_file_is_the_disks_and_no_processes() {
    let interval = assemble(&counted());
    let device = &interval.devices[0];
    assert_eq!(device.name, "loop0");
    assert_eq!(device.filesystems[0].mounted_on, "/mnt");
    let all = &device.requests;
    assert_eq!(
        (all.data.count, all.journal.count, all.commit.count),
        (11, 10, 10)
    );
    assert_eq!((all.flushes, all.reads.count), (20, 2));
    assert_eq!(all.sum().count, 53);
    let of_processes = interval
        .processes
        .iter()
        .map(|row| row.work.device.unwrap());
    let sum: u64 = of_processes.map(|of| of.data.count + of.reads.count).sum();
    assert_eq!(sum, 12, "what is written back is no process's either");
    let of_files = interval.files.iter().map(|row| row.work.device.unwrap());
    let sum: u64 = of_files.map(|of| of.data.count + of.reads.count).sum();
    assert_eq!(sum, 13);
    assert_eq!(interval.totals.requests.unwrap().sum().count, 53);
}

#[test]
fn rows_are_sums_of_what_processes_did_with_files() {
    let interval = assemble(&counted());
    let pids: Vec<_> = interval.processes.iter().map(|row| row.pid).collect();
    assert_eq!(pids, [41, 42], "most bytes of requests first");
    let appender = &interval.processes[0];
    let work = appender.work.calls.unwrap();
    assert_eq!(
        (
            work.writes.stats.count,
            work.writes.stats.bytes,
            work.syncs.stats.count
        ),
        (10, 1000, 10)
    );
    assert!((work.syncs.stats.time_s - 0.03).abs() < 1e-12);
    assert_eq!(appender.busiest_file.as_deref(), Some("/mnt/a.log"));
    let paths: Vec<_> = interval
        .files
        .iter()
        .map(|row| row.path.as_deref())
        .collect();
    assert_eq!(paths, [Some("/mnt/a.log"), Some("/mnt/sub/b"), None]);
    assert_eq!(interval.files[1].pids, [42]);
    assert_eq!(interval.files[1].disk.as_deref(), Some("loop0"));
    assert_eq!(interval.files[1].work.cache.unwrap().prefetched_pages, 7);
    let directories: Vec<_> = interval.directories.iter().collect();
    assert_eq!(directories[0].path.as_deref(), Some("/mnt"));
    assert_eq!(directories[1].path.as_deref(), Some("/mnt/sub"));
    let cgroups: Vec<_> = interval
        .cgroups
        .iter()
        .map(|row| row.path.as_deref())
        .collect();
    assert_eq!(cgroups, [Some("/a"), Some(b().as_str())]);
    let [container] = interval.containers.as_slice() else {
        panic!("{:?}", interval.containers)
    };
    assert_eq!((container.id.as_str(), container.processes), (ID, 1));
    assert_eq!(container.work, interval.cgroups[1].work);
    assert_eq!(interval.totals.dirty.unwrap().waiting_bytes, 45_056);
    let all = interval.totals.calls.unwrap();
    assert_eq!((all.count(), all.metadata.stats.count), (29, 3));
    assert_eq!(interval.totals.cache.unwrap().dirtied_bytes, 45_056);
    assert!((interval.per_second(10) - 5.0).abs() < 1e-12);
    assert_eq!(interval.bytes_per_second(1000), 500);
}

#[test]
fn a_sync_waits_beside_others_of_its_file_system() {
    let mut counted = counted();
    let interval = assemble(&counted);
    let [wait] = interval.syncs.as_slice() else {
        panic!("{:?}", interval.syncs)
    };
    assert_eq!((wait.pid, wait.path.as_deref()), (41, Some("/mnt/a.log")));
    assert_eq!((wait.beside, wait.beside_pids.as_slice()), (1, &[42][..]));
    assert_eq!(wait.commits.unwrap().count, 10);
    assert_eq!(wait.flushes.unwrap().count, 20);
    let commit = wait.commit.as_ref().unwrap();
    assert_eq!(
        (commit.syncs, commit.commits, commit.commits_known),
        (9, 2, 1)
    );
    let parts = commit.parts.iter();
    let parts: Vec<_> = parts.map(|part| (part.pid, part.commits)).collect();
    assert_eq!(parts, [(Some(41), 1), (Some(42), 1)]);
    assert_eq!(commit.parts[1].path.as_deref(), Some("/mnt/sub/b"));
    counted.requests.clear();
    counted.disk_of.clear();
    let interval = assemble(&counted);
    assert_eq!(
        (&interval.syncs[0].disk, interval.syncs[0].commits),
        (&None, None)
    );
}

/// A write through a descriptor with `O_SYNC` awaits the same commits.
#[test]
fn a_synchronous_write_waits_as_a_sync_does() {
    let mut counted = counted();
    let appender = &mut counted.shares[0];
    appender.calls.syncs = CallFigures::default();
    appender.calls.writes = calls(10, 1000, 40_000_000);
    appender.synchronous = calls(9, 900, 36_000_000);
    counted.shares[1].calls.syncs = calls(1, 0, 37_000_000);
    let interval = assemble(&counted);
    let pids: Vec<u32> = interval.syncs.iter().map(|wait| wait.pid).collect();
    assert_eq!(pids, [42, 41], "most time first");
    let wait = &interval.syncs[1];
    assert_eq!(
        (
            wait.syncs.stats.count,
            wait.synchronous_writes.unwrap().stats.count
        ),
        (0, 9)
    );
    assert_eq!(wait.count(), 9);
    assert!((wait.time_s() - 0.036).abs() < 1e-12);
    assert_eq!(wait.commit.as_ref().unwrap().syncs, 9);
    assert_eq!(
        interval.totals.calls.unwrap().writes.stats.count,
        14,
        "once"
    );
}

#[test]
fn what_is_not_observed_is_null_and_a_file_without_a_name_is_told() {
    let mut counted = counted();
    counted.strata.pages = false;
    counted.strata.device = false;
    counted.names.clear();
    counted.actors.clear();
    let interval = assemble(&counted);
    let row = &interval.processes[0];
    assert!(row.work.calls.is_some() && row.work.cache.is_none() && row.work.device.is_none());
    assert_eq!(
        (&row.name, &row.cgroup, &row.busiest_file),
        (&None, &None, &None)
    );
    assert!(interval.totals.cache.is_none() && interval.totals.requests.is_none());
    assert_eq!(
        interval.missing[0].what,
        Missing::Count {
            count: 2,
            of: Countable::FilePaths
        }
    );
    assert_eq!(interval.directories[0].path, None);
}

#[test]
fn rows_are_chosen_and_sorted_by_what_is_asked_for() {
    let whole = assemble(&counted());
    let mut interval = whole.clone();
    let by_name = Selection {
        name: Some("write".to_owned()),
        ..Selection::default()
    };
    by_name.apply(&mut interval);
    assert_eq!(interval.processes.len(), 1);
    assert_eq!(interval.totals, whole.totals);
    assert_eq!(interval.devices, whole.devices, "requests to it were made");
    let of_disks = Selection {
        by: By::Device,
        ..by_name
    };
    of_disks.apply(&mut interval);
    assert_eq!(interval.devices, []);
    let sorts = [
        (Sort::Device, 41),
        (Sort::Time, 41),
        (Sort::Calls, 41),
        (Sort::Read, 42),
        (Sort::Written, 41),
        (Sort::Syncs, 41),
        (Sort::Missed, 42),
        (Sort::Dirtied, 41),
    ];
    for (sort, first) in sorts {
        let mut interval = whole.clone();
        let selection = Selection {
            sort,
            top: Some(1),
            ..Selection::default()
        };
        selection.apply(&mut interval);
        assert_eq!(interval.processes.len(), 1);
        assert_eq!(interval.processes[0].pid, first, "{sort:?}");
    }
}

const IO: &str = "rchar: 1000\nwchar: 200\nsyscr: 10\nsyscw: 2\nread_bytes: 4096\n\
                  write_bytes: 8192\ncancelled_write_bytes: 0\n";

#[test]
fn counters_of_proc_are_read_or_refused() {
    let io = ProcessIo::parse(IO).unwrap();
    assert_eq!((io.rchar_bytes, io.syscw, io.write_bytes), (1000, 2, 8192));
    assert_eq!(ProcessIo::parse("rchar: 1\n"), None);
}

fn sample(started_ticks: u64, rchar_bytes: u64) -> Sample {
    Sample {
        started_ticks,
        name: "one".to_owned(),
        io: ProcessIo {
            rchar_bytes,
            ..ProcessIo::default()
        },
    }
}

/// One of each back end, as they are written.
pub(crate) fn intervals() -> [serde_json::Value; 2] {
    let counted = assemble(&counted());
    [counted, of_proc()].map(|interval| serde_json::to_value(interval).unwrap())
}

pub(super) fn of_proc() -> Interval {
    let mut before = Samples {
        at_ns: 1_000_000_000,
        at_ticks: 100,
        ..Samples::default()
    };
    before.processes = [(1, sample(5, 10)), (2, sample(6, 10)), (3, sample(7, 10))].into();
    let mut now = Samples {
        at_ns: 3_000_000_000,
        at_ticks: 300,
        refused: 2,
        ..before.clone()
    };
    now.processes = [
        (1, sample(5, 25)),
        (2, sample(6, 10)),
        // Another process with this number, then one that existed and could not be inspected.
        (3, sample(150, 40)),
        (4, sample(50, 99)),
    ]
    .into();
    of_samples(&before, &now, "because")
}

#[test]
fn an_interval_of_proc_is_a_difference() {
    let interval = of_proc();
    let told = interval
        .processes
        .iter()
        .map(|row| (row.pid, row.io.unwrap().rchar_bytes));
    let mut told: Vec<_> = told.collect();
    told.sort_unstable();
    assert_eq!(told, [(1, 15), (3, 40)]);
    assert!((interval.interval_s - 2.0).abs() < 1e-12);
    assert_eq!(interval.processes[0].work, Work::default());
    let gaps: Vec<_> = interval.missing.iter().map(|gap| &gap.what).collect();
    let others = Missing::Count {
        count: 2,
        of: Countable::OthersProcesses,
    };
    assert_eq!(gaps, [&Missing::StrataOfTop, &others]);
}

#[test]
fn rows_lead_to_the_rows_below_them() {
    let whole = assemble(&counted());
    let below = |scopes: &[Scope]| {
        let mut interval = whole.clone();
        for scope in scopes {
            scope.narrow(&mut interval);
        }
        interval
    };
    let disks = Scope::of_rows(&whole, By::Device);
    assert_eq!(disks, [Scope::Disk("loop0".to_owned())]);
    let on_disk = below(&disks);
    assert_eq!(on_disk.files.len(), 2, "the calls by path are on no disk");
    let files = Scope::of_rows(&on_disk, By::File);
    let log = files.iter().find(
        |scope| matches!(scope, Scope::File { path: Some(path), .. } if path == "/mnt/a.log"),
    );
    let users = below(&[disks[0].clone(), log.unwrap().clone()]);
    let pids: Vec<u32> = users.processes.iter().map(|row| row.pid).collect();
    assert_eq!(pids, [41]);
    assert_eq!(users.syncs.len(), 1);
    let directory = Scope::Directory(Some("/mnt/sub".to_owned()));
    let paths: Vec<_> = below(&[directory])
        .files
        .into_iter()
        .map(|row| row.path)
        .collect();
    assert_eq!(paths, [Some("/mnt/sub/b".to_owned())]);
    let of_group = below(&[Scope::Cgroup(Some(b()))]);
    assert_eq!(of_group.processes[0].pid, 42);
    assert_eq!(of_group.syncs, []);
    assert_eq!(whole.containers.len(), 1);
    let containers = Scope::of_rows(&whole, By::Container);
    assert_eq!(containers, [Scope::Container(ID.to_owned())]);
    assert_eq!(containers[0].below(), Some(By::Process));
    let of_container = below(&containers);
    let pids: Vec<u32> = of_container.processes.iter().map(|row| row.pid).collect();
    assert_eq!(pids, [42]);
    assert_eq!(Scope::Process(41).below(), None);
    assert_eq!(below(&[Scope::Process(41)]).processes.len(), 1);
}
