//! What the first sentence says of runs made by hand.

use iostrata_core::evidence::CallStats;
use iostrata_core::gap::{Gap, Reason};
use iostrata_core::trace::{FileKind, Severity, TimedRuns};

use super::super::fixture::{by_ptrace, call, empty, finding, five_runs, full, input};
use super::*;

fn said(result: &TraceResult) -> String {
    let summed = summed(result);
    assert_eq!(summed.warnings, Vec::<String>::new());
    summed.sentence.replace('\u{a0}', " ")
}

/// One thread that spent 2.9 of 4.2 s in syncs of a journal.
fn syncing() -> TraceResult {
    let mut result = full();
    result.threads = 1;
    result.findings[0].evidence[0].call = Some("fsync".to_owned());
    result
}

#[test]
fn the_worst_finding_is_one_sentence() {
    let mut result = syncing();
    assert_eq!(
        said(&result),
        "69 % of 4.20 s was 903 fsync calls on data/orders.db-journal; batch several records \
         per sync (SQLite: many statements in one transaction): saves about 2.50 s."
    );
    result.findings[0].saving_basis = Some(Basis::Computed);
    result.findings[0].confidence = Confidence::Likely;
    assert!(said(&result).ends_with(": may save at most 2.50 s."));
    // It concerns only some of the syncs.
    result.files[2].syncs = CallStats {
        count: 97,
        time_s: 0.5,
        ..CallStats::default()
    };
    assert!(said(&result).starts_with(
        "81 % of 4.20 s was 1,000 syncs of 2 files, 2.90 s of it 903 fsync calls on \
         data/orders.db-journal; batch"
    ));
    assert!(said(&result).ends_with(": may save at most 2.50 s of that."));
    result.files[2].syncs = CallStats::default();
    // The calls are not its cost.
    result.findings[0].evidence[0].call = Some("write".to_owned());
    result.findings[0].cost_s = Some(2.1);
    assert!(said(&result).starts_with(
        "50 % of 4.20 s went to data/orders.db-journal (903 fsyncs, one for each write); batch"
    ));
    result.findings[0].file = None;
    assert!(said(&result).starts_with("50 % of 4.20 s: 903 fsyncs, one for each write; batch"));
    result.findings[0].saving_s = Some(4.3);
    assert!(
        !said(&result).contains("saves"),
        "no more than the run took"
    );
}

#[test]
fn threads_have_sums_and_no_share() {
    assert_eq!(
        said(&full()),
        "In a run of 4.20 s, all threads together spent 2.90 s on data/orders.db-journal (903 \
         fsyncs, one for each write); batch several records per sync (SQLite: many statements \
         in one transaction): saves about 2.50 s."
    );
    // The title of a finding without a file is a sentence.
    let mut result = full();
    result.findings[0].file = None;
    assert!(said(&result).starts_with(
        "In a run of 4.20 s, all threads together spent 2.90 s: 903 fsyncs, one for each write; batch"
    ));
}

#[test]
fn the_median_of_runs_is_told_first() {
    let mut result = syncing();
    result.runs = Some(five_runs());
    assert!(said(&result).starts_with(
        "3.25 s is the median of 5 runs without tracing; 69 % of the traced run (4.20 s) was 903 \
         fsync calls on data/orders.db-journal; batch"
    ));
    result.threads = 12;
    assert!(said(&result).contains("tracing; in the traced run (4.20 s), all threads together"));
    result.runs = Some(TimedRuns::of(0, five_runs().each[..1].to_vec(), None));
    result.findings.remove(0);
    assert!(
        said(&result).starts_with("3.75 s without tracing; a crash could lose data in config.json")
    );
}

#[test]
fn ptrace_is_named_where_times_are() {
    assert!(said(&by_ptrace()).ends_with("(timed under ptrace, which slows every call)."));
}

#[test]
fn a_fault_says_what_a_crash_does() {
    let mut result = full();
    result.findings.remove(0);
    assert_eq!(
        said(&result),
        "A crash could lose data in config.json: a crash can leave it empty; call fsync before \
         rename."
    );
}

#[test]
fn without_a_finding_it_is_where_the_time_went() {
    let mut result = empty();
    result.wall_s = 2.1;
    assert_eq!(said(&result), "No file I/O in 2.10 s.");
    result.evidence.on_cpu_s = Some(2.0);
    result.syscalls = vec![call("read", 9, 4096, 0.0625, 0.03125)];
    assert_eq!(said(&result), "No file I/O: 94 % of 2.10 s was on CPU.");
    result.files = vec![input("/srv/app/in", 1 << 20)];
    assert_eq!(
        said(&result),
        "94 % of 2.10 s was on CPU: file I/O, which took 62.5 ms, is not the bottleneck."
    );
    result.syscalls = vec![call("read", 9, 4096, 1.9, 1.8)];
    result.evidence.on_cpu_s = Some(0.2);
    assert_eq!(
        said(&result),
        "90 % of 2.10 s was file I/O; no rule found a way to shorten it."
    );
    let mut little = finding("small-reads", Severity::Low, "/srv/app/in");
    little.saving_s = Some(0.1);
    result.findings = vec![little];
    assert_eq!(
        said(&result),
        "90 % of 2.10 s was file I/O; the best advice (small-reads: read through a 64 KiB \
         buffer) saves at most 100 ms."
    );
    // The same read, of a pipe.
    result.findings.clear();
    result.files[0].kind = FileKind::Pipe;
    result.files[0].calls[0].row = call("read", 9, 4096, 1.9, 1.8);
    assert_eq!(
        said(&result),
        "No file I/O: 86 % of 2.10 s was spent waiting (timers, locks, children, pipes or \
         sockets)."
    );
    result.threads = 3;
    result.files[0].kind = FileKind::Regular;
    assert_eq!(
        said(&result),
        "In a run of 2.10 s, all threads together spent 1.90 s in file I/O and 100 ms on CPU \
         outside it."
    );
}

#[test]
fn losses_and_parts_of_runs_are_warnings() {
    let mut result = full();
    result.lost_events = 1;
    result.missing = vec![Gap::new(Missing::Findings, Reason::NotFullyObserved)];
    assert_eq!(
        summed(&result).warnings,
        [
            "1 event lost: counts may be too low by as many",
            "incomplete: the run was not fully observed; no findings"
        ]
    );
    result.evidence.syscalls = None;
    result.syscalls.clear();
    result.findings.clear();
    assert_eq!(
        summed(&result).sentence.replace('\u{a0}', " "),
        "Its calls were not observed in 4.20 s: its file I/O is unknown."
    );
}

#[test]
fn shares_of_what_is_neither_are_neither_0_nor_100() {
    let shown = [0.0, 0.004, 0.5, 0.9951, 1.0].map(percent);
    assert_eq!(
        shown,
        ["0", "<1", "50", ">99", "100"].map(|it| format!("{it}\u{a0}%"))
    );
}
