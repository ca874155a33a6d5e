//! The evidence pass: one run of each case, watched.

use iostrata_core::buffering::MemoryChange;
use iostrata_core::observe::Stream;

use super::expected::expected_calls;
use super::item::Item;
use super::memory;
use crate::engine::observed_file;
use crate::error::LabError;
use crate::session::{Observed, Session, other_calls, settle, sync_file_system};

/// Runs one item under the observer; without one, takes what any process can see.
pub(super) fn observe(
    session: &mut Session<'_>,
    item: &Item<'_>,
) -> Result<Observed<Option<MemoryChange>>, LabError> {
    let file = item.file();
    let target = item.target;
    let job = item.job(&file);
    let mut workload = session.start(&job)?;
    let identity = observed_file(file.path())
        .map_err(|error| LabError::io(format!("look up {}", file.path().display()), error))?;
    // What earlier runs left to write back is not this one's.
    sync_file_system(&target.dir)?;
    // Asked of the file that holds the pages, or not at all.
    let resident = || match target.unknown_cache() {
        None => memory::resident_bytes(file.path()),
        Some(_) => None,
    };
    let resident_before = resident();
    let before = memory::read(target.device_path.as_deref());
    let process = workload.pid();
    let (seen, observation) = session.observed(
        process,
        Stream::default(),
        |session| {
            let work = workload.go(session.stop)?;
            let after = memory::read(target.device_path.as_deref());
            Ok((work, after, resident()))
        },
        &|| settle(&target.dir),
    )?;
    let (work, after, resident_after) = seen;
    workload.exit()?;
    file.remove()?;

    let observation = observation.as_ref();
    let mut observed = Observed::of(session, target, &[identity], &work, observation);
    observed.evidence.cache.resident_before_bytes = resident_before;
    observed.evidence.cache.resident_after_bytes = resident_after;
    observed.found = before
        .zip(after)
        .map(|(before, after)| MemoryChange { before, after });
    let expected = expected_calls(&item.case);
    let expected = expected
        .iter()
        .map(|(name, (count, bytes))| (*name, *count, *bytes));
    let seen = observed.evidence.syscalls.as_ref();
    let calls = other_calls("the case", expected, seen);
    observed.notes.extend(calls);
    Ok(observed)
}
