//! The cost of measuring single reads: the loop of `lab page-cache --reader pread_random`, with its
//! clock and its histogram, compared with a loop in C that only reads, and with fio.
//!
//! `make bench` runs it. Blocks of 4 KiB of a fully cached file of 512 MiB, in random order;
//! interleaved rounds, medians. A read that hits the page cache does not wait, so the CPU time is
//! the cost of the read; the elapsed time includes other processes.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints its figures and stops at the first error"
)]

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use iostrata_core::stats::{self, Interval};
use iostrata_lab::page_cache::{Latencies, read_randomly};
use iostrata_tracer::kernel::{AlignedBuffer, cachestat};
use rustix::time::{ClockId, clock_gettime};

const BLOCK_BYTES: usize = 4096;
const BLOCKS: u64 = 1 << 17;
const FILE_BYTES: u64 = BLOCKS * BLOCK_BYTES as u64;
const OPERATIONS: u64 = 200_000;
const ROUNDS: usize = 31;

/// Maximum cost of a clock reading and a histogram entry together.
const ALLOWED_NS: f64 = 100.0;

/// Nanoseconds per operation.
#[derive(Debug, Clone, Copy)]
struct Cost {
    elapsed_ns: f64,
    cpu_ns: f64,
}

fn main() {
    // A disk's file system, not tmpfs: the page cache is what programs read through.
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    let path = dir.path().join("data");
    let file = make(&path);
    let bare_loop = build(dir.path());
    let has_fio = Command::new("fio").arg("--version").output().is_ok();

    let (mut bare, mut own, mut fio) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        assert_hot(&file);
        bare.push(run_bare(&bare_loop, &path));
        own.push(run_own(&file));
        if has_fio {
            fio.push(run_fio(&path));
        }
        assert_hot(&file);
    }

    println!("{OPERATIONS} random reads of 4 KiB in the page cache, {ROUNDS} interleaved rounds:");
    println!("medians of ns an operation, of CPU and elapsed, and of a round's differences in CPU");
    println!("time from the loop in C (95 %)");
    line("C, nothing but reads", &bare, &bare);
    line("iostrata, each read recorded", &own, &bare);
    if has_fio {
        line("fio psync, defaults", &fio, &bare);
    } else {
        println!("fio psync: missing, fio is not installed");
    }
    println!(
        "at most {ALLOWED_NS:.0} ns more than C: {}",
        verdict(&own, &bare)
    );
}

/// A file without holes, written back, so that no write-back disturbs the reads.
fn make(path: &Path) -> File {
    let mut file = File::create_new(path).unwrap();
    let block: Vec<u8> = (0..=250).cycle().take(1 << 20).collect();
    for _ in 0..FILE_BYTES >> 20 {
        file.write_all(&block).unwrap();
    }
    file.sync_all().unwrap();
    File::open(path).unwrap()
}

#[track_caller]
fn assert_hot(file: &File) {
    let stat = cachestat(file.as_fd(), 0..u64::MAX).unwrap();
    let page = iostrata_tracer::kernel::page_size() as u64;
    assert_eq!(stat.cached_pages * page, FILE_BYTES, "evicted meanwhile");
    assert_eq!(stat.dirty_pages, 0);
}

fn run_bare(program: &Path, path: &Path) -> Cost {
    let mut command = Command::new(program);
    command.arg(path).arg(OPERATIONS.to_string());
    let printed = output(&mut command);
    let (elapsed, cpu) = printed.trim().split_once(' ').unwrap();
    let each = |text: &str| text.parse::<f64>().unwrap() / OPERATIONS as f64;
    Cost {
        elapsed_ns: each(elapsed),
        cpu_ns: each(cpu),
    }
}

fn run_own(file: &File) -> Cost {
    let offsets = offsets();
    let mut buffer = AlignedBuffer::touched(BLOCK_BYTES).unwrap();
    let mut latencies = Latencies::new();
    let (begun, cpu) = (Instant::now(), cpu_ns());
    read_randomly(&offsets, &mut latencies, |offset| {
        match file.read_at(&mut buffer, offset)? {
            BLOCK_BYTES => Ok(()),
            _ => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    })
    .unwrap();
    let (cpu, elapsed) = (cpu_ns() - cpu, begun.elapsed());
    let recorded = latencies.percentiles().unwrap().count;
    assert_eq!(recorded, OPERATIONS, "a fast figure of something else");
    Cost {
        elapsed_ns: elapsed.as_nanos() as f64 / OPERATIONS as f64,
        cpu_ns: cpu / OPERATIONS as f64,
    }
}

fn cpu_ns() -> f64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as f64 * 1e9 + now.tv_nsec as f64
}

/// Random offsets from the generator of the C loop, drawn before the clock starts as in the
/// experiment.
fn offsets() -> Vec<u64> {
    let mut random = 88_172_645_463_325_252_u64;
    let draw = || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        Some((random % BLOCKS) * BLOCK_BYTES as u64)
    };
    std::iter::from_fn(draw)
        .take(usize::try_from(OPERATIONS).unwrap())
        .collect()
}

/// The defaults, except that it must not evict the file first. Its own clock starts after its
/// start-up.
fn run_fio(path: &Path) -> Cost {
    let bytes = OPERATIONS * BLOCK_BYTES as u64;
    let mut command = Command::new("fio");
    command
        .args([
            "--name=pread",
            "--rw=randread",
            "--bs=4k",
            "--ioengine=psync",
        ])
        .args(["--invalidate=0", "--output-format=json"])
        .arg(format!("--filename={}", path.display()))
        .arg(format!("--size={FILE_BYTES}"))
        .arg(format!("--io_size={bytes}"));
    let result: serde_json::Value = serde_json::from_str(&output(&mut command)).unwrap();
    let job = &result["jobs"][0];
    assert_eq!(job["read"]["total_ios"], OPERATIONS);
    let figure = |value: &serde_json::Value| value.as_f64().unwrap();
    let elapsed_ns = 1e9 / figure(&job["read"]["iops"]);
    let cpu_percent = figure(&job["usr_cpu"]) + figure(&job["sys_cpu"]);
    Cost {
        elapsed_ns,
        cpu_ns: elapsed_ns * cpu_percent / 100.0,
    }
}

fn output(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn build(dir: &Path) -> PathBuf {
    let built = dir.join("hot_pread");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../workloads/hot_pread.c");
    output(
        Command::new("cc")
            .args(["-O2", "-o"])
            .arg(&built)
            .arg(source),
    );
    built
}

fn line(name: &str, costs: &[Cost], bare: &[Cost]) {
    let median = |figure: fn(&Cost) -> f64| {
        let figures: Vec<f64> = costs.iter().map(figure).collect();
        stats::median(&figures).unwrap()
    };
    let over = over(costs, bare);
    println!(
        "{name:<30} {:>6.0} cpu {:>6.0} elapsed  {:>+6.0} ({:+.0} to {:+.0})",
        median(|cost| cost.cpu_ns),
        median(|cost| cost.elapsed_ns),
        over.median,
        over.low,
        over.high
    );
}

/// The difference of a round's CPU time from that of the bare loop.
fn over(costs: &[Cost], bare: &[Cost]) -> Interval {
    let rounds = costs.iter().zip(bare);
    let differences: Vec<f64> = rounds
        .map(|(cost, bare)| cost.cpu_ns - bare.cpu_ns)
        .collect();
    stats::median_interval(&differences).unwrap()
}

fn verdict(own: &[Cost], bare: &[Cost]) -> &'static str {
    let over = over(own, bare);
    if over.high <= ALLOWED_NS {
        "met"
    } else if over.low > ALLOWED_NS {
        "NOT met"
    } else {
        "the rounds differ too much to tell"
    }
}
