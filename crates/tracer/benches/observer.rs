//! The cost of being observed, compared with the bare run and strace, interleaved in one series.
//!
//! `make bench` runs it. Figures are medians over rounds; the range printed beside them shows the
//! machine's noise.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints its figures and stops at the first error"
)]

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use iostrata_core::observe::{Observer as _, Stream};
use iostrata_core::record::Begin;
use iostrata_core::stats;
use iostrata_tracer::ebpf::{EbpfObserver, Limits};
use iostrata_tracer::record::Recording;

const WRITES: &str = "1000000";
const ROUNDS: usize = 9;

fn main() {
    let dir = tempfile::tempdir_in("/dev/shm").unwrap();
    let program = build(dir.path());
    let file = dir.path().join("data");
    let (observer, opened) = timed(EbpfObserver::open);
    let mut observer = observer.unwrap();

    let mut bare = Vec::new();
    let mut all = Vec::new();
    let mut streamed = Vec::new();
    let mut recorder = EbpfObserver::with_limits(Limits::record()).unwrap();
    let log = dir.path().join("log");
    let mut recorded = Vec::new();
    let mut starts = Vec::new();
    let mut memory = (0.0, 0.0);
    for _ in 0..ROUNDS {
        bare.push(run(&program, &file, None).work);
        let seen = run(&program, &file, Some((&mut observer, Stream::default())));
        all.push(seen.work);
        starts.push(seen.start);
        if streamed.is_empty() {
            // Later the process also holds the events that the caller wants streamed.
            memory = (resident_mib(), maps_mib());
        }
        let stream = Stream {
            calls: true,
            requests: true,
        };
        streamed.push(run(&program, &file, Some((&mut observer, stream))).work);
        recorder.record(recording(&log));
        recorded.push(run(&program, &file, Some((&mut recorder, Stream::default()))).work);
        recorder.recorded().unwrap().finish().unwrap();
        std::fs::remove_file(&log).unwrap();
    }
    let strace = strace(&program, &file);

    println!("{WRITES} one-byte writes to tmpfs, {ROUNDS} interleaved rounds, medians (range)");
    line("bare", &bare, &bare);
    line("observed, all strata", &all, &bare);
    line("observed, every call streamed", &streamed, &bare);
    line("recorded with payload", &recorded, &bare);
    line("strace -c, once", &[strace], &bare);
    println!();
    println!(
        "load the programs, once            {:>8.1} ms",
        opened.as_secs_f64() * 1e3
    );
    println!(
        "attach, per session (median)       {:>8.1} ms",
        stats::median(&starts).unwrap() * 1e3
    );
    println!(
        "load and attach to first instruction {:>6.1} ms",
        opened.as_secs_f64() * 1e3 + stats::median(&starts).unwrap() * 1e3
    );
    println!(
        "memory: process {:.1} MiB, eBPF maps {:.1} MiB",
        memory.0, memory.1
    );
}

struct Run {
    work: f64,
    start: f64,
}

/// From the release of the blocked program to its end, and the time to start the observer.
fn run(program: &Path, file: &Path, observer: Option<(&mut EbpfObserver, Stream)>) -> Run {
    let mut child = Command::new("/bin/sh")
        .args(["-c", "read go; exec \"$0\" \"$@\""])
        .arg(program)
        .arg(file)
        .args([WRITES, "1", "none"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    // Let the shell reach its read, so that its own start is not part of the figure.
    std::thread::sleep(Duration::from_millis(20));
    let begun = Instant::now();
    let observer = observer.map(|(observer, stream)| {
        observer.start(child.id(), stream).unwrap();
        observer
    });
    let start = begun.elapsed().as_secs_f64();
    let ((), work) = timed(|| {
        child.stdin.take().unwrap().write_all(b"\n").unwrap();
        assert!(child.wait().unwrap().success());
    });
    if let Some(observer) = observer {
        let seen = observer.stop().unwrap();
        let writes: u64 = seen
            .raw
            .syscalls
            .unwrap()
            .iter()
            .filter(|r| r.name == "write")
            .map(|r| r.count)
            .sum();
        assert_eq!(
            writes.to_string(),
            WRITES,
            "a fast figure of something else"
        );
    }
    Run {
        work: work.as_secs_f64(),
        start,
    }
}

fn recording(log: &Path) -> Recording {
    let begin = Begin {
        command: Vec::new(),
        directory: b"/".to_vec(),
        started_ns: 0,
        reads: false,
    };
    Recording::create(log, &begin).unwrap()
}

fn strace(program: &Path, file: &Path) -> f64 {
    let mut command = Command::new("strace");
    command
        .args(["-f", "-c", "-o", "/dev/null"])
        .arg(program)
        .arg(file)
        .args([WRITES, "1", "none"]);
    timed(|| assert!(command.status().unwrap().success()))
        .1
        .as_secs_f64()
}

fn build(dir: &Path) -> PathBuf {
    let built = dir.join("append");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../workloads/append.c");
    assert!(
        Command::new("cc")
            .args(["-O1", "-o"])
            .arg(&built)
            .arg(source)
            .status()
            .unwrap()
            .success()
    );
    built
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let begun = Instant::now();
    let value = work();
    (value, begun.elapsed())
}

fn line(name: &str, seconds: &[f64], bare: &[f64]) {
    let median = stats::median(seconds).unwrap();
    let low = seconds.iter().copied().fold(f64::INFINITY, f64::min);
    let high = seconds.iter().copied().fold(0.0, f64::max);
    let ratio = median / stats::median(bare).unwrap();
    println!("{name:<32} {median:>8.3} s  ({low:.3}-{high:.3})  {ratio:>6.2} x");
}

fn resident_mib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let kib = status
        .lines()
        .find_map(|l| l.strip_prefix("VmRSS:"))
        .unwrap();
    kib.trim()
        .trim_end_matches(" kB")
        .trim()
        .parse::<f64>()
        .unwrap()
        / 1024.0
}

/// `memlock` of every eBPF map this process holds.
fn maps_mib() -> f64 {
    let mut bytes = 0.0;
    for entry in std::fs::read_dir("/proc/self/fdinfo").unwrap() {
        let mut text = String::new();
        let Ok(mut file) = std::fs::File::open(entry.unwrap().path()) else {
            continue;
        };
        if file.read_to_string(&mut text).is_err() || !text.contains("map_type:") {
            continue;
        }
        let memlock = text.lines().find_map(|line| line.strip_prefix("memlock:"));
        bytes += memlock.map_or(0.0, |value| value.trim().parse::<f64>().unwrap());
    }
    bytes / 1024.0 / 1024.0
}
