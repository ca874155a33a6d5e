//! The back end agrees with `strace`, which counts by other means.

use std::collections::BTreeMap;

use iostrata_tracer::ptrace::Stops;

use crate::ground::{by_name, run, scratch, strace, workload};

/// How often threads wait for each other and how memory is allocated depends on timing.
const DEPENDS_ON_TIMING: [&str; 8] = [
    "futex",
    "mmap",
    "munmap",
    "mprotect",
    "madvise",
    "brk",
    "restart_syscall",
    "rt_sigreturn",
];

fn fixed(calls: BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    let mut calls = calls;
    calls.retain(|name, _| !DEPENDS_ON_TIMING.contains(&name.as_str()));
    calls
}

#[test]
fn all_calls_of_every_workload_are_counted() {
    let file = scratch();
    let file = file.path().join("f");
    let file = file.to_str().unwrap();
    for (program, arguments) in [
        ("append", vec![file, "321", "100", "fdatasync"]),
        ("execs", vec![file, "4"]),
        ("execs", vec![file, "4", "failing"]),
        ("execs", vec![file, "4", "vfork"]),
        ("execs", vec![file, "4", "setsid"]),
        ("signals", vec![file, "20"]),
        ("steady", vec![file, "20", "10", "calls"]),
    ] {
        std::fs::write(file, "").unwrap();
        let witness = strace(&workload(program), &arguments);
        std::fs::write(file, "").unwrap();
        let all = by_name(&run(program, &arguments, Stops::All));
        assert_eq!(
            fixed(all),
            fixed(witness.clone()),
            "{program} {arguments:?}"
        );
        std::fs::write(file, "").unwrap();
        let io = by_name(&run(program, &arguments, Stops::Io));
        assert!(io.contains_key("write") && !io.contains_key("getpid"));
        for (name, count) in fixed(io) {
            assert_eq!(witness.get(&name), Some(&count), "{program} {name}");
        }
    }
}

#[test]
fn a_tree_of_processes_and_threads_is_counted() {
    let (one, other) = (scratch(), scratch());
    let with = |dir: &tempfile::TempDir| {
        let dir = dir.path().to_str().unwrap().to_owned();
        [dir, "4".into(), "8".into(), "100".into(), "10".into()]
    };
    let words = with(&one);
    let witness = strace(&workload("tree"), &words.each_ref().map(String::as_str));
    let words = with(&other);
    let all = run("tree", &words.each_ref().map(String::as_str), Stops::All);
    assert_eq!(witness["pwrite64"], 4 * 8 * 100);
    let (mut all, mut witness) = (fixed(by_name(&all)), fixed(witness));
    // Each child that ends while its parent waits may interrupt one wait.
    for calls in [&mut all, &mut witness] {
        calls.remove("wait4");
    }
    assert_eq!(all, witness);
}
