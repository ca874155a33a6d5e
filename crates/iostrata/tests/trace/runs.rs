//! Several runs of a program: those that nothing observes are timed, the last one is observed.

use iostrata_report::words;
use std::fs;
use std::io::Read as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use iostrata_core::gap::Gap;
use iostrata_core::trace::{TimedRuns, TraceResult};
use rustix::process::{Pid, Signal, kill_process, kill_process_group, test_kill_process};

use crate::traced::{calls, file, iostrata, place};
use crate::wait::until;

const BACKENDS: [&str; 2] = ["ebpf", "ptrace"];

/// A shell with a script, and what was saved of it.
#[track_caller]
pub(crate) fn traced(dir: &Path, options: &[&str], script: &str) -> (Output, TraceResult) {
    let options = [options, &["--no-save", "-o", "result.json"]].concat();
    let mut program = iostrata(&options, &["sh", "-c", script]);
    let output = program.current_dir(dir).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let result = serde_json::from_slice(&fs::read(dir.join("result.json")).unwrap()).unwrap();
    (output, result)
}

/// What it says, with ordinary spaces.
pub(crate) fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).replace('\u{a0}', " ")
}

pub(crate) fn lines(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

pub(crate) fn runs(result: &TraceResult) -> &TimedRuns {
    result.runs.as_ref().unwrap()
}

/// Each run appends how many descriptors of eBPF its parent has, and who traces it.
const WATCHED: &str = "ls -l /proc/$PPID/fd | grep -c bpf >> log; \
                       sed -n 's/^TracerPid:\t//p' /proc/self/status >> tracers";

#[test]
fn warm_ups_and_timed_runs_are_not_observed() {
    for backend in BACKENDS {
        let dir = place();
        let options = ["--backend", backend, "--runs", "3", "--warmup", "2"];
        let (_, result) = traced(dir.path(), &options, WATCHED);
        let probes = lines(&dir.path().join("log"));
        let tracers = lines(&dir.path().join("tracers"));
        // Two warm-ups, three timed runs, and the observed one.
        assert_eq!((probes.len(), tracers.len()), (6, 6), "{backend}");
        assert_eq!(probes[..5], ["0"; 5], "{backend}");
        assert_eq!(tracers[..5], ["0"; 5], "{backend}");
        match backend {
            "ebpf" => assert_ne!(probes[5], "0"),
            _ => assert_ne!(tracers[5], "0"),
        }
        let runs = runs(&result);
        assert_eq!((runs.warmup, runs.each.len()), (2, 3));
        assert!(
            runs.each
                .iter()
                .all(|run| run.wall_s > 0.0 && run.exit_code == Some(0))
        );
        assert_eq!(runs.wall_s.unwrap().n, 3);
        assert_eq!(runs.cold, None);
        // The observed calls are those of one run.
        assert_eq!(file(&result, "log").opens, 1);
        let (alone, result_alone) = traced(dir.path(), &["--backend", backend], WATCHED);
        assert_eq!(calls(&result)["execve"], calls(&result_alone)["execve"]);
        assert_eq!(result_alone.runs, None, "{alone:?}");
    }
}

#[test]
fn the_median_is_told_first_and_the_traced_run_beside_it() {
    let dir = place();
    let (output, _) = traced(dir.path(), &["--runs", "2", "--warmup", "1"], "sleep 0.1");
    let text = said(&output);
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let [start, end] = [" is the median of 2 runs without tracing; ", "x the median"];
    for said in [
        start,
        " runs 2 runs: ",
        " median (range ",
        ", after 1 warm-up run",
        "traced run: ",
        end,
    ] {
        assert!(words.contains(said), "{said}: {text}");
    }
    assert!(text.find(start) < text.find('\n'), "{text}");
    // What was saved is drawn the same.
    let mut report = Command::new(env!("CARGO_BIN_EXE_iostrata"));
    report.args(["report", "result.json"]).env("COLUMNS", "100");
    let again = report.current_dir(dir.path()).output().unwrap();
    assert_eq!(
        String::from_utf8_lossy(&again.stdout).replace('\u{a0}', " "),
        text
    );
}

/// Every run prints to the same place, so that all of them do the same work.
#[test]
fn what_the_runs_print_is_discarded_unless_it_is_asked_for() {
    for backend in BACKENDS {
        let dir = place();
        let script = "echo said; echo wrong >&2; readlink /proc/self/fd/1 >> outputs";
        let options = ["--backend", backend, "--runs", "2"];
        let (output, _) = traced(dir.path(), &options, script);
        assert_eq!(String::from_utf8_lossy(&output.stdout), "", "{backend}");
        let text = said(&output);
        assert!(!text.contains("wrong\n"), "{text}");
        assert!(text.contains("without tracing"), "{text}");
        let shown = [&options[..], &["--show-output"]].concat();
        let (output, _) = traced(dir.path(), &shown, script);
        assert_eq!(String::from_utf8_lossy(&output.stdout), "said\n".repeat(3));
        let text = said(&output);
        assert_eq!(text.matches("wrong\n").count(), 3, "{text}");
    }
}

#[test]
fn each_run_reads_the_same_standard_input() {
    for backend in BACKENDS {
        let dir = place();
        fs::write(dir.path().join("in"), "skipped\none\ntwo\n").unwrap();
        let script = "cat >> read";
        let options = [
            "--no-save",
            "--backend",
            backend,
            "--runs",
            "2",
            "-o",
            "result.json",
        ];
        let with = |stdin: Stdio| {
            let mut program = iostrata(&options, &["sh", "-c", script]);
            program.current_dir(dir.path()).stdin(stdin);
            let output = program.output().unwrap();
            assert!(output.status.success(), "{output:?}");
            let saved = fs::read(dir.path().join("result.json")).unwrap();
            serde_json::from_slice::<TraceResult>(&saved)
                .unwrap()
                .missing
        };
        // Each begins where the file stood, which is not its start.
        let mut input = fs::File::open(dir.path().join("in")).unwrap();
        input.read_exact(&mut [0; 8]).unwrap();
        let has = |gap: &Gap| words::missing(&gap.what).to_string() == "standard input";
        assert!(!with(input.into()).iter().any(has), "{backend}");
        let read = fs::read_to_string(dir.path().join("read")).unwrap();
        assert_eq!(read, "one\ntwo\n".repeat(3), "{backend}");
        let (pipe, mut into) = std::io::pipe().unwrap();
        std::io::Write::write_all(&mut into, b"lost").unwrap();
        drop(into);
        let missing = with(pipe.into());
        assert_eq!(fs::read_to_string(dir.path().join("read")).unwrap(), read);
        assert!(missing.iter().any(has), "{missing:?}");
    }
}

#[test]
fn a_run_that_fails_is_an_error_unless_it_may() {
    let dir = place();
    let fails = "test -e second && exit 3; test -e first && touch second; touch first";
    let mut program = iostrata(&["--no-save", "--runs", "5"], &["sh", "-c", fails]);
    let output = program.current_dir(dir.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(
        String::from_utf8_lossy(&output.stderr),
        "error: run 3 of 5: the program ended with exit code 3; --show-output shows what it says, \
         --ignore-failure measures it all the same\n"
    );
    let mut program = iostrata(
        &[
            "--no-save",
            "--runs",
            "3",
            "--ignore-failure",
            "-o",
            "result.json",
        ],
        &["sh", "-c", "kill -9 $$"],
    );
    let output = program.current_dir(dir.path()).output().unwrap();
    // That of the observed run.
    assert_eq!(output.status.code(), Some(137), "{output:?}");
    let text = said(&output);
    assert!(text.contains("3 runs ended with a failure"), "{text}");
    let saved = fs::read(dir.path().join("result.json")).unwrap();
    let result: TraceResult = serde_json::from_slice(&saved).unwrap();
    let ends = runs(&result)
        .each
        .iter()
        .map(|run| (run.exit_code, run.signal));
    assert_eq!(ends.collect::<Vec<_>>(), [(None, Some(9)); 3]);
}

#[test]
fn a_program_that_cannot_run_is_told_as_ever() {
    for options in [&["--runs", "2"][..], &["--cold"]] {
        let output = iostrata(options, &["/no/such/program"]).output().unwrap();
        assert_eq!(output.status.code(), Some(127), "{output:?}");
        let text = said(&output);
        assert!(
            text.starts_with("error: cannot find /no/such/program"),
            "{text}"
        );
    }
}

/// Waits for a file with the number of a process.
fn number_in(path: &Path) -> Pid {
    let line = until(|| {
        let text = fs::read_to_string(path).unwrap_or_default();
        if text.ends_with('\n') {
            Ok(text)
        } else {
            Err(text)
        }
    });
    Pid::from_raw(line.trim_end().parse().unwrap()).unwrap()
}

/// A zombie that nobody has reaped yet has ended too.
fn has_ended(process: Pid) -> bool {
    let path = format!("/proc/{}/stat", process.as_raw_nonzero());
    test_kill_process(process).is_err()
        || fs::read_to_string(path).is_ok_and(|stat| stat.contains(") Z "))
}

/// A shell that waits for a child, neither of which ends by itself; `ends` sends the signal.
#[track_caller]
fn interrupted(options: &[&str], ends: impl FnOnce(&Child)) {
    let dir = place();
    let script = "sleep 600 & echo $! > half; mv half child; wait";
    let options = [options, &["--no-save", "-o", "result.json"]].concat();
    let mut program = iostrata(&options, &["sh", "-c", script]);
    program.current_dir(dir.path()).process_group(0);
    program.stdout(Stdio::piped()).stderr(Stdio::piped());
    let running = program.spawn().unwrap();
    let child = number_in(&dir.path().join("child"));
    ends(&running);
    let output = running.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    let text = said(&output);
    assert!(text.contains("interrupted by SIGINT in "), "{text}");
    assert!(!dir.path().join("result.json").exists());
    until(|| has_ended(child).then_some(()).ok_or(child));
}

#[test]
fn ctrl_c_in_a_run_ends_it_and_all_it_has_started() {
    for backend in BACKENDS {
        for options in [&["--runs", "3"][..], &["--warmup", "1"], &["--cold"]] {
            let options = [&["--backend", backend], options].concat();
            // As the terminal does, and as kill(1).
            interrupted(&options, |running| {
                kill_process_group(Pid::from_child(running), Signal::INT).unwrap();
            });
            interrupted(&options, |running| {
                kill_process(Pid::from_child(running), Signal::INT).unwrap();
            });
        }
    }
}

#[test]
fn only_the_observed_run_is_recorded() {
    let dir = place();
    let options = ["--runs", "2", "--record", "log"];
    let (_, result) = traced(dir.path(), &options, "echo line >> out");
    assert_eq!(lines(&dir.path().join("out")).len(), 3);
    let (_, alone) = traced(dir.path(), &["--record", "another"], "echo line >> out");
    let operations = |result: &TraceResult| result.recording.as_ref().unwrap().operations;
    assert_eq!(operations(&result), operations(&alone));
}

#[test]
fn what_makes_no_sense_with_several_runs_is_refused() {
    let own = std::process::id().to_string();
    for (options, why) in [
        (
            &["--runs", "2", "-p", &own][..],
            "attach to running processes",
        ),
        (&["--cold", "-p", &own], "give the command instead"),
        (
            &["--warmup", "1", "--for", "1s", "--", "true"],
            "leave out --for",
        ),
        (
            &["--ignore-failure", "--", "true"],
            "give --runs, --warmup or --cold too",
        ),
        (
            &["--show-output", "--", "true"],
            "give --runs, --warmup or --cold too",
        ),
        (&["--runs", "0", "--", "true"], "0 is not in 1..=10000"),
    ] {
        let mut program = Command::new(env!("CARGO_BIN_EXE_iostrata"));
        let output = program.arg("trace").args(options).output().unwrap();
        let text = said(&output);
        assert_eq!(output.status.code(), Some(2), "{options:?}: {text}");
        assert!(text.contains(why), "{options:?}: {text}");
    }
}

/// The most memory of a program that has more than iostrata, and of one that has less.
#[test]
fn memory_is_the_programs_or_not_known() {
    let dir = place();
    let large = "x = b'1' * (300 << 20)";
    let options = ["--no-save", "--runs", "1", "-o", "result.json"];
    let read = |command: &[&str]| -> TraceResult {
        let mut program = iostrata(&options, command);
        let output = program.current_dir(dir.path()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        serde_json::from_slice(&fs::read(dir.path().join("result.json")).unwrap()).unwrap()
    };
    let python = read(&["python3", "-c", large]);
    let bytes = runs(&python).each[0].max_resident_bytes.unwrap();
    assert!((300 << 20..400 << 20).contains(&bytes), "{bytes}");
    let small = read(&["true"]);
    let is_said = small
        .missing
        .iter()
        .any(|gap| words::missing(&gap.what).to_string() == "most memory of the timed runs");
    assert_eq!(runs(&small).each[0].max_resident_bytes.is_none(), is_said);
}
