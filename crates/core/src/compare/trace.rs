//! Two results of `trace`: calls by name, files by path.

use std::collections::BTreeMap;

use super::condition::{Conditions, Weight};
use super::count::{Counts, Part, Scale};
use super::timed::timed;
use super::{Calls, Comparison, Files, Judgement, Runs, SCHEMA, Sides};
use crate::environment::Backend;
use crate::evidence::CallCount;
use crate::trace::{CallRow, FileKind, FileRow, TraceResult};

/// Compares two results. `names` are those of their files.
pub fn trace(names: Sides<String>, base: &TraceResult, new: &TraceResult) -> Comparison {
    let mut unpaired = Sides::default();
    let mut counts = Counts::default();
    counts.evidence(Scale::RUN, &base.evidence, &new.evidence);
    let calls = calls(base, new, &mut unpaired);
    let files = files(base, new, &mut unpaired);
    let (timed, no_times) = timed(base, new);
    let differ = counts
        .differing
        .iter()
        .any(|count| count.part == Part::Calls);
    Comparison {
        schema: SCHEMA.to_owned(),
        iostrata_version: env!("CARGO_PKG_VERSION").to_owned(),
        names,
        further: Vec::new(),
        conditions: conditions(base, new),
        judgement: timed
            .as_ref()
            .map_or(Judgement::NotJudged, |timed| timed.judgement),
        calls_differ: counts.calls_seen.then_some(differ),
        lab: None,
        trace: Some(Runs {
            wall_s: Sides {
                base: base.wall_s,
                new: new.wall_s,
            },
            timed,
            equal_counts: counts.equal,
            counts: counts.sorted(),
            calls,
            files,
        }),
        unpaired,
        fail_on: None,
        missing: no_times.into_iter().collect(),
    }
}

fn conditions(base: &TraceResult, new: &TraceResult) -> Vec<super::Condition> {
    let mut conditions = Conditions::default();
    conditions.machines(&base.environment, &new.environment);
    let storage = |result: &TraceResult| result.environment.target.clone();
    conditions.storage("the working directory", &storage(base), &storage(new));
    conditions.hold(
        Weight::Settings,
        "command",
        base.command.join(" "),
        new.command.join(" "),
    );
    conditions.hold(Weight::Settings, "start", start(base), start(new));
    conditions.hold(Weight::Settings, "end", end(base), end(new));
    // That of the run itself; the environment's is what the machine could have had.
    let observed = |result: &TraceResult| match result.backend {
        Backend::Ebpf => "eBPF",
        Backend::Ptrace => "ptrace",
        Backend::None => "nothing",
    };
    conditions.hold(
        Weight::Settings,
        "observed by",
        observed(base),
        observed(new),
    );
    let lost = |result: &TraceResult| result.lost_events.to_string();
    conditions.hold(Weight::Note, "lost events", lost(base), lost(new));
    let others = |result: &TraceResult| match result.other_requests {
        None => "not known",
        Some(0) => "none",
        Some(_) => "some",
    };
    let what = "requests of other programs";
    conditions.hold(Weight::Note, what, others(base), others(new));
    conditions.sorted()
}

fn start(result: &TraceResult) -> &'static str {
    match result.adopted {
        Some(_) => "adopted while it ran",
        None => "started by iostrata",
    }
}

fn end(result: &TraceResult) -> String {
    match (result.exit_code, result.signal) {
        (Some(code), _) => format!("exit {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "still running".to_owned(),
    }
}

fn calls(base: &TraceResult, new: &TraceResult, unpaired: &mut Sides<Vec<String>>) -> Vec<Calls> {
    let of = |result: &TraceResult| -> BTreeMap<String, CallCount> {
        let rows = result.syscalls.iter();
        rows.fold(BTreeMap::new(), |mut sums, row| {
            add(&mut sums, row);
            sums
        })
    };
    let (ours, mut theirs) = (of(base), of(new));
    let mut calls = Vec::new();
    for (name, base) in ours {
        match theirs.remove(&name) {
            Some(new) => calls.push(Calls {
                name,
                sides: Sides { base, new },
            }),
            None => unpaired.base.push(format!("call {name}")),
        }
    }
    let later = theirs.into_keys().map(|name| format!("call {name}"));
    unpaired.new.extend(later);
    calls.sort_by(|a, b| apart(times(b)).total_cmp(&apart(times(a))));
    calls
}

fn times(calls: &Calls) -> Sides<f64> {
    Sides {
        base: calls.sides.base.time_s,
        new: calls.sides.new.time_s,
    }
}

fn apart(sides: Sides<f64>) -> f64 {
    (sides.base - sides.new).abs()
}

fn add(sums: &mut BTreeMap<String, CallCount>, row: &CallRow) {
    let sum = sums.entry(row.name.clone()).or_default();
    sum.count = sum.count.saturating_add(row.count);
    sum.errors = sum.errors.saturating_add(row.errors);
    sum.bytes = sum.bytes.saturating_add(row.bytes);
    sum.time_s += row.time_s;
}

/// All that was done to one path, by whatever files had it.
#[derive(Default)]
struct Path<'a> {
    rows: Vec<&'a FileRow>,
}

impl Path<'_> {
    fn time_s(&self) -> f64 {
        self.rows.iter().map(|row| row.time_s()).sum()
    }

    fn calls(&self) -> BTreeMap<String, CallCount> {
        let calls = self.rows.iter().flat_map(|row| &row.calls);
        calls.fold(BTreeMap::new(), |mut sums, call| {
            add(&mut sums, &call.row);
            sums
        })
    }

    /// A sum of what every file of the path has; `None` when one of them has it not.
    fn sum(&self, of: impl Fn(&FileRow) -> Option<u64>) -> Option<u64> {
        let mut each = self.rows.iter();
        each.try_fold(0_u64, |sum, row| Some(sum.saturating_add(of(row)?)))
    }
}

type Paths<'a> = BTreeMap<(&'a str, Option<&'a str>), Path<'a>>;

fn paths(result: &TraceResult) -> Paths<'_> {
    let mut paths = Paths::new();
    for row in &result.files {
        let key = (name(row), row.path_hex.as_deref());
        paths.entry(key).or_default().rows.push(row);
    }
    paths
}

/// What a file of one run is called in another: pipes and sockets have numbers that are given
/// anew each time.
fn name(row: &FileRow) -> &str {
    match row.kind {
        FileKind::Pipe if row.path.starts_with("pipe:[") => "pipes",
        FileKind::Socket if row.path.starts_with("socket:[") => "sockets",
        _ => &row.path,
    }
}

fn files(base: &TraceResult, new: &TraceResult, unpaired: &mut Sides<Vec<String>>) -> Vec<Files> {
    let mut theirs = paths(new);
    let mut files = Vec::new();
    for (key, ours) in paths(base) {
        match theirs.remove(&key) {
            Some(new) => files.push(pair(key, &ours, &new)),
            None => unpaired.base.push(format!("file {}", key.0)),
        }
    }
    unpaired
        .new
        .extend(theirs.keys().map(|key| format!("file {}", key.0)));
    files.sort_by(|a, b| apart(b.time_s).total_cmp(&apart(a.time_s)));
    files
}

fn pair(key: (&str, Option<&str>), base: &Path<'_>, new: &Path<'_>) -> Files {
    let mut counts = Counts::default();
    counts.calls(Scale::RUN, &base.calls(), &new.calls());
    let both = |of: fn(&FileRow) -> Option<u64>| (base.sum(of), new.sum(of));
    let (ours, theirs) = both(|row| Some(row.evidence.device.as_ref()?.reads.bytes));
    let what = || "device bytes read".to_owned();
    counts.hold(Part::Device, Scale::RUN, what, ours, theirs);
    let (ours, theirs) = both(|row| Some(row.evidence.device.as_ref()?.writes().bytes));
    let what = || "device bytes written".to_owned();
    counts.hold(Part::Device, Scale::RUN, what, ours, theirs);
    let (ours, theirs) = both(|row| row.dirty_at_exit_bytes);
    let what = || "bytes dirty at exit".to_owned();
    counts.hold(Part::Cache, Scale::RUN, what, ours, theirs);
    Files {
        path: key.0.to_owned(),
        path_hex: key.1.map(str::to_owned),
        time_s: Sides {
            base: base.time_s(),
            new: new.time_s(),
        },
        equal_counts: counts.equal,
        counts: counts.sorted(),
    }
}
