//! The operation log: files rebuilt from it equal the files that were written.
#![expect(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that fails"
)]

use iostrata_report::words;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use iostrata_core::gap::Countable;
use iostrata_core::observe::{Observer as _, Stream};
use iostrata_core::record::{self, Begin, Change, Completeness, Entry, Name, Operation, Reader};
use iostrata_lab::interrupt::Interrupt;
use iostrata_lab::rebuild::{Rebuilt, rebuild};
use iostrata_tracer::ebpf::{EbpfObserver, Limits};
use iostrata_tracer::ptrace::{Session, Stops};
use iostrata_tracer::record::{Recorded, Recording};

use crate::session::{observe, workload};

/// A back end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum By {
    Ebpf,
    Ptrace,
}

/// Both.
pub(crate) const BY: [By; 2] = [By::Ebpf, By::Ptrace];

impl By {
    pub(crate) fn record(self, log: &Path, program: &mut Command) -> Recorded {
        match self {
            Self::Ebpf => record(Limits::record(), log, program),
            Self::Ptrace => record_by_stops(log, program, false),
        }
    }

    /// The same with reads recorded.
    pub(crate) fn record_reads(self, log: &Path, program: &mut Command) -> Recorded {
        let limits = Limits {
            reads: true,
            ..Limits::record()
        };
        match self {
            Self::Ebpf => record(limits, log, program),
            Self::Ptrace => record_by_stops(log, program, true),
        }
    }
}

fn begin(program: &Command, reads: bool) -> Begin {
    Begin {
        command: vec![program.get_program().as_bytes().to_vec()],
        directory: b"/".to_vec(),
        started_ns: 0,
        reads,
    }
}

fn record_by_stops(log: &Path, program: &mut Command, reads: bool) -> Recorded {
    // Not the test's own output: that may be a file, which the program would then write.
    let quietly = ["sh", "-c", "exec \"$0\" \"$@\" > /dev/null"].map(OsString::from);
    let words = [program.get_program()]
        .into_iter()
        .chain(program.get_args());
    let command: Vec<OsString> = quietly
        .into_iter()
        .chain(words.map(OsStr::to_owned))
        .collect();
    let recording = Recording::create(log, &begin(program, reads)).unwrap();
    let session = Session::record(&command, Stops::Io, recording).unwrap();
    let outcome = session.wait().unwrap();
    assert!(outcome.status.unwrap().success());
    assert_eq!(outcome.observation.failed, []);
    outcome.recorded.unwrap().finish().unwrap()
}

pub(crate) fn record(limits: Limits, log: &Path, program: &mut Command) -> Recorded {
    let begin = begin(program, limits.reads);
    let mut observer = EbpfObserver::with_limits(limits).unwrap();
    assert_eq!(observer.missing(), []);
    observer.record(Recording::create(log, &begin).unwrap());
    let (_, status) = observe(&mut observer, Stream::default(), program, || {});
    assert!(status.success());
    observer.recorded().unwrap().finish().unwrap()
}

pub(crate) fn operations(log: &Path) -> Vec<Operation> {
    let mut reader = Reader::new(File::open(log).unwrap()).unwrap();
    let mut all = Vec::new();
    while let Some(entry) = reader.next_entry().unwrap() {
        if let Entry::Operation(operation) = entry {
            all.push(operation);
        }
    }
    all
}

pub(crate) fn again(log: &Path, into: &Path) -> Rebuilt {
    rebuild(log, into, record::Limits::default(), &Interrupt::never()).unwrap()
}

/// The rebuilt file in place of the original.
pub(crate) fn rebuilt(into: &Path, original: &Path) -> PathBuf {
    into.join(original.strip_prefix("/").unwrap())
}

pub(crate) fn assert_same(one: &Path, other: &Path) {
    let same = Command::new("cmp").args([one, other]).output().unwrap();
    assert!(
        same.status.success(),
        "{}{}",
        String::from_utf8_lossy(&same.stdout),
        String::from_utf8_lossy(&same.stderr)
    );
}

#[test]
fn four_processes_and_300_megabytes_are_rebuilt_byte_by_byte() {
    scattered(By::Ebpf, "75000000");
    scattered(By::Ptrace, "5000000");
}

fn scattered(by: By, bytes: &str) {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("log");
    let made = dir.path().join("made");
    let again = dir.path().join("again");
    std::fs::create_dir(&made).unwrap();
    std::fs::create_dir(&again).unwrap();
    let mut scatter = Command::new(workload("scatter"));
    let recorded = by.record(&log, scatter.arg(&made).args(["4", bytes]));
    assert_eq!(recorded.completeness, Completeness::Complete);
    let result = self::again(&log, &again);
    assert_eq!(result.missing, []);
    assert_eq!(result.files, 9);
    for name in [
        "source", "done.0", "done.1", "done.2", "done.3", "log.0", "log.3",
    ] {
        let original = made.join(name);
        assert_same(&original, &rebuilt(&again, &original));
    }
    assert!(!rebuilt(&again, &made.join("scatter.0")).exists());
}

#[test]
fn a_small_ring_stops_the_program_and_loses_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("log");
    let made = dir.path().join("made");
    let again = dir.path().join("again");
    std::fs::create_dir(&made).unwrap();
    std::fs::create_dir(&again).unwrap();
    let limits = Limits {
        ring_bytes: 1 << 20,
        ..Limits::record()
    };
    let recorded = record(
        limits,
        &log,
        Command::new(workload("scatter"))
            .arg(&made)
            .args(["2", "20000000"]),
    );
    assert_eq!(recorded.completeness, Completeness::Complete);
    assert!(recorded.stops > 0);
    self::again(&log, &again);
    for name in ["source", "done.0", "done.1"] {
        let original = made.join(name);
        assert_same(&original, &rebuilt(&again, &original));
    }
}

#[test]
fn a_million_one_byte_writes_are_a_million_operations() {
    let dir = tempfile::tempdir_in("/dev/shm").unwrap();
    let log = dir.path().join("log");
    let data = dir.path().join("data");
    let recorded = record(
        Limits::record(),
        &log,
        Command::new(workload("append"))
            .arg(&data)
            .args(["1000000", "1", "none"]),
    );
    assert_eq!(recorded.completeness, Completeness::Complete);
    let mut offset = 0;
    for operation in operations(&log) {
        if let Change::Wrote {
            offset: at,
            payload,
            ..
        } = operation.change
        {
            assert_eq!((at, payload.bytes()), (offset, 1));
            offset += 1;
        }
    }
    assert_eq!(offset, 1_000_000);
}

/// One operation in short.
fn short(operation: &Operation) -> String {
    let name = |name: &Name| String::from_utf8_lossy(&name.name).into_owned();
    let last = |path: &Vec<u8>| {
        let path = String::from_utf8_lossy(path).into_owned();
        path.rsplit('/').next().unwrap_or_default().to_owned()
    };
    let what = match &operation.change {
        Change::Opened { created, mode, .. } => match created {
            Some(_) => format!(
                "{} {:o}",
                operation.change.name().map(name).unwrap_or_default(),
                mode.unwrap()
            ),
            None => "again".to_owned(),
        },
        Change::Renamed {
            from, to, flags, ..
        } => format!("{} {} {flags}", name(from), name(to)),
        Change::Linked { name: to, .. } => name(to),
        Change::Unlinked {
            name: from,
            directory,
            ..
        } => format!("{} {directory}", name(from)),
        Change::Made {
            name: to,
            kind,
            mode,
            target,
            ..
        } => format!(
            "{} {} {:o} {}",
            name(to),
            kind.as_str(),
            mode.unwrap(),
            String::from_utf8_lossy(target)
        ),
        Change::Attempted { paths } => {
            let paths: Vec<String> = paths.iter().map(last).collect();
            paths.join(" ")
        }
        Change::Wrote {
            offset, payload, ..
        } => format!("{} at {offset}", payload.bytes()),
        Change::Stored { offset, .. } => format!("stored at {offset}"),
        Change::Resized { bytes, .. } => format!("{bytes}"),
        Change::Allocated {
            mode,
            offset,
            bytes,
            ..
        } => format!("{mode} {offset} {bytes}"),
        Change::Changed { attribute, .. } => format!("{attribute:?}"),
        Change::Synced { scope, .. } => format!("{scope:?}"),
        Change::Mapped { offset, bytes, .. } => format!("{bytes} at {offset}"),
        Change::Printed { descriptor, .. } => format!("printed to {descriptor}"),
        Change::Closed { .. } => String::new(),
        other => format!("{other:?}"),
    };
    let failed = operation.outcome.is_err().then_some(" failed");
    let call = &operation.call;
    format!("{call} {what}{}", failed.unwrap_or_default())
}

/// Without the earlier contents, which depend on the location of the test.
pub(crate) fn program(log: &Path) -> String {
    let told = |operation: &Operation| {
        !matches!(
            operation.change,
            Change::Found { .. } | Change::Described { .. }
        )
    };
    operations(log)
        .iter()
        .filter(|operation| told(operation))
        .map(|operation| short(operation) + "\n")
        .collect()
}

const CHANGES: &str = "\
mkdir dir directory 755 
openat one 644
write 3 at 0
close 
openat two 644
write 3 at 0
close 
link linked
symlink symbolic symlink 777 dir/two
renameat2 one two 2
rename dir moved 0
rename absent absent failed
openat removed 644
write 7 at 0
close 
unlink removed false
mkdir empty directory 700 
rmdir empty true
openat shortened 644
write 10 at 0
ftruncate 4
ftruncate 6
pwrite64 1 at 100000
fallocate 3 0 2
fsync File
fdatasync Data
close 
truncate 100000
openat again
pwrite64 3 at 100000
close 
openat source 644
write 23 at 0
openat copied 644
copy_file_range 7 at 3
close 
openat sent 644
write 2 at 0
sendfile 6 at 2
close 
close 
openat stored 644
ftruncate 12288
mmap 12288 at 0
close 
";

/// eBPF reads a mapping once a call has ended, ptrace before it too: there the page alone that changed is in the log.
fn stored(by: By) -> &'static str {
    match by {
        By::Ebpf => {
            "\
msync stored at 4096
msync Range { offset: 4096, bytes: 4096 }
write stored at 4096
write printed to 1
exit stored at 4096
"
        }
        By::Ptrace => {
            "\
store stored at 4096
msync Range { offset: 4096, bytes: 4096 }
store stored at 8192
write printed to 1
"
        }
    }
}

#[test]
fn every_change_is_in_its_place_and_rebuilt() {
    for by in BY {
        changed(by);
    }
}

fn changed(by: By) {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("log");
    let made = dir.path().join("made");
    let again = dir.path().join("again");
    std::fs::create_dir(&made).unwrap();
    std::fs::create_dir(&again).unwrap();
    let mut program = Command::new(workload("changes"));
    let recorded = by.record(&log, program.arg(&made));
    let wanted = format!("{CHANGES}{}", stored(by));
    assert_eq!(self::program(&log), wanted, "{by:?}");
    let Completeness::Incomplete { because } = recorded.completeness else {
        panic!("stores between two points are not seen");
    };
    assert_eq!(because.len(), 1, "{because:?}");
    assert_eq!(
        words::missing(&because[0].what).to_string(),
        "1 writable shared mapping"
    );

    self::again(&log, &again);
    let place = rebuilt(&again, &made);
    let different = Command::new("diff")
        .args(["--recursive", "--no-dereference"])
        .args([&made, &place])
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&different.stdout), "");
    assert!(different.status.success());
    assert_eq!(std::fs::read(place.join("moved/two")).unwrap(), b"one");
    assert_eq!(std::fs::read(place.join("linked")).unwrap(), b"one");
}

#[test]
fn a_full_disk_ends_the_log_and_not_the_program() {
    let dir = tempfile::tempdir().unwrap();
    let made = dir.path().join("made");
    std::fs::create_dir(&made).unwrap();
    let begin = Begin {
        command: Vec::new(),
        directory: b"/".to_vec(),
        started_ns: 0,
        reads: false,
    };
    let mut observer = EbpfObserver::with_limits(Limits::record()).unwrap();
    let small = SmallDisk::mount(dir.path().join("small"));
    let log = small.0.join("log");
    observer.record(Recording::create(&log, &begin).unwrap());
    let mut program = Command::new(workload("scatter"));
    program.arg(&made).args(["1", "10000000"]);
    let (_, status) = observe(&mut observer, Stream::default(), &mut program, || {});
    assert!(status.success());
    assert_eq!(std::fs::metadata(made.join("log.0")).unwrap().len(), 1000);
    let error = observer
        .recorded()
        .unwrap()
        .finish()
        .unwrap_err()
        .to_string();
    assert!(
        error.contains(&log.display().to_string()) && error.contains("No space left"),
        "{error}"
    );
}

/// A file system of 2 MiB that is unmounted with this value.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(at: PathBuf) -> Self {
        std::fs::create_dir(&at).unwrap();
        rustix::mount::mount(
            "none",
            &at,
            "tmpfs",
            rustix::mount::MountFlags::empty(),
            Some(c"size=2m"),
        )
        .unwrap();
        Self(at)
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        rustix::mount::unmount(&self.0, rustix::mount::UnmountFlags::DETACH).unwrap();
    }
}

#[test]
fn threads_without_their_first_one_are_stopped_and_read() {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("log");
    let made = dir.path().join("made");
    let again = dir.path().join("again");
    std::fs::create_dir(&made).unwrap();
    std::fs::create_dir(&again).unwrap();
    let limits = Limits {
        ring_bytes: 1 << 18,
        ..Limits::record()
    };
    let recorded = record(
        limits,
        &log,
        Command::new(workload("threads"))
            .arg(&made)
            .args(["4", "10000"]),
    );
    assert!(recorded.stops > 0);
    // Two threads may be stopped at once: then the log states which buffers are uncertain.
    if let Completeness::Incomplete { because } = &recorded.completeness {
        assert_eq!(because.len(), 1, "{because:?}");
        assert!(
            because[0].count_of(Countable::Buffers).is_some(),
            "{because:?}"
        );
    }
    self::again(&log, &again);
    for number in 0..4 {
        let original = made.join(format!("t{number}"));
        assert_same(&original, &rebuilt(&again, &original));
    }
}
