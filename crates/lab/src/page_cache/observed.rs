//! The evidence pass: one read of each case, watched.

use iostrata_core::Gap;
use iostrata_core::evidence::Cache;
use iostrata_core::observe::Stream;
use iostrata_core::page_cache::{Reader, State};

use super::item::{Found, Item};
use super::job::FileStep;
use super::rows::brought_pages;
use crate::engine::observed_file;
use crate::error::LabError;
use crate::session::{Observed, Session};

/// `create_io_thread` (`kernel/fork.c`) makes workers that no tracepoint announces.
const RING: &str =
    "reads that wait are handed to kernel workers of the ring, which are not observed";

/// A warm read whose pages went before it came is observed again, this often in all.
const TRIES: usize = 3;

/// Reads once under the observer; without one, takes what any process can see.
pub(super) fn observe(
    session: &mut Session<'_>,
    item: &Item<'_>,
) -> Result<Observed<Option<Found>>, LabError> {
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

fn observe_once(
    session: &mut Session<'_>,
    item: &Item<'_>,
) -> Result<Observed<Option<Found>>, LabError> {
    let identity = observed_file(item.file)
        .map_err(|error| LabError::io(format!("look up {}", item.file.display()), error))?;
    let mut workload = session.start(&item.job(vec![FileStep::Read]))?;
    let found = item.set_state()?;
    let process = workload.pid();
    let ((report, after), observation) = session.observed(
        process,
        Stream::default(),
        |session| {
            let report = workload.go(session.stop)?;
            Ok((report, item.resident_bytes()?))
        },
        // A read leaves nothing to write back.
        &|| Ok(()),
    )?;
    workload.exit()?;
    let (work, observation) = (&report.work, observation.as_ref());
    let mut observed = Observed::of(session, item.target, &[identity], work, observation);
    let evidence = &mut observed.evidence;
    if item.case.reader == Reader::IoUring && evidence.cache.lookups_pages.is_some() {
        evidence.cache = Cache::default();
        evidence.missing.push(Gap::new("page-cache events", RING));
    }
    evidence.cache.resident_before_bytes = Some(found.resident_bytes);
    evidence.cache.resident_after_bytes = Some(after);
    observed.found = Some(found);
    Ok(observed)
}
