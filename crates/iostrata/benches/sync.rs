//! Whether `iostrata lab sync` gives the rate that a plain loop in C has, and fio.
//!
//! `make bench` runs it. Writes of 1 KiB, each made durable, on the file system of /var/tmp. In
//! every round each program runs once, so that the disk's changes reach all of them; compared
//! are the ratios of a round.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints its figures and stops at the first error"
)]

use std::path::{Path, PathBuf};
use std::process::Command;

use iostrata_core::stats;
use serde_json::Value;

const SIZE_BYTES: u64 = 1024;
/// On a disk that others use too, a round's ratios are spread by a third; the verdict says
/// where so many cannot tell.
const ROUNDS: usize = 25;

/// The lab gives the median of so many runs, after one that does not count. The C loop and fio
/// run as often, and as long: the first hundreds of syncs of a run take up to a fifth less than
/// those after them, so a shorter run gives another rate.
const RUNS: usize = 5;

/// How far a rate may be from that of the C loop, and of fio.
const ALLOWED: f64 = 0.10;

/// One way to make a write durable, in the words of each program.
struct Case {
    call: &'static str,
    write: &'static str,
    /// fio writes into preallocated blocks unless told otherwise, which is another case.
    fio: [&'static str; 2],
}

const CASES: [Case; 4] = [
    Case {
        call: "fsync",
        write: "append",
        fio: ["--fsync=1", "--fallocate=none"],
    },
    Case {
        call: "fdatasync",
        write: "overwrite",
        fio: ["--fdatasync=1", "--overwrite=1"],
    },
    Case {
        call: "o_dsync",
        write: "append",
        fio: ["--sync=dsync", "--fallocate=none"],
    },
    Case {
        call: "o_dsync",
        write: "overwrite",
        fio: ["--sync=dsync", "--overwrite=1"],
    },
];

/// Microseconds a sync, one entry a round.
#[derive(Default)]
struct Rounds {
    c: Vec<f64>,
    own: Vec<f64>,
    fio: Vec<f64>,
}

fn main() {
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    let append = build(dir.path());
    let has_fio = Command::new("fio").arg("--version").output().is_ok();

    let mut measured = CASES.map(|_| Rounds::default());
    let records = run_own(dir.path()).map(|(_, records)| records);
    for round in 0..ROUNDS {
        // Each is the first now and then: what one leaves to be written falls to the next.
        for turn in 0..3 {
            if (round + turn) % 3 == 0 {
                for (rounds, (micros, _)) in measured.iter_mut().zip(run_own(dir.path())) {
                    rounds.own.push(micros);
                }
                continue;
            }
            for ((case, rounds), records) in CASES.iter().zip(&mut measured).zip(records) {
                if (round + turn) % 3 == 1 {
                    let run = || run_c(&append, dir.path(), case, records);
                    rounds.c.push(usual(run));
                } else if has_fio {
                    let run = || run_fio(&append, dir.path(), case, records);
                    rounds.fio.push(usual(run));
                }
            }
        }
    }
    println!("writes of 1 KiB, each made durable, in /var/tmp: {ROUNDS} interleaved rounds");
    println!("medians of µs a sync (range), and of a round's ratios to the C loop (95 %)");
    for ((case, rounds), records) in CASES.iter().zip(&measured).zip(records) {
        println!("{} {}, {records} a run", case.write, case.call);
        print(case, rounds);
    }
}

fn print(case: &Case, rounds: &Rounds) {
    line("C loop", &rounds.c, &rounds.c);
    line("iostrata lab sync", &rounds.own, &rounds.c);
    if rounds.fio.is_empty() {
        println!("  fio: missing, it is not installed");
    } else {
        line(
            &format!("fio {}", case.fio.join(" ")),
            &rounds.fio,
            &rounds.c,
        );
        println!("  {}", verdict("fio", &ratios(&rounds.own, &rounds.fio)));
    }
    println!(
        "  {}",
        verdict("the C loop", &ratios(&rounds.own, &rounds.c))
    );
}

/// The median of some runs, after one that does not count.
fn usual(mut run: impl FnMut() -> f64) -> f64 {
    run();
    let runs: Vec<f64> = (0..RUNS).map(|_| run()).collect();
    stats::median(&runs).unwrap()
}

/// The records' own time, which the program prints.
fn run_c(append: &Path, dir: &Path, case: &Case, records: u64) -> f64 {
    let file = dir.join("c");
    let mut command = Command::new(append);
    command.arg(&file).arg(records.to_string());
    command.args([&SIZE_BYTES.to_string(), case.call, case.write, "timed"]);
    let ns: f64 = output(&mut command).trim().parse().unwrap();
    std::fs::remove_file(file).unwrap();
    ns / records as f64 / 1e3
}

/// Microseconds a sync of each case, and the syncs of a run.
fn run_own(dir: &Path) -> [(f64, u64); CASES.len()] {
    let mut command = Command::new(env!("CARGO_BIN_EXE_iostrata"));
    command
        .args(["lab", "sync", "--quick", "--fs=host", "--json=-"])
        .args(["--call=fsync,fdatasync,o_dsync", "--write=append,overwrite"])
        .arg(format!("--size={SIZE_BYTES}"))
        .arg("--dir")
        .arg(dir);
    let result: Value = serde_json::from_str(&output(&mut command)).unwrap();
    let rows = result["experiments"][0]["rows"].as_array().unwrap();
    CASES.map(|case| {
        let is_it =
            |row: &&Value| row["case"]["call"] == case.call && row["case"]["write"] == case.write;
        let row = rows.iter().find(is_it).unwrap();
        let samples = row["timing"]["samples_s"].as_array().unwrap();
        assert_eq!(samples.len(), RUNS);
        let rate = row["syncs_per_s"].as_f64().unwrap();
        (1e6 / rate, row["syncs_per_run"].as_u64().unwrap())
    })
}

fn run_fio(append: &Path, dir: &Path, case: &Case, records: u64) -> f64 {
    let file = dir.join("fio");
    if case.write == "overwrite" {
        // fio fills a file with larger writes than its records. These make larger folios,
        // in which a small write costs up to a third more to write back.
        let mut filled = Command::new(append);
        filled.arg(&file).arg(records.to_string());
        output(filled.args([&SIZE_BYTES.to_string(), "none"]));
    }
    let mut command = Command::new("fio");
    command
        .args(["--name=sync", "--rw=write", "--ioengine=psync"])
        .arg("--output-format=json")
        .arg(format!("--filename={}", file.display()))
        .arg(format!("--bs={SIZE_BYTES}"))
        .arg(format!("--size={}", records * SIZE_BYTES))
        .args(case.fio);
    let result: Value = serde_json::from_str(&output(&mut command)).unwrap();
    let write = &result["jobs"][0]["write"];
    assert_eq!(write["total_ios"], records);
    std::fs::remove_file(file).unwrap();
    1e6 / write["iops"].as_f64().unwrap()
}

fn output(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn build(dir: &Path) -> PathBuf {
    let built = dir.join("append");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../workloads/append.c");
    output(
        Command::new("cc")
            .args(["-O2", "-o"])
            .arg(&built)
            .arg(source),
    );
    built
}

fn line(name: &str, micros: &[f64], c: &[f64]) {
    let median = stats::median(micros).unwrap();
    let low = micros.iter().copied().fold(f64::INFINITY, f64::min);
    let high = micros.iter().copied().fold(0.0, f64::max);
    let ratio = stats::median_interval(&ratios(micros, c)).unwrap();
    println!(
        "  {name:<36} {median:>7.1} ({low:.1}-{high:.1})  {:.2} x ({:.2}-{:.2})",
        ratio.median, ratio.low, ratio.high
    );
}

fn ratios(micros: &[f64], c: &[f64]) -> Vec<f64> {
    micros.iter().zip(c).map(|(own, c)| own / c).collect()
}

/// Of the median ratio; the interval says whether the rounds can tell.
fn verdict(of: &str, ratios: &[f64]) -> String {
    let ratio = stats::median_interval(ratios).unwrap();
    let within = |ratio: f64| (ratio - 1.0).abs() <= ALLOWED;
    let wanted = format!("within {:.0} % of {of}", ALLOWED * 100.0);
    if within(ratio.low) && within(ratio.high) {
        format!("{wanted}: met, {:.2}", ratio.median)
    } else if ratio.low > 1.0 + ALLOWED || ratio.high < 1.0 - ALLOWED {
        format!("{wanted}: NOT met, {:.2}", ratio.median)
    } else {
        format!(
            "{wanted}: the rounds differ too much to tell; the median is {:.2}",
            ratio.median
        )
    }
}
