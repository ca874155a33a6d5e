//! The passes over every experiment's cases: times all of them, then observes each.

use iostrata_core::evidence::{Evidence, Faults};
use iostrata_core::gap::{Gap, Missing, Reason, Stratum};
use iostrata_core::lab::{Interference, Row};
use iostrata_core::observe::Observation;
use iostrata_core::timing::Sample;

use super::{Session, Timed, evidence, time};
use crate::engine::{KernelFile, Work};
use crate::error::LabError;
use crate::target::Target;

pub(crate) trait Item {
    /// Results of the timing runs besides their samples.
    type Gathered: Default;
    /// Results of the observed run besides evidence.
    type Found: Default;
    type Row;

    /// For progress: `fsync append 1 KiB on ext4`.
    fn label(&self) -> String;

    /// One timing run. The first of each item is the warm-up.
    fn run(
        &self,
        session: &mut Session<'_>,
        gathered: &mut Self::Gathered,
    ) -> Result<Sample, LabError>;

    /// One run under the observer; without one, what any process can see of it.
    fn observe(&self, session: &mut Session<'_>) -> Result<Observed<Self::Found>, LabError>;

    /// The row, from both.
    fn row(
        &self,
        timed: Timed,
        gathered: Self::Gathered,
        observed: Observed<Self::Found>,
    ) -> Self::Row;
}

/// The result of the evidence pass for one item.
#[derive(Debug, Default)]
pub(crate) struct Observed<F = ()> {
    pub(crate) evidence: Evidence,
    /// Requests from others on the same disks.
    pub(crate) other_requests: Option<u64>,
    pub(crate) notes: Vec<String>,
    /// The part that only this experiment has.
    pub(crate) found: F,
}

impl<F: Default> Observed<F> {
    /// For a run that used `files`, with or without an observer.
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

    /// Notes where the kernel's counts differ from the calls that `who` must make: names, counts
    /// and bytes.
    pub(crate) fn check_calls<'a>(
        &mut self,
        who: &str,
        expected: impl IntoIterator<Item = (&'a str, u64, u64)>,
    ) {
        let Some(seen) = &self.evidence.syscalls else {
            return;
        };
        for (name, count, bytes) in expected {
            let call = seen.get(name).copied().unwrap_or_default();
            if (call.count, call.bytes) != (count, bytes) {
                self.notes.push(format!(
                    "{who} made {count} {name} calls with {bytes} bytes, but {} with {} bytes \
                     were counted",
                    call.count, call.bytes
                ));
            }
        }
    }

    /// For an item that was not observed.
    fn missing(why: Reason) -> Self {
        Self {
            evidence: Evidence {
                missing: vec![Gap::new(Missing::KernelEvidence, why)],
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
) -> Result<Vec<I::Row>, LabError> {
    let labels: Vec<String> = items.iter().map(Item::label).collect();
    let mut gathered: Vec<I::Gathered> = items.iter().map(|_| I::Gathered::default()).collect();
    let steps = items.len() + steps_after;
    let timed = time(session, &labels, steps, |session, index| {
        items[index].run(session, &mut gathered[index])
    })?;
    observe_all(session, items, timed, gathered)
}

/// Observes every item with enough timing runs and builds its row. A failure here does not lose the
/// timings: rows are built from them, and the failure is reported with the result.
pub(crate) fn observe_all<I: Item>(
    session: &mut Session<'_>,
    items: &[I],
    timed: Vec<Timed>,
    gathered: Vec<I::Gathered>,
) -> Result<Vec<I::Row>, LabError> {
    let mut why = Reason::RunInterrupted;
    let mut rows = Vec::new();
    let timed = items.iter().zip(timed).zip(gathered);
    for ((item, timed), gathered) in timed.filter(|((_, timed), _)| timed.enough) {
        let observed = session.until_stopped(|session| {
            session.ledger.step(&format!("observing {}", item.label()));
            item.observe(session)
        });
        let observed = match observed {
            Ok(observed) => observed,
            Err(error) if error.spoils_all() => return Err(error),
            Err(error) => {
                why = Reason::ObservingFailed(error.to_string());
                session.ledger.to.failed(error);
                session.interrupted = true;
                None
            }
        };
        let observed = observed.unwrap_or_else(|| Observed::missing(why.clone()));
        rows.push(item.row(timed, gathered, observed));
    }
    Ok(rows)
}

/// The parts that need an observer.
const UNSEEN: [Missing; 4] = [
    Missing::Stratum(Stratum::Syscalls),
    Missing::CacheEvents,
    Missing::Stratum(Stratum::Device),
    Missing::Stratum(Stratum::Blocked),
];

/// The part that getrusage(2) provides without privileges; the rest is missing, for the reason
/// `because`.
fn unobserved(work: &Work, because: &Reason) -> Evidence {
    Evidence {
        faults: Faults {
            minor: Some(work.minor_faults),
            major: Some(work.major_faults),
        },
        on_cpu_s: Some(work.sample.user_s + work.sample.system_s),
        missing: UNSEEN.map(|what| Gap::new(what, because.clone())).into(),
        ..Evidence::default()
    }
}
