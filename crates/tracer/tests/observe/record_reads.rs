//! Reads in the operation log, compared with strace's output for the same run.
#![expect(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that fails"
)]

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;
use std::process::Command;

use iostrata_core::gap::{Countable, Missing};
use iostrata_core::record::{Change, Completeness, Operation, Paths};
use iostrata_tracer::ebpf::Limits;
use iostrata_tracer::record::Recorded;

use crate::record::{BY, By, operations, record};
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

/// strace's output for regular files below `dir`: `read(3</path>, ""..., 10) = 10`.
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

    fn by(by: By, place: &Path, way: &str) -> Self {
        let dir = tempfile::tempdir_in(place).unwrap();
        let mut program = Command::new(workload("reads"));
        let program = program.arg(dir.path()).arg(way);
        let recorded = by.record_reads(&dir.path().join("log"), program);
        Self { dir, recorded }
    }

    /// The gaps: with ptrace, pages that are read in memory always are.
    fn missing(&self) -> Vec<Missing> {
        missing(&self.recorded)
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

fn missing(recorded: &Recorded) -> Vec<Missing> {
    match &recorded.completeness {
        Completeness::Complete => Vec::new(),
        Completeness::Incomplete { because } => {
            because.iter().map(|gap| gap.what.clone()).collect()
        }
    }
}

/// A read at the end of the file looks up no page (`filemap_read`, mm/filemap.c), so that its
/// position may be uncertain where threads share it; each thread has one such read.
#[track_caller]
fn assert_ends_alone_are_in_doubt(missing: &[Missing], threads: u64) {
    let of = Countable::ReadOffsets;
    let may_miss =
        |what: &Missing| (1..=threads).any(|count| *what == Missing::Count { count, of });
    assert!(missing.iter().all(may_miss), "{missing:?}");
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
        let missing = missing(&recorded);
        assert_ends_alone_are_in_doubt(&missing, if way == "threads" { 2 } else { 0 });
        let witness = straced(&fs::read_to_string(&trace).unwrap(), dir.path());
        assert!(!witness.is_empty());
        assert_eq!(logged(&log, dir.path()), witness, "{way}");
    }
}

/// The gap of every log of reads.
fn lacks(by: By) -> &'static [Missing] {
    match by {
        By::Ebpf => &[],
        By::Ptrace => &[Missing::MappedReads],
    }
}

/// strace itself cannot be traced by ptrace: it observes a run of its own.
#[test]
fn both_back_ends_record_the_same_reads() {
    let of = |log: &Path, dir: &Path| -> Reads {
        let relative = |path: &str| path.strip_prefix(dir.to_str().unwrap()).unwrap().to_owned();
        let reads = logged(log, dir).into_iter();
        reads
            .map(|((path, call), row)| ((relative(&path), call), row))
            .collect()
    };
    for way in ["mixed", "many"] {
        let [ebpf, ptrace] = BY.map(|by| {
            let ran = Ran::by(by, Path::new("/var/tmp"), way);
            assert_eq!(ran.missing(), lacks(by));
            of(&ran.log(), ran.dir.path())
        });
        assert_eq!(ptrace, ebpf, "{way}");
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let trace = dir.path().join("trace");
        let mut strace = Command::new("strace");
        strace.args(["-f", "-y", "-s", "0", "-e", STRACED, "-o"]);
        strace.arg(&trace).arg(workload("reads"));
        assert!(strace.arg(dir.path()).arg(way).status().unwrap().success());
        let witness = straced(&fs::read_to_string(&trace).unwrap(), dir.path());
        let sums: Vec<_> = witness.values().collect();
        assert_eq!(ptrace.values().collect::<Vec<_>>(), sums, "{way}");
    }
}

/// Descriptions in the order of their first read, with their flags.
fn read_through(log: &Path) -> Vec<(usize, u32)> {
    let (mut order, mut flags_of) = (Vec::new(), HashMap::new());
    let mut all = Vec::new();
    let mut paths = Paths::default();
    for operation in operations(log) {
        paths.follow(&operation);
        match operation.change {
            Change::Described {
                description, flags, ..
            }
            | Change::Opened {
                description, flags, ..
            } => _ = flags_of.insert(description, flags),
            Change::Read {
                node,
                description: Some(description),
                ..
            } if paths
                .of_node(node)
                .is_some_and(|path| path.ends_with(b"/file")) =>
            {
                if !order.contains(&description) {
                    order.push(description);
                }
                let at = order.iter().position(|one| *one == description);
                all.push((at.unwrap(), flags_of[&description]));
            }
            _ => {}
        }
    }
    all
}

#[test]
fn descriptions_are_shared_by_dup_and_fork_in_both_back_ends() {
    let [ebpf, ptrace] =
        BY.map(|by| read_through(&Ran::by(by, Path::new("/var/tmp"), "mixed").log()));
    assert_eq!(ptrace.len(), 172, "one has failed");
    let descriptions: std::collections::BTreeSet<_> = ptrace.iter().collect();
    assert_eq!(descriptions.len(), 4);
    assert_eq!(ptrace, ebpf);
}

#[test]
fn offsets_are_those_that_the_kernel_used() {
    for by in BY {
        offsets_are_exact(by);
    }
}

fn offsets_are_exact(by: By) {
    let ran = Ran::by(by, Path::new("/var/tmp"), "mixed");
    assert_eq!(ran.missing(), lacks(by));
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
    assert_eq!(all, expected, "{by:?}");
}

#[test]
fn descriptions_mappings_and_touched_pages_are_told() {
    for by in BY {
        descriptions_and_mappings(by);
    }
}

fn descriptions_and_mappings(by: By) {
    let ran = Ran::by(by, Path::new("/var/tmp"), "mixed");
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
    let failed = log.iter().find_map(|operation| match operation.change {
        Change::Read { offset, bytes, .. } if operation.outcome.is_err() => {
            Some((operation.outcome, offset, bytes))
        }
        _ => None,
    });
    assert_eq!(failed, Some((Err(libc::EFAULT), 1014, 0)));
    let described = |description| {
        log.iter().any(|operation| {
            matches!(operation.change, Change::Described { description: one, .. } if one == description)
        })
    };
    assert!(of_again.into_iter().all(described));
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
    assert_eq!(touched, by == By::Ebpf);
}

/// Every byte was read once, by whichever thread.
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
        assert_ends_alone_are_in_doubt(&ran.missing(), 2);
        assert_whole(&ran);
    }
    // Under ptrace they take turns on every file system.
    for place in ["/var/tmp", "/dev/shm"] {
        let ran = Ran::by(By::Ptrace, Path::new(place), "threads");
        assert_eq!(ran.missing(), lacks(By::Ptrace));
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
            assert!(
                because[0].count_of(Countable::ReadOffsets).is_some(),
                "{because:?}"
            );
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
    for by in BY {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let log = dir.path().join("log");
        let mut program = Command::new(workload("reads"));
        let recorded = by.record(&log, program.arg(dir.path()).arg("mixed"));
        assert_eq!(recorded.completeness, Completeness::Complete);
        let kinds = ["read", "mapped_to_read", "touched"];
        let all = operations(&log);
        assert!(!all.iter().any(|one| kinds.contains(&one.change.kind())));
    }
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

    let log = dir.path().join("by_stops");
    let again = dir.path().join("again");
    fs::create_dir(&again).unwrap();
    let mut aio = Command::new(workload("aio"));
    let recorded = By::Ptrace.record_reads(&log, aio.arg(&again));
    let Completeness::Incomplete { because } = recorded.completeness else {
        panic!("it has no reads by libaio");
    };
    let told = because
        .iter()
        .find_map(|gap| gap.count_of(Countable::AioReads));
    assert!(told.is_some(), "{because:?}");

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
