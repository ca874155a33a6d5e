//! What being traced costs the program, and everybody else.
//!
//! `make bench` runs it. In every round each way runs once, so that the machine's changes reach
//! all of them; compared are the ratios of a round to its run without tracing. Times are the
//! program's own: from its first instruction, held back until it is observed, to its end.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints its figures and stops at the first error"
)]

#[path = "trace/around.rs"]
mod around;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use iostrata_core::stats;
use serde_json::Value;

const ROUNDS: usize = 7;
const WRITES: &str = "1000000";
const MANY: &str = "10000000";

/// Ways to run a program, with what each may cost.
struct Way {
    name: &'static str,
    options: &'static [&'static str],
    at_most: f64,
}

const WAYS: [Way; 2] = [
    Way {
        name: "all strata",
        options: &["--backend", "ebpf"],
        at_most: 1.7,
    },
    Way {
        name: "all strata and payload",
        options: &["--backend", "ebpf", "--record"],
        at_most: 2.2,
    },
];

fn main() {
    let disk = tempfile::tempdir_in("/var/tmp").unwrap();
    let memory = tempfile::tempdir_in("/dev/shm").unwrap();
    let append = build(disk.path(), "append");
    let append = append.to_str().unwrap();
    around::start_and_end(disk.path());
    one_byte_writes(append, memory.path());
    tar(disk.path());
    others(append, memory.path());
    let stops = build(disk.path(), "stops");
    every_call_stopped(append, stops.to_str().unwrap(), memory.path());
    many(append, memory.path());
}

fn one_byte_writes(append: &str, dir: &Path) {
    let file = dir.join("log");
    let command = [append, file.to_str().unwrap(), WRITES, "1", "none"];
    let mut bare = Vec::new();
    let mut traced = WAYS.map(|_| Vec::new());
    for _ in 0..ROUNDS {
        bare.push(run_bare(&command));
        for (way, times) in WAYS.iter().zip(&mut traced) {
            let log = dir.join("log.record");
            let mut options: Vec<&str> = way.options.to_vec();
            let records = options.last() == Some(&"--record");
            if records {
                options.push(log.to_str().unwrap());
            }
            times.push(run_traced(&options, &command).wall_s);
            if records {
                std::fs::remove_file(log).unwrap();
            }
        }
    }
    println!("{WRITES} writes of 1 B to memory: {ROUNDS} interleaved rounds, medians (range)");
    line("bare", &bare, &bare, None);
    for (way, times) in WAYS.iter().zip(&traced) {
        line(way.name, times, &bare, Some(way.at_most));
    }
}

fn tar(dir: &Path) {
    let archive = dir.join("archive.tar");
    let command = ["tar", "cf", archive.to_str().unwrap(), "/usr/include"];
    let (mut bare, mut traced) = (Vec::new(), Vec::new());
    run_bare(&command);
    for _ in 0..ROUNDS {
        bare.push(run_bare(&command));
        traced.push(run_traced(&["--backend", "ebpf"], &command).wall_s);
    }
    println!("tar of /usr/include, its files in the page cache");
    line("bare", &bare, &bare, None);
    line("all strata", &traced, &bare, Some(1.2));
}

/// Programs that are not traced, while another one is: one that does nothing but calls, one that
/// does many, one that computes.
fn others(append: &str, dir: &Path) {
    let file = dir.join("other");
    let writes = [append, file.to_str().unwrap(), WRITES, "1", "none"];
    println!("{WRITES} writes of 1 B by a program that is not traced");
    beside_a_trace(&writes);
    let archive = dir.join("other.tar");
    println!("tar of /usr/include that is not traced");
    beside_a_trace(&["tar", "cf", archive.to_str().unwrap(), "/usr/include"]);
    let source = format!("{}/../../workloads/sites.c", env!("CARGO_MANIFEST_DIR"));
    let compile = "for i in $(seq 20); do cc -O2 -c -o \"$0\" \"$1\"; done";
    println!("20 runs of a compiler that is not traced");
    beside_a_trace(&["sh", "-c", compile, file.to_str().unwrap(), &source]);
}

fn beside_a_trace(command: &[&str]) {
    let (mut alone, mut beside) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        alone.push(run_bare(command));
        let observer = Observing::start();
        beside.push(run_bare(command));
        drop(observer);
    }
    line("while nothing is traced", &alone, &alone, None);
    line("while another program is", &beside, &alone, Some(1.05));
}

/// Stops cost so much more that fewer calls are enough. The yardstick is the least program that
/// stops as often: what of the cost is the kernel's.
fn every_call_stopped(append: &str, stops: &str, dir: &Path) {
    const CALLS: &str = "100000";
    let file = dir.join("stopped");
    let command = [append, file.to_str().unwrap(), CALLS, "1", "none"];
    let mut yardstick = vec![stops];
    yardstick.extend(command);
    let (mut bare, mut least, mut traced) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        bare.push(run_bare(&command));
        least.push(run_bare(&yardstick));
        traced.push(run_traced(&["--backend", "ptrace"], &command).wall_s);
    }
    let calls: f64 = CALLS.parse().unwrap();
    let micros = |times: &[f64]| {
        let more = times.iter().zip(&bare).map(|(time, bare)| time - bare);
        let micros: Vec<f64> = more.map(|more_s| more_s / calls * 1e6).collect();
        stats::median_interval(&micros).unwrap()
    };
    let (least, cost) = (micros(&least), micros(&traced));
    println!(
        "ptrace: {:.1} µs for each traced call (95 %: {:.1}-{:.1}); at most 12 wanted: {}",
        cost.median,
        cost.low,
        cost.high,
        if cost.median <= 12.0 {
            "met"
        } else {
            "NOT met"
        }
    );
    println!(
        "  the least loop in C that stops as often: {:.1} µs ({:.1}-{:.1})",
        least.median, least.low, least.high
    );
}

fn many(append: &str, dir: &Path) {
    let file = dir.join("many");
    let command = [append, file.to_str().unwrap(), MANY, "1", "none"];
    let run = run_traced(&["--backend", "ebpf"], &command);
    println!(
        "{MANY} writes: {:.1} MiB resident at most, {:.2} s to load and to sum up",
        run.peak_bytes as f64 / f64::from(1 << 20),
        run.around_s
    );
}

/// One traced run.
struct Traced {
    wall_s: f64,
    /// Of iostrata, before the program's start and after its end.
    around_s: f64,
    /// Largest resident set of iostrata; the program's own is smaller.
    peak_bytes: u64,
}

fn run_traced(options: &[&str], command: &[&str]) -> Traced {
    let mut program = Command::new(env!("CARGO_BIN_EXE_iostrata"));
    program
        .args(["trace", "--json", "-"])
        .args(options)
        .arg("--")
        .args(command);
    let begun = Instant::now();
    let child = program
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let pid = child.id();
    let watching = std::thread::spawn(move || peak(pid));
    let output = child.wait_with_output().unwrap();
    let whole_s = begun.elapsed().as_secs_f64();
    assert!(output.status.success(), "{command:?}");
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(result["lost_events"], 0);
    let wall_s = result["wall_s"].as_f64().unwrap();
    Traced {
        wall_s,
        around_s: whole_s - wall_s,
        peak_bytes: watching.join().unwrap(),
    }
}

/// The kernel's own high-water mark, as long as it can be read.
fn peak(pid: u32) -> u64 {
    let mut peak = 0;
    while let Ok(status) = std::fs::read_to_string(format!("/proc/{pid}/status")) {
        let mark = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let Some(kib) = mark.and_then(|mark| mark.trim().strip_suffix(" kB")) else {
            break;
        };
        peak = kib.trim().parse::<u64>().unwrap() << 10;
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    peak
}

fn run_bare(command: &[&str]) -> f64 {
    let begun = Instant::now();
    let status = Command::new(command[0])
        .args(&command[1..])
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success(), "{command:?}");
    begun.elapsed().as_secs_f64()
}

/// iostrata while it traces a program that does nothing.
struct Observing(Child);

impl Observing {
    fn start() -> Self {
        let mut program = Command::new(env!("CARGO_BIN_EXE_iostrata"));
        program.args(["trace", "--", "sh", "-c", "echo ready; read end"]);
        let mut child = program
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut said = [0; 6];
        std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut said).unwrap();
        assert_eq!(&said, b"ready\n");
        Self(child)
    }
}

impl Drop for Observing {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        drop(self.0.wait());
    }
}

fn build(dir: &Path, name: &str) -> PathBuf {
    let built = dir.join(name);
    let source = format!("{}/../../workloads/{name}.c", env!("CARGO_MANIFEST_DIR"));
    let status = Command::new("cc")
        .args(["-O2", "-o"])
        .arg(&built)
        .arg(source)
        .status();
    assert!(status.unwrap().success());
    built
}

fn line(name: &str, times: &[f64], bare: &[f64], at_most: Option<f64>) {
    let median = stats::median(times).unwrap();
    let low = times.iter().copied().fold(f64::INFINITY, f64::min);
    let high = times.iter().copied().fold(0.0, f64::max);
    let ratios: Vec<f64> = times
        .iter()
        .zip(bare)
        .map(|(time, bare)| time / bare)
        .collect();
    let ratio = stats::median_interval(&ratios).unwrap();
    let verdict = at_most.map_or_else(String::new, |most| {
        let met = if ratio.median <= most {
            "met"
        } else {
            "NOT met"
        };
        format!("; at most {most} wanted: {met}")
    });
    println!(
        "  {name:<26} {median:.3} s ({low:.3}-{high:.3})  {:.2} x ({:.2}-{:.2}){verdict}",
        ratio.median, ratio.low, ratio.high
    );
}
