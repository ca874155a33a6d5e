//! What `iostrata top` costs: its own CPU time and memory, and time of each call of the programs that it watches.
//!
//! `make bench` runs it.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints its figures and stops at the first error"
)]

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use iostrata_core::stats;
use iostrata_core::top::Interval;
use rustix::process::{Pid, Signal, kill_process};

const ROUNDS: usize = 5;
const SECONDS: u32 = 5;
const WRITES: &str = "500000";

/// Calls a second, on how many files, and the share of one CPU that they may cost iostrata, per cent.
const RATES: [(u32, u32, f64); 5] = [
    (0, 1, 2.0),
    (1000, 1, 2.0),
    (1000, 1000, 2.0),
    (100_000, 1, 5.0),
    (100_000, 1000, 5.0),
];

/// Makes, writes and closes files in turn.
const FILES_IN_TURN: &str = "
import os, sys
for number in range(100_000):
    fd = os.open(f'{sys.argv[1]}/{number}', os.O_WRONLY | os.O_CREAT)
    os.write(fd, b'x')
    os.close(fd)
";
const MOST_MIB: f64 = 96.0;

fn main() {
    let disk = tempfile::tempdir_in("/var/tmp").unwrap();
    let memory = tempfile::tempdir_in("/dev/shm").unwrap();
    let paced = build(disk.path(), "paced");
    println!("CPU time of top itself, once a second for {SECONDS} s: medians (range) of intervals");
    for (rate, files, at_most) in RATES {
        own_cpu(&paced, memory.path(), (rate, files), at_most);
    }
    files_in_turn(memory.path());
    for (name, place) in [("memory", memory.path()), ("a disk", disk.path())] {
        calls_of_others(&build(disk.path(), "append"), place, name);
    }
}

/// `top --json`, which has counted one interval already.
struct Top(Child, BufReader<ChildStdout>);

impl Top {
    fn begin() -> Self {
        let mut program = Command::new(env!("CARGO_BIN_EXE_iostrata"));
        program.args(["top", "--json"]).stdout(Stdio::piped());
        let mut child = program.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        let mut top = Self(child, lines);
        top.next().unwrap();
        top
    }

    fn next(&mut self) -> Option<Interval> {
        let mut line = String::new();
        self.1.read_line(&mut line).unwrap();
        (!line.is_empty()).then(|| serde_json::from_str(&line).unwrap())
    }

    fn end(mut self) -> Vec<Interval> {
        kill_process(Pid::from_child(&self.0), Signal::INT).unwrap();
        let rest = std::iter::from_fn(|| self.next()).collect();
        assert!(self.0.wait().unwrap().success());
        rest
    }
}

fn own_cpu(paced: &Path, dir: &Path, (rate, files): (u32, u32), at_most: f64) {
    let mut program = Command::new(paced);
    program
        .arg(dir)
        .args([files, rate, SECONDS].map(|number| number.to_string()));
    let mut top = Top::begin();
    let mut program = program.spawn().unwrap();
    // The first interval has the begin of the program too.
    top.next().unwrap();
    let mut shares = Vec::new();
    let (mut calls, mut lost) = (Vec::new(), 0);
    for _ in 1..SECONDS {
        let interval = top.next().unwrap();
        lost += interval.lost_events;
        shares.push(interval.share(interval.own.cpu_s) * 100.0);
        calls.push(interval.per_second(interval.totals.calls.unwrap().count()));
    }
    assert!(program.wait().unwrap().success());
    top.end();
    let seen = stats::median(&calls).unwrap();
    let name = format!("{rate} calls/s on {files}, with others {seen:.0}, {lost} lost");
    line(&name, &shares, "%", Some(at_most));
}

/// While they are made, and resident at most.
fn files_in_turn(dir: &Path) {
    let top = Top::begin();
    let mut python = Command::new("python3");
    python.args(["-c", FILES_IN_TURN]).arg(dir);
    assert!(python.status().unwrap().success());
    let intervals = top.end();
    let shares = intervals.iter();
    let shares: Vec<f64> = shares
        .map(|interval| interval.share(interval.own.cpu_s) * 100.0)
        .collect();
    let peak = intervals.last().unwrap().own.peak_resident_bytes;
    println!("100000 files made in turn");
    line("CPU time", &shares, "%", None);
    let mib = peak as f64 / f64::from(1 << 20);
    line("resident at most", &[mib], "MiB", Some(MOST_MIB));
}

/// In each round without it and with it, in turn.
fn calls_of_others(append: &Path, dir: &Path, place: &str) {
    let file = dir.join("appended");
    let time_of_each = || -> f64 {
        let mut program = Command::new(append);
        program.arg(&file).args([WRITES, "1", "none", "timed"]);
        let said = program.output().unwrap().stdout;
        std::fs::remove_file(&file).unwrap();
        let ns: f64 = String::from_utf8(said).unwrap().trim().parse().unwrap();
        ns / WRITES.parse::<f64>().unwrap()
    };
    let (mut without, mut with) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        without.push(time_of_each());
        let top = Top::begin();
        with.push(time_of_each());
        top.end();
    }
    println!(
        "a write of 1 B to {place} by a program that is watched: {ROUNDS} rounds, medians (range)"
    );
    line("without top", &without, "ns", None);
    line("with top", &with, "ns", None);
}

fn build(dir: &Path, name: &str) -> PathBuf {
    let built = dir.join(name);
    let source = format!("{}/../../workloads/{name}.c", env!("CARGO_MANIFEST_DIR"));
    let mut compile = Command::new("cc");
    compile.args(["-O2", "-o"]).arg(&built).arg(source);
    assert!(compile.status().unwrap().success());
    built
}

fn line(what: &str, figures: &[f64], unit: &str, at_most: Option<f64>) {
    let median = stats::median(figures).unwrap();
    let low = figures.iter().copied().fold(f64::INFINITY, f64::min);
    let high = figures.iter().copied().fold(0.0, f64::max);
    let verdict = match at_most {
        None => String::new(),
        Some(most) if median <= most => format!("; at most {most} {unit} wanted: met"),
        Some(most) => format!("; at most {most} {unit} wanted: NOT met"),
    };
    println!("  {what:<54} {median:.2} {unit} ({low:.2}-{high:.2}){verdict}");
}
