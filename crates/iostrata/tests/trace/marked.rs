//! A program that is traced under a mark, by which all processes that come of it are found.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use iostrata_core::trace::TraceResult;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::traced::{file, place, workload};

const MARK: &str = "IOSTRATA_TEST_MARK";

/// Longer than a traced program, the guard of a recording and a busy machine need together.
const PATIENCE: Duration = Duration::from_mins(1);

/// Records of each of the two processes.
pub(crate) const WRITES: u64 = 3_000;

/// One traced run of `workloads/busy.c`.
pub(crate) struct Marked {
    dir: TempDir,
    mark: String,
}

/// A process of the run.
#[derive(Debug, Clone)]
#[expect(dead_code, reason = "the state is for who reads that one is left")]
pub(crate) struct Process {
    pub(crate) pid: i32,
    pub(crate) parent: i32,
    pub(crate) session: i32,
    pub(crate) is_iostrata: bool,
    pub(crate) descriptors: usize,
    state: char,
}

impl Marked {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let dir = place();
        fs::create_dir(dir.path().join("work")).unwrap();
        Self {
            dir,
            mark: format!("{MARK}={}.{number}", std::process::id()),
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The program under `iostrata trace` with these options; `LOG` is a file to be made.
    pub(crate) fn command(&self, options: &[&str]) -> Command {
        let mut command = self.command_of(options, &workload("busy"));
        command.arg(self.path("work")).arg(WRITES.to_string());
        command
    }

    /// Another program, whose arguments are still to come.
    pub(crate) fn command_of(&self, options: &[&str], program: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_iostrata"));
        let log = self.path("log");
        command.args(["trace", "--no-measure", "-o"]);
        command.arg(self.path("result.json"));
        for option in options {
            match *option {
                "LOG" => command.arg(&log),
                option => command.arg(option),
            };
        }
        command
            .arg("--")
            .arg(program)
            .current_dir(self.path("work"));
        self.mark(&mut command);
        command.env("RUST_BACKTRACE", "0");
        command
    }

    /// Has what comes of a command found.
    pub(crate) fn mark(&self, command: &mut Command) {
        let (name, value) = self.mark.split_once('=').unwrap();
        command.env(name, value);
    }

    /// All that live now.
    pub(crate) fn processes(&self) -> Vec<Process> {
        let entries = fs::read_dir("/proc").unwrap().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        pids.filter_map(|pid| process(pid, self.mark.as_bytes()))
            .collect()
    }

    /// Waits until none is left: one that is stopped would stay.
    #[track_caller]
    pub(crate) fn assert_all_end(&self, what: &str) {
        let begun = Instant::now();
        loop {
            let left = self.processes();
            if left.is_empty() {
                return;
            }
            if begun.elapsed() > PATIENCE {
                for process in &left {
                    let pid = Pid::from_raw(process.pid).unwrap();
                    let _gone = kill_process(pid, Signal::KILL);
                }
                panic!("{what}: {left:?} are left");
            }
            sleep(Duration::from_millis(10));
        }
    }

    /// Whether the program has begun.
    pub(crate) fn has_begun(&self) -> bool {
        self.path("work/begun").exists()
    }

    /// Whether it has done all its work, without a call that failed.
    pub(crate) fn is_done(&self) -> bool {
        self.path("work/done").exists()
    }

    /// What was saved, if anything: half a result is none.
    #[track_caller]
    pub(crate) fn result(&self) -> Option<TraceResult> {
        let text = fs::read(self.path("result.json")).ok()?;
        (!text.is_empty()).then(|| serde_json::from_slice(&text).unwrap())
    }

    /// That it says what the program has done.
    #[track_caller]
    pub(crate) fn assert_right(&self, result: &TraceResult, what: &str) {
        assert_eq!(result.lost_events, 0, "{what}");
        assert_eq!(result.processes, 3, "{what}");
        for child in ["f0", "f1"] {
            let writes = file(result, child).writes;
            let done = (writes.count, writes.bytes);
            assert_eq!(done, (WRITES, 300 * WRITES), "{what}");
            assert_eq!(file(result, child).reads.count, WRITES / 100, "{what}");
        }
        if self.path("log").exists() {
            let recording = result.recording.as_ref().unwrap();
            assert!(recording.operations > 2 * WRITES, "{what}");
            let because = &recording.incomplete_because;
            assert!(because.is_empty(), "{what}: {because:?}");
        }
    }
}

fn process(pid: i32, mark: &[u8]) -> Option<Process> {
    let proc = Path::new("/proc").join(pid.to_string());
    let environment = fs::read(proc.join("environ")).ok()?;
    let has_mark = environment.split(|byte| *byte == 0).any(|it| it == mark);
    let stat = fs::read_to_string(proc.join("stat")).ok()?;
    let (_, after) = stat.rsplit_once(") ")?;
    let mut fields = after.split(' ');
    let state = fields.next()?.chars().next()?;
    let mut number = || fields.next()?.parse::<i32>().ok();
    let (parent, _group, session) = (number()?, number()?, number()?);
    let is_iostrata = fs::read_link(proc.join("exe"))
        .is_ok_and(|exe| exe == Path::new(env!("CARGO_BIN_EXE_iostrata")));
    has_mark.then(|| Process {
        pid,
        parent,
        session,
        is_iostrata,
        descriptors: fs::read_dir(proc.join("fd")).map_or(0, Iterator::count),
        state,
    })
}
