//! Block mode: a program runs on a real file system whose device is recorded, and what a power failure could
//! leave on that device is recovered by mounting it.
//!
//! Everything is in memory and in a private mount namespace; all is gone with the process.

mod alike;
mod checking;
mod crew;
mod explore;
mod foundation;
mod images;
mod litmus;
mod record;
mod recover;
mod tree;

pub use checking::Checking;
pub use crew::{Look, Recovered};
pub use explore::{ExploreBudget, Explored, explore};
pub use foundation::{Foundation, Room, Site};
pub use images::Image;
pub use litmus::LitmusTest;
pub use record::{Recording, Setting, record};
pub use recover::keep;
pub use tree::{Observed, observe};

use std::io;

use super::checker::{CheckError, Unreliable};
use super::copied::CopyError;
use crate::device::DeviceError;
use crate::interrupt::Interrupted;
use crate::scratch::{Leftover, ScratchError};
use iostrata_tracer::kernel::LoopError;

#[derive(Debug, thiserror::Error)]
pub enum BlockError {
    #[error(transparent)]
    Scratch(ScratchError),
    #[error(transparent)]
    Device(#[from] DeviceError),
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    #[error(
        "the program has left {} in use: {}; end what it has started before it ends",
        .0.path.display(), .0.cause
    )]
    Busy(Leftover),
    #[error(
        "block mode needs {needed_mib} MiB of memory for the disks of this run, and {free_mib} MiB are available; \
         use one file system at a time (--fs ext4), or free memory"
    )]
    NoMemory {
        /// For all images and logs of one file system, MiB.
        needed_mib: u64,
        /// `MemAvailable`, MiB.
        free_mib: u64,
    },
    #[error(transparent)]
    Copy(CopyError),
    #[error(transparent)]
    Unreliable(Unreliable),
    #[error("cannot {doing}: {source}")]
    Io { doing: String, source: io::Error },
}

impl BlockError {
    /// The error of an operation, in words that follow `cannot`.
    pub fn io<E: Into<io::Error>>(doing: impl Into<String>) -> impl FnOnce(E) -> Self {
        let doing = doing.into();
        move |source| Self::Io {
            doing,
            source: source.into(),
        }
    }
}

impl From<CheckError> for BlockError {
    fn from(error: CheckError) -> Self {
        match error {
            CheckError::Run(error) => Self::io("run the checker")(error),
            CheckError::Interrupted(by) => Self::Interrupted(by),
            CheckError::Unreliable(why) => Self::Unreliable(why),
        }
    }
}

impl From<ScratchError> for BlockError {
    fn from(error: ScratchError) -> Self {
        match error {
            ScratchError::Interrupted(by) => Self::Interrupted(by),
            other => Self::Scratch(other),
        }
    }
}

impl From<CopyError> for BlockError {
    fn from(error: CopyError) -> Self {
        match error {
            CopyError::Interrupted(by) => Self::Interrupted(by),
            other => Self::Copy(other),
        }
    }
}

impl From<LoopError> for BlockError {
    fn from(error: LoopError) -> Self {
        Self::Scratch(ScratchError::Loop(error))
    }
}
