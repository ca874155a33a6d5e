//! Parts of a run that this back end cannot see, to be reported in the result.

use std::os::unix::fs::MetadataExt as _;

use iostrata_core::gap::{Countable, Gap, Missing, Reason, Stratum};

use super::Stops;
use super::request::Tid;
use super::{place, usage};

/// Set-user-ID and set-group-ID bits of a mode.
const GAINS_PRIVILEGES: u32 = 0o6000;

/// Counts of such parts.
#[derive(Debug, Default)]
pub(super) struct Notes {
    /// `io_uring` instances created.
    pub(super) rings: u64,
    /// Threads that were gone before their usage could be read.
    pub(super) without_figures: u64,
    /// Operations of libaio whose results no call fetched.
    pub(super) without_result: u64,
    /// Threads that could not be traced.
    pub(super) refused: u64,
    /// Pairs of descriptors that could not be compared.
    pub(super) not_compared: u64,
    /// Calls whose numbers mean other calls: those of 32-bit programs, or made with the 32-bit
    /// convention.
    pub(super) foreign: u64,
    /// First program that was executed without the privileges of its file: set-user-ID,
    /// set-group-ID or capabilities.
    unprivileged: Option<Vec<u8>>,
}

impl Notes {
    pub(super) fn executed(&mut self, process: Tid) {
        let link = format!("/proc/{process}/exe");
        if self.unprivileged.is_none() && is_held_back(process) && gives_privileges(&link) {
            self.unprivileged = place::link(&link);
        }
    }

    pub(super) fn log_gaps(&self, hidden: u64) -> Vec<Gap> {
        let foreign = Gap::counted(
            self.foreign,
            Countable::ForeignCalls,
            Reason::ForeignNumbers,
        );
        let apart = || Gap::new(Missing::OpenFileSharing, Reason::CompareDenied);
        let apart = (self.not_compared > 0).then(apart);
        let (rings, refused) = (self.of_rings(), self.of_refused());
        let gaps = [rings, foreign, refused, apart, Self::of_hidden(hidden)];
        gaps.into_iter().flatten().collect()
    }

    fn of_rings(&self) -> Option<Gap> {
        let what = Missing::Stratum(Stratum::Ring);
        (self.rings > 0).then(|| Gap::new(what, Reason::RingUnseen))
    }

    fn of_refused(&self) -> Option<Gap> {
        Gap::counted(
            self.refused,
            Countable::RefusedThreads,
            Reason::TracingDenied,
        )
    }

    /// Calls on descriptors that the kernel did not identify.
    fn of_hidden(hidden: u64) -> Option<Gap> {
        Gap::counted(
            hidden,
            Countable::HiddenCalls,
            Reason::DescriptorsUnresolved,
        )
    }

    /// All gaps of a run, without what is counted as lost.
    pub(super) fn gaps(self, stops: Stops, without_generation: u64, hidden: u64) -> Vec<Gap> {
        let mut gaps = always(stops);
        let met = [
            self.of_rings(),
            self.of_refused(),
            Self::of_hidden(hidden),
            Gap::counted(
                self.without_figures,
                Countable::ThreadFigures,
                Reason::EndedBeforeRead,
            ),
        ];
        gaps.extend(met.into_iter().flatten());
        if without_generation > 0 {
            gaps.push(Gap::new(Missing::InodeReuse, Reason::NoGenerations));
        }
        if let Some(path) = self.unprivileged {
            let path = String::from_utf8_lossy(&path).into_owned();
            let what = Missing::Privileges { path };
            gaps.push(Gap::new(what, Reason::TracedWithoutPrivileges));
        }
        gaps.extend(crate::ebpf::without_result(self.without_result));
        gaps
    }
}

/// Whether a file grants privileges when executed.
fn gives_privileges(file: &str) -> bool {
    let mode = std::fs::metadata(file).map_or(0, |meta| meta.mode());
    let mut capabilities = [0_u8; 64];
    // capabilities(7), File capabilities.
    let mut has_capabilities = || {
        rustix::fs::getxattr(file, "security.capability", &mut capabilities[..])
            .is_ok_and(|bytes| bytes > 0)
    };
    mode & GAINS_PRIVILEGES != 0 || has_capabilities()
}

/// Whether the kernel grants a set-user-ID program no privileges now: because of the filter, or
/// because its tracer may not trace everything (`cap_bprm_creds_from_file`, security/commoncap.c).
fn is_held_back(process: u32) -> bool {
    usage::has_no_new_privileges(process) || !rustix::process::geteuid().is_root()
}

/// What this back end never sees.
fn always(stops: Stops) -> Vec<Gap> {
    let device = Missing::Stratum(Stratum::Device);
    let mut gaps = vec![
        Gap::new(Missing::CacheFigures, Reason::UnseenCache),
        Gap::new(device, Reason::UnseenDevice),
        Gap::new(Missing::TimeInCalls, Reason::OffCpuUnseen),
        Gap::new(Missing::UndisturbedTimes, Reason::StopsCost),
        Gap::new(Missing::CallSites, Reason::NoStacks),
        Gap::new(Missing::MappedAccess, Reason::MappingsMakeNoCalls),
    ];
    if stops == Stops::Io {
        gaps.push(Gap::new(Missing::CallsWithoutIo, Reason::NotStopped));
    }
    gaps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_met_is_said_and_nothing_else() {
        let usual = Notes::default().gaps(Stops::Io, 0, 0).len();
        let all = Notes {
            rings: 1,
            without_figures: 2,
            without_result: 5,
            refused: 1,
            foreign: 3,
            not_compared: 1,
            unprivileged: Some(b"/bin/su".to_vec()),
        };
        let gaps = all.gaps(Stops::Io, 4, 1);
        assert_eq!(gaps.len(), usual + 7);
        assert!(
            gaps.iter()
                .any(|gap| matches!(&gap.what, Missing::Privileges { path } if path == "/bin/su"))
        );
        assert_eq!(Notes::default().gaps(Stops::All, 0, 0).len(), usual - 1);
    }
}
