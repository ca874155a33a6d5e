//! Warming files: reading them into the page cache.

use iostrata_core::bytes::short;
use iostrata_core::cache::{
    Absent, Hold, HoldKind, Outcome, RANGES_AT_MOST, is_in_memory, why_absent,
};
use iostrata_lab::engine::{Progress as _, Step};
use iostrata_tracer::machine::available_memory_bytes;
use iostrata_tracer::page_cache::{FileSystems, page_bytes, read_through, spare_access_time};

use super::found::Entry;
use super::survey::Survey;
use crate::error::Failure;
use crate::progress::Bar;

/// Number of reads of a file: pages may be gone again right after a read.
const ATTEMPTS: u32 = 3;

const MEBIBYTE: u64 = 1 << 20;

/// Reads every file that is not wholly resident, and verifies it. Files not reached before `stop`
/// are left out.
pub(super) fn all(
    survey: &mut Survey,
    anyway: bool,
    stop: &dyn Fn() -> bool,
) -> Result<(), Failure> {
    let needed = survey.entries.iter().map(lacking_bytes);
    let needed = needed.fold(0, u64::saturating_add);
    if !anyway {
        check_memory(needed)?;
    }
    let mut reading = Reading {
        bar: Bar::new("warming"),
        read_bytes: 0,
        total_bytes: needed,
        stop,
    };
    let mut done = 0;
    for entry in &mut survey.entries {
        if stop() {
            break;
        }
        reading.one(entry, &mut survey.systems);
        // Half a file is not done.
        done += usize::from(!stop());
    }
    reading.bar.finished();
    survey.entries.truncate(done);
    Ok(())
}

/// Bytes that a read would bring in. Unknown residency counts as missing.
fn lacking_bytes(entry: &Entry) -> u64 {
    if is_in_memory(&entry.row.filesystem) {
        return 0;
    }
    let whole = entry.row.whole_bytes(page_bytes());
    whole.saturating_sub(entry.resident_bytes().unwrap_or(0))
}

fn check_memory(needed_bytes: u64) -> Result<(), Failure> {
    match available_memory_bytes() {
        Some(available) if available < needed_bytes => Err(Failure::Cannot(format!(
            "not enough memory: the files need {} more in the page cache, and {} are available; \
             reading them would evict other files, and then themselves; name fewer files, or add \
             --anyway",
            short(needed_bytes),
            short(available)
        ))),
        _ => Ok(()),
    }
}

struct Reading<'a> {
    bar: Bar,
    read_bytes: u64,
    total_bytes: u64,
    stop: &'a dyn Fn() -> bool,
}

impl Reading<'_> {
    fn one(&mut self, entry: &mut Entry, systems: &mut FileSystems) {
        let mut failure = None;
        for _ in 0..ATTEMPTS {
            let Some(regular) = entry.open_again(systems) else {
                return;
            };
            // A resident file is not read at all.
            if entry.row.after.is_none() {
                entry.count_again(&regular, RANGES_AT_MOST);
            }
            if is_whole(entry) || (self.stop)() {
                break;
            }
            spare_access_time(&regular.file);
            let label = format!("MiB · {}", entry.path.to_string_lossy());
            let read = read_through(&regular.file, |bytes| {
                self.read_bytes += bytes;
                self.bar.step(&Step {
                    label: &label,
                    done: mebibytes(self.read_bytes.min(self.total_bytes)),
                    total: mebibytes(self.total_bytes),
                });
                !(self.stop)()
            });
            entry.count_again(&regular, RANGES_AT_MOST);
            if let Err(error) = read {
                failure = Some(error.to_string());
                break;
            }
            if entry.row.after.is_none() {
                return;
            }
        }
        let whole = entry.row.whole_bytes(page_bytes());
        entry.judge(|now| now >= whole, |before, now| now > before);
        explain(entry, whole, failure.as_deref());
    }
}

fn is_whole(entry: &Entry) -> bool {
    let whole = entry.row.whole_bytes(page_bytes());
    let after = entry.row.after;
    after.is_some_and(|after| after.resident_bytes >= whole)
}

fn explain(entry: &mut Entry, whole: u64, failure: Option<&str>) {
    match entry.row.outcome {
        Outcome::Partly | Outcome::NotDone => {
            entry.row.reasons = why_absent(&Absent {
                missing_bytes: whole.saturating_sub(entry.resident_bytes().unwrap_or(0)),
                filesystem: &entry.row.filesystem,
                failure,
                available_bytes: available_memory_bytes(),
            });
        }
        Outcome::Unknown => {
            let failure = failure.map(|failure| format!("it cannot be read: {failure}"));
            let failure = failure.map(|why| Hold::new(HoldKind::Unreadable, why));
            entry.row.reasons.extend(failure);
        }
        Outcome::Done | Outcome::Shown => {}
    }
}

fn mebibytes(bytes: u64) -> usize {
    usize::try_from(bytes / MEBIBYTE).unwrap_or(usize::MAX)
}
