//! When savings are measured by doing the same work both ways.

use iostrata_report::words;
use std::path::Path;
use std::process::Command;

use iostrata_core::gap::Missing;
use iostrata_core::trace::{Basis, Finding, TraceResult};

use crate::place::{Place, run};

/// Makes as many files as the second argument says, and syncs each record of a log, until that is most of a run on any
/// disk.
const PROGRAM: &str = "import os, sys, time
os.chdir(sys.argv[1])
for number in range(int(sys.argv[2])):
    os.close(os.open(f'file-{number}', os.O_WRONLY | os.O_CREAT))
log = os.open('log', os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
records, begun = 0, time.monotonic()
while records < 300 or time.monotonic() - begun < 1:
    os.write(log, b'x' * 100)
    os.fsync(log)
    records += 1";

const RULE: &str = "fsync-per-record";

fn traced(place: &Place, options: &[&str], files: u32) -> TraceResult {
    let result = place.path("result.json");
    let mut command = Command::new(env!("CARGO_BIN_EXE_iostrata"));
    command.arg("trace").args(options).arg("--json");
    command.arg(&result).args(["--", "python3", "-c", PROGRAM]);
    command.arg(place.dir()).arg(files.to_string());
    run(command).expect(0);
    read(&result)
}

/// A run of which the syncs are most: on a fast disk, with others on the processors, they may not be.
fn found(place: &Place, options: &[&str], files: u32) -> TraceResult {
    let results = (0..10).map(|_| traced(place, options, files));
    let mut found = results.filter(|result| finding(result).is_some());
    found
        .next()
        .expect("one run of ten that waits for its syncs")
}

fn read(result: &Path) -> TraceResult {
    serde_json::from_slice(&std::fs::read(result).unwrap()).unwrap()
}

fn finding(result: &TraceResult) -> Option<&Finding> {
    result.findings.iter().find(|finding| finding.rule == RULE)
}

/// What the saving of the syncs is by, and why it was not measured.
fn basis(result: &TraceResult) -> (Option<Basis>, Option<String>) {
    let what = Missing::Saving {
        rule: RULE.to_owned(),
    };
    let gap = result.missing.iter().find(|gap| gap.what == what);
    (
        finding(result).and_then(|finding| finding.saving_basis),
        gap.map(|gap| words::reason(&gap.why).to_string()),
    )
}

/// The summary of so many files takes long enough.
#[test]
fn after_many_files_a_saving_is_measured_when_asked_for() {
    let place = Place::new();
    let result = found(&place, &[], 1_100);
    let (computed, why) = basis(&result);
    assert_eq!(computed, Some(Basis::Computed));
    let why = why.expect("a reason");
    assert!(why.ends_with("trace --measure gives them 2 s"), "{why}");

    let result = traced(&place, &["--measure"], 1_100);
    match basis(&result) {
        (Some(Basis::Measured), None) => {}
        // It was measured, and saves next to nothing while others use the disk.
        (None, None) => assert!(finding(&result).is_none()),
        // A disk that makes few syncs in the two seconds, or others who use them: the reason is no longer that they
        // are not given.
        (Some(Basis::Computed), Some(why)) => assert!(!why.contains("--measure"), "{why}"),
        other => panic!("{other:?}"),
    }
    let result = found(&place, &["--no-measure"], 1_100);
    assert_eq!(basis(&result), (Some(Basis::Computed), None));
}

#[test]
fn it_is_measured_or_not_to_be() {
    let place = Place::new();
    run(place.iostrata("trace --measure --no-measure -- true")).expect(2);
}
