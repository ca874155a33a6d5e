//! The evidence pass: one run of each case, watched.

use iostrata_core::Gap;
use iostrata_core::buffering::MemoryChange;
use iostrata_core::evidence::Evidence;
use iostrata_core::observe::Stream;

use super::expected::expected_calls;
use super::item::Item;
use super::memory;
use crate::engine::{Job, WriteJob, observed_file};
use crate::error::LabError;
use crate::session::{Session, evidence, expect_work, settle, sync_file_system, unobserved};

/// What the evidence pass gave for one item.
#[derive(Default)]
pub(super) struct Observed {
    pub(super) evidence: Evidence,
    pub(super) memory: Option<MemoryChange>,
    /// Requests of others on the same disks.
    pub(super) other_requests: Option<u64>,
    pub(super) notes: Vec<String>,
}

impl Observed {
    /// Of an item that was not observed any more.
    pub(super) fn interrupted() -> Self {
        let why = "the run was interrupted before this row was observed";
        let missing = vec![Gap::new("kernel evidence", why)];
        Self {
            evidence: Evidence {
                missing,
                ..Evidence::default()
            },
            ..Self::default()
        }
    }
}

/// Runs one item under the observer; without one, takes what any process can see.
pub(super) fn observe(session: &mut Session<'_>, item: &Item<'_>) -> Result<Observed, LabError> {
    session.ledger.step(&format!("observing {}", item.label()));
    let file = item.file();
    let target = item.target;
    let job = Job::Write(WriteJob {
        case: item.case,
        path: file.path().into(),
    });
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
            let work = expect_work(&workload.go(session.stop)?)?;
            let after = memory::read(target.device_path.as_deref());
            Ok((work, after, resident()))
        },
        &|| settle(&target.dir),
    )?;
    let (work, after, resident_after) = seen;
    workload.exit()?;
    file.remove()?;

    let mut observed = match observation {
        Some(observation) => {
            let (evidence, other_requests) = evidence(&observation.raw, target, &[identity]);
            Observed {
                evidence,
                other_requests,
                ..Observed::default()
            }
        }
        None => Observed {
            evidence: unobserved(&work, &session.run.unobserved_because),
            ..Observed::default()
        },
    };
    observed.evidence.cache.resident_before_bytes = resident_before;
    observed.evidence.cache.resident_after_bytes = resident_after;
    observed.memory = before
        .zip(after)
        .map(|(before, after)| MemoryChange { before, after });
    observed
        .notes
        .extend(unexpected_calls(item, &observed.evidence));
    Ok(observed)
}

/// Says where the kernel counted other calls than the case must make.
fn unexpected_calls(item: &Item<'_>, evidence: &Evidence) -> Vec<String> {
    let Some(seen) = &evidence.syscalls else {
        return Vec::new();
    };
    expected_calls(&item.case)
        .into_iter()
        .filter_map(|(name, (count, bytes))| {
            let call = seen.get(name).copied().unwrap_or_default();
            ((call.count, call.bytes) != (count, bytes)).then(|| {
                format!(
                    "the case makes {count} {name} calls with {bytes} bytes, but {} with {} bytes were counted",
                    call.count, call.bytes
                )
            })
        })
        .collect()
}
