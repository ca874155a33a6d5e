//! The corpus: programs whose data a crash can lose, and programs that lose nothing, each with
//! its verdict argued. A new program is one more `Case` in a table; nothing else has to know it.
#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "test helpers")]

mod drawn;
mod held_out;
mod run;
mod safe;
#[path = "../../../core/tests/skip/mod.rs"]
mod skip;
mod table;
mod unsafe_archives;
mod unsafe_databases;
mod unsafe_publications;
mod unsafe_updates;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;

use run::Ran;
use table::{Case, Verdict};

/// Programs that run beside each other: most of a case's time is one process at work.
const BESIDE: usize = 4;

#[test]
fn every_case_is_named_and_argued() {
    let names: BTreeSet<&str> = table::all().map(|case| case.name).collect();
    assert_eq!(names.len(), table::all().count(), "names are unique");
    for case in table::all() {
        assert!(case.because.len() > 40, "{}: argue it", case.name);
    }
}

/// What was said of each case: its line for a reader, and whether it is as the verdict demands.
fn judged(case: &Case, ran: &Ran) -> (bool, String) {
    let (is_right, wanted) = match case.verdict {
        Verdict::Unsafe { rule, file } => (ran.names(rule, file), format!("{rule} {file}")),
        Verdict::Safe | Verdict::Missed => (ran.loud().is_empty(), "nothing loud".to_owned()),
        Verdict::Accused => (!ran.loud().is_empty(), "a false alarm".to_owned()),
    };
    let mark = if is_right { "ok   " } else { "WRONG" };
    let told = if ran.told.is_empty() {
        "nothing".to_owned()
    } else {
        ran.told.join("; ")
    };
    let line = format!("{mark} {}: wanted {wanted}; told {told}", case.name);
    (is_right, line)
}

#[test]
fn every_verdict_is_what_iostrata_says() {
    judge(table::argued().collect());
}

#[test]
fn every_verdict_on_drawn_programs_is_what_iostrata_says() {
    judge(drawn::CASES.iter().collect());
}

#[test]
fn every_verdict_on_held_out_programs_is_what_iostrata_says() {
    judge(held_out::CASES.iter().collect());
}

#[expect(clippy::print_stderr, reason = "a line for each case")]
fn judge(cases: Vec<&Case>) {
    if !rustix::process::geteuid().is_root() {
        skip::skip("observing a program in the kernel needs root");
        return;
    }
    let built = build_workloads();
    let left = Mutex::new(cases);
    let wrong = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..BESIDE {
            scope.spawn(|| {
                loop {
                    let Some(case) = left.lock().unwrap().pop() else {
                        return;
                    };
                    let (is_right, line) = judged(case, &run::observed(case, built.path()));
                    eprintln!("{line}");
                    if !is_right {
                        wrong.lock().unwrap().push(line);
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Compiles all of `workloads/corpus`.
fn build_workloads() -> tempfile::TempDir {
    let built = tempfile::tempdir().unwrap();
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workloads/corpus");
    for source in std::fs::read_dir(sources).unwrap() {
        let source = source.unwrap().path();
        let mut compiler = Command::new("cc");
        compiler.args(["-O1", "-Wall", "-Werror", "-o"]);
        compiler.arg(built.path().join(source.file_stem().unwrap()));
        assert!(compiler.arg(&source).status().unwrap().success());
    }
    built
}
