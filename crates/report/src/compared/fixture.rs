//! Comparisons built by hand.

use iostrata_core::compare::{
    Calls, ChangedFile, Comparison, Condition, Count, FileWork, Files, Findings, Found, Judgement,
    Limit, Measure, PAGE_CACHE, Part, Row, Rows, Runs, SCHEMA, Sides, TimeRatio, Verdict, Weight,
    Whole,
};
use iostrata_core::evidence::CallStats;
use iostrata_core::gap::{Gap, Missing, Reason};
use iostrata_core::trace::{Bounds, Severity};
use serde_json::json;

/// Characters that a name may contain.
pub(crate) const HOSTILE: &str = "a|b`c`<img src=x>\n@someone #1 [x](http://y.z) \u{1b}[2J";

fn sides<T>(base: T, new: T) -> Sides<T> {
    Sides { base, new }
}

fn texts(base: &str, new: &str) -> Sides<String> {
    sides(base.to_owned(), new.to_owned())
}

fn change(ratio: f64, width: f64, visible_ratio: f64) -> TimeRatio {
    TimeRatio {
        ratio,
        low_ratio: ratio / width,
        high_ratio: ratio * width,
        misses: 0.02,
        visible_ratio,
        rounds: 5,
    }
}

fn row(label: &str, target: &str, judgement: Judgement, time: Option<TimeRatio>) -> Row {
    let ratio = time.map_or(1.0, |time| time.ratio);
    Row {
        experiment: "copy".to_owned(),
        case: json!({ "method": "read_write" }),
        label: label.to_owned(),
        target: target.to_owned(),
        numbers: sides(1, 1),
        per: "run".to_owned(),
        median_s: sides(Some(0.0123), time.map(|_| 0.0123 * ratio)),
        runs: sides(5, 5),
        time,
        judgement,
        verdict: match judgement {
            Judgement::Slower => Some(Verdict::Slower),
            Judgement::NoDifference => Some(Verdict::Inconclusive),
            _ => None,
        },
        counts: Vec::new(),
        equal_counts: 16,
        others_requests: sides(Some(0), Some(0)),
    }
}

fn count(part: Part, what: &str, base: f64, new: f64) -> Count {
    Count {
        part,
        what: what.to_owned(),
        sides: sides(base, new),
    }
}

fn nothing() -> Comparison {
    Comparison {
        schema: SCHEMA.to_owned(),
        iostrata_version: "0.1.0".to_owned(),
        names: texts("monday.json", "tuesday.json"),
        further: Vec::new(),
        conditions: Vec::new(),
        judgement: Judgement::NoDifference,
        verdict: None,
        limit_percent: 10.0,
        calls_differ: Some(false),
        lab: None,
        trace: None,
        unpaired: sides(Vec::new(), Vec::new()),
        fail_on: None,
        missing: Vec::new(),
    }
}

/// Two rows without a difference.
pub(crate) fn same() -> Comparison {
    let whole = Whole {
        id: "copy".to_owned(),
        timed: 2,
        time: Some(change(1.012, 1.06, 1.084)),
        judgement: Judgement::NoDifference,
        verdict: Some(Verdict::Same),
        others_cpus: sides(Some(0.05), Some(0.08)),
    };
    let rows = [
        ("read_write, 64.0 KiB buffer, 8.0 MiB warm", 1.02),
        ("sendfile, 8.0 MiB warm", 0.99),
    ];
    let rows = rows.map(|(label, ratio)| {
        row(
            label,
            "host",
            Judgement::NoDifference,
            Some(change(ratio, 1.3, 1.6)),
        )
    });
    Comparison {
        verdict: Some(Verdict::Same),
        lab: Some(Rows {
            experiments: vec![whole],
            rows: rows.to_vec(),
        }),
        ..nothing()
    }
}

/// An inconclusive comparison: only changes above tenfold were detectable.
pub(crate) fn powerless() -> Comparison {
    let mut comparison = same();
    if let Some(lab) = &mut comparison.lab {
        let wide = TimeRatio {
            low_ratio: 0.0026,
            high_ratio: 5957.0,
            ..change(3.93, 1.0, 9000.0)
        };
        lab.experiments[0].time = Some(wide);
        lab.experiments[0].others_cpus = sides(Some(1.98), Some(2.0));
        for row in &mut lab.rows {
            row.time = Some(wide);
        }
    }
    comparison.fail_on(Limit { percent: 5.0 });
    comparison
}

/// Every statement about rows.
pub(crate) fn lab() -> Comparison {
    let slower = Whole {
        id: "copy".to_owned(),
        timed: 3,
        time: Some(change(1.31, 1.1, 1.18)),
        judgement: Judgement::Slower,
        verdict: None,
        others_cpus: sides(Some(0.05), Some(1.62)),
    };
    let unknown = Whole {
        id: "sync".to_owned(),
        timed: 0,
        time: None,
        judgement: Judgement::NotJudged,
        verdict: None,
        others_cpus: sides(None, None),
    };
    let slow = Some(change(2.4, 1.5, 12.0));
    let mut rows = vec![
        row("read_write, 8.0 MiB warm", "host", Judgement::Slower, slow),
        row(
            "cp, 8.0 MiB cold",
            HOSTILE,
            Judgement::NoDifference,
            Some(change(0.9, 1.4, 2.4)),
        ),
        row("splice, 8.0 MiB warm", "host", Judgement::NotJudged, None),
    ];
    rows[0].counts = vec![
        count(Part::Calls, "write calls", 128.0, 2048.0),
        count(Part::Device, "data requests", 12.0, 20.0),
    ];
    rows[1].counts = vec![count(Part::Cache, "pages missed", 1.0, 2.5)];
    rows[1].others_requests = sides(Some(0), Some(7));
    let mut comparison = Comparison {
        conditions: vec![
            Condition {
                what: "kernel".to_owned(),
                sides: texts("6.12.1", "6.18.44"),
                weight: Weight::Machine,
            },
            Condition {
                what: "iostrata".to_owned(),
                sides: texts("0.1.0", HOSTILE),
                weight: Weight::Note,
            },
        ],
        judgement: Judgement::Slower,
        calls_differ: Some(true),
        lab: Some(Rows {
            experiments: vec![slower, unknown],
            rows,
        }),
        unpaired: sides(
            vec!["copy: mmap_write, 8.0 MiB warm on host".to_owned()],
            Vec::new(),
        ),
        missing: vec![crate::fixture::gap(
            "copy: time of splice, 8.0 MiB warm",
            "the noise is unknown with one run each",
        )],
        ..nothing()
    };
    comparison.fail_on(Limit { percent: 5.0 });
    comparison
}

/// Two traced runs.
pub(crate) fn trace() -> Comparison {
    let called = |count, bytes, time_s| CallStats {
        count,
        errors: 0,
        bytes,
        time_s,
    };
    let file = |path: &str, counts: Vec<Count>| Files {
        path: path.to_owned(),
        path_hex: None,
        time_s: sides(0.012, 0.0345),
        counts,
        equal_counts: 4,
    };
    let runs = Runs {
        wall_s: sides(1.25, 1.5),
        commands: texts("./app", "./app --sync"),
        lost_events: sides(0, 3),
        strata: strata(),
        findings: Some(findings()),
        changed: changed(),
        timed: None,
        counts: vec![
            count(Part::Calls, "fsync calls", 1.0, 903.0),
            count(Part::Calls, "futex calls", 9.0, 0.0),
        ],
        equal_counts: 40,
        calls: vec![Calls {
            name: "fsync".to_owned(),
            sides: sides(called(1, 0, 0.01), called(903, 0, 2.9)),
        }],
        files: vec![
            file(HOSTILE, vec![count(Part::Calls, "fsync calls", 1.0, 903.0)]),
            file("/srv/app/quiet.db", Vec::new()),
        ],
    };
    let mut comparison = Comparison {
        judgement: Judgement::NotJudged,
        conditions: vec![
            Condition {
                what: "command".to_owned(),
                sides: texts("./app", "./app --sync"),
                weight: Weight::Note,
            },
            Condition {
                what: PAGE_CACHE.to_owned(),
                sides: texts("9.0 MiB read from the device", "0 B read from the device"),
                weight: Weight::Note,
            },
        ],
        calls_differ: Some(true),
        trace: Some(runs),
        unpaired: sides(Vec::new(), vec![format!("file /srv/{HOSTILE}")]),
        missing: vec![Gap::new(
            Missing::Times,
            Reason::OneRunEach { remedy: false },
        )],
        ..nothing()
    };
    comparison.fail_on(Limit { percent: 2.5 });
    comparison
}

fn strata() -> Vec<Measure> {
    let exactly = |figure: u64| Some(Bounds::from((figure, figure)));
    let measure = |what: &str, is_bytes, sides: Sides<Option<Bounds>>, ratio| Measure {
        what: what.to_owned(),
        is_bytes,
        sides,
        ratio,
    };
    vec![
        measure(
            "system calls",
            false,
            sides(exactly(50), exactly(1852)),
            Some(37.04),
        ),
        measure("writes", false, sides(exactly(7), exactly(7)), Some(1.0)),
        measure("syncs", false, sides(exactly(1), exactly(903)), Some(903.0)),
        measure(
            "bytes written",
            true,
            sides(exactly(4096), exactly(0)),
            Some(0.0),
        ),
        measure("cache misses", false, sides(exactly(0), None), None),
        measure(
            "flushes",
            false,
            sides(exactly(2), Some(Bounds::from((3, 1806)))),
            None,
        ),
    ]
}

fn findings() -> Findings {
    let found = |rule: &str, severity, file: Option<&str>, cost_s| Found {
        rule: rule.to_owned(),
        severity,
        title: "what it is".to_owned(),
        file: file.map(str::to_owned),
        cost_s,
    };
    Findings {
        gone: vec![found(
            "small-writes",
            Severity::Low,
            Some("/srv/app/log"),
            sides(Some(0.02), None),
        )],
        came: vec![found(
            "fsync-per-record",
            Severity::High,
            Some(HOSTILE),
            sides(None, Some(2.9)),
        )],
        stayed: vec![
            found("cold-start", Severity::Info, None, sides(None, None)),
            found(
                "small-writes",
                Severity::Low,
                Some("/srv/app/a"),
                sides(Some(0.1), Some(0.2)),
            ),
            found(
                "small-writes",
                Severity::Low,
                Some("/srv/app/b"),
                sides(Some(0.1), Some(0.2)),
            ),
        ],
    }
}

fn changed() -> Vec<ChangedFile> {
    let work = |time_s, calls, syncs| FileWork {
        time_s,
        calls,
        opens: 1,
        reads: 0,
        writes: calls - syncs,
        read_bytes: 0,
        written_bytes: 4096,
        syncs,
    };
    let file = |path: &str, work| ChangedFile {
        path: path.to_owned(),
        path_hex: None,
        work,
    };
    vec![
        file(
            HOSTILE,
            sides(Some(work(0.012, 8, 1)), Some(work(2.9, 910, 903))),
        ),
        file("/srv/app/new", sides(None, Some(work(0.001, 1, 0)))),
    ]
}
