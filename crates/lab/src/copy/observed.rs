//! The evidence pass: one copy of each case, watched.

use std::collections::BTreeSet;
use std::path::Path;

use iostrata_core::evidence::{Charge, Evidence, RawEvidence, assemble};
use iostrata_core::observe::Stream;

use super::item::Item;
use crate::engine::{KernelFile, Residency, observed_file, residency};
use crate::error::LabError;
use crate::session::{Observed, Session, settle, sync_file_system};

/// The call that the stopwatch makes before and after the copy.
const OWN_CALL: &str = "getrusage";

/// Copies once under the observer; without one, takes what any process can see.
/// Finds the state of the source before the copy, where it is known.
pub(super) fn observe(
    session: &mut Session<'_>,
    item: &Item<'_>,
) -> Result<Observed<Option<Residency>>, LabError> {
    let target = item.target;
    let copy = item.destination(session)?;
    let mut workload = session.start(&item.job(&copy))?;
    let process = workload.pid();
    let pipes = [0, 1].map(|fd| identity(Path::new(&format!("/proc/{process}/fd/{fd}"))));
    let source = identity(item.source.path())?;
    // What earlier runs left to write back is not this one's, and would keep pages.
    sync_file_system(&target.dir)?;
    let state = item.source.prepare(item.case.source, target)?;
    let (seen, observation) = session.observed(
        process,
        Stream::default(),
        |session| {
            let work = workload.go(session.stop)?;
            Ok((work, identity(copy.path())?))
        },
        &|| settle(&target.dir),
    )?;
    let (work, made) = seen;
    workload.exit()?;
    let resident_after = residency(item.source.path()).ok();
    item.verify(&copy, session)?;
    copy.remove()?;

    let observation = observation.as_ref();
    let mut observed = Observed::of(session, target, &[source, made], &work, observation);
    if let Some(observation) = observation {
        let [input, output] = pipes;
        all_calls(&mut observed.evidence, &observation.raw, &[input?, output?]);
    }
    let bytes = |seen: &Residency| seen.resident_bytes();
    let cache = &mut observed.evidence.cache;
    cache.resident_before_bytes = state.as_ref().map(bytes);
    cache.resident_after_bytes = resident_after
        .as_ref()
        .filter(|_| target.unknown_cache().is_none())
        .map(bytes);
    observed.found = state;
    Ok(observed)
}

fn identity(path: &Path) -> Result<KernelFile, LabError> {
    observed_file(path).map_err(|error| LabError::io(format!("look up {}", path.display()), error))
}

/// Counts every call of the copy, whatever file it is on: memory it maps, pipes it makes,
/// programs it starts. Not the copy's are the calls on the pipes to the parent, and those of
/// the stopwatch.
fn all_calls(evidence: &mut Evidence, raw: &RawEvidence, pipes: &[KernelFile; 2]) {
    let rows = raw.syscalls.iter().flatten();
    let files = rows
        .filter_map(|row| row.file)
        .map(|file| (file.device, file.inode));
    let parents = |file: &(u32, u64)| pipes.iter().any(|pipe| (pipe.device, pipe.inode) == *file);
    let files: BTreeSet<(u32, u64)> = files.filter(|file| !parents(file)).collect();
    let all = assemble(
        raw,
        &Charge {
            disks: Vec::new(),
            files: Some(files),
            unnamed_calls: true,
        },
    );
    evidence.syscalls = all.syscalls;
    evidence.blocked_s = all.blocked_s;
    if let Some(calls) = &mut evidence.syscalls {
        calls.remove(OWN_CALL);
    }
}

#[cfg(test)]
mod tests {
    use iostrata_core::FileId;
    use iostrata_core::evidence::SyscallRow;

    use super::*;

    fn row(name: &'static str, inode: Option<u64>) -> SyscallRow {
        SyscallRow {
            name,
            file: inode.map(|inode| FileId {
                device: 12,
                inode,
                generation: 0,
            }),
            count: 3,
            errors: 0,
            returned: 30,
            time_ns: 0,
            blocked_ns: 0,
            histogram: Vec::new(),
            shape: None,
            is_source: false,
        }
    }

    #[test]
    fn all_calls_but_the_parents_and_the_stopwatchs() {
        let raw = RawEvidence {
            syscalls: Some(vec![
                row("read", Some(1)),
                row("write", Some(2)),
                row("read", Some(7)),
                row("splice", Some(8)),
                row("munmap", None),
                row("getrusage", None),
            ]),
            ..RawEvidence::default()
        };
        let pipe = |inode| KernelFile { device: 12, inode };
        let mut evidence = Evidence::default();
        all_calls(&mut evidence, &raw, &[pipe(1), pipe(2)]);
        let calls = evidence.syscalls.unwrap();
        let names: Vec<&str> = calls.keys().map(String::as_str).collect();
        assert_eq!(names, ["munmap", "read", "splice"]);
        assert_eq!(calls["read"].count, 3);
    }
}
