//! What iostrata takes before the program's first instruction and after its last, and how much memory.
//!
//! The program itself says when it runs, by the clock that all processes share.

use std::path::Path;
use std::process::{Command, Stdio};

use iostrata_core::stats;

use super::{ROUNDS, build};

/// A program, and how long nobody should have to wait for it.
struct Program {
    name: &'static str,
    processes: &'static str,
    files: &'static str,
    start_ms: f64,
    end_ms: f64,
    resident_mib: f64,
}

const PROGRAMS: [Program; 4] = [
    Program {
        name: "1 process, 1 file",
        processes: "1",
        files: "1",
        start_ms: 100.0,
        end_ms: 300.0,
        resident_mib: 96.0,
    },
    Program {
        name: "1 process, 10,000 files",
        processes: "1",
        files: "10000",
        start_ms: 100.0,
        end_ms: 300.0,
        resident_mib: 96.0,
    },
    Program {
        name: "1 process, 15,000 files",
        processes: "1",
        files: "15000",
        start_ms: 100.0,
        end_ms: f64::INFINITY,
        resident_mib: 96.0,
    },
    Program {
        name: "500 processes, 200 files each",
        processes: "500",
        files: "200",
        start_ms: 100.0,
        end_ms: 1000.0,
        resident_mib: 256.0,
    },
];

/// Of one run.
struct Around {
    start_ms: f64,
    end_ms: f64,
    resident_mib: f64,
}

pub(super) fn start_and_end(dir: &Path) {
    let program = build(dir, "many");
    println!("start to the first instruction, end after the last, largest resident set");
    for of in &PROGRAMS {
        let runs: Vec<Around> = (0..ROUNDS)
            .map(|round| around(&program, of, &dir.join(format!("files{round}"))))
            .collect();
        println!("  {}", of.name);
        let figures = |of_run: fn(&Around) -> f64| runs.iter().map(of_run).collect::<Vec<_>>();
        line("start", &figures(|run| run.start_ms), "ms", of.start_ms);
        line("end", &figures(|run| run.end_ms), "ms", of.end_ms);
        let resident = figures(|run| run.resident_mib);
        line("resident", &resident, "MiB", of.resident_mib);
    }
}

fn around(program: &Path, of: &Program, files: &Path) -> Around {
    std::fs::create_dir(files).unwrap();
    let said = files.with_extension("said");
    let begun_ms = now_ms();
    let mut child = Command::new(env!("CARGO_BIN_EXE_iostrata"))
        .args(["trace", "--backend", "ebpf", "--"])
        .arg(program)
        .args([files.to_str().unwrap(), of.processes, of.files])
        .stdout(std::fs::File::create(&said).unwrap())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let resident = peak_until_its_end(child.id());
    assert!(child.wait().unwrap().success());
    let ended_ms = now_ms();
    let said = std::fs::read_to_string(said).unwrap();
    std::fs::remove_dir_all(files).unwrap();
    let mut times = said
        .split_ascii_whitespace()
        .map(|ns| ns.parse::<f64>().unwrap() / 1e6);
    Around {
        start_ms: times.next().unwrap() - begun_ms,
        end_ms: ended_ms - times.next().unwrap(),
        resident_mib: resident as f64 / f64::from(1 << 20),
    }
}

/// The output is no pipe: iostrata has it open itself, so its end would come too late.
fn peak_until_its_end(pid: u32) -> u64 {
    let mut peak = 0;
    loop {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let mark = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let Some(kib) = mark.and_then(|mark| mark.trim().strip_suffix(" kB")) else {
            // A zombie has no memory.
            return peak;
        };
        peak = kib.trim().parse::<u64>().unwrap() << 10;
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

fn now_ms() -> f64 {
    iostrata_tracer::clock::now_ns() as f64 / 1e6
}

fn line(what: &str, figures: &[f64], unit: &str, at_most: f64) {
    let median = stats::median(figures).unwrap();
    let low = figures.iter().copied().fold(f64::INFINITY, f64::min);
    let high = figures.iter().copied().fold(0.0, f64::max);
    let verdict = match at_most {
        most if most.is_infinite() => String::new(),
        most if median <= most => format!("; at most {most} {unit} wanted: met"),
        most => format!("; at most {most} {unit} wanted: NOT met"),
    };
    println!("    {what:<9} {median:.0} {unit} ({low:.0}-{high:.0}){verdict}");
}
