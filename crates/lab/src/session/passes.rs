//! What every experiment does with its cases: it times all of them, and then observes each.

use std::collections::BTreeMap;

use iostrata_core::Gap;
use iostrata_core::evidence::{CallCount, Evidence};
use iostrata_core::lab::{Interference, Row};
use iostrata_core::observe::Observation;
use iostrata_core::timing::{Sample, Timing};

use super::{Pass, Session, Timed, evidence, time, unobserved, until_stopped};
use crate::engine::{KernelFile, StoppingRule, Work};
use crate::error::LabError;
use crate::target::Target;

/// A case on a target.
pub(crate) trait Item {
    /// What the timing runs give besides their samples.
    type Gathered: Default;
    /// What the observed run gives besides evidence.
    type Found: Default;
    /// A row of the result.
    type Row;

    /// For progress: `fsync append 1 KiB on ext4`.
    fn label(&self) -> String;

    /// One timing run. The first of each item is the warm-up.
    fn run(
        &self,
        session: &mut Session<'_>,
        gathered: &mut Self::Gathered,
    ) -> Result<Sample, LabError>;

    /// One run under the observer; without one, what any process can see of it. `earlier` are
    /// the rows there are.
    fn observe(
        &self,
        session: &mut Session<'_>,
        earlier: &[Self::Row],
    ) -> Result<Observed<Self::Found>, LabError>;

    /// The row, of both.
    fn row(
        &self,
        timed: Timed,
        gathered: Self::Gathered,
        observed: Observed<Self::Found>,
        stopping: &StoppingRule,
    ) -> Self::Row;
}

/// What the evidence pass gave for one item.
#[derive(Debug, Default)]
pub(crate) struct Observed<F = ()> {
    pub(crate) evidence: Evidence,
    /// Requests of others on the same disks.
    pub(crate) other_requests: Option<u64>,
    pub(crate) notes: Vec<String>,
    /// What is the experiment's own.
    pub(crate) found: F,
}

impl<F: Default> Observed<F> {
    /// Of a run that used `files`, with or without an observer.
    pub(crate) fn of(
        session: &Session<'_>,
        target: &Target,
        files: &[KernelFile],
        work: &Work,
        observation: Option<&Observation>,
    ) -> Self {
        let (evidence, other_requests) = match observation {
            Some(observation) => evidence(&observation.raw, target, files),
            None => (unobserved(work, &session.run.unobserved_because), None),
        };
        Self {
            evidence,
            other_requests,
            ..Self::default()
        }
    }

    /// Of an item that was not observed.
    fn missing(why: &str) -> Self {
        Self {
            evidence: Evidence {
                missing: vec![Gap::new("kernel evidence", why)],
                ..Evidence::default()
            },
            ..Self::default()
        }
    }

    /// The part of a row that all experiments have.
    pub(crate) fn row<C>(self, case: C, target: &Target, timed: Timed) -> Row<C> {
        Row {
            case,
            target: target.name.clone(),
            timing: timed.timing,
            evidence: self.evidence,
            interference: Interference {
                other_requests: self.other_requests,
                ..timed.interference
            },
            notes: self.notes,
        }
    }
}

/// Both passes over all items; `steps_after` are the steps of what comes after them.
pub(crate) fn measure<I: Item>(
    session: &mut Session<'_>,
    items: &[I],
    steps_after: usize,
    interrupted: &mut bool,
) -> Result<(Vec<I::Row>, usize), LabError> {
    let labels: Vec<String> = items.iter().map(Item::label).collect();
    let mut gathered: Vec<I::Gathered> = items.iter().map(|_| I::Gathered::default()).collect();
    let pass = time(
        session,
        &labels,
        items.len() + steps_after,
        |session, index| items[index].run(session, &mut gathered[index]),
    )?;
    *interrupted |= pass.interrupted;
    let warm_ups = pass.warm_ups;
    let rows = observe_all(session, items, pass, gathered, interrupted)?;
    Ok((rows, warm_ups))
}

/// Observes every item that was timed often enough and makes its row. What fails then does not
/// lose what was timed: rows are made of that, and the failure is told with the result.
pub(crate) fn observe_all<I: Item>(
    session: &mut Session<'_>,
    items: &[I],
    pass: Pass,
    gathered: Vec<I::Gathered>,
    interrupted: &mut bool,
) -> Result<Vec<I::Row>, LabError> {
    let mut why = "the run was interrupted before this row was observed".to_owned();
    let mut rows = Vec::new();
    let timed = items.iter().zip(pass.items).zip(gathered);
    for ((item, timed), gathered) in timed.filter(|((_, timed), _)| timed.enough) {
        let stop = session.stop;
        let observed = until_stopped(stop, interrupted, || {
            session.ledger.step(&format!("observing {}", item.label()));
            item.observe(session, &rows)
        });
        let observed = match observed {
            Ok(observed) => observed,
            Err(error) if error.spoils_all() => return Err(error),
            Err(error) => {
                why = format!("observing it, or a row before it, failed: {error}");
                session.ledger.failed(error);
                *interrupted = true;
                None
            }
        };
        let observed = observed.unwrap_or_else(|| Observed::missing(&why));
        rows.push(item.row(timed, gathered, observed, &session.run.stopping));
    }
    Ok(rows)
}

/// Says that the runs differ more than was asked for.
pub(crate) fn wide(timing: Option<&Timing>, stopping: &StoppingRule) -> Option<String> {
    let timing = timing?;
    let width = timing.relative_width();
    (width > stopping.target_width).then(|| {
        format!(
            "after {} runs the interval is still {:.0} % of the median wide",
            timing.samples_s.len(),
            width * 100.0
        )
    })
}

/// Says where the kernel counted other calls than `who` must make: names, numbers and bytes.
pub(crate) fn other_calls<'a>(
    who: &str,
    expected: impl IntoIterator<Item = (&'a str, u64, u64)>,
    seen: Option<&BTreeMap<String, CallCount>>,
) -> Vec<String> {
    let Some(seen) = seen else {
        return Vec::new();
    };
    let differing = expected.into_iter().filter_map(|(name, count, bytes)| {
        let call = seen.get(name).copied().unwrap_or_default();
        ((call.count, call.bytes) != (count, bytes)).then(|| {
            format!(
                "{who} makes {count} {name} calls with {bytes} bytes, but {} with {} bytes were counted",
                call.count, call.bytes
            )
        })
    });
    differing.collect()
}
