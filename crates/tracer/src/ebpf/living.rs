//! Which tasks of the tree are still alive, also when the kernel did not report an end.
//!
//! The kernel side counts starts and ends. The kernel skips a program that would interrupt itself,
//! so that an end may never be counted: therefore tasks are also scanned from time to time.

use std::time::{Duration, Instant};

use iostrata_core::gap::{Countable, Exit, Gap, Reason};
use iostrata_core::observe::ObserveError;

use super::wire::Observer;
use super::{EbpfObserver, error, readout};

/// Interval between scans of all tasks of the machine; a scan takes a millisecond.
const APART: Duration = Duration::from_secs(1);

/// A scan goes by task id, and a thread that executes a program takes the id of the first thread
/// (`de_thread`, fs/exec.c): one scan may miss it, two in a row do not.
const EMPTY: u32 = 2;

#[derive(Debug, Default)]
pub(super) struct Looks {
    last: Option<Instant>,
    /// The number of latest scans that found no task.
    empty: u32,
}

impl EbpfObserver {
    /// Live threads of the tree.
    pub fn alive(&mut self) -> Result<u64, ObserveError> {
        let counted = self.counted()?;
        let is_due = self.looks.last.is_none_or(|last| last.elapsed() >= APART);
        if counted == 0 || !is_due {
            return Ok(counted);
        }
        let met = self.look_at_all()?;
        self.looks.last = Some(Instant::now());
        self.looks.empty = if met == 0 { self.looks.empty + 1 } else { 0 };
        Ok(match met {
            0 if self.looks.empty >= EMPTY => 0,
            0 => self.counted()?,
            met => met,
        })
    }

    /// Makes live tasks pass on what they have counted. Returns whether any is alive.
    pub(super) fn end_tree(&mut self) -> Result<bool, ObserveError> {
        let lives = self.counted()? > 0 && self.look_at_all()? > 0;
        self.config.ends = 1;
        self.object
            .configure(self.config)
            .map_err(|e| error("end the observation", &e))?;
        self.look_at_all()?;
        Ok(lives)
    }

    fn counted(&self) -> Result<u64, ObserveError> {
        readout::alive(&self.object.ebpf).map_err(|e| error("read the eBPF maps", &e))
    }

    /// Returns how many live threads were found and remain observed.
    fn look_at_all(&mut self) -> Result<u64, ObserveError> {
        let before = self.known()?.living;
        self.object.iterate("look").map_err(|cause| ObserveError {
            doing: "look which threads live".to_owned(),
            cause,
        })?;
        Ok(self.known()?.living.saturating_sub(before))
    }
}

/// Gaps from threads whose end the kernel did not report. `lost` threads still count as living, but
/// no scan finds them.
pub(super) fn not_told(known: &Observer, lost: u64) -> Vec<Gap> {
    [
        (known.late, Countable::ThreadEnds, Exit::Scanned),
        (known.gone, Countable::ThreadDetails, Exit::Gone),
        (lost, Countable::ThreadCalls, Exit::Uncounted),
    ]
    .into_iter()
    .filter_map(|(count, of, exit)| Gap::counted(count, of, Reason::ExitUnreported(exit)))
    .collect()
}
