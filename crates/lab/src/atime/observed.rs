//! The evidence pass: one run of each loop, watched.

use std::os::unix::fs::MetadataExt as _;

use iostrata_core::Gap;
use iostrata_core::evidence::Evidence;
use iostrata_core::observe::Stream;

use super::loops::Item;
use super::settings::FILE_BYTES;
use super::workload::file_name;
use crate::engine::{KernelFile, observed_file};
use crate::error::LabError;
use crate::session::{Observed, Session, other_calls, settle, sync_file_system};

/// The call by which rustix opens: `openat` where the architecture has no `open`.
const OPEN: &str = if cfg!(target_arch = "x86_64") {
    "open"
} else {
    "openat"
};

/// Runs one loop under the observer; without one, takes what any process can see.
pub(super) fn observe(session: &mut Session<'_>, item: &Item<'_>) -> Result<Observed, LabError> {
    item.mount()?;
    let mut workload = session.start(&item.job())?;
    let identities = identities(item)?;
    // What setting the times left to write back is not the loop's.
    sync_file_system(&item.target.dir)?;
    let process = workload.pid();
    let (report, observation) = session.observed(
        process,
        Stream::default(),
        |session| Ok(workload.go(session.stop)?),
        &|| settle(&item.target.dir),
    )?;
    workload.exit()?;
    let (work, observation) = (&report.reading, observation.as_ref());
    let mut observed = Observed::of(session, item.target, &identities, work, observation);
    let why = "the files are small and many; that none was read from the device says that they \
               were resident";
    let gap = Gap::new("resident bytes", why);
    observed.evidence.missing.push(gap);
    observed.notes.extend(unexpected(item, &observed.evidence));
    Ok(observed)
}

/// The files of the loop as the observer names them.
fn identities(item: &Item<'_>) -> Result<Vec<KernelFile>, LabError> {
    let job = item.job();
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
    let expected = [
        (OPEN, reads, 0),
        ("read", reads, reads * FILE_BYTES as u64),
        ("close", reads, 0),
    ];
    let mut notes = other_calls("the loop", expected, evidence.syscalls.as_ref());
    let device_reads = evidence.device.map_or(0, |device| device.reads.count);
    if device_reads > 0 {
        notes.push(format!(
            "{device_reads} requests read from the device: not all files were resident"
        ));
    }
    notes
}
