//! Starting a session: which tasks belong to the tree.
//!
//! The programs are attached first and the tree is searched afterwards, so that one or the other
//! meets a process created in between (`bpf/adoption.h`).

use iostrata_core::observe::ObserveError;

use super::wire::{Known, adoption};
use super::{EbpfObserver, error, readout};
use crate::clock;

/// Visits all tasks. The second visit finds only tasks whose fork was under way while the programs
/// were attached.
const LOOKS: u32 = 100;

impl EbpfObserver {
    /// Marks the root and all its descendants.
    pub(super) fn adopt_tree(&mut self) -> Result<(), ObserveError> {
        let root = self.config.root;
        self.come_to(adoption::PREPARES)?;
        self.look(root)?;
        self.object
            .attach()
            .map_err(|e| error("attach the eBPF programs", &e))?;
        self.come_to(adoption::RUNS)?;
        let mut adopted = 0;
        for _ in 0..LOOKS {
            self.look(root)?;
            let before = adopted;
            adopted = self.known()?.adopted;
            if adopted == 0 {
                return Err(nobody(root));
            }
            if adopted == before {
                // Attaching takes longer than many programs run, so their first moment starts after
                // it.
                self.config.started_ns = clock::now_ns();
                return self.come_to(adoption::OVER);
            }
        }
        Err(ObserveError {
            doing: format!("observe process {root}"),
            cause: format!("it creates processes faster than {LOOKS} scans find them"),
        })
    }

    fn look(&mut self, root: u32) -> Result<(), ObserveError> {
        self.object.iterate("adopt").map_err(|cause| ObserveError {
            doing: format!("observe process {root}"),
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

    pub(super) fn known(&self) -> Result<Known, ObserveError> {
        readout::known(&self.object.ebpf).map_err(|e| error("read the eBPF maps", &e))
    }
}

fn nobody(root: u32) -> ObserveError {
    ObserveError {
        doing: format!("observe process {root}"),
        cause: "the kernel shows no threads of it: it has ended".to_owned(),
    }
}
