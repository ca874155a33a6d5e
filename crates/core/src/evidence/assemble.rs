//! Attribution: decides which of the kernel's rows belong to the case.

use std::collections::BTreeSet;

use super::{Cache, CallCounts, DeviceCounts, DeviceRange, Evidence, Faults, Phase, RawEvidence};
use crate::gap::Gap;
use crate::op::FileId;
use crate::timing::seconds;

/// The scope of a case.
#[derive(Debug, Clone, Default)]
pub struct Charge {
    /// Disks (kernel `dev_t`) whose requests count. A loop device is listed and
    /// the disk that holds its image is not, so nothing is counted twice.
    pub disks: Vec<u32>,
    /// Files that belong to the case, by device and inode; `None` for every file.
    pub files: Option<BTreeSet<(u32, u64)>>,
    /// Whether calls without a file (`sync`, anonymous `mmap`) are counted.
    pub unnamed_calls: bool,
}

impl Charge {
    /// Whether the file belongs to the case.
    pub(crate) fn covers(&self, file: FileId) -> bool {
        self.files
            .as_ref()
            .is_none_or(|files| files.contains(&(file.device, file.inode)))
    }
}

/// Attributes raw rows to a case.
///
/// Data and read requests are attributed by the file of their first page. Journal, commit, metadata
/// and flush requests have no file; they belong to the case if they went to one of its disks,
/// whichever task submitted them, because a journal thread or a kernel worker submits them for the
/// program.
pub fn assemble(raw: &RawEvidence, charge: &Charge) -> Evidence {
    Evidence {
        syscalls: raw.syscalls.as_ref().map(|_| calls(raw, charge)),
        cache: cache(raw, charge),
        device: device(raw, charge, Phase::Running),
        device_after_exit: device(raw, charge, Phase::AfterExit),
        faults: Faults {
            minor: raw.totals.map(|t| t.minor_faults),
            major: raw.totals.map(|t| t.major_faults),
        },
        on_cpu_s: raw.totals.map(|t| seconds(t.on_cpu_ns)),
        blocked_s: blocked(raw, charge),
        lost_events: raw.losses.total().saturating_add(summed(raw, charge)),
        missing: missing(raw, charge),
    }
}

/// Calls possibly on files of the case that are counted without their file.
fn summed(raw: &RawEvidence, charge: &Charge) -> u64 {
    let by_file = charge.files.is_some();
    if by_file { raw.summed.calls } else { 0 }
}

fn calls(raw: &RawEvidence, charge: &Charge) -> CallCounts {
    let mut by_name = CallCounts::new();
    for row in charged_calls(raw, charge) {
        *by_name.entry(row.name.to_owned()).or_default() += row.stats();
    }
    by_name
}

fn charged_calls<'a>(
    raw: &'a RawEvidence,
    charge: &'a Charge,
) -> impl Iterator<Item = &'a super::SyscallRow> {
    let rows = raw.syscalls.iter().flatten().filter(|row| !row.is_source);
    rows.filter(|row| match row.file {
        Some(file) => charge.covers(file),
        None => charge.unnamed_calls,
    })
}

fn blocked(raw: &RawEvidence, charge: &Charge) -> Option<f64> {
    // Summed as integers: an empty floating-point sum is -0.0.
    let blocked_ns = charged_calls(raw, charge)
        .map(|row| row.blocked_ns)
        .fold(0, u64::saturating_add);
    (raw.blocked_seen && raw.syscalls.is_some()).then(|| seconds(blocked_ns))
}

fn cache(raw: &RawEvidence, charge: &Charge) -> Cache {
    let Some(rows) = raw.cache.as_ref() else {
        return Cache::default();
    };
    let (mut lookups, mut missed, mut filled, mut dirtied) = (0_u64, 0_u64, 0_u64, 0_u64);
    for row in rows
        .iter()
        .filter(|row| !row.metadata && charge.covers(row.file))
    {
        lookups = lookups.saturating_add(row.lookups_pages);
        missed = missed.saturating_add(row.missed_pages);
        filled = filled.saturating_add(row.filled_pages);
        dirtied = dirtied.saturating_add(row.dirtied_bytes);
    }
    Cache {
        lookups_pages: Some(lookups),
        missed_pages: Some(missed),
        prefetched_pages: Some(u64::saturating_sub(filled, missed)),
        dirtied_bytes: Some(dirtied),
        resident_before_bytes: None,
        resident_after_bytes: None,
    }
}

fn device(raw: &RawEvidence, charge: &Charge, phase: Phase) -> Option<DeviceRange> {
    let mut counts = DeviceCounts::default();
    let rows = raw.block.as_ref()?.iter().filter(|row| {
        row.phase == phase
            && charge.disks.contains(&row.disk)
            && row.file.is_none_or(|file| charge.covers(file))
    });
    for row in rows {
        counts.add_row(row);
    }
    Some(counts.into())
}

/// Requests on the case's disks for other files: work of others that may have disturbed it.
pub fn foreign_requests(raw: &RawEvidence, charge: &Charge) -> Option<u64> {
    let rows = raw.block.as_ref()?.iter();
    Some(
        rows.filter(|row| {
            charge.disks.contains(&row.disk) && row.file.is_some_and(|file| !charge.covers(file))
        })
        .map(|row| row.count)
        .sum(),
    )
}

fn missing(raw: &RawEvidence, charge: &Charge) -> Vec<Gap> {
    let mut lost = raw.losses;
    lost.unattributed_calls = lost.unattributed_calls.saturating_add(summed(raw, charge));
    let lost = lost.kinds().into_iter();
    let lost = lost.filter_map(|(count, of, why)| Gap::counted(count, of, why));
    raw.missing.iter().cloned().chain(lost).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::{BlockRow, CacheRow, Cause, Losses, Pages, Submitter, SyscallRow};
    use crate::gap::{Countable, Missing};

    const FILE: FileId = FileId {
        device: 7,
        inode: 12,
        generation: 1,
    };
    const OTHER: FileId = FileId {
        device: 7,
        inode: 13,
        generation: 1,
    };

    fn call(name: &'static str, file: Option<FileId>, count: u64, returned: u64) -> SyscallRow {
        SyscallRow {
            name,
            file,
            count,
            errors: 0,
            returned,
            time_ns: 2_000,
            blocked_ns: 500,
            alone_ns: 400,
            histogram: vec![],
            shape: None,
            span_ns: None,
            is_source: false,
        }
    }

    fn request(disk: u32, cause: Cause, file: Option<FileId>, count: u64) -> BlockRow {
        BlockRow {
            disk,
            phase: Phase::Running,
            cause,
            file,
            submitter: Submitter::Unknown,
            pages: Pages::default(),
            count,
            bytes: count * 4096,
            time_ns: 1_000,
        }
    }

    fn charge() -> Charge {
        Charge {
            disks: vec![7],
            files: Some([(7, 12)].into()),
            unnamed_calls: false,
        }
    }

    #[test]
    fn counts_only_calls_on_the_charged_file() {
        let raw = RawEvidence {
            syscalls: Some(vec![
                call("write", Some(FILE), 3, 30),
                call("write", Some(OTHER), 5, 50),
                call("lseek", Some(FILE), 1, 999),
                call("sync", None, 1, 0),
            ]),
            blocked_seen: true,
            ..RawEvidence::default()
        };
        let evidence = assemble(&raw, &charge());
        let calls = evidence.syscalls.unwrap();
        assert_eq!(
            (
                calls.get("write").unwrap().count,
                calls.get("write").unwrap().bytes
            ),
            (3, 30)
        );
        assert_eq!(
            calls.get("lseek").unwrap().bytes,
            0,
            "an offset is not a byte count"
        );
        assert!(!calls.contains_key("sync"));
        assert_eq!(evidence.blocked_s, Some(1e-6));
    }

    #[test]
    fn leaves_the_backing_disk_out_and_counts_unnamed_causes() {
        let raw = RawEvidence {
            block: Some(vec![
                request(7, Cause::Data, Some(FILE), 2),
                request(7, Cause::Data, Some(OTHER), 9),
                request(7, Cause::Commit, None, 1),
                request(7, Cause::Flush, None, 2),
                request(254, Cause::Data, Some(FILE), 100),
            ]),
            ..RawEvidence::default()
        };
        let evidence = assemble(&raw, &charge());
        let device = evidence.exact_device().unwrap();
        assert_eq!(
            (device.data.count, device.commit.count, device.flushes),
            (2, 1, 2)
        );
        assert_eq!(device.writes().count, 3);
        assert_eq!(foreign_requests(&raw, &charge()), Some(9));
    }

    #[test]
    fn blocked_for_no_time_is_not_below_zero() {
        let raw = RawEvidence {
            syscalls: Some(vec![]),
            blocked_seen: true,
            ..RawEvidence::default()
        };
        let blocked_s = assemble(&raw, &charge()).blocked_s.unwrap();
        assert!(blocked_s.is_sign_positive(), "{blocked_s:?}");
    }

    #[test]
    fn unobserved_strata_are_none_not_zero() {
        let evidence = assemble(&RawEvidence::default(), &charge());
        assert_eq!(evidence.syscalls, None);
        assert_eq!(evidence.device, None);
        assert_eq!(evidence.cache.lookups_pages, None);
        assert_eq!(evidence.on_cpu_s, None);
    }

    #[test]
    fn prefetch_is_what_was_filled_without_being_waited_for() {
        let raw = RawEvidence {
            cache: Some(vec![CacheRow {
                file: FILE,
                metadata: false,
                lookups_pages: 16,
                missed_pages: 1,
                filled_pages: 32,
                dirtied_bytes: 0,
            }]),
            ..RawEvidence::default()
        };
        assert_eq!(assemble(&raw, &charge()).cache.prefetched_pages, Some(31));
    }

    #[test]
    fn losses_are_named() {
        let raw = RawEvidence {
            losses: Losses {
                stream: 4,
                ..Losses::default()
            },
            ..RawEvidence::default()
        };
        let evidence = assemble(&raw, &charge());
        assert_eq!(evidence.lost_events, 4);
        let streamed = Missing::Count {
            count: 4,
            of: Countable::StreamedEvents,
        };
        assert_eq!(evidence.missing[0].what, streamed);
    }
}
