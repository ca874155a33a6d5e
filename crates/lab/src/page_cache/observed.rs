//! The evidence pass: one read of each case, watched.

use iostrata_core::Gap;
use iostrata_core::evidence::{Cache, Evidence};
use iostrata_core::observe::Stream;
use iostrata_core::page_cache::{Reader, State};

use super::item::{Found, Item, read};
use super::job::FileStep;
use super::rows::brought_pages;
use crate::engine::observed_file;
use crate::error::LabError;
use crate::session::{Session, evidence, unobserved};

/// `create_io_thread` (`kernel/fork.c`) makes workers that no tracepoint announces.
const RING: &str =
    "reads that wait are handed to kernel workers of the ring, which are not observed";

/// What the evidence pass gave for one item.
#[derive(Default)]
pub(super) struct Observed {
    pub(super) evidence: Evidence,
    /// `None` when it was not observed any more.
    pub(super) found: Option<Found>,
    /// Requests of others on the same disks.
    pub(super) other_requests: Option<u64>,
}

impl Observed {
    /// Of an item that was not observed any more.
    pub(super) fn interrupted() -> Self {
        let why = "the run was interrupted before this row was observed";
        Self {
            evidence: Evidence {
                missing: vec![Gap::new("kernel evidence", why)],
                ..Evidence::default()
            },
            ..Self::default()
        }
    }
}

/// A warm read whose pages went before it came is observed again, this often in all.
const TRIES: usize = 3;

/// Reads once under the observer; without one, takes what any process can see.
pub(super) fn observe(session: &mut Session<'_>, item: &Item<'_>) -> Result<Observed, LabError> {
    let mut observed = observe_once(session, item)?;
    for _ in 1..TRIES {
        let found = observed.found.as_ref();
        let warm = found.is_some_and(|found| found.state == State::Warm);
        if !warm || brought_pages(&observed.evidence) == 0 {
            break;
        }
        observed = observe_once(session, item)?;
    }
    Ok(observed)
}

fn observe_once(session: &mut Session<'_>, item: &Item<'_>) -> Result<Observed, LabError> {
    session.ledger.step(&format!("observing {}", item.label()));
    let identity = observed_file(item.file)
        .map_err(|error| LabError::io(format!("look up {}", item.file.display()), error))?;
    let mut workload = session.start(&item.job(vec![FileStep::Read]))?;
    let found = item.set_state()?;
    let process = workload.pid();
    let ((report, after), observation) = session.observed(
        process,
        Stream::default(),
        |session| {
            let report = read(&mut workload, session.stop)?;
            Ok((report, item.resident_bytes()?))
        },
        // A read leaves nothing to write back.
        &|| Ok(()),
    )?;
    workload.exit()?;
    let (mut evidence, other_requests) = match observation {
        Some(observation) => evidence(&observation.raw, item.target, &[identity]),
        None => (
            unobserved(&report.work, &session.run.unobserved_because),
            None,
        ),
    };
    if item.case.reader == Reader::IoUring && evidence.cache.lookups_pages.is_some() {
        evidence.cache = Cache::default();
        evidence.missing.push(Gap::new("page-cache events", RING));
    }
    evidence.cache.resident_before_bytes = Some(found.resident_bytes);
    evidence.cache.resident_after_bytes = Some(after);
    Ok(Observed {
        evidence,
        found: Some(found),
        other_requests,
    })
}
