//! Which tasks belong to the tree, from the start of a session, and which are still alive.
//!
//! The programs are attached first and the tree is searched afterwards, so that one or the other
//! meets a process created in between (`bpf/adoption.h`). The kernel side counts starts and ends. The
//! kernel skips a program that would interrupt itself, so that an end may never be counted: therefore
//! tasks are also scanned from time to time.

use std::time::{Duration, Instant};

use iostrata_core::gap::{Countable, Exit, Gap, Reason};
use iostrata_core::observe::ObserveError;

use super::wire::{Observer, adoption, wants};
use super::{EbpfObserver, error, readout};
use crate::clock;

/// Visits all tasks. The second visit finds only tasks whose fork was under way while the programs
/// were attached.
const LOOKS: u32 = 100;

impl EbpfObserver {
    /// Marks the root, those that `find` names, any others that are wanted, and all they have started.
    pub(super) fn adopt_tree(
        &mut self,
        whom: &str,
        find: &mut dyn FnMut() -> Vec<u32>,
    ) -> Result<(), ObserveError> {
        self.come_to(adoption::PREPARES)?;
        self.look(whom)?;
        self.object
            .attach()
            .map_err(|e| error("attach the eBPF programs", &e))?;
        // Attaching takes longer than many programs run, so the run starts after it. Those that run
        // already make calls from the moment that they are found.
        self.config.started_ns = clock::now_ns();
        self.come_to(adoption::RUNS)?;
        let mut adopted = 0;
        for _ in 0..LOOKS {
            let found = find();
            self.want_processes(&found)?;
            self.look(whom)?;
            let before = adopted;
            adopted = self.known()?.adopted;
            if adopted == 0 && self.config.wants & wants::GROUPS == 0 {
                let forbidden = readout::forbidden(&self.object.ebpf);
                let forbidden = forbidden.map_err(|e| error("read the eBPF maps", &e))?;
                let cause = match forbidden.first() {
                    // Its own program, or that of one that it has started.
                    Some((one, _)) => format!(
                        "this user may not trace {}, which process {} executed; run iostrata as root",
                        one.program, one.process
                    ),
                    None => "the kernel shows no threads of it: it has ended".to_owned(),
                };
                let doing = format!("observe {whom}");
                return Err(ObserveError { doing, cause });
            }
            if adopted == before {
                if self.config.wants & wants::ROOTS == 0 {
                    // What iostrata has started waits until it is found.
                    self.config.started_ns = clock::now_ns();
                }
                return self.come_to(adoption::OVER);
            }
        }
        Err(ObserveError {
            doing: format!("observe {whom}"),
            cause: format!("new processes are created faster than {LOOKS} scans find them"),
        })
    }

    /// Marks the threads of processes that were moved into a control group: the kernel tells of the
    /// first of each.
    pub fn keep_up(&mut self) -> Result<(), ObserveError> {
        let known = self.known()?;
        if known.moved == self.moved {
            return Ok(());
        }
        self.moved = known.moved;
        self.come_to(adoption::AGAIN)?;
        let looked = self.look("a process that was moved into a control group");
        self.come_to(adoption::OVER)?;
        looked
    }

    fn look(&mut self, whom: &str) -> Result<(), ObserveError> {
        self.object.iterate("adopt").map_err(|cause| ObserveError {
            doing: format!("observe {whom}"),
            cause,
        })
    }

    fn come_to(&mut self, adoption: u32) -> Result<(), ObserveError> {
        self.config.adoption = adoption;
        self.object
            .configure(self.config)
            .map_err(|e| error("configure the observer", &e))
    }

    /// Programs that the processes of the tree executed since their observation began.
    pub fn executed(&self) -> Result<u64, ObserveError> {
        Ok(self.known()?.executed)
    }

    pub(super) fn known(&self) -> Result<Observer, ObserveError> {
        readout::known(&self.object.ebpf).map_err(|e| error("read the eBPF maps", &e))
    }
}

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
