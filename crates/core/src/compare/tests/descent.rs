//! Two traced runs from the program down to the device, their findings, and files that changed.

use super::names;
use crate::compare::{Comparison, Findings, Limit, Measure, PAGE_CACHE, Runs, Sides, trace};
use crate::evidence::{CallStats, DeviceCounts, DeviceRange, RequestCount};
use crate::gap::{Gap, Missing, Reason};
use crate::trace::fixture::{file, result};
use crate::trace::{Bounds, Confidence, FileRow, Finding, Severity, TraceResult};

fn compared(base: &TraceResult, new: &TraceResult) -> Runs {
    trace(names(), base, new).trace.unwrap()
}

fn with_calls(calls: &[(&str, u64)]) -> TraceResult {
    let mut run = result();
    run.evidence.syscalls = Some(
        calls
            .iter()
            .map(|&(name, count)| {
                let counted = CallStats {
                    count,
                    ..CallStats::default()
                };
                (name.to_owned(), counted)
            })
            .collect(),
    );
    run
}

#[track_caller]
fn measure(runs: &Runs, what: &str) -> (Option<Bounds>, Option<Bounds>, Option<f64>) {
    let mut strata = runs.strata.iter();
    let Measure { sides, ratio, .. } = strata.find(|one| one.what == what).unwrap();
    (sides.base, sides.new, *ratio)
}

fn exactly(figure: impl Into<Option<u64>>) -> Option<Bounds> {
    figure.into().map(|figure| Bounds::from((figure, figure)))
}

#[test]
fn every_stratum_has_its_ratio() {
    let mut base = with_calls(&[("write", 10), ("pwrite64", 2), ("read", 4), ("fsync", 8)]);
    let mut new = with_calls(&[("write", 3), ("read", 4), ("fdatasync", 2), ("openat", 1)]);
    (base.bytes.written_bytes, new.bytes.written_bytes) = (1000, 4000);
    (base.bytes.dirtied_bytes, new.bytes.dirtied_bytes) = (Some(8192), None);
    let runs = compared(&base, &new);
    assert_eq!(
        measure(&runs, "system calls"),
        (exactly(24), exactly(10), Some(10.0 / 24.0))
    );
    assert_eq!(
        measure(&runs, "writes"),
        (exactly(12), exactly(3), Some(0.25))
    );
    assert_eq!(
        measure(&runs, "syncs"),
        (exactly(8), exactly(2), Some(0.25))
    );
    assert_eq!(
        measure(&runs, "bytes written"),
        (exactly(1000), exactly(4000), Some(4.0))
    );
    // A figure missing in one run has no ratio.
    assert_eq!(measure(&runs, "bytes dirtied"), (exactly(8192), None, None));
    // Figures that neither run has are left out.
    let has = |what: &str| runs.strata.iter().any(|one| one.what == what);
    assert!(has("reads") && !has("bytes read") && !has("flushes"));
}

#[test]
fn nothing_is_no_base_of_a_ratio_and_a_range_is_in_none() {
    let base = with_calls(&[("write", 1)]);
    let mut new = with_calls(&[("write", 1), ("fsync", 3)]);
    let flushes = |flushes, count| DeviceCounts {
        flushes,
        data: RequestCount {
            count,
            ..RequestCount::default()
        },
        ..DeviceCounts::default()
    };
    new.evidence.device = Some(DeviceRange {
        at_least: flushes(3, 2),
        at_most: flushes(9, 2),
    });
    let runs = compared(&base, &new);
    assert_eq!(measure(&runs, "syncs"), (exactly(0), exactly(3), None));
    let (_, shared, ratio) = measure(&runs, "flushes");
    assert_eq!((shared, ratio), (Some(Bounds::from((3, 9))), None));
}

/// Bytes of files without room in the tables are in no figure, so there is none.
#[test]
fn bytes_that_are_not_all_are_missing_with_their_reason() {
    let mut base = with_calls(&[("write", 1)]);
    base.bytes.written_bytes = 10;
    let mut new = base.clone();
    new.other_calls = 7;
    let comparison = trace(names(), &base, &new);
    let gap = comparison.missing.iter();
    let gap = gap.filter(|gap| gap.what == Missing::AllBytes).count();
    let runs = comparison.trace.unwrap();
    assert_eq!((measure(&runs, "bytes written").1, gap), (None, 1));
}

const MIB: u64 = 1 << 20;

/// The same bytes from a cold and from a warm cache are not the same run.
#[test]
fn another_state_of_the_cache_is_named() {
    let run = |read_bytes, device_bytes| {
        let mut run = with_calls(&[("read", 1)]);
        run.bytes.read_bytes = read_bytes;
        run.bytes.device_read_bytes = device_bytes;
        run
    };
    let named = |base: &TraceResult, new: &TraceResult| {
        let mut conditions = trace(names(), base, new).conditions.into_iter();
        let found = conditions.find(|condition| condition.what == PAGE_CACHE);
        found.map(|condition| (condition.sides.base, condition.sides.new))
    };
    let (cold, warm) = (run(8 * MIB, Some(9 * MIB)), run(8 * MIB, Some(0)));
    let told = |size: &str| format!("{size} read from the device");
    assert_eq!(named(&cold, &warm), Some((told("9.0 MiB"), told("0 B"))));
    assert_eq!(named(&warm, &cold), Some((told("0 B"), told("9.0 MiB"))));
    assert_eq!(named(&cold, &cold), None);
    // One has nine tenths of the other's bytes; and small amounts do not count.
    assert_eq!(named(&cold, &run(8 * MIB, Some(8 * MIB))), None);
    assert_eq!(named(&run(MIB, Some(4096)), &run(MIB, Some(0))), None);
    assert_eq!(named(&cold, &run(8 * MIB, None)), None);
    // For ranges, the minimum of one is compared with the maximum of the other.
    let mut shared = run(8 * MIB, None);
    shared.bytes.device_read_bytes_shared = Some(Bounds::from((2 * MIB, 9 * MIB)));
    let least = "at least 2.0 MiB read from the device".to_owned();
    assert_eq!(named(&shared, &warm), Some((least, told("0 B"))));
    assert_eq!(named(&shared, &cold), None);
}

fn finding(rule: &str, file: &str, cost_s: f64) -> Finding {
    Finding {
        rule: rule.to_owned(),
        severity: Severity::Low,
        confidence: Confidence::Certain,
        title: rule.to_owned(),
        file: Some(file.to_owned()),
        evidence: Vec::new(),
        cost_s: Some(cost_s),
        cost_threads: None,
        alone_s: None,
        saving_s: None,
        saving_basis: None,
        advice: String::new(),
        crash_command: None,
        no_crash_command_because: None,
    }
}

type RuleAndCost<'a> = (&'a str, Sides<Option<f64>>);

fn found(list: &Findings) -> [Vec<RuleAndCost<'_>>; 3] {
    [&list.gone, &list.came, &list.stayed].map(|list| {
        let all = list.iter();
        all.map(|one| (one.rule.as_str(), one.cost_s)).collect()
    })
}

#[test]
fn findings_go_come_and_stay_by_rule_and_file() {
    let (mut base, mut new) = (result(), result());
    base.findings = vec![
        finding("fsync-per-record", "/srv/a", 2.0),
        finding("small-writes", "/srv/a", 1.0),
        finding("small-writes", "/srv/a", 0.5),
    ];
    new.findings = vec![
        finding("small-writes", "/srv/b", 4.0),
        finding("small-writes", "/srv/a", 3.0),
    ];
    let sides = |base, new| Sides { base, new };
    let runs = compared(&base, &new);
    assert_eq!(
        found(&runs.findings.unwrap()),
        [
            vec![
                ("fsync-per-record", sides(Some(2.0), None)),
                ("small-writes", sides(Some(0.5), None))
            ],
            vec![("small-writes", sides(None, Some(4.0)))],
            vec![("small-writes", sides(Some(1.0), Some(3.0)))],
        ]
    );
}

/// A run with incomplete findings cannot show that a finding is gone.
#[test]
fn incomplete_findings_are_not_compared() {
    let mut base = result();
    base.findings = vec![finding("fsync-per-record", "/srv/a", 2.0)];
    let mut new = result();
    new.missing = vec![Gap::new(Missing::Findings, Reason::NotFullyObserved)];
    let comparison = trace(names(), &base, &new);
    let why = Reason::IncompleteSide {
        side: "new".to_owned(),
        why: Box::new(Reason::NotFullyObserved),
    };
    let gap = Gap::new(Missing::ChangedFindings, why);
    assert!(comparison.missing.contains(&gap));
    assert_eq!(comparison.trace.unwrap().findings, None);
}

fn written(path: &str, syncs: u64, time_s: f64) -> FileRow {
    FileRow {
        writes: CallStats {
            count: 3,
            bytes: 30,
            time_s,
            ..CallStats::default()
        },
        syncs: CallStats {
            count: syncs,
            time_s: 0.0,
            ..CallStats::default()
        },
        ..file(path)
    }
}

#[test]
fn changed_files_are_those_whose_work_differs() {
    let (mut base, mut new) = (result(), result());
    base.files = vec![
        written("/srv/same", 1, 0.1),
        written("/srv/fewer", 9, 0.1),
        written("/srv/gone", 0, 0.1),
        // Neither opened nor read.
        file("/srv/idle"),
    ];
    new.files = vec![written("/srv/same", 1, 9.0), written("/srv/fewer", 2, 0.1)];
    let changed = compared(&base, &new).changed;
    let paths: Vec<(&str, bool, bool)> = changed
        .iter()
        .map(|file| {
            let Sides { base, new } = file.work;
            (file.path.as_str(), base.is_some(), new.is_some())
        })
        .collect();
    let all = [("/srv/fewer", true, true), ("/srv/gone", true, false)];
    assert_eq!(paths.len(), 2);
    assert!(all.iter().all(|one| paths.contains(one)), "{paths:?}");
    let fewer = changed.iter().find(|file| file.path == "/srv/fewer");
    let work = fewer.unwrap().work.new.unwrap();
    assert_eq!((work.writes, work.written_bytes, work.syncs), (3, 30, 2));
}

/// Counts of a run that lost events may be too low: a limit on them is not known to be kept.
#[test]
fn lost_events_leave_the_limit_open() {
    let base = with_calls(&[("write", 10)]);
    let mut new = base.clone();
    let open = |base: &TraceResult, new: &TraceResult| {
        let mut comparison: Comparison = trace(names(), base, new);
        comparison.fail_on(Limit { percent: 5.0 });
        comparison.fail_on.unwrap().undecided
    };
    assert_eq!(open(&base, &new), []);
    new.lost_events = 2;
    let undecided = open(&base, &new);
    assert_eq!(undecided[0].lost_events, Some(Sides { base: 0, new: 2 }));
}
