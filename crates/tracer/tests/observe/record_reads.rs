//! Reads in the operation log, against what strace saw of the very same run.
#![expect(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that fails"
)]

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;
use std::process::Command;

use iostrata_core::record::{Change, Completeness, Operation, Paths};
use iostrata_tracer::ebpf::Limits;
use iostrata_tracer::record::Recorded;

use crate::record::{operations, record};
use crate::session::workload;

fn with_reads() -> Limits {
    Limits {
        reads: true,
        ..Limits::record()
    }
}

/// Reads of a file: call, bytes or errno.
type Reads = BTreeMap<(String, String), (u64, u64, u64)>;

fn count(reads: &mut Reads, path: &str, call: &str, outcome: Result<u64, i64>) {
    let row = reads.entry((path.to_owned(), call.to_owned())).or_default();
    match outcome {
        Ok(bytes) => {
            row.0 += 1;
            row.1 += bytes;
        }
        Err(_) => row.2 += 1,
    }
}

const STRACED: &str = "trace=read,pread64,readv,preadv,preadv2,sendfile,copy_file_range,splice";

/// What strace wrote, of regular files below `dir`: `read(3</path>, ""..., 10) = 10`.
fn straced(trace: &str, dir: &Path) -> Reads {
    let mut reads = Reads::new();
    let mut begun: HashMap<&str, String> = HashMap::new();
    for line in trace.lines() {
        let (pid, text) = line.split_once(' ').unwrap();
        let text = text.trim_start();
        if let Some((before, _)) = text.split_once(" <unfinished") {
            begun.insert(pid, before.to_owned());
            continue;
        }
        let whole = match text.split_once("resumed>") {
            Some((_, after)) => begun.remove(pid).unwrap() + after,
            None => text.to_owned(),
        };
        let Some((call, result)) = whole.rsplit_once(" = ") else {
            continue;
        };
        let (name, arguments) = call.split_once('(').unwrap();
        let source = if name == "sendfile" {
            arguments.split_once(", ").unwrap().1
        } else {
            arguments
        };
        let path = source.split_once('<').unwrap().1.split_once('>').unwrap().0;
        if !path.starts_with(dir.to_str().unwrap()) || !Path::new(path).is_file() {
            continue;
        }
        let result: i64 = result.split(' ').next().unwrap().parse().unwrap();
        count(
            &mut reads,
            path,
            name,
            u64::try_from(result).map_err(|_negative| result),
        );
    }
    reads
}

/// The same from the log.
fn logged(log: &Path, dir: &Path) -> Reads {
    let mut reads = Reads::new();
    each_read(log, |operation, path, _, bytes| {
        if path.starts_with(dir.to_str().unwrap()) {
            let outcome = operation.outcome.map_err(i64::from);
            assert!(outcome.is_err() || outcome == Ok(bytes));
            count(&mut reads, path, &operation.call, outcome);
        }
    });
    reads
}

fn each_read(log: &Path, mut each: impl FnMut(&Operation, &str, u64, u64)) {
    let mut paths = Paths::default();
    for operation in operations(log) {
        paths.follow(&operation);
        if let Change::Read {
            node,
            offset,
            bytes,
            ..
        } = operation.change
        {
            let path = String::from_utf8(paths.of_node(node).unwrap_or_default()).unwrap();
            each(&operation, &path, offset, bytes);
        }
    }
}

struct Ran {
    dir: tempfile::TempDir,
    recorded: Recorded,
}

impl Ran {
    fn reads(limits: Limits, place: &Path, way: &str) -> Self {
        let dir = tempfile::tempdir_in(place).unwrap();
        let mut program = Command::new(workload("reads"));
        let recorded = record(
            limits,
            &dir.path().join("log"),
            program.arg(dir.path()).arg(way),
        );
        Self { dir, recorded }
    }

    fn log(&self) -> std::path::PathBuf {
        self.dir.path().join("log")
    }

    /// Offsets and lengths of the reads of "file", in the order of the log.
    fn of_file(&self) -> Vec<(String, u64, u64)> {
        let mut all = Vec::new();
        each_read(&self.log(), |operation, path, offset, bytes| {
            if path.ends_with("/file") && operation.outcome.is_ok() {
                all.push((operation.call.to_string(), offset, bytes));
            }
        });
        all
    }
}

#[test]
fn reads_of_each_file_are_those_that_strace_saw() {
    for way in ["mixed", "threads", "many"] {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let (log, trace) = (dir.path().join("log"), dir.path().join("trace"));
        let mut strace = Command::new("strace");
        strace.args(["-f", "-y", "-s", "0", "-e", STRACED, "-o"]);
        strace.arg(&trace).arg(workload("reads"));
        let recorded = record(with_reads(), &log, strace.arg(dir.path()).arg(way));
        assert_eq!(recorded.completeness, Completeness::Complete);
        let witness = straced(&fs::read_to_string(&trace).unwrap(), dir.path());
        assert!(!witness.is_empty());
        assert_eq!(logged(&log, dir.path()), witness, "{way}");
    }
}

#[test]
fn offsets_are_those_that_the_kernel_used() {
    let ran = Ran::reads(with_reads(), Path::new("/var/tmp"), "mixed");
    assert_eq!(ran.recorded.completeness, Completeness::Complete);
    let all = ran.of_file();
    let mut expected = Vec::new();
    let mut add = |call: &str, offset, bytes| expected.push((call.to_owned(), offset, bytes));
    for turn in 0..50 {
        add("read", turn * 101, 100);
        add("pread64", 5000 + turn, 33);
        add("read", turn * 101 + 100, 1);
    }
    add("read", 5050, 500);
    add("read", 5550, 5);
    add("read", 100_003 - 10, 10);
    for _ in 0..3 {
        add("read", 100_003, 0);
    }
    add("pread64", 1 << 20, 0);
    add("readv", 1000, 7);
    add("preadv", 2000, 7);
    add("preadv2", 1007, 7);
    add("preadv2", 3000, 7);
    add("read", 1014, 0);
    add("sendfile", 4000, 100);
    add("sendfile", 1014, 50);
    add("copy_file_range", 4100, 200);
    add("copy_file_range", 1064, 20);
    add("splice", 4300, 300);
    add("splice", 1084, 30);
    for _ in 0..3 {
        add("read", 0, 9);
    }
    assert_eq!(all, expected);
}

#[test]
fn descriptions_mappings_and_touched_pages_are_told() {
    let ran = Ran::reads(with_reads(), Path::new("/var/tmp"), "mixed");
    let log = operations(&ran.log());
    let of_again = log.iter().filter_map(|operation| match operation.change {
        Change::Read {
            bytes: 9,
            description,
            ..
        } => Some(description.unwrap()),
        _ => None,
    });
    let of_again: std::collections::BTreeSet<_> = of_again.collect();
    assert_eq!(of_again.len(), 3, "each open has a description of its own");
    let mapped: Vec<_> = log
        .iter()
        .filter_map(|operation| match operation.change {
            Change::MappedToRead {
                node,
                offset: 4096,
                bytes: 100_003,
                protection,
                flags,
            } => Some((node, protection, flags)),
            _ => None,
        })
        .collect();
    let [(node, 1, 2)] = mapped[..] else {
        panic!("{mapped:?}: one, PROT_READ and MAP_PRIVATE");
    };
    let touched = log.iter().any(|operation| match operation.change {
        Change::Touched {
            node: own,
            offset,
            bytes,
        } => own == node && (offset..offset + bytes).contains(&44_096),
        _ => false,
    });
    assert!(touched);
}

/// Every byte was read once, and by whom does not matter.
fn assert_whole(ran: &Ran) {
    let mut all: Vec<(u64, u64)> = ran
        .of_file()
        .into_iter()
        .map(|(_, offset, bytes)| (offset, bytes))
        .filter(|(_, bytes)| *bytes > 0)
        .collect();
    all.sort_unstable();
    let end = all.iter().fold(0, |end, (offset, bytes)| {
        assert_eq!(*offset, end);
        offset + bytes
    });
    assert_eq!(end, 100_003);
}

#[test]
fn two_threads_that_share_a_position_read_each_byte_once() {
    for _ in 0..5 {
        let ran = Ran::reads(with_reads(), Path::new("/var/tmp"), "threads");
        assert_eq!(ran.recorded.completeness, Completeness::Complete);
        assert_whole(&ran);
    }
}

/// tmpfs has no event inside a read that tells the position.
#[test]
fn a_position_that_cannot_be_known_is_named() {
    let ran = Ran::reads(with_reads(), Path::new("/dev/shm"), "threads");
    let bytes: u64 = ran.of_file().iter().map(|(.., bytes)| bytes).sum();
    assert_eq!(bytes, 100_003);
    match &ran.recorded.completeness {
        Completeness::Complete => assert_whole(&ran),
        Completeness::Incomplete { because } => {
            assert!(because[0].what.ends_with("offsets of reads"), "{because:?}");
        }
    }
}

#[test]
fn a_small_ring_stops_the_program_and_loses_no_read() {
    let limits = Limits {
        ring_bytes: 1 << 16,
        ..with_reads()
    };
    let ran = Ran::reads(limits, Path::new("/var/tmp"), "many");
    assert_eq!(ran.recorded.completeness, Completeness::Complete);
    assert!(ran.recorded.stops > 0);
    let reads = ran.of_file();
    assert_eq!(reads.len(), 10_000);
}

#[test]
fn without_being_asked_for_reads_are_not_in_the_log() {
    let ran = Ran::reads(Limits::record(), Path::new("/var/tmp"), "mixed");
    assert_eq!(ran.of_file(), []);
    let kinds = ["mapped_to_read", "touched"];
    let others = operations(&ran.log());
    assert!(!others.iter().any(|one| kinds.contains(&one.change.kind())));
}

#[test]
fn reads_of_libaio_and_of_io_uring_are_followed() {
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    let log = dir.path().join("log");
    let work = dir.path().join("work");
    fs::create_dir(&work).unwrap();
    let mut aio = Command::new(workload("aio"));
    record(with_reads(), &log, aio.arg(&work));
    let reads = logged(&log, &work);
    let of = |call: &str| {
        let mut rows = reads.iter().filter(|((_, name), _)| name == call);
        rows.next().map(|(_, row)| *row)
    };
    assert_eq!(of("aio.pread"), Some((4, 3 * 4096 + 1536, 0)));
    assert_eq!(of("aio.preadv"), Some((1, 1024, 0)));

    let log = dir.path().join("ring");
    let file = dir.path().join("file");
    fs::write(&file, vec![7; 1 << 20]).unwrap();
    let mut fio = Command::new("fio");
    fio.args([
        "--name=x",
        "--ioengine=io_uring",
        "--rw=randread",
        "--bs=4k",
    ]);
    fio.args(["--size=1m", "--iodepth=8", "--thread", "--output=/dev/null"]);
    fio.arg(format!("--filename={}", file.display()));
    record(with_reads(), &log, &mut fio);
    let mut offsets = Vec::new();
    each_read(&log, |operation, path, offset, bytes| {
        if Path::new(path) == file && operation.call.starts_with("io_uring.") {
            assert_eq!(bytes, 4096);
            offsets.push(offset);
        }
    });
    offsets.sort_unstable();
    let all: Vec<u64> = (0..256).map(|block| block * 4096).collect();
    assert_eq!(offsets, all, "each block once");
}
