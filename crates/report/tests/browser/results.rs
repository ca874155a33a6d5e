//! Results for pages: saved from real runs, or generated to be large or hostile.

use iostrata_core::cache::CacheResult;
use iostrata_core::compare::{self, Limit, Pair, Sides};
use iostrata_core::crash::CrashResult;
use iostrata_core::doctor::DoctorResult;
use iostrata_core::lab::LabResult;
use iostrata_core::trace::timeline::{CallSeries, Purpose};
use iostrata_core::trace::{CallRow, FileCall, FileRow, Finding, TaskRow, Timeline, TraceResult};
use iostrata_report::html::{self, Drawn, Titled};
use serde::de::DeserializeOwned;
use serde_json::Value;

const BUFFERING: &str = include_str!("saved/buffering.json");
const PAGE_CACHE: &str = include_str!("saved/page-cache.json");
const SYNC: &str = include_str!("saved/sync.json");
const ATIME: &str = include_str!("saved/atime.json");
const COPY: &str = include_str!("saved/copy.json");
const TRACE: &str = include_str!("saved/trace.json");
const CACHE: &str = include_str!("../saved/cache.json");
const CRASH: &str = include_str!("../../../../docs/results/crash.json");
const CRASH_THREADS: &str = include_str!("saved/crash.json");
const DOCTOR: &str = include_str!("../saved/doctor.json");

/// Results shown in the documentation.
const SHOWN: [(&str, &str); 6] = [
    (
        "shown-buffer",
        include_str!("../../../../docs/results/buffer.json"),
    ),
    (
        "shown-quick",
        include_str!("../../../../docs/results/quick.json"),
    ),
    ("shown-go", include_str!("../../../../docs/results/go.json")),
    (
        "shown-java",
        include_str!("../../../../docs/results/java.json"),
    ),
    (
        "shown-node",
        include_str!("../../../../docs/results/node.json"),
    ),
    (
        "shown-sqlite",
        include_str!("../../../../docs/results/sqlite.json"),
    ),
];

/// A page with its name.
pub(crate) struct Drawing {
    pub(crate) name: &'static str,
    pub(crate) html: String,
}

pub(crate) fn lab(saved: &str) -> LabResult {
    serde_json::from_str(saved).unwrap()
}

/// The saved trace.
pub(crate) fn trace() -> TraceResult {
    serde_json::from_str(TRACE).unwrap()
}

/// A trace of 4 s in which it is known when processes, files and calls were, but for one file.
pub(crate) fn timed() -> TraceResult {
    let mut result = trace();
    let span = |call: &CallRow, span: Option<(f64, f64)>| CallRow {
        first_s: span.map(|(first_s, _)| first_s),
        last_s: span.map(|(_, last_s)| last_s),
        ..call.clone()
    };
    let called = |name: &str, times| CallRow {
        name: name.to_owned(),
        ..span(&result.syscalls[0], times)
    };
    let (early, late) = (Some((0.1, 0.5)), Some((2.0, 3.9)));
    let calls = vec![called("write", early), called("fsync", late)];
    let model = &result.files[0];
    let file = |name: &str, inode, call: &CallRow| FileRow {
        path: format!("/srv/app/{name}"),
        inode,
        calls: vec![FileCall {
            row: call.clone(),
            ..FileCall::default()
        }],
        ..model.clone()
    };
    let files = vec![
        file("early.log", 1, &calls[0]),
        file("late.db", 2, &calls[1]),
        file("unknown.so", 3, &called("openat", None)),
    ];
    let finding = |name: &str| Finding {
        rule: "small-writes".to_owned(),
        file: Some(format!("/srv/app/{name}")),
        ..result.findings[0].clone()
    };
    let findings = vec![finding("early.log"), finding("late.db")];
    let task = |process, name: &str, started_s, ended_s| TaskRow {
        process,
        thread: process,
        name: name.to_owned(),
        started_s,
        ended_s,
        time_s: f64::from(200 - process),
        ..result.tasks[0].clone()
    };
    let tasks = vec![
        task(101, "main", 0.0, None),
        task(102, "middle", 2.0, Some(4.0)),
        task(103, "last", 3.5, None),
    ];
    result.timeline = Some(Timeline {
        bucket_s: 0.004,
        calls: vec![CallSeries {
            group: Purpose::Write,
            counts: vec![1; 1000],
            bytes: vec![1; 1000],
            time_s: vec![0.0; 1000],
        }],
        requests: None,
        flushes: None,
        shared: false,
    });
    result.wall_s = 4.0;
    (result.syscalls, result.files, result.findings, result.tasks) =
        (calls, files, findings, tasks);
    result
}

/// The saved run of `lab sync`.
pub(crate) fn sync() -> LabResult {
    lab(SYNC)
}

pub(crate) fn page_of_lab(result: &LabResult) -> String {
    page_of(Drawn::Lab(result))
}

pub(crate) fn page_of_trace(result: &TraceResult) -> String {
    page_of(Drawn::Trace(result))
}

/// Of a program with two threads that syncs one of its files.
pub(crate) fn page_of_crash() -> String {
    page_of(Drawn::Crash(&serde_json::from_str(CRASH_THREADS).unwrap()))
}

fn page_of(result: Drawn<'_>) -> String {
    html::page(&[Titled {
        name: Some("run.json".to_owned()),
        result,
    }])
}

/// One page of every kind.
pub(crate) fn every_page() -> Vec<Drawing> {
    let experiments = [
        ("buffering", BUFFERING),
        ("page-cache", PAGE_CACHE),
        ("sync", SYNC),
        ("atime", ATIME),
        ("copy", COPY),
    ];
    let mut pages: Vec<Drawing> = experiments
        .into_iter()
        .map(|(name, saved)| Drawing {
            name,
            html: page_of_lab(&lab(saved)),
        })
        .collect();
    let trace = trace();
    pages.push(Drawing {
        name: "trace",
        html: page_of_trace(&trace),
    });
    let cache: CacheResult = serde_json::from_str(CACHE).unwrap();
    let doctor: DoctorResult = serde_json::from_str(DOCTOR).unwrap();
    pages.push(Drawing {
        name: "cache",
        html: page_of(Drawn::Cache(&cache)),
    });
    pages.push(Drawing {
        name: "doctor",
        html: page_of(Drawn::Doctor(&doctor)),
    });
    for (name, saved) in [("crash", CRASH), ("crash-threads", CRASH_THREADS)] {
        let crash: CrashResult = serde_json::from_str(saved).unwrap();
        pages.push(Drawing {
            name,
            html: page_of(Drawn::Crash(&crash)),
        });
    }
    pages.extend(compared(&trace));
    pages.extend(SHOWN.map(|(name, saved)| shown(name, saved)));
    let mut both = lab(SYNC);
    both.experiments.extend(lab(COPY).experiments);
    let titled = |name: &str, result| Titled {
        name: Some(name.to_owned()),
        result,
    };
    pages.push(Drawing {
        name: "several",
        html: html::page(&[
            titled("before.json", Drawn::Trace(&trace)),
            titled("lab.json", Drawn::Lab(&both)),
            titled("after.json", Drawn::Trace(&trace)),
        ]),
    });
    pages
}

/// Two traces, of which one has neither findings nor syncs, and a lab result with itself.
fn compared(base: &TraceResult) -> [Drawing; 2] {
    let names = || Sides {
        base: "before.json".to_owned(),
        new: "after.json".to_owned(),
    };
    let mut new = base.clone();
    new.findings.clear();
    for file in &mut new.files {
        file.syncs.count = 0;
        file.writes.count += 1;
    }
    let traces = compare::trace(names(), base, &new);
    let copies = lab(COPY);
    let pair = Pair {
        names: names(),
        results: Sides {
            base: &copies,
            new: &copies,
        },
    };
    let mut labs = compare::lab(&pair, &[]);
    labs.fail_on(Limit { percent: 5.0 });
    [("traces compared", traces), ("labs compared", labs)].map(|(name, result)| Drawing {
        name,
        html: page_of(Drawn::Comparison(&result)),
    })
}

/// A page of a saved result, of `trace` or of `lab`.
fn shown(name: &'static str, saved: &str) -> Drawing {
    let html = match serde_json::from_str::<TraceResult>(saved) {
        Ok(result) => page_of_trace(&result),
        Err(_) => page_of_lab(&lab(saved)),
    };
    Drawing { name, html }
}

/// The result with a text in place of every text that it can contain.
pub(crate) fn with_text<T: DeserializeOwned>(saved: &str, text: &str) -> T {
    let mut value: Value = serde_json::from_str(saved).unwrap();
    let mut places = Vec::new();
    texts(&value, String::new(), &mut places);
    for place in places {
        let text = Value::from(text);
        let before = std::mem::replace(value.pointer_mut(&place).unwrap(), text);
        // Names of modes and kinds are fixed.
        if T::deserialize(&value).is_err() {
            *value.pointer_mut(&place).unwrap() = before;
        }
    }
    serde_json::from_value(value).unwrap()
}

fn texts(value: &Value, at: String, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                texts(field, format!("{at}/{}", name.replace('/', "~1")), found);
            }
        }
        Value::Array(items) => {
            for (position, item) in items.iter().enumerate() {
                texts(item, format!("{at}/{position}"), found);
            }
        }
        Value::String(_) => found.push(at),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
