//! Why a saving could not be measured.

use std::path::Path;

use iostrata_core::bytes;

use crate::engine::{EngineError, FailureKind};
use crate::scratch::ScratchError;

/// Why there is no measured saving: a clause for the list of missing parts.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum NotReplayed {
    #[error("it was interrupted")]
    Interrupted,
    #[error("the {limit_s:.1} s for all measurements were used up")]
    NoTimeLeft {
        /// For all of them together, seconds.
        limit_s: f64,
    },
    #[error("the smallest comparable part takes longer than the {given_s:.2} s available for it")]
    TooSlow {
        /// For this one, seconds.
        given_s: f64,
    },
    #[error(
        "one of the two ways had {syncs} syncs in the {given_s:.2} s available for it, and {needed} are needed to tell \
         them apart"
    )]
    FewSyncs {
        /// Of the way with fewer, in all its runs.
        syncs: u64,
        needed: u64,
        given_s: f64,
    },
    #[error("the times of the two ways overlap")]
    Overlap,
    /// The directory was removed, and so were all above it on that file system.
    #[error("the directory {0} is gone")]
    Gone(String),
    #[error("{0} is now on a different file system than the file was")]
    OtherFileSystem(String),
    #[error("not enough space in {directory}: {} needed, {} free",
        bytes::short(*needed_bytes), bytes::short(*free_bytes))]
    NoSpace {
        directory: String,
        /// For the scratch file.
        needed_bytes: u64,
        /// Available to this user.
        free_bytes: u64,
    },
    #[error("{0} became full")]
    Full(String),
    #[error("the file system of {0} is mounted read-only")]
    ReadOnly(String),
    #[error("this user may not create files in {0}")]
    Denied(String),
    /// The kernel, the file system or the workload process refused.
    #[error("{0}")]
    Refused(String),
}

impl NotReplayed {
    /// Whether only time was missing.
    pub fn wants_time(&self) -> bool {
        matches!(
            self,
            Self::NoTimeLeft { .. } | Self::TooSlow { .. } | Self::FewSyncs { .. }
        )
    }

    /// The text of a scratch directory's error without its hints about options of `lab`.
    pub(super) fn from_scratch(error: ScratchError) -> Self {
        match error {
            ScratchError::NotADirectory { path, .. } => Self::Gone(path.display().to_string()),
            ScratchError::NoPermission { path } => Self::Denied(path.display().to_string()),
            ScratchError::ReadOnly { path } => Self::ReadOnly(path.display().to_string()),
            ScratchError::NoSpace {
                path,
                needed_bytes,
                free_bytes,
            } => Self::NoSpace {
                directory: path.display().to_string(),
                needed_bytes,
                free_bytes,
            },
            ScratchError::Interrupted(_) => Self::Interrupted,
            other => Self::Refused(other.to_string()),
        }
    }

    /// `given_s` is the time that it had: the workload process is interrupted when it exceeds it.
    pub(super) fn from_engine(
        error: &EngineError,
        directory: &Path,
        interrupted: bool,
        given_s: f64,
    ) -> Self {
        match error {
            EngineError::Failed(failure) if failure.kind == FailureKind::NoSpace => {
                Self::Full(directory.display().to_string())
            }
            EngineError::Interrupted if interrupted => Self::Interrupted,
            EngineError::Interrupted => Self::TooSlow { given_s },
            other => Self::Refused(other.to_string()),
        }
    }
}
