//! Several running processes, names and cgroups: every count is what the programs did.

mod cgroups;
mod processes;
mod raised;
mod refused;

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use iostrata_core::trace::{Joined, MatchedBy, TraceResult};
use rustix::process::{Pid, Signal, kill_process};

use crate::skip::skip;
use crate::traced::{file, place};
use crate::wait::until;

/// Killed when the test ends.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// A program that continues on request.
struct Waiting(Running);

impl Waiting {
    /// A shell that becomes this program.
    fn shell(dir: &Path, script: &str) -> Self {
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("read go; {script}")]);
        Self::of(shell, dir)
    }

    fn of(mut command: Command, dir: &Path) -> Self {
        command.current_dir(dir).stdin(Stdio::piped());
        command.stdout(Stdio::null());
        Self(Running(command.spawn().unwrap()))
    }

    fn pid(&self) -> u32 {
        self.0.0.id()
    }

    /// Lets it go on, and waits for its end.
    #[track_caller]
    fn go(mut self, input: &[u8]) {
        let mut stdin = self.0.0.stdin.take().unwrap();
        stdin.write_all(input).unwrap();
        drop(stdin);
        assert!(self.0.0.wait().unwrap().success());
    }
}

/// `dd` that writes so many blocks of 4 KiB to a file.
fn dd(file: &str, count: u64) -> String {
    format!("dd if=/dev/zero of={file} bs=4096 count={count} status=none")
}

#[track_caller]
fn wrote(result: &TraceResult, name: &str, count: u64) {
    let writes = &file(result, name).writes;
    assert_eq!(
        (writes.count, writes.bytes),
        (count, count * 4096),
        "{name}"
    );
}

#[track_caller]
fn is_not_seen(result: &TraceResult, name: &str) {
    let mut files = result.files.iter();
    assert!(
        !files.any(|file| Path::new(&file.path).ends_with(name)),
        "{name}"
    );
}

/// iostrata, once it observes.
struct Observing {
    program: Running,
    dir: tempfile::TempDir,
}

fn trace(mut iostrata: Command, dir: &Path, arguments: &[&str]) -> Command {
    let trace = &mut iostrata;
    trace.args(["trace", "--no-measure", "--no-save", "--json"]);
    trace.arg(dir.join("result.json")).args(arguments);
    trace
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(File::create(dir.join("said")).unwrap());
    iostrata
}

impl Observing {
    #[track_caller]
    fn begin(arguments: &[&str]) -> Self {
        let (dir, iostrata) = (place(), Command::new(env!("CARGO_BIN_EXE_iostrata")));
        Self::of(trace(iostrata, dir.path(), arguments), dir)
    }

    #[track_caller]
    fn of(mut command: Command, dir: tempfile::TempDir) -> Self {
        let program = Running(command.spawn().unwrap());
        let mut observing = Self { program, dir };
        until(|| {
            let ended = observing.program.0.try_wait().unwrap();
            assert!(ended.is_none(), "{command:?}: {}", observing.said());
            let said = observing.said();
            said.contains("observing ").then_some(()).ok_or(said)
        });
        observing
    }

    fn said(&self) -> String {
        fs::read_to_string(self.dir.path().join("said")).unwrap()
    }

    /// Its result, when it has ended by itself.
    #[track_caller]
    fn ended(mut self) -> TraceResult {
        let status = until(|| self.program.0.try_wait().unwrap().ok_or("it goes on"));
        assert!(status.success(), "{}", self.said());
        let text = fs::read_to_string(self.dir.path().join("result.json")).unwrap();
        let result: TraceResult = serde_json::from_str(&text).unwrap();
        assert_eq!(result.lost_events, 0, "{:?}", result.missing);
        result
    }

    /// The same after Ctrl-C.
    #[track_caller]
    fn interrupted(self) -> TraceResult {
        let pid = Pid::from_raw(self.program.0.id().cast_signed()).unwrap();
        kill_process(pid, Signal::INT).unwrap();
        self.ended()
    }
}

/// A cgroup of version 2 of its own, removed when the test ends.
pub(crate) struct Group(PathBuf);

impl Group {
    /// `None`, and why, where there can be none.
    pub(crate) fn new(name: &str) -> Option<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
        let point = mounts.lines().find_map(|line| {
            let (before, after) = line.split_once(" - ")?;
            let is_it = after.starts_with("cgroup2 ");
            is_it.then(|| PathBuf::from(before.split(' ').nth(4).unwrap()))
        });
        let Some(point) = point else {
            skip("no cgroup hierarchy of version 2 is mounted");
            return None;
        };
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = name.replace("NUMBER", &format!("{}-{number}", std::process::id()));
        let made = Self(point.join(name));
        if let Err(error) = fs::create_dir(&made.0) {
            skip(format_args!("no cgroup can be made: {error}"));
            return None;
        }
        Some(made)
    }

    fn below(&self, name: &str) -> Self {
        let below = Self(self.0.join(name));
        fs::create_dir(&below.0).unwrap();
        below
    }

    fn take(&self, pid: u32) {
        fs::write(self.0.join("cgroup.procs"), pid.to_string()).unwrap();
    }

    pub(crate) fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }

    /// As in `/proc/PID/cgroup`.
    fn inner(&self) -> String {
        format!("/{}", self.0.file_name().unwrap().to_str().unwrap())
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // A process that has just ended may be in it for a moment.
        until(|| match fs::remove_dir(&self.0) {
            Err(error) if self.0.exists() => Err(error),
            _ => Ok(()),
        });
    }
}

fn matched(result: &TraceResult) -> Vec<(u32, &str, Vec<MatchedBy>, Joined)> {
    let attached = result.attached.as_ref().unwrap();
    let matched = attached.matched.iter();
    let of = |one: &'_ iostrata_core::trace::Matched| one.by.clone();
    let matched = matched.map(|one| (one.process, one.name.as_str(), of(one), one.joined));
    matched.collect()
}

fn blocks_of_zeros(count: usize) -> Vec<u8> {
    vec![0; count * 4096]
}
