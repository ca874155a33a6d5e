//! An item of the measurement: a case on a target.

use std::fs;
use std::path::Path;

use iostrata_core::buffering::{BufferingRow, Case, Memory, MemoryChange, Mode};
use iostrata_core::bytes;
use iostrata_core::observe::Stream;
use iostrata_core::timing::Sample;

use super::expected::expected_calls;
use super::workload::WriteJob;
use crate::engine::residency;
use crate::error::LabError;
use crate::session::{self, Observed, RunFile, Session, Timed, sync_file_system, wide};
use crate::target::Target;

#[derive(Clone, Copy)]
pub(super) struct Item<'a> {
    pub(super) target: &'a Target,
    pub(super) case: Case,
}

impl session::Item for Item<'_> {
    type Gathered = ();
    type Found = Option<MemoryChange>;
    type Row = BufferingRow;

    /// `fsync 1 B on ext4`.
    fn label(&self) -> String {
        let (mode, size) = (self.case.mode.as_str(), bytes::exact(self.case.size_bytes));
        format!("{mode} {size} on {}", self.target.name)
    }

    fn run(&self, session: &mut Session<'_>, (): &mut ()) -> Result<Sample, LabError> {
        let file = self.file();
        let work = session.work(&self.job(&file))?;
        file.remove()?;
        Ok(work.sample)
    }

    fn observe(&self, session: &mut Session<'_>) -> Result<Observed<Self::Found>, LabError> {
        let (file, target) = (self.file(), self.target);
        let mut workload = session.start(&self.job(&file))?;
        let identity = file.identity()?;
        // Write-back left by earlier runs does not belong to this one.
        sync_file_system(&target.dir)?;
        // Queried on the file that holds the pages, or not at all.
        let resident = || match target.unknown_cache() {
            None => resident_bytes(file.path()),
            Some(_) => None,
        };
        let resident_before = resident();
        let before = memory(target.device_path.as_deref());
        let settle = Some(target.dir.as_path());
        let pid = workload.pid();
        let (seen, observation) =
            session.observed(pid, Stream::default(), settle, |session, _| {
                let work = workload.go(session.stop)?;
                let after = memory(target.device_path.as_deref());
                Ok((work, after, resident()))
            })?;
        let (work, after, resident_after) = seen;
        workload.exit()?;
        file.remove()?;
        let mut observed: Observed<Self::Found> =
            Observed::of(session, target, &[identity], &work, observation.as_ref());
        observed.evidence.cache.resident_before_bytes = resident_before;
        observed.evidence.cache.resident_after_bytes = resident_after;
        observed.found = before
            .zip(after)
            .map(|(before, after)| MemoryChange { before, after });
        let expected = expected_calls(&self.case).into_iter();
        let expected = expected.map(|(name, (count, bytes))| (name, count, bytes));
        observed.check_calls("the case", expected);
        Ok(observed)
    }

    fn row(&self, timed: Timed, (): (), mut observed: Observed<Self::Found>) -> BufferingRow {
        let notes = &mut observed.notes;
        notes.extend(wide(timed.timing.as_ref(), &timed.stopping));
        if self.case.mode == Mode::SyncFileRange {
            let why = "not durable: it requests neither metadata nor a device flush";
            notes.push(why.to_owned());
        }
        let memory = observed.found.take();
        BufferingRow::new(observed.row(self.case, self.target, timed), memory)
    }
}

impl Item<'_> {
    fn file(&self) -> RunFile {
        let name = format!("{}-{}", self.case.mode.as_str(), self.case.size_bytes);
        RunFile::new(&self.target.dir, &name)
    }

    fn job(&self, file: &RunFile) -> WriteJob {
        WriteJob {
            case: self.case,
            path: Some(file.path().into()),
        }
    }
}

/// Memory now; `None` when `/proc/meminfo` cannot be read.
///
/// `device` is the block device of the file system, whose pages hold metadata. `cachestat`(2)
/// counts them, which the kernel refuses to users who may not write to the device.
fn memory(device: Option<&Path>) -> Option<Memory> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let device_pages_bytes = device.and_then(resident_bytes);
    Some(Memory {
        device_pages_bytes,
        ..parse(&text)?
    })
}

/// Bytes of a file that are in the page cache; `None` when the kernel does not report them.
fn resident_bytes(path: &Path) -> Option<u64> {
    Some(residency(path).ok()?.resident_bytes())
}

fn parse(meminfo: &str) -> Option<Memory> {
    let field = |name: &str| {
        let rest = meminfo
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        let kib: u64 = rest.trim().strip_suffix(" kB")?.parse().ok()?;
        kib.checked_mul(1024)
    };
    Some(Memory {
        dirty_bytes: field("Dirty")?,
        writeback_bytes: field("Writeback")?,
        buffers_bytes: field("Buffers")?,
        cache_bytes: field("Cached")?.checked_add(field("SReclaimable")?)?,
        device_pages_bytes: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMINFO: &str = "MemTotal:       16 kB\nBuffers:            3 kB\nCached:     20 kB\n\
        SwapCached:     900 kB\nDirty:              4 kB\nWriteback:          5 kB\n\
        WritebackTmp:     800 kB\nSReclaimable:  6 kB\nHugePages_Total:       0\n";

    #[test]
    fn cache_is_cached_and_reclaimable_slab() {
        let expected = Memory {
            dirty_bytes: 4096,
            writeback_bytes: 5120,
            buffers_bytes: 3072,
            cache_bytes: 26 * 1024,
            device_pages_bytes: None,
        };
        assert_eq!(parse(MEMINFO), Some(expected));
    }

    #[test]
    fn an_absent_or_odd_field_makes_the_whole_unknown() {
        assert_eq!(parse(""), None);
        assert_eq!(
            parse(&MEMINFO.replace("Dirty:              4 kB", "Dirty: x kB")),
            None
        );
        assert_eq!(parse(&MEMINFO.replace("SReclaimable", "Other")), None);
    }

    #[test]
    fn what_was_written_is_resident() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        fs::write(&path, [1; 10_000]).unwrap();
        assert_eq!(resident_bytes(&path), Some(3 * 4096));
        assert!(memory(None).is_some_and(|memory| memory.cache_bytes > 0));
    }
}
