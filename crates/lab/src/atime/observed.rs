//! The evidence pass: one run of each loop, watched.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;

use iostrata_core::Gap;
use iostrata_core::evidence::{CallCount, Evidence};
use iostrata_core::observe::Stream;

use super::loops::{Item, expect_loop};
use super::settings::FILE_BYTES;
use super::workload::file_name;
use crate::engine::{Job, KernelFile, observed_file};
use crate::error::LabError;
use crate::session::{Session, evidence, settle, sync_file_system, unobserved};

/// The call by which rustix opens: `openat` where the architecture has no `open`.
const OPEN: &str = if cfg!(target_arch = "x86_64") {
    "open"
} else {
    "openat"
};

/// What the evidence pass gave for one loop.
#[derive(Default)]
pub(super) struct Observed {
    pub(super) evidence: Evidence,
    /// Requests of others on the same disks.
    pub(super) other_requests: Option<u64>,
    pub(super) notes: Vec<String>,
}

impl Observed {
    /// Of a loop that was not observed any more.
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

/// Runs one loop under the observer; without one, takes what any process can see.
pub(super) fn observe(session: &mut Session<'_>, item: &Item<'_>) -> Result<Observed, LabError> {
    session.ledger.step(&format!("observing {}", item.label()));
    item.mount()?;
    let mut workload = session.start(&item.job())?;
    let identities = identities(item)?;
    // What setting the times left to write back is not the loop's.
    sync_file_system(&item.target.dir)?;
    let process = workload.pid();
    let (report, observation) = session.observed(
        process,
        Stream::default(),
        |session| Ok(expect_loop(&workload.go(session.stop)?)?),
        &|| settle(&item.target.dir),
    )?;
    workload.exit()?;
    let mut observed = match observation {
        Some(observation) => {
            let (evidence, other_requests) = evidence(&observation.raw, item.target, &identities);
            Observed {
                evidence,
                other_requests,
                ..Observed::default()
            }
        }
        None => Observed {
            evidence: unobserved(&report.reading, &session.run.unobserved_because),
            ..Observed::default()
        },
    };
    let why = "the files are small and many; that none was read from the device says that they \
               were resident";
    let gap = Gap::new("resident bytes", why);
    observed.evidence.missing.push(gap);
    observed.notes.extend(unexpected(item, &observed.evidence));
    Ok(observed)
}

/// The files of the loop as the observer names them.
fn identities(item: &Item<'_>) -> Result<Vec<KernelFile>, LabError> {
    let Job::ReadLoop(job) = item.job() else {
        return Ok(Vec::new());
    };
    let directory = std::path::PathBuf::from(job.directory);
    let failed = |error| LabError::io(format!("look up {}", directory.display()), error);
    // One look at the mounts for all of them.
    let device = observed_file(&directory).map_err(failed)?.device;
    (0..job.files)
        .map(|number| {
            let seen = std::fs::metadata(directory.join(file_name(number))).map_err(failed)?;
            Ok(KernelFile {
                device,
                inode: seen.ino(),
            })
        })
        .collect()
}

/// Says where the kernel counted other calls than the loop must make, or saw it read
/// from the device.
fn unexpected(item: &Item<'_>, evidence: &Evidence) -> Vec<String> {
    let (_, reads) = item.size;
    let mut notes = Vec::new();
    if let Some(seen) = &evidence.syscalls {
        let expected = [
            (OPEN, (reads, 0)),
            ("read", (reads, reads * FILE_BYTES as u64)),
            ("close", (reads, 0)),
        ];
        notes.extend(expected.iter().filter_map(|call| differs(call, seen)));
    }
    let device_reads = evidence.device.map_or(0, |device| device.reads.count);
    if device_reads > 0 {
        notes.push(format!(
            "{device_reads} requests read from the device: not all files were resident"
        ));
    }
    notes
}

fn differs(
    (name, (count, bytes)): &(&str, (u64, u64)),
    seen: &BTreeMap<String, CallCount>,
) -> Option<String> {
    let call = seen.get(*name).copied().unwrap_or_default();
    ((call.count, call.bytes) != (*count, *bytes)).then(|| {
        format!(
            "the loop makes {count} {name} calls with {bytes} bytes, but {} with {} bytes were counted",
            call.count, call.bytes
        )
    })
}
