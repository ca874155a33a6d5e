//! Programs under `iostrata top --json`, and the sums of all its intervals.

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use iostrata_core::gap::{Countable, Gap};
use iostrata_core::top::{Calls, FileRequests, Interval, Pages, Work};
use rustix::process::{Pid, Signal, kill_process};

/// Compiles `workloads/NAME.c` once for all tests.
pub(crate) fn workload(name: &str) -> String {
    static BUILT: OnceLock<tempfile::TempDir> = OnceLock::new();
    let built = BUILT.get_or_init(|| tempfile::tempdir().unwrap());
    let program: PathBuf = built.path().join(name);
    if !program.exists() {
        let source = format!("{}/../../workloads/{name}.c", env!("CARGO_MANIFEST_DIR"));
        // Under another name first: another test may be compiling it too.
        let half = tempfile::NamedTempFile::new_in(built.path()).unwrap();
        let mut compile = Command::new("cc");
        compile.args(["-O1", "-pthread", "-o"]).arg(half.path());
        assert!(compile.arg(source).status().unwrap().success());
        half.persist(&program).unwrap();
    }
    program.to_str().unwrap().to_owned()
}

pub(crate) fn iostrata(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_iostrata"));
    command.arg("top").args(arguments);
    command.env("NO_COLOR", "1").env("COLUMNS", "100");
    command
}

/// The tables of one watch have the files of all tests: where one uses more than there is room for, the calls of
/// others lose their file too.
static ROOM: RwLock<()> = RwLock::new(());

/// Kept for its end.
#[expect(dead_code, reason = "their end says that others may begin")]
pub(crate) enum Room {
    Shared(RwLockReadGuard<'static, ()>),
    Own(RwLockWriteGuard<'static, ()>),
}

impl Room {
    /// For a test that looks for files.
    pub(crate) fn shared() -> Self {
        Self::Shared(ROOM.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// For a test that fills the tables: no other watch that counts is under way.
    pub(crate) fn own() -> Self {
        Self::Own(ROOM.write().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A watch that runs until Ctrl-C. Killed when a test fails.
pub(crate) struct Watch {
    child: Child,
    lines: BufReader<ChildStdout>,
    intervals: Vec<Interval>,
    _room: Room,
}

impl Watch {
    /// Returns when it counts.
    pub(crate) fn begin() -> Self {
        Self::in_room(Room::shared())
    }

    /// Returns when it counts, and has all room.
    pub(crate) fn begin_alone() -> Self {
        Self::in_room(Room::own())
    }

    /// As [`Watch::end`]; none when files or processes were lost. Ends of requests are others' on a shared disk.
    pub(crate) fn end_whole(self) -> Option<Vec<Interval>> {
        let intervals = self.end();
        let mut gaps = intervals.iter().flat_map(|one| &one.missing);
        let is_lost = |gap: &Gap| LOST.iter().any(|of| gap.count_of(*of).is_some());
        (!gaps.any(is_lost)).then_some(intervals)
    }

    fn in_room(room: Room) -> Self {
        let mut command = iostrata(&["--json", "--every", "300ms"]);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        let mut watch = Self {
            child,
            lines,
            intervals: Vec::new(),
            _room: room,
        };
        assert!(watch.next(), "no interval");
        watch
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Resident pages of the program's own text: without optimisation there are several times as many as in a
    /// release build, and they say nothing about what it keeps (`RssFile`, `proc_pid_status(5)`).
    pub(crate) fn text_bytes(&self) -> u64 {
        self.status_bytes("RssFile:")
    }

    /// What it keeps itself, now.
    pub(crate) fn own_bytes(&self) -> u64 {
        self.status_bytes("RssAnon:")
    }

    fn status_bytes(&self, name: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let kib = line.unwrap().split_whitespace().next().unwrap();
        kib.parse::<u64>().unwrap() << 10
    }

    /// The next interval, which is not kept: an hour has many.
    pub(crate) fn take(&mut self) -> Option<Interval> {
        self.next().then(|| self.intervals.pop())?
    }

    /// Ctrl-C.
    pub(crate) fn interrupt(&self) {
        kill_process(Pid::from_child(&self.child), Signal::INT).unwrap();
    }

    /// After its last interval.
    pub(crate) fn succeeded(&mut self) -> bool {
        self.child.wait().unwrap().success()
    }

    fn next(&mut self) -> bool {
        let mut line = String::new();
        if self.lines.read_line(&mut line).unwrap() == 0 {
            return false;
        }
        self.intervals.push(serde_json::from_str(&line).unwrap());
        true
    }

    /// Ctrl-C, when this interval and one more are over.
    pub(crate) fn end(mut self) -> Vec<Interval> {
        assert!(self.next() && self.next());
        self.interrupt();
        while self.next() {}
        assert!(self.succeeded());
        std::mem::take(&mut self.intervals)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// What has no row, or one without its file or process.
const LOST: [Countable; 6] = [
    Countable::CallsWithoutFile,
    Countable::CacheEventsWithoutFile,
    Countable::CallsOrCacheEvents,
    Countable::JournalParticipants,
    Countable::FileNames,
    Countable::Events,
];

/// For a test that looks for rows of files. On a busy machine an interval may last so long that other programs fill its
/// table: calls lose their file then, which is reported, and the test runs again.
pub(crate) fn until_nothing_is_lost(test: impl Fn() -> Option<()>) {
    const TRIES: usize = 15;
    assert!((0..TRIES).any(|_| test().is_some()), "each time");
}

/// What intervals have together.
pub(crate) fn sum<'a>(works: impl Iterator<Item = &'a Work>) -> Work {
    let mut sum = Work {
        calls: Some(Calls::default()),
        cache: Some(Pages::default()),
        device: Some(FileRequests::default()),
    };
    for work in works {
        sum += *work;
    }
    sum
}
