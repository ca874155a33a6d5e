//! Whether `iostrata compare` finds a tenth that was put in, and nothing where nothing was.
//!
//! `make bench` runs it. What is timed are writes of one byte to a file in memory, by
//! `iostrata lab buffering`. They are made slower by a seccomp filter that takes longer to permit
//! each call (workloads/slowed.c), and not by anything the lab knows of. Runs are made in turn:
//! as it is, slower, as it is once more. They are made without privileges, since nothing is to be
//! observed and a run then takes a sixth of the time.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints its figures and stops at the first error"
)]

use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use iostrata_core::stats;
use serde_json::Value;

/// How often each of the two questions is asked.
const TRIES: usize = 8;
/// Pairs of runs of a try.
const PAIRS: usize = 30;
/// By how much the slower one is to be slower.
const PUT_IN: f64 = 0.10;
/// Pairs of runs by which the filter is made as slow as it is to be.
const CALIBRATIONS: usize = 25;
/// User and group of nobody.
const NOBODY: u32 = 65534;
/// Instructions by whose cost the filter is made: many, so that the cost of one is known well.
const MANY: u32 = 2000;

/// What `compare` said.
struct Said {
    judgement: String,
    ratio: f64,
    visible: f64,
}

fn main() {
    let dir = tempfile::tempdir_in("/dev/shm").unwrap();
    std::fs::set_permissions(dir.path(), Permissions::from_mode(0o777)).unwrap();
    build(dir.path());
    // Nobody may be unable to reach the place where it was built.
    std::fs::copy(env!("CARGO_BIN_EXE_iostrata"), dir.path().join("iostrata")).unwrap();
    let run = |instructions, name: &str| run_lab(instructions, dir.path(), name);
    let (instructions, factor) = calibrated(&run);
    println!(
        "writes of 1 B in /dev/shm, {instructions} instructions a call put in: {factor:.3} times \
         as long (medians of runs in turn)"
    );
    let (mut slower, mut same) = (Vec::new(), Vec::new());
    for _ in 0..TRIES {
        for pair in 0..PAIRS {
            run(0, &file("base", pair));
            run(instructions, &file("new", pair));
            run(0, &file("again", pair));
        }
        slower.push(compare(dir.path(), "base", "new"));
        same.push(compare(dir.path(), "base", "again"));
    }
    print(&format!("{:.0} % put in", PUT_IN * 100.0), &slower);
    print("the same thing twice", &same);
}

/// Instructions that make the writes slower by the part that is wanted, and by how much they do.
fn calibrated(run: &impl Fn(u32, &str) -> f64) -> (u32, f64) {
    let medians = |instructions: u32| {
        let times: Vec<(f64, f64)> = (0..CALIBRATIONS)
            .map(|_| (run(0, "a.json"), run(instructions, "b.json")))
            .collect();
        let of = |side: fn(&(f64, f64)) -> f64| {
            stats::median(&times.iter().map(side).collect::<Vec<_>>()).unwrap()
        };
        (of(|pair| pair.0), of(|pair| pair.1))
    };
    let (bare, slow) = medians(MANY);
    let wanted = PUT_IN * bare / ((slow - bare) / f64::from(MANY));
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a count of instructions, below 4,096 or refused by the program"
    )]
    let instructions = wanted.round() as u32;
    let (bare, slow) = medians(instructions);
    (instructions, slow / bare)
}

/// Saves a result of the lab. Returns its median time.
fn run_lab(instructions: u32, dir: &Path, name: &str) -> f64 {
    let file = dir.join(name);
    let mut command = Command::new(dir.join("slowed"));
    if Path::new("/proc/self").metadata().unwrap().uid() == 0 {
        command.uid(NOBODY).gid(NOBODY);
    }
    command
        .arg(instructions.to_string())
        .arg(dir.join("iostrata"))
        .args(["lab", "buffering", "--quick", "--fs=host", "--mode=flush"])
        .args(["--size=1", "--count=50000", "--dir"])
        .arg(dir)
        .arg("--json")
        .arg(&file);
    output(&mut command);
    let result: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let timing = &result["experiments"][0]["rows"][0]["timing"];
    timing["median_s"].as_f64().unwrap()
}

fn file(side: &str, pair: usize) -> String {
    format!("{side}{pair}.json")
}

fn compare(dir: &Path, base: &str, new: &str) -> Said {
    let mut command = Command::new(env!("CARGO_BIN_EXE_iostrata"));
    command.args(["compare", "--json=-"]);
    for pair in 0..PAIRS {
        command.args([base, new].map(|side| dir.join(file(side, pair))));
    }
    let result: Value = serde_json::from_str(&output(&mut command)).unwrap();
    let time = &result["lab"]["experiments"][0]["time"];
    Said {
        judgement: result["judgement"].as_str().unwrap().to_owned(),
        ratio: time["ratio"].as_f64().unwrap(),
        visible: time["visible_ratio"].as_f64().unwrap(),
    }
}

fn print(what: &str, said: &[Said]) {
    let count = |judgement| {
        said.iter()
            .filter(|said| said.judgement == judgement)
            .count()
    };
    let ratios: Vec<String> = said
        .iter()
        .map(|said| format!("{:.2} ({:.2})", said.ratio, said.visible))
        .collect();
    println!(
        "{what}: in {TRIES} tries of {PAIRS} pairs {} slower, {} faster, {} no difference",
        count("slower"),
        count("faster"),
        count("no_difference")
    );
    println!("  times as long (detectable): {}", ratios.join(", "));
}

fn build(dir: &Path) {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../workloads/slowed.c");
    let built = dir.join("slowed");
    output(
        Command::new("cc")
            .arg("-O2")
            .arg("-o")
            .arg(built)
            .arg(source),
    );
}

fn output(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}
