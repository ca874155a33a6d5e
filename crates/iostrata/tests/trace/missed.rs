//! Threads whose end the kernel does not report, as when it skips the program attached there: the
//! observation ends with them, and says what is missing.
#![cfg(debug_assertions)]

use std::path::Path;
use std::process::{Child, Command, Stdio};

use iostrata_core::gap::Countable::{self, ThreadCalls, ThreadDetails, ThreadEnds};
use iostrata_core::trace::TraceResult;

use crate::traced::{file, place, workload};
use crate::wait::until;

/// Killed when the test ends.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// Seconds until the first and the second thing that an attached process does: the next ones where
/// iostrata had not begun before the first, as on a busy machine.
const PACES: [[u32; 2]; 3] = [[2, 4], [8, 12], [32, 40]];

/// Traces while this program of the kernel side never runs, and reads what was saved, unless the
/// process was over before.
#[track_caller]
fn traced_without(program: &str, dir: &Path, words: &[&str]) -> Option<TraceResult> {
    let saved = dir.join("result.json");
    let mut command = Command::new(env!("CARGO_BIN_EXE_iostrata"));
    command.args(["trace", "--no-measure", "--backend", "ebpf", "--json"]);
    command.arg(&saved).args(words).current_dir(dir);
    command.env("IOSTRATA_FAIL", format!("kernel.{program}"));
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut trace = Running(command.spawn().unwrap());
    let status = until(|| trace.0.try_wait().unwrap().ok_or(words));
    let read = || serde_json::from_slice(&std::fs::read(&saved).unwrap()).unwrap();
    status.success().then(read)
}

/// While the program for ends of tasks never runs.
#[track_caller]
fn traced(dir: &Path, words: &[&str]) -> Option<TraceResult> {
    traced_without("exited", dir, words)
}

/// Adopts a shell whose script has the seconds of one pace, and which is seen doing both things.
#[track_caller]
fn adopted(script: &str, is_whole: impl Fn(&TraceResult) -> bool) -> TraceResult {
    let mut seen = PACES.iter().filter_map(|[first, second]| {
        let dir = place();
        let script = script.replace("FIRST", &first.to_string());
        let script = script.replace("SECOND", &second.to_string());
        let mut shell = Command::new("sh");
        shell.args(["-c", &script]).current_dir(dir.path());
        let shell = Running(shell.stdin(Stdio::null()).spawn().unwrap());
        let result = traced(dir.path(), &["-p", &shell.0.id().to_string()]);
        result.filter(&is_whole)
    });
    seen.next().unwrap()
}

/// How many threads lack this.
fn missing(result: &TraceResult, what: Countable) -> u64 {
    let mut gaps = result.missing.iter();
    gaps.find_map(|gap| gap.count_of(what)).unwrap_or(0)
}

#[test]
fn a_program_that_has_ended_is_not_waited_for() {
    let dir = place();
    let tree = workload("tree");
    let words = ["--", &tree, ".", "4", "2", "100", "10"];
    let result = traced(dir.path(), &words).unwrap();
    // Threads whose state found no place of its own take their sums along.
    let lost = missing(&result, ThreadCalls);
    assert_eq!(
        missing(&result, ThreadDetails) + lost,
        13,
        "{:?}",
        result.missing
    );
    let written = result.files.iter().map(|file| file.writes.count);
    let written: u64 = written.sum();
    assert!(written == 800 || lost > 0, "{written}");
    assert_eq!(result.lost_events, lost);
    assert_eq!(result.evidence.on_cpu_s, None);
    assert!(result.tasks.iter().all(|task| task.on_cpu_s.is_none()));
    assert!(result.tasks.iter().all(|task| task.ended_s.is_some()));
}

#[test]
fn an_adopted_process_that_has_ended_is_not_waited_for() {
    // Nobody asks how they have ended: what was the shell of the first does not, nor does this test.
    let result = adopted("sleep FIRST & exec sleep SECOND", |result| {
        result.tasks.len() == 2
    });
    let seen = [ThreadEnds, ThreadDetails, ThreadCalls].map(|what| missing(&result, what));
    assert_eq!(seen, [2, 0, 0], "{:?}", result.missing);
}

#[test]
fn what_lives_goes_on_being_observed() {
    let script = "sleep FIRST; (exec true); sleep SECOND; echo x > late";
    // The shell waits for its three children.
    let result = adopted(script, |result| missing(result, ThreadDetails) == 3);
    assert_eq!(missing(&result, ThreadEnds), 1, "{:?}", result.missing);
    let late = result.files.iter().find(|file| file.path.ends_with("late"));
    assert_eq!(late.unwrap().writes.count, 1);
}

/// As when an interrupt ends a request while the end of another one is being counted: the kernel does
/// not run the program for ends within itself, but the one beside it.
#[test]
fn what_one_program_for_ends_of_requests_misses_the_other_sees() {
    let append = workload("append");
    for program in ["completed", "completed_amid"] {
        let dir = place();
        let words = ["--", &append, "data", "20", "4096", "fsync"];
        let result = traced_without(program, dir.path(), &words).unwrap();
        assert_eq!(result.lost_events, 0);
        let device = file(&result, "data").evidence.exact_device().unwrap();
        assert!(device.data.count >= 20, "{device:?}");
        // No request takes less than a microsecond.
        let least_s = device.data.count as f64 * 1e-6;
        assert!(device.data.time_s > least_s, "{program}: {device:?}");
    }
}
