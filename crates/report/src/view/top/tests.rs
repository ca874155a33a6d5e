use std::collections::HashMap;

use insta::assert_snapshot;
use iostrata_core::environment::{TRACEPOINTS, Way};
use iostrata_core::evidence::{CallStats, Cause};
use iostrata_core::op::FileId;
use iostrata_core::top::{
    Actor, By, CallFigures, Calls, CommitPart, CommitWait, Commits, Counted, Dirty, Disk, Interval,
    Named, Own, Pages, ProcessIo, RequestFigures, RequestRow, Sample, Samples, Share, Strata,
    assemble, of_samples,
};

use super::Style;
use crate::terminal::top::draw;

const DISK: u32 = 254 << 20;

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
            bytes,
            time_s: time_ns as f64 / 1e9,
            ..CallStats::default()
        },
        longest_s: (time_ns / 20) as f64 / 1e9,
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

fn request(cause: Cause, of: (Option<u64>, Option<u32>), count: u64, bytes: u64) -> RequestRow {
    RequestRow {
        disk: DISK,
        cause,
        file: of.0.map(file),
        process: of.1,
        sum: RequestFigures {
            count,
            bytes,
            ended: count,
            time_s: (count * 400_000) as f64 / 1e9,
            longest_s: 0.009,
        },
    }
}

/// A database that syncs, a program that reads, and iostrata.
fn shares() -> Vec<Share> {
    let database = Share {
        calls: Calls {
            writes: calls(240, 983_040, 4_000_000),
            syncs: calls(120, 0, 600_000_000),
            ..Calls::default()
        },
        pages: Pages {
            dirtied_bytes: 983_040,
            ..Pages::default()
        },
        ..share(4211, Some(7))
    };
    let reader = Share {
        calls: Calls {
            reads: calls(2048, 134_217_728, 90_000_000),
            ..Calls::default()
        },
        pages: Pages {
            lookups_pages: 32_768,
            missed_pages: 64,
            prefetched_pages: 32_704,
            dirtied_bytes: 0,
        },
        ..share(97, Some(8))
    };
    let own = Share {
        calls: Calls {
            metadata: calls(12, 0, 30_000),
            ..Calls::default()
        },
        ..share(5000, None)
    };
    vec![database, reader, own]
}

const WAL: &str = "/var/lib/postgresql/16/main/pg_wal/000000010000000000000001";

fn part(process: Option<u32>, name: &str, path: &str) -> CommitPart {
    CommitPart {
        process,
        name: Some(name.to_owned()),
        path: Some(path.into()),
    }
}

fn commits() -> Commits {
    let unnamed = CommitPart {
        process: None,
        name: None,
        path: None,
    };
    Commits {
        are_seen: true,
        waits: vec![CommitWait {
            process: 4211,
            file: Some(file(7)),
            transaction: (DISK, 3),
            count: 118,
        }],
        parts: HashMap::from([(
            (DISK, 3),
            vec![
                part(Some(4211), "postgres", "/var/lib/postgresql/16/main/pg_wal"),
                part(Some(88), "cron", "/var/spool/cron"),
                // Write-back of the file itself.
                CommitPart {
                    name: None,
                    ..part(None, "", WAL)
                },
                unnamed,
            ],
        )]),
    }
}

fn container() -> String {
    format!("/docker/{}", "3f2a9c".repeat(11).split_at(64).0)
}

fn interval() -> Interval {
    let actor = |name: &str, cgroup: &str| Actor {
        name: Some(name.to_owned()),
        parent: Some(1),
        cgroup: Some(cgroup.to_owned()),
    };
    let named = |path: &str| Named {
        path: path.into(),
        filesystem: "ext4".to_owned(),
    };
    let actors = [
        (4211, actor("postgres", "/system.slice/postgresql.service")),
        (97, actor("tar\u{1b}[31m", &container())),
        (5000, actor("iostrata", "/user.slice")),
    ];
    let names = [(file(7), named(WAL)), (file(8), named("/home/big"))];
    assemble(&Counted {
        started_ns: 1_700_000_000_000_000_000,
        length_ns: 1_000_000_000,
        strata: Strata {
            calls: true,
            pages: true,
            device: true,
        },
        ways: Vec::new(),
        shares: shares(),
        requests: vec![
            request(Cause::Read, (Some(8), Some(97)), 128, 134_217_728),
            request(Cause::Data, (Some(7), Some(4211)), 120, 983_040),
            request(Cause::Data, (Some(9), None), 3, 12_288),
            request(Cause::Journal, (None, None), 120, 983_040),
            request(Cause::Commit, (None, None), 120, 491_520),
            request(Cause::Flush, (None, None), 240, 0),
        ],
        commits: commits(),
        actors: actors.into_iter().collect(),
        names: names.into_iter().collect(),
        disks: HashMap::from([(
            DISK,
            Disk {
                name: Some("vda".to_owned()),
                filesystems: vec![("ext4".to_owned(), b"/".to_vec())],
            },
        )]),
        disk_of: HashMap::from([(DISK, DISK)]),
        dirty: Some(Dirty {
            waiting_bytes: 5 << 20,
            writeback_bytes: 0,
        }),
        own: Own {
            process: 5000,
            cpu_ns: 4_000_000,
            peak_resident_bytes: 48 << 20,
        },
        lost_events: 0,
        missing: vec![crate::fixture::gap(
            "operations of io_uring",
            "they are not counted",
        )],
    })
}

fn style(by: By, is_first: bool) -> Style {
    Style {
        by,
        is_first,
        colour: false,
    }
}

#[test]
fn processes() {
    assert_snapshot!(draw(&interval(), 100, style(By::Process, true)));
}

#[test]
fn processes_on_80_columns() {
    assert_snapshot!(draw(&interval(), 80, style(By::Process, false)));
}

#[test]
fn files_on_160_columns() {
    assert_snapshot!(draw(&interval(), 160, style(By::File, false)));
}

#[test]
fn directories_and_cgroups_and_devices() {
    let drawn = [By::Directory, By::Cgroup, By::Container, By::Device]
        .map(|by| draw(&interval(), 100, style(by, false)));
    assert_snapshot!(drawn.concat());
}

#[test]
fn what_was_lost_is_said_in_its_interval() {
    let mut interval = interval();
    interval.lost_events = 3;
    interval.missing = vec![crate::fixture::gap("3 names of files", "the ring was full")];
    let text = draw(&interval, 100, style(By::Device, false));
    assert!(text.contains("3 events lost"), "{text}");
    assert!(text.contains("3 names of files"), "{text}");
}

#[test]
fn no_line_is_wider_than_the_page() {
    for by in [
        By::Process,
        By::File,
        By::Directory,
        By::Cgroup,
        By::Container,
        By::Device,
    ] {
        for width in [80, 100, 160] {
            let text = draw(&interval(), width, style(by, true));
            let widest = text.lines().map(textwrap::core::display_width).max();
            assert!(widest.unwrap() <= width, "{by:?} on {width}:\n{text}");
            assert!(!text.contains('\u{1b}'), "{text}");
        }
    }
}

#[test]
fn of_proc() {
    let sample = |rchar_bytes, read_bytes| Sample {
        started_ticks: 5,
        name: "cat".to_owned(),
        io: ProcessIo {
            rchar_bytes,
            syscr: rchar_bytes / 4096,
            read_bytes,
            ..ProcessIo::default()
        },
    };
    let before = Samples {
        at_ns: 1_700_000_000_000_000_000,
        processes: [(7, sample(0, 0))].into(),
        ..Samples::default()
    };
    let now = Samples {
        at_ns: 1_700_000_001_000_000_000,
        processes: [(7, sample(409_600, 8192))].into(),
        refused: 1,
        ..Samples::default()
    };
    let interval = of_samples(&before, &now, "eBPF is not permitted");
    assert_snapshot!(draw(&interval, 100, style(By::Process, true)));
}

/// `strata` are observed, and nothing was done.
fn idle(strata: Strata) -> Interval {
    assemble(&Counted {
        started_ns: 0,
        length_ns: 1_000_000_000,
        strata,
        ways: Vec::new(),
        shares: Vec::new(),
        requests: Vec::new(),
        commits: Commits::default(),
        actors: HashMap::new(),
        names: HashMap::new(),
        disks: HashMap::new(),
        disk_of: HashMap::new(),
        dirty: None,
        own: Own::default(),
        lost_events: 0,
        missing: Vec::new(),
    })
}

#[test]
fn nothing_at_all() {
    let interval = idle(Strata {
        calls: true,
        pages: true,
        device: true,
    });
    assert_snapshot!(draw(&interval, 100, style(By::Process, false)));
}

#[test]
fn the_first_interval_says_how_it_was_observed() {
    let mut interval = interval();
    let way = |what: &str, by: &str| Way {
        what: what.to_owned(),
        by: by.to_owned(),
    };
    interval.ways = vec![
        way("system calls", TRACEPOINTS),
        way("page cache", "the functions filemap_fault"),
    ];
    let text = draw(&interval, 100, style(By::Process, true));
    let line = "observed by tracepoints · page cache by the functions filemap_fault";
    assert!(text.contains(line), "{text}");
    let later = draw(&interval, 100, style(By::Process, false));
    assert!(!later.contains("observed by"), "{later}");
}

#[test]
fn what_is_not_observed_is_not_said_to_be_nothing() {
    let of = |calls, device| {
        let interval = idle(Strata {
            calls,
            pages: true,
            device,
        });
        draw(&interval, 100, style(By::File, false))
    };
    let (neither, calls, requests) = (of(false, false), of(true, false), of(false, true));
    assert!(neither.contains("calls on files and requests for them are not observed"));
    assert!(calls.contains("no calls on files; requests to disks are not observed"));
    assert!(requests.contains("no requests for files; calls are not observed"));
    for text in [&neither, &calls] {
        assert!(
            text.contains("requests to disks are not observed"),
            "{text}"
        );
        assert!(!text.contains("no requests to any disk"), "{text}");
    }
    let of_proc = of_samples(&Samples::default(), &Samples::default(), "not permitted");
    let text = [By::File, By::Device, By::Container]
        .map(|by| draw(&of_proc, 100, style(by, false)))
        .concat();
    assert!(
        !text.contains("no calls") && !text.contains("no requests"),
        "{text}"
    );
    assert_eq!(text.matches("are not observed").count(), 3, "{text}");
}
