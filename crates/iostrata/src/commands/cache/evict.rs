//! Evicting files, and finding out why a file stays.

use std::collections::BTreeSet;
use std::thread;
use std::time::Duration;

use iostrata_core::cache::{
    Hold, HoldKind, Outcome, RANGES_AT_MOST, Stayed, is_in_memory, why_resident,
};
use iostrata_core::gap::{Gap, Missing, Reason};
use iostrata_lab::engine::{Progress, Step};
use iostrata_tracer::page_cache::{FileSystems, Mappers, let_go, loop_devices, mappers};

use super::found::Entry;
use super::survey::Survey;

/// Attempts to evict a file: pages that another CPU was about to put on a list are
/// skipped (`invalidate_mapping_pages`, mm/truncate.c).
const ATTEMPTS: u32 = 5;

/// Time between two tries, for all files at once.
const PAUSE: Duration = Duration::from_millis(4);

/// Evicts every file and verifies it. Files not reached before `stop` are left out.
pub(in super::super) fn all(
    survey: &mut Survey,
    sync: bool,
    bar: &mut dyn Progress,
    stop: &dyn Fn() -> bool,
) {
    let total = survey.entries.len();
    let mut done = 0;
    for entry in &mut survey.entries {
        if stop() {
            break;
        }
        bar.step(&Step {
            label: &entry.path.to_string_lossy(),
            done,
            total,
        });
        once(entry, sync, &mut survey.systems);
        done += 1;
    }
    survey.entries.truncate(done);
    for _ in 1..ATTEMPTS {
        let stayed = survey.entries.iter_mut().filter(|entry| can_go(entry));
        let mut stayed = stayed.peekable();
        if stayed.peek().is_none() || stop() {
            break;
        }
        thread::sleep(PAUSE);
        for entry in stayed {
            once(entry, sync, &mut survey.systems);
        }
    }
    bar.finished();
    for entry in &mut survey.entries {
        if entry.row.after.is_some() {
            entry.judge(|now| now == 0, |before, now| now < before);
        }
    }
    explain(survey, sync);
}

fn can_go(entry: &Entry) -> bool {
    let stayed = entry
        .row
        .after
        .is_some_and(|after| after.resident_bytes > 0);
    stayed && !is_in_memory(&entry.row.filesystem)
}

fn once(entry: &mut Entry, sync: bool, systems: &mut FileSystems) {
    let Some(regular) = entry.open_again(systems) else {
        return;
    };
    let dirty = entry.row.now().is_none_or(|now| {
        let unwritten = now.dirty_bytes.zip(now.writeback_bytes);
        unwritten.is_none_or(|(dirty, writeback)| dirty + writeback > 0)
    });
    let written = if sync && dirty {
        regular.file.sync_data()
    } else {
        Ok(())
    };
    if let Err(error) = written.and_then(|()| let_go(&regular.file)) {
        let why = format!("it cannot be written back and evicted: {error}");
        entry.row.reasons = vec![Hold::new(HoldKind::Unreadable, why)];
    }
    entry.count_again(&regular, RANGES_AT_MOST);
}

/// Searches all processes once for those that hold the files that stayed.
fn explain(survey: &mut Survey, sync: bool) {
    let failed = |entry: &Entry| matches!(entry.row.outcome, Outcome::Partly | Outcome::NotDone);
    let wanted: BTreeSet<_> = survey
        .entries
        .iter()
        .filter(|entry| failed(entry))
        .map(|entry| entry.identity)
        .collect();
    if wanted.is_empty() {
        return;
    }
    let holders = mappers(&wanted).unwrap_or_else(|error| {
        survey.missing.push(Gap::new(
            Missing::MappingProcesses,
            Reason::ProcNotListed(error.to_string()),
        ));
        Mappers::default()
    });
    let devices = loop_devices(&wanted);
    for entry in survey.entries.iter_mut().filter(|entry| failed(entry)) {
        let Some(now) = entry.row.after else {
            continue;
        };
        let none = Vec::new();
        let why = why_resident(&Stayed {
            now,
            filesystem: &entry.row.filesystem,
            synced: sync,
            processes: holders.of.get(&entry.identity).unwrap_or(&Vec::new()),
            hidden_processes: holders.hidden_processes,
            loop_devices: devices.get(&entry.identity).unwrap_or(&none),
        });
        entry.row.reasons.extend(why);
    }
}
