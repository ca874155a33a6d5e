//! Who waits for a call: what other threads do meanwhile bounds what its absence would save.

use iostrata_core::trace::{Finding, Severity, TraceResult};

use crate::traced::{place, trace, workload};

/// The syncs of `beside`: their time, and that in which the other thread did not move.
fn syncs(how: &str) -> (TraceResult, f64, f64) {
    let directory = place();
    let program = workload("beside");
    let result = trace(directory.path(), &[&program, "file", how]);
    let row = result.syscalls.iter().find(|row| row.name == "fsync");
    let row = row.unwrap();
    assert_eq!(row.stats.count, 100);
    let (time_s, alone_s) = (row.stats.time_s, row.alone_s.unwrap());
    assert!(alone_s <= time_s, "{alone_s} of {time_s}");
    (result, time_s, alone_s)
}

fn finding<'r>(result: &'r TraceResult, rule: &str) -> Option<&'r Finding> {
    result.findings.iter().find(|finding| finding.rule == rule)
}

#[test]
fn nobody_waits_for_syncs_beside_a_thread_that_goes_on() {
    for how in ["computes", "sleeps"] {
        let (result, time_s, alone_s) = syncs(how);
        // A processor that stands still as it tells who moves adds as long.
        assert!(alone_s < 0.1 * time_s, "{how}: {alone_s} of {time_s}");
        // On a quick disk they are not worth a finding anyway.
        let Some(found) = finding(&result, "fsync-per-record") else {
            assert!(
                time_s < 0.01 * result.wall_s.max(0.5),
                "{how}: {time_s} of {}",
                result.wall_s
            );
            continue;
        };
        assert_eq!(found.severity, Severity::Info, "{found:?}");
        assert!(found.saving_s.unwrap() < 0.1 * time_s, "{found:?}");
        let said = &found.evidence.last().unwrap().what;
        assert!(said.contains("another thread"), "{said}");
    }
}

#[test]
fn a_thread_that_waits_or_polls_hides_nothing() {
    // Threads of this machine may wait for a processor on their way to wait for the syncs.
    for how in ["waits", "polls", "looks"] {
        let (_, time_s, alone_s) = syncs(how);
        assert!(alone_s > 0.25 * time_s, "{how}: {alone_s} of {time_s}");
    }
}
