//! Ctrl-C ends an observation, or the measuring of savings, and no finding is lost by that.

use iostrata_report::words;
use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use iostrata_core::gap::Gap;
use iostrata_core::trace::{Basis, Finding, TraceResult};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::traced::{iostrata, place, trace_any};
use crate::wait::until;

/// Writes of one byte, until it is killed at the end of the test.
struct Endless(Child);

impl Endless {
    fn start(dir: &Path) -> Self {
        let mut dd = Command::new("dd");
        dd.args(["if=/dev/zero", "of=log", "bs=1"]).current_dir(dir);
        let endless = Self(dd.stderr(Stdio::null()).spawn().unwrap());
        wait_for(&dir.join("log"));
        endless
    }
}

impl Drop for Endless {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

fn wait_for(log: &Path) {
    wait_for_more(log, 100);
}

/// Until the log is so much longer, however slow the machine is.
fn wait_for_more(log: &Path, bytes: u64) {
    let length = || std::fs::metadata(log).map_or(0, |log| log.len());
    let end = length() + bytes;
    until(|| (length() >= end).then_some(()).ok_or_else(length));
}

/// What it says afterwards is lost.
fn wait_until_it_observes(observing: &mut Child) {
    let says = BufReader::new(observing.stderr.take().unwrap());
    let mut words = says.lines().map(Result::unwrap);
    assert!(words.any(|line| line.starts_with("observing process ")));
}

fn saved(path: &Path) -> TraceResult {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

#[track_caller]
fn small_writes(result: &TraceResult) -> &Finding {
    let mut findings = result.findings.iter();
    let found = findings.find(|finding| finding.rule == "small-writes");
    found.unwrap_or_else(|| panic!("{:?} {:?}", result.findings, result.missing))
}

#[track_caller]
fn assert_computed(finding: &Finding) {
    assert_eq!(finding.saving_basis, Some(Basis::Computed));
    assert!(finding.saving_s.unwrap() > 0.0);
    assert!(finding.evidence.last().unwrap().what.contains("computed"));
}

#[test]
fn what_ends_the_observation_of_an_adopted_process() {
    for backend in ["ebpf", "ptrace"] {
        let dir = place();
        let endless = Endless::start(dir.path());
        let json = dir.path().join("result.json");
        let mut program = Command::new(env!("CARGO_BIN_EXE_iostrata"));
        program
            .args(["trace", "--backend", backend, "-p"])
            .arg(endless.0.id().to_string())
            .arg("-o")
            .arg(&json);
        program.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut observing = program.spawn().unwrap();
        wait_until_it_observes(&mut observing);
        wait_for_more(&dir.path().join("log"), 40_000);
        kill_process(Pid::from_child(&observing), Signal::INT).unwrap();
        let output = observing.wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let result = saved(&json);
        assert_computed(small_writes(&result));
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.contains("small-writes"), "{text}");
        assert!(text.contains(", computed"), "{text}");
        let why = result.missing.iter().find(|gap| {
            words::missing(&gap.what).to_string() == "measured saving of small-writes"
                && words::reason(&gap.why).to_string() == "it was interrupted"
        });
        assert!(why.is_some(), "{:?}", result.missing);
    }
}

/// As with nohup(1).
#[test]
fn a_signal_that_is_ignored_does_not_end_the_observation() {
    for backend in ["ebpf", "ptrace"] {
        let dir = place();
        let endless = Endless::start(dir.path());
        let json = dir.path().join("result.json");
        let mut program = Command::new("sh");
        program
            .args(["-c", "trap '' HUP; exec \"$@\"", "sh"])
            .arg(env!("CARGO_BIN_EXE_iostrata"))
            .args(["trace", "--no-measure", "--backend", backend, "-p"])
            .arg(endless.0.id().to_string())
            .arg("-o")
            .arg(&json);
        program.stdout(Stdio::null()).stderr(Stdio::piped());
        let mut observing = program.spawn().unwrap();
        wait_until_it_observes(&mut observing);
        wait_for_more(&dir.path().join("log"), 40_000);
        for _ in 0..3 {
            kill_process(Pid::from_child(&observing), Signal::HUP).unwrap();
            wait_for_more(&dir.path().join("log"), 5_000);
            assert!(observing.try_wait().unwrap().is_none(), "{backend}");
        }
        kill_process(Pid::from_child(&observing), Signal::INT).unwrap();
        assert!(observing.wait().unwrap().success());
        assert!(saved(&json).syscalls.iter().any(|row| row.name == "write"));
    }
}

#[test]
fn what_ends_a_program_and_reaches_iostrata_too() {
    for backend in ["ebpf", "ptrace"] {
        let dir = place();
        let json = dir.path().join("result.json");
        let options = ["--backend", backend, "-o", json.to_str().unwrap()];
        let mut program = iostrata(&options, &["dd", "if=/dev/zero", "of=log", "bs=1"]);
        program.current_dir(dir.path()).process_group(0);
        program.stdout(Stdio::piped()).stderr(Stdio::piped());
        let running = program.spawn().unwrap();
        wait_for(&dir.path().join("log"));
        wait_for_more(&dir.path().join("log"), 40_000);
        kill_process_group(Pid::from_child(&running), Signal::INT).unwrap();
        let output = running.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130), "{output:?}");
        let finding = small_writes(&saved(&json)).clone();
        assert!(finding.saving_s.unwrap() > 0.0, "{finding:?}");
    }
}

#[test]
fn savings_that_are_not_to_be_measured_are_computed() {
    let dir = place();
    let json = dir.path().join("result.json");
    let words = ["dd", "if=/dev/zero", "of=log", "bs=1", "count=200000"];
    let options = ["--no-measure", "-o", json.to_str().unwrap()];
    let output = iostrata(&options, &words)
        .current_dir(dir.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let result = saved(&json);
    assert_computed(small_writes(&result));
    // Others may use the disk meanwhile; that nothing was measured is as it was asked for.
    let unmeasured = |gap: &&Gap| {
        words::missing(&gap.what)
            .to_string()
            .starts_with("measured saving")
    };
    assert_eq!(result.missing.iter().find(unmeasured), None);
    let (_, measured) = trace_any(dir.path(), &words);
    let finding = small_writes(&measured);
    // A trial that the machine disturbs is taken back, and says so.
    let is_said = measured.missing.iter().any(|gap| unmeasured(&gap));
    let is_measured = finding.saving_basis == Some(Basis::Measured);
    assert!(
        is_measured != is_said,
        "{finding:?}: {:?}",
        measured.missing
    );
}

/// While the kernel side is loaded, and until the program begins.
#[test]
fn what_comes_before_the_program_ends_iostrata_with_a_word() {
    for signal in [
        Signal::INT,
        Signal::TERM,
        Signal::HUP,
        Signal::QUIT,
        Signal::USR1,
    ] {
        let dir = place();
        let log = dir.path().join("log");
        let options = ["--record", log.to_str().unwrap(), "-o", "result"];
        let mut program = iostrata(&options, &["touch", "begun"]);
        program.current_dir(dir.path()).stderr(Stdio::piped());
        let running = program.spawn().unwrap();
        // Until they wait.
        let waiting = || {
            let status = std::fs::read_to_string(format!("/proc/{}/status", running.id())).ok()?;
            let mask = status
                .lines()
                .find_map(|line| line.strip_prefix("SigBlk:"))?;
            u64::from_str_radix(mask.trim(), 16).ok()
        };
        until(|| match waiting() {
            Some(mask) if mask & 1 << (signal.as_raw() - 1) != 0 => Ok(()),
            other => Err(other),
        });
        kill_process(Pid::from_child(&running), signal).unwrap();
        let output = running.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(128 + signal.as_raw()), "{text}");
        assert!(text.starts_with("interrupted by SIG"), "{text}");
        assert!(text.contains("no program was started"), "{text}");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}

/// What is blocked while iostrata waits is not blocked in the program.
#[test]
fn the_program_has_its_signals() {
    for backend in ["ebpf", "ptrace"] {
        let mut program = iostrata(
            &["--backend", backend],
            &["grep", "SigBlk", "/proc/self/status"],
        );
        let output = program.output().unwrap();
        let mask = String::from_utf8_lossy(&output.stdout).into_owned();
        let mask = mask.trim().rsplit('\t').next().map(str::to_owned);
        assert_eq!(mask.as_deref(), Some("0000000000000000"), "{backend}");
    }
}
