//! Two results of `lab`: rows of the same case on the same target.

mod measured;

use self::measured::{Measured, rows};
use super::condition::{Conditions, Weight};
use super::count::{Count, Counts, Part};
use super::time::{self, Among, Basis, Estimate, Load};
use super::{Comparison, Judgement, Row, Rows, SCHEMA, Sides, USUAL_LIMIT, Whole};
use crate::gap::{Gap, Missing, Reason};
use crate::lab::{Experiment, LabResult, MeasuredTarget, Shared};
use crate::stats;

/// Two results, with the names of their files.
#[derive(Debug, Clone)]
pub struct Pair<'a> {
    pub names: Sides<String>,
    pub results: Sides<&'a LabResult>,
}

/// Compares two results; with several pairs of runs of the same two subjects, all pairs together.
pub fn lab(first: &Pair<'_>, further: &[Pair<'_>]) -> Comparison {
    let Sides { base, new } = first.results;
    let mut conditions = Conditions::default();
    for Pair { results, .. } in std::iter::once(first).chain(further) {
        conditions.results(base, results.base);
        conditions.results(results.base, results.new);
    }
    let mut unpaired: Sides<Vec<String>> = Sides::default();
    let (mut paired, mut missing) = (Vec::new(), Vec::new());
    for ours in &base.experiments {
        let Some(theirs) = same(new, ours) else {
            unpaired.base.push(in_words(ours));
            continue;
        };
        hold(&mut conditions, ours, theirs);
        let cpus = base.environment.cpus;
        let one = Paired::new(ours, theirs, cpus, &mut unpaired);
        let mut others = Vec::new();
        for Pair { results, .. } in further {
            let found = (same(results.base, ours), same(results.new, ours));
            if let (Some(base), Some(new)) = found {
                hold(&mut conditions, ours, base);
                hold(&mut conditions, base, new);
                others.push(Paired::new(base, new, cpus, &mut Sides::default()));
            }
        }
        if others.len() < further.len() {
            let id = ours.shared().id.to_owned();
            let what = Missing::Experiment { id };
            missing.push(Gap::new(what, Reason::NotInEveryPair));
        } else {
            paired.push(one.with(others));
        }
    }
    for theirs in &new.experiments {
        if same(base, theirs).is_none() {
            unpaired.new.push(in_words(theirs));
        }
    }
    let misses = Misses::shared_by(&paired);
    let mut found = Rows::default();
    let mut calls_differ = None;
    for experiment in &paired {
        let (whole, rows) = experiment.judge(&misses);
        missing.extend(experiment.missing());
        calls_differ = calls_differ.max(experiment.calls_differ());
        found.rows.extend(rows);
        found.experiments.push(whole);
    }
    let mut comparison = Comparison {
        schema: SCHEMA.to_owned(),
        iostrata_version: env!("CARGO_PKG_VERSION").to_owned(),
        names: first.names.clone(),
        further: further.iter().map(|pair| pair.names.clone()).collect(),
        conditions: conditions.sorted(),
        judgement: joined(&found),
        verdict: None,
        limit_percent: USUAL_LIMIT.percent,
        calls_differ,
        lab: Some(found),
        trace: None,
        unpaired,
        fail_on: None,
        missing,
    };
    comparison.decide(USUAL_LIMIT);
    comparison
}

fn same<'a>(result: &'a LabResult, as_this: &Experiment) -> Option<&'a Experiment> {
    let mut experiments = result.experiments.iter();
    experiments.find(|one| one.shared().id == as_this.shared().id)
}

/// The verdict of all experiments and rows together.
fn joined(found: &Rows) -> Judgement {
    let wholes = found.experiments.iter().map(|whole| whole.judgement);
    let all: Vec<Judgement> = wholes
        .chain(found.rows.iter().map(|row| row.judgement))
        .collect();
    let has = |judgement| all.contains(&judgement);
    match (has(Judgement::Slower), has(Judgement::Faster)) {
        (true, true) => Judgement::Mixed,
        (true, false) => Judgement::Slower,
        (false, true) => Judgement::Faster,
        (false, false) if has(Judgement::NoDifference) => Judgement::NoDifference,
        (false, false) => Judgement::NotJudged,
    }
}

/// An experiment that the other result does not have.
fn in_words(experiment: &Experiment) -> String {
    let Shared { id, rows, .. } = experiment.shared();
    match rows {
        1 => format!("{id}: 1 row"),
        several => format!("{id}: {several} rows"),
    }
}

/// Compares targets and settings of an experiment.
fn hold(conditions: &mut Conditions, base: &Experiment, new: &Experiment) {
    let (base, new) = (base.shared(), new.shared());
    for ours in base.targets {
        let is_same = |theirs: &&MeasuredTarget| ours.name == theirs.name;
        if let Some(theirs) = new.targets.iter().find(is_same) {
            conditions.storage(&ours.name, &ours.storage, &theirs.storage);
        }
    }
    let runs = |(fewest, most): (usize, usize)| {
        if fewest == most {
            fewest.to_string()
        } else {
            format!("{fewest} to {most}")
        }
    };
    let what = format!("timing runs of {}", base.id);
    let (ours, theirs) = (runs(base.timing_runs), runs(new.timing_runs));
    conditions.hold(Weight::Settings, what, ours, theirs);
    let end = |interrupted: bool| if interrupted { "interrupted" } else { "whole" };
    let what = format!("run of {}", base.id);
    let (ours, theirs) = (end(base.interrupted), end(new.interrupted));
    conditions.hold(Weight::Note, what, ours, theirs);
}

/// An experiment that is in both results.
struct Paired<'a> {
    id: &'static str,
    cpus: f64,
    rows: Vec<PairedRow<'a>>,
    /// The same for further pairs of runs.
    further: Vec<Paired<'a>>,
}

struct PairedRow<'a> {
    base: Measured<'a>,
    new: Measured<'a>,
    /// Logarithms of the factors, round by round; with several pairs of runs, pair by pair. `None`
    /// when they are unavailable.
    rounds: Option<Vec<f64>>,
    counts: Counts,
}

impl<'a> Paired<'a> {
    fn new(
        base: &'a Experiment,
        new: &'a Experiment,
        cpus: u32,
        unpaired: &mut Sides<Vec<String>>,
    ) -> Self {
        let id = base.shared().id;
        let line = |row: &Measured<'_>| format!("{id}: {} on {}", row.label, row.target);
        let mut theirs = rows(new);
        let mut pairs = Vec::new();
        for ours in rows(base) {
            let Some(place) = theirs.iter().position(|row| ours.is_pair_of(row)) else {
                unpaired.base.push(line(&ours));
                continue;
            };
            let theirs = theirs.remove(place);
            pairs.push(PairedRow {
                rounds: time::rounds(&ours.samples_s, &theirs.samples_s),
                counts: ours.counts(&theirs),
                base: ours,
                new: theirs,
            });
        }
        unpaired.new.extend(theirs.iter().map(line));
        Self {
            id,
            cpus: f64::from(cpus.max(1)),
            rows: pairs,
            further: Vec::new(),
        }
    }

    /// With the same data of further pairs of runs, if there are any: then the pairs replace the
    /// rounds.
    fn with(mut self, further: Vec<Self>) -> Self {
        for row in &mut self.rows {
            if !further.is_empty() {
                let others = further.iter().map(|pair| pair.pair_of(row));
                row.repeat(others.collect());
            }
            row.rounds.take_if(|rounds| rounds.len() < 2);
        }
        self.further = further;
        self
    }

    fn pair_of(&self, row: &PairedRow<'_>) -> Option<&PairedRow<'a>> {
        let mut rows = self.rows.iter();
        rows.find(|other| other.base.is_pair_of(&row.base))
    }

    /// All measurements of one side.
    fn all<'b>(
        &'b self,
        side: impl Fn(&'b PairedRow<'a>) -> &'b Measured<'a>,
    ) -> impl Iterator<Item = &'b Measured<'a>> {
        self.pairs().flat_map(|pair| &pair.rows).map(side)
    }

    fn pairs(&self) -> impl Iterator<Item = &Self> {
        std::iter::once(self).chain(&self.further)
    }

    /// Rounds of the rows that can be judged.
    fn rounds(&self) -> Vec<Vec<f64>> {
        let rows = self.rows.iter();
        rows.filter_map(|row| row.rounds.clone()).collect()
    }

    /// Whether the calls of any row differ in any pair of runs; `None` when none were observed.
    fn calls_differ(&self) -> Option<bool> {
        let rows = self.pairs().flat_map(|pair| &pair.rows);
        let seen = rows.filter(|row| row.counts.calls_seen);
        let is_call = |count: &Count| count.part == Part::Calls;
        seen.map(|row| row.counts.differing.iter().any(is_call))
            .max()
    }

    fn judge(&self, misses: &Misses) -> (Whole, Vec<Row>) {
        let rounds = self.rounds();
        let busy = Sides {
            base: others(self.all(|row| &row.base)),
            new: others(self.all(|row| &row.new)),
        };
        let load = match (busy.base, busy.new) {
            (Some(base), Some(new)) => Load::of(base, new, self.cpus),
            // Nothing is known to contradict equal load.
            _ => Load::default(),
        };
        let basis = match self.further.as_slice() {
            [] => Basis::Rounds(load),
            _ => Basis::Pairs(load),
        };
        let time = Estimate::whole(&rounds, basis).map(|whole| whole.change(misses.whole));
        let among = Among::of(&rounds);
        let rows = self.rows.iter().map(|pair| {
            let estimate = || Estimate::row(pair.rounds.as_ref()?, &among, basis);
            // One row is its whole experiment: it is judged once.
            let change = match misses.row {
                Some(misses) if rounds.len() > 1 => estimate().map(|row| row.change(misses)),
                _ => time.filter(|_| pair.rounds.is_some()),
            };
            self.row(pair, change)
        });
        let rows = rows.collect();
        let whole = Whole {
            id: self.id.to_owned(),
            timed: rounds.len(),
            judgement: judgement(time),
            verdict: None,
            time,
            others_cpus: Sides::of(&busy.base, &busy.new, |cpus| {
                cpus.map(|cpus| cpus.min(self.cpus))
            }),
        };
        (whole, rows)
    }

    fn row(&self, pair: &PairedRow<'_>, time: Option<time::TimeRatio>) -> Row {
        let base = &pair.base;
        Row {
            experiment: self.id.to_owned(),
            case: base.case.clone(),
            label: base.label.clone(),
            target: base.target.to_owned(),
            numbers: both(pair, |row| row.number),
            per: base.unit().to_owned(),
            median_s: both(pair, |row| stats::median(&row.samples_s)),
            runs: both(pair, |row| row.samples_s.len()),
            judgement: judgement(time),
            verdict: None,
            time,
            equal_counts: pair.counts.equal,
            counts: pair.counts.clone().sorted(),
            others_requests: both(pair, |row| row.interference.other_requests),
        }
    }

    /// Rows whose times cannot be judged, and why.
    fn missing(&self) -> impl Iterator<Item = Gap> {
        self.rows.iter().filter_map(|pair| {
            let runs = pair.base.samples_s.len().min(pair.new.samples_s.len());
            let why = match (runs, &pair.rounds) {
                (0, _) | (_, Some(_)) => return None,
                _ if !self.further.is_empty() => Reason::NotPairedOrNoTime,
                (1, _) => Reason::OneRunEach { remedy: false },
                _ => Reason::NoTime,
            };
            let what = Missing::RowTime {
                experiment: self.id.to_owned(),
                row: pair.base.label.clone(),
            };
            Some(Gap::new(what, why))
        })
    }
}

impl PairedRow<'_> {
    /// Adds the samples of further pairs of runs; the median factor of each pair replaces the
    /// rounds. A row missing in some pair keeps its samples, and has no rounds.
    fn repeat(&mut self, others: Option<Vec<&PairedRow<'_>>>) {
        let Some(others) = others else {
            self.rounds = None;
            return;
        };
        let first = std::iter::once(&self.rounds);
        let rounds = first.chain(others.iter().map(|other| &other.rounds));
        let middles = rounds.map(|rounds| stats::pseudomedian(rounds.as_ref()?));
        self.rounds = middles.collect();
        for other in others {
            self.base.samples_s.extend(&other.base.samples_s);
            self.new.samples_s.extend(&other.new.samples_s);
        }
    }
}

fn both<T>(pair: &PairedRow<'_>, of: impl Fn(&Measured<'_>) -> T) -> Sides<T> {
    Sides::of(&pair.base, &pair.new, of)
}

fn judgement(time: Option<time::TimeRatio>) -> Judgement {
    time.map_or(Judgement::NotJudged, |time| time.judgement())
}

/// CPUs kept busy by others while these rows were timed, on average.
fn others<'a>(rows: impl Iterator<Item = &'a Measured<'a>>) -> Option<f64> {
    let mut sums = (0.0, 0.0);
    for row in rows.filter(|row| row.timed_s > 0.0) {
        sums.0 += row.interference.other_cpu_s?;
        sums.1 += row.timed_s;
    }
    (sums.1 > 0.0).then(|| sums.0 / sums.1)
}

/// The error probability of each interval, so that the total error is 3 %.
struct Misses {
    whole: f64,
    /// `None` when no experiment has several rows.
    row: Option<f64>,
}

impl Misses {
    fn shared_by(paired: &[Paired<'_>]) -> Self {
        let counts: Vec<usize> = paired.iter().map(|one| one.rounds().len()).collect();
        let wholes = counts.iter().filter(|count| **count > 0).count().max(1) as f64;
        let rows: usize = counts.iter().filter(|count| **count > 1).sum();
        if rows == 0 {
            return Self {
                whole: time::FALSE_ALARM / wholes,
                row: None,
            };
        }
        Self {
            whole: time::OF_WHOLES / wholes,
            row: Some((time::FALSE_ALARM - time::OF_WHOLES) / rows as f64),
        }
    }
}
