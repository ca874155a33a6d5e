//! From the last stop of a recording to the evidence.

use iostrata_core::evidence::{Losses, RawEvidence, Totals};
use iostrata_core::gap::Gap;
use iostrata_core::observe::Observation;
use iostrata_core::trace::calls::unrecorded;
use iostrata_core::trace::tally::{Tally, Used};
use iostrata_core::trace::{Lower, ProcessIo, Task};

use super::Stops;
use super::identity::Identifier;
use super::log::Log;
use super::lower::Residencies;
use super::notes::Notes;
use super::request::Tid;
use super::usage;
use crate::machine;
use crate::record::Unfinished;

/// A run whose threads no longer stop.
#[derive(Debug)]
pub(super) struct Record {
    pub(super) tally: Tally,
    pub(super) identifier: Identifier,
    pub(super) residencies: Residencies,
    pub(super) io: Option<ProcessIo>,
    /// Of all threads, where each of them is known.
    pub(super) accounted_bytes: Option<u64>,
    pub(super) notes: Notes,
    /// Threads still running: their process, and their usage before the observation.
    pub(super) left: Vec<(Tid, u32, Used)>,
    /// Gaps left by a failed recording.
    pub(super) failed: Vec<Gap>,
    pub(super) log: Option<Log>,
}

impl Record {
    /// Reads the rest from the kernel and turns it into evidence. `answered`: number of stops
    /// answered.
    pub(super) fn finish(
        mut self,
        stops: Stops,
        answered: u64,
    ) -> (Observation, Lower, Option<Unfinished>) {
        let still_running = !self.left.is_empty();
        for (tid, process, before) in self.left {
            let used = usage::of(process, tid).map(|used| usage::since(used, &before));
            self.tally.end_task(tid, used, None);
        }
        let residency = self.residencies.now(&mut self.identifier);
        let mut tallied = self.tally.finish();
        let log = self.log.map(|mut log| {
            tallied.seen.sites = log.sites();
            let mut gaps = self.notes.log_gaps(self.identifier.refused);
            gaps.extend(unrecorded(&tallied.rows));
            gaps.extend(log.reads_of_aio(&tallied.rows));
            gaps.extend(self.failed.iter().cloned());
            log.end(answered, gaps, still_running)
        });
        let raw = RawEvidence {
            syscalls: Some(tallied.rows),
            totals: Some(Totals {
                accounted_bytes: self
                    .accounted_bytes
                    .filter(|_| !still_running && !machine::measures_files()),
                ..totals(&tallied.seen.tasks)
            }),
            losses: Losses {
                unattributed_calls: tallied.unattributed_calls,
                names: tallied.unnamed_files,
                foreign_calls: self.notes.foreign,
                uncounted: (self.notes.refused)
                    .saturating_add(self.notes.rings)
                    .saturating_add(self.identifier.refused),
                ..Losses::default()
            },
            missing: self.notes.gaps(
                stops,
                self.identifier.without_generation,
                self.identifier.refused,
            ),
            ..RawEvidence::default()
        };
        let observation = Observation {
            raw,
            seen: Some(tallied.seen),
            failed: self.failed,
            ..Observation::default()
        };
        let io = self.io;
        (observation, Lower { residency, io }, log)
    }
}

fn totals(tasks: &[Task]) -> Totals {
    let sum = |of: fn(&Task) -> u64| tasks.iter().map(of).fold(0, u64::saturating_add);
    Totals {
        on_cpu_ns: sum(|task| task.on_cpu_ns.unwrap_or(0)),
        minor_faults: sum(|task| task.minor_faults),
        major_faults: sum(|task| task.major_faults),
        tasks: tasks.len() as u64,
        accounted_bytes: None,
    }
}
