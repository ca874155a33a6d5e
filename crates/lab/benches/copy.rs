//! The fastest way of copying 100 MB here compared with `cp`, interleaved in one series.
//!
//! `make bench` runs it on the build directory's file system. Every copy is compared with
//! its source.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints its figures and stops at the first error"
)]

use iostrata_core::gap::Reason;
use std::path::{Path, PathBuf};

use iostrata_core::copy::{CopyMethod, CopyRow, Source};
use iostrata_core::{environment, stats};
use iostrata_lab::copy::{Buffer, Selection};
use iostrata_lab::engine::{Launcher, Silent, StoppingRule};
use iostrata_lab::experiment::run;
use iostrata_lab::session::{Effort, RunSettings};
use iostrata_lab::target::Target;

const SIZE_BYTES: u64 = 100_000_000;

const RUNS: usize = 15;

fn main() {
    let dir = tempfile::tempdir_in(workload().parent().unwrap()).unwrap();
    let selection = Selection {
        methods: vec![
            CopyMethod::ReadWrite,
            CopyMethod::Sendfile,
            CopyMethod::Splice,
            CopyMethod::CopyFileRange,
            CopyMethod::Cp,
        ],
        sources: vec![Source::Warm],
        buffers: vec![Buffer::Bytes(64 << 10)],
        sizes_bytes: vec![SIZE_BYTES],
        effort: Effort::Thorough,
        ..Selection::default()
    };
    let settings = RunSettings {
        stopping: StoppingRule {
            min_runs: RUNS,
            max_runs: RUNS,
            target_width: 0.0,
            budget_s: 300.0,
        },
        effort: selection.effort,
        scratch: dir.path().to_owned(),
        launcher: Launcher::program(workload(), [""; 0]),
        virtualization: None,
        unobserved_because: Reason::Error("a benchmark is not observed".to_owned()),
    };
    let cases = selection.plan().unwrap();
    let target = target(dir.path());
    let measured = run(&cases, &settings, &[target], None, &mut Silent, &|| false).unwrap();
    let rows = measured.rows_of::<CopyRow>();
    let samples = |method: CopyMethod| {
        let row = rows.iter().find(|row| row.row.case.method == method);
        row.unwrap().row.timing.clone().unwrap()
    };
    let cp = samples(CopyMethod::Cp);
    for row in rows {
        let timing = row.row.timing.as_ref().unwrap();
        let ratio = stats::ratio(&timing.samples_s, &cp.samples_s).unwrap();
        let bounds = ratio.interval.unwrap();
        println!(
            "{:16} {:7.1} ms ({:.1}-{:.1})  {:.2} times cp (95 %: {:.2}-{:.2})",
            row.row.case.method.as_str(),
            timing.median_s * 1e3,
            timing.low_s * 1e3,
            timing.high_s * 1e3,
            ratio.estimate,
            bounds.low,
            bounds.high
        );
    }
}

/// The example `workload`, which Cargo builds with the benchmarks.
fn workload() -> PathBuf {
    let bench = std::env::current_exe().unwrap();
    let program = bench.ancestors().nth(2).unwrap().join("examples/workload");
    assert!(
        program.exists(),
        "build it first: cargo build --release -p iostrata-lab --example workload"
    );
    program
}

fn target(dir: &Path) -> Target {
    Target {
        name: "host".to_owned(),
        dir: dir.to_owned(),
        image: false,
        backing_cached: false,
        disks: Vec::new(),
        device_path: None,
        storage: environment::Storage {
            path: dir.display().to_string(),
            filesystem: "unknown".to_owned(),
            mount_options: String::new(),
            journal: None,
            devices: Vec::new(),
        },
    }
}
