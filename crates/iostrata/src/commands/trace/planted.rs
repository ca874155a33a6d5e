//! Faults that tests plant in what was observed, to see that the audit finds them. None is in a release build.

use iostrata_core::evidence::{RawEvidence, Submitter};
use iostrata_core::trace::timeline::Purpose;
use iostrata_core::trace::{Seen, Storage, is_sync};
use iostrata_tracer::failure;

/// Does what a defect of this name would do.
pub(super) fn plant(
    mut raw: RawEvidence,
    seen: &mut Seen,
    mut storage: Storage,
) -> (RawEvidence, Storage) {
    let mut calls = raw.syscalls.iter_mut().flatten();
    match failure::planted() {
        // One event in a hundred is lost.
        Some("call") => calls.for_each(|row| row.count -= row.count / 100),
        Some("byte") => {
            if let Some(row) = calls.find(|row| row.returned > 0) {
                row.returned -= 1;
            }
        }
        // A call that no table has.
        Some("unseen") => {
            let row = calls.find(|row| row.name == "write" && row.returned > 0);
            if let (Some(row), Some(task)) = (
                row,
                seen.tasks.iter_mut().max_by_key(|task| task.written_bytes),
            ) {
                row.returned -= 1;
                task.written_bytes -= 1;
            }
        }
        Some("time") => calls.for_each(|row| row.time_ns *= 3),
        Some("blocked") => calls.for_each(|row| row.blocked_ns /= 2),
        Some("task") => {
            seen.tasks.pop();
            seen.lived.threads -= 1;
        }
        Some("processor") => {
            let tasks = seen.tasks.iter_mut();
            tasks.for_each(|task| task.on_cpu_ns = Some(u64::from(u32::MAX)));
        }
        Some("moment") => {
            let kept = [Purpose::Write, Purpose::Sync];
            let mut calls = seen.moments.calls.iter_mut();
            if let Some(one) = calls.find(|one| kept.contains(&one.purpose)) {
                one.count -= 1;
            }
        }
        Some("history") => {
            let files = seen.followed.files.values_mut();
            files.for_each(|history| history.written_bytes /= 2);
        }
        // What a worker turns dirty, for nobody.
        Some("worker") => {
            let rows = raw.cache.iter_mut().flatten();
            rows.for_each(|row| row.dirtied_bytes = 0);
        }
        Some("request") => {
            let mut own = raw.block.iter_mut().flatten();
            if let Some(row) = own.find(|row| row.submitter == Submitter::Run && row.bytes > 0) {
                row.count *= 2;
                row.bytes *= 2;
            }
        }
        Some("disk") => {
            let synced = raw.syscalls.iter().flatten();
            let synced = synced.filter(|row| is_sync(row.name));
            for file in synced.filter_map(|row| row.file) {
                for disk in storage.disks.remove(&file.device).unwrap_or_default() {
                    storage.requested.remove(&disk);
                }
            }
        }
        _ => {}
    }
    (raw, storage)
}
