//! Starting a session: which tasks belong to the tree.
//!
//! The programs are attached first and the tree is searched afterwards, so that one or the other
//! meets a process created in between (`bpf/adoption.h`).

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
        self.come_to(adoption::RUNS)?;
        let mut adopted = 0;
        for _ in 0..LOOKS {
            let found = find();
            self.want_processes(&found)?;
            self.look(whom)?;
            let before = adopted;
            adopted = self.known()?.adopted;
            if adopted == 0 && self.config.wants & wants::GROUPS == 0 {
                return Err(ObserveError {
                    doing: format!("observe {whom}"),
                    cause: "the kernel shows no threads of it: it has ended".to_owned(),
                });
            }
            if adopted == before {
                // Attaching takes longer than many programs run, so their first moment starts after
                // it.
                self.config.started_ns = clock::now_ns();
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
