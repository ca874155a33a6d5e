//! Two results of `trace`: calls by name, files by path.

use std::collections::BTreeMap;

use super::changed::{FileWork, changed};
use super::condition::{Conditions, Weight};
use super::count::{Counts, Part, Scale};
use super::findings::findings;
use super::strata::strata;
use super::timed::timed;
use super::{Calls, Comparison, Files, Judgement, Runs, SCHEMA, Sides, USUAL_LIMIT};
use crate::bytes;
use crate::environment::Backend;
use crate::evidence::{CallCounts, CallStats};
use crate::gap::{Gap, Missing, Reason};
use crate::trace::{Bounds, CallRow, FileKind, FileRow, TraceResult};

/// Compares two results. `names` are the names of their files.
pub fn trace(names: Sides<String>, base: &TraceResult, new: &TraceResult) -> Comparison {
    let mut unpaired = Sides::default();
    let mut counts = Counts::default();
    counts.evidence(Scale::RUN, &base.evidence, &new.evidence);
    let calls = calls(base, new, &mut unpaired);
    let (ours, theirs) = (paths(base), paths(new));
    let changed = changed(&ours, &theirs);
    let files = files(ours, theirs, &mut unpaired);
    let (findings, unknown) = match findings(base, new) {
        Ok(findings) => (Some(findings), None),
        Err(gap) => (None, Some(gap)),
    };
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
        verdict: timed.as_ref().and_then(|timed| timed.verdict(USUAL_LIMIT)),
        limit_percent: USUAL_LIMIT.percent,
        calls_differ: counts.calls_seen.then_some(differ),
        lab: None,
        trace: Some(Runs {
            commands: Sides::of(base, new, |run| run.command.join(" ")),
            lost_events: Sides::of(base, new, |run| run.lost_events),
            strata: strata(base, new),
            findings,
            changed,
            wall_s: Sides::of(base, new, |run| run.wall_s),
            timed,
            equal_counts: counts.equal,
            counts: counts.sorted(),
            calls,
            files,
        }),
        unpaired,
        fail_on: None,
        missing: no_times
            .into_iter()
            .chain(missing(base, new))
            .chain(unknown)
            .collect(),
    }
}

/// Gaps of two traces besides their findings.
fn missing(base: &TraceResult, new: &TraceResult) -> impl Iterator<Item = Gap> {
    let lost = base.lost_events.saturating_add(new.lost_events);
    let why = Reason::CountsTooLow { events: lost };
    let lost = (lost > 0).then(|| Gap::new(Missing::Counts, why));
    let others = base.other_calls.saturating_add(new.other_calls);
    let why = Reason::NoRoomInTables { calls: others };
    let others = (others > 0).then(|| Gap::new(Missing::AllBytes, why));
    lost.into_iter().chain(others)
}

fn conditions(base: &TraceResult, new: &TraceResult) -> Vec<super::Condition> {
    let mut conditions = Conditions::default();
    conditions.machines(&base.environment, &new.environment);
    let storage = |result: &TraceResult| result.environment.target.clone();
    conditions.storage("the working directory", &storage(base), &storage(new));
    // Comparing two commands for the same task is intended: the page names both.
    let command = |result: &TraceResult| result.command.join(" ");
    conditions.hold(Weight::Note, "command", command(base), command(new));
    conditions.hold(Weight::Settings, "start", start(base), start(new));
    conditions.hold(Weight::Settings, "end", end(base), end(new));
    // That of the run itself; the environment's is the best that the machine supports.
    let observed = |result: &TraceResult| match result.backend {
        Backend::Ebpf => "eBPF",
        Backend::Ptrace => "ptrace",
        Backend::None => "nothing",
    };
    let what = "observed by";
    conditions.hold(Weight::Settings, what, observed(base), observed(new));
    let lost = |result: &TraceResult| result.lost_events.to_string();
    conditions.hold(Weight::Note, "lost events", lost(base), lost(new));
    let others = |result: &TraceResult| match result.other_requests {
        None => "not known",
        Some(0) => "none",
        Some(_) => "some",
    };
    let what = "requests of other programs";
    conditions.hold(Weight::Note, what, others(base), others(new));
    hold_cache(&mut conditions, base, new);
    conditions.sorted()
}

/// The condition that one run read from the device what the other found in the cache.
pub const PAGE_CACHE: &str = "page cache";

/// Fewer bytes from the device are normal for any run.
const COLD_BYTES: u64 = 1 << 20;

/// This many times as many bytes indicate another state of the cache.
const COLDER: u64 = 4;

/// Notes the bytes that either run read from the device, if one of them certainly read far more:
/// its times then reflect the device, and not the program.
fn hold_cache(conditions: &mut Conditions, base: &TraceResult, new: &TraceResult) {
    let (Some(base), Some(new)) = (base.bytes.device_read(), new.bytes.device_read()) else {
        return;
    };
    let is_colder = |one: Bounds, other: Bounds| {
        one.at_least >= COLD_BYTES && one.at_least / COLDER >= other.at_most
    };
    if is_colder(base, new) || is_colder(new, base) {
        let told = |bounds: Bounds| {
            let word = if bounds.exact().is_some() {
                ""
            } else {
                "at least "
            };
            let size = bytes::short(bounds.at_least);
            format!("{word}{size} read from the device")
        };
        conditions.hold(Weight::Note, PAGE_CACHE, told(base), told(new));
    }
}

fn start(result: &TraceResult) -> &'static str {
    if result.is_attached() {
        "adopted while it ran"
    } else {
        "started by iostrata"
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
    let (ours, mut theirs) = (sums(&base.syscalls), sums(&new.syscalls));
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
    let later = theirs.into_iter().map(|(name, _)| format!("call {name}"));
    unpaired.new.extend(later);
    let apart_s = |Sides { base, new }: Sides<CallStats>| (base.time_s - new.time_s).abs();
    calls.sort_by(|a, b| apart_s(b.sides).total_cmp(&apart_s(a.sides)));
    calls
}

fn sums<'a>(rows: impl IntoIterator<Item = &'a CallRow>) -> CallCounts {
    let mut sums = CallCounts::new();
    for row in rows {
        *sums.entry(row.name.clone()).or_default() += row.stats;
    }
    sums
}

/// All I/O on one path, by all files that had it.
#[derive(Default)]
pub(super) struct Path<'a> {
    rows: Vec<&'a FileRow>,
}

impl Path<'_> {
    fn time_s(&self) -> f64 {
        self.rows.iter().map(|row| row.time_s()).sum()
    }

    pub(super) fn work(&self) -> FileWork {
        let sum = |of: fn(&FileRow) -> u64| {
            let rows = self.rows.iter();
            rows.fold(0_u64, |sum, row| sum.saturating_add(of(row)))
        };
        FileWork {
            time_s: self.time_s(),
            calls: sum(|row| {
                let calls = row.calls.iter();
                calls.fold(0, |sum, call| sum.saturating_add(call.row.stats.count))
            }),
            opens: sum(|row| row.opens),
            reads: sum(|row| row.reads.count),
            writes: sum(|row| row.writes.count),
            read_bytes: sum(|row| row.reads.bytes),
            written_bytes: sum(|row| row.writes.bytes),
            syncs: sum(|row| row.syncs.count),
        }
    }

    fn calls(&self) -> CallCounts {
        let calls = self.rows.iter().flat_map(|row| &row.calls);
        sums(calls.map(|call| &call.row))
    }

    /// A sum over all files of the path; `None` when one of them lacks the value.
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

/// The name of a run's file in another run: pipes and sockets get new numbers each time.
fn name(row: &FileRow) -> &str {
    match row.kind {
        FileKind::Pipe if row.path.starts_with("pipe:[") => "pipes",
        FileKind::Socket if row.path.starts_with("socket:[") => "sockets",
        _ => &row.path,
    }
}

fn files<'a>(
    base: Paths<'a>,
    mut theirs: Paths<'a>,
    unpaired: &mut Sides<Vec<String>>,
) -> Vec<Files> {
    let mut files = Vec::new();
    for (key, ours) in base {
        match theirs.remove(&key) {
            Some(new) => files.push(pair(key, &ours, &new)),
            None => unpaired.base.push(format!("file {}", key.0)),
        }
    }
    unpaired
        .new
        .extend(theirs.keys().map(|key| format!("file {}", key.0)));
    let apart_s = |Sides { base, new }: Sides<f64>| (base - new).abs();
    files.sort_by(|a, b| apart_s(b.time_s).total_cmp(&apart_s(a.time_s)));
    files
}

fn pair(key: (&str, Option<&str>), base: &Path<'_>, new: &Path<'_>) -> Files {
    let mut counts = Counts::default();
    counts.calls(Scale::RUN, &base.calls(), &new.calls());
    let both = |of: fn(&FileRow) -> Option<u64>| (base.sum(of), new.sum(of));
    let (ours, theirs) = both(|row| Some(row.evidence.exact_device()?.reads.bytes));
    let what = || "device bytes read".to_owned();
    counts.hold(Part::Device, Scale::RUN, what, ours, theirs);
    let (ours, theirs) = both(|row| Some(row.evidence.exact_device()?.writes().bytes));
    let what = || "device bytes written".to_owned();
    counts.hold(Part::Device, Scale::RUN, what, ours, theirs);
    let (ours, theirs) = both(|row| row.dirty_at_exit_bytes);
    let what = || "bytes dirty at exit".to_owned();
    counts.hold(Part::Cache, Scale::RUN, what, ours, theirs);
    Files {
        path: key.0.to_owned(),
        path_hex: key.1.map(str::to_owned),
        time_s: Sides::of(base, new, Path::time_s),
        equal_counts: counts.equal,
        counts: counts.sorted(),
    }
}
