//! Crash states on disk: a log is read, its trees are made, and a checker looks at them.

mod attended;
pub mod block;
mod changed;
mod checker;
mod copied;
mod formats;
mod log;
mod look;
mod recorder;
mod room;
mod server;
mod stage;
mod starter;
mod stores;
mod workers;

pub use attended::attended_main;
pub use checker::{CheckError, Checker, Manner, Unreliable};
pub use copied::{CopyError, copy_directory};
pub use log::{Log, LogError};
pub use recorder::{RECOVERY, Recorders};
pub use starter::starter_main;
pub use workers::{Changed, SharedLog, Workers, sandbox};

#[cfg(test)]
mod tests {
    use super::block::BlockError;
    use super::copied::CopyError;
    use super::log::LogError;
    use crate::interrupt::Interrupted;
    use crate::rebuild::RebuildError;
    use crate::scratch::ScratchError;

    /// Else it would be reported as something that cannot be done, and what was found would be lost.
    #[test]
    fn what_a_signal_ended_is_interrupted_whatever_it_was() {
        let by = Interrupted { signal: 2 };
        let log = LogError::from(RebuildError::from(by));
        assert!(matches!(log, LogError::Interrupted(_)));
        for block in [ScratchError::from(by).into(), CopyError::from(by).into()] {
            assert!(matches!(block, BlockError::Interrupted(_)), "{block}");
        }
    }
}
