//! Why an experiment could not be run.

use std::io;
use std::path::{Path, PathBuf};

use iostrata_core::bytes;
use iostrata_core::observe::ObserveError;

use crate::engine::EngineError;

/// Fact, cause and remedy.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    #[error("{0}")]
    Usage(String),
    #[error(
        "not enough space in {}: the largest case needs {} and {} are free; \
         choose another directory, or fewer or smaller records",
        .dir.display(), bytes::short(*needed_bytes), bytes::short(*free_bytes)
    )]
    NoSpace {
        dir: PathBuf,
        /// Space for the largest case, with a reserve.
        needed_bytes: u64,
        /// Space available to this user.
        free_bytes: u64,
    },
    #[error("cannot write to {}: {source}; choose a directory that this user may write to", .dir.display())]
    Denied { dir: PathBuf, source: io::Error },
    #[error("{0}")]
    NoMemory(String),
    #[error("{0}")]
    Impossible(String),
    #[error(
        "the copy {} made by {method} differs from its source; this run is not reported: check \
         memory and disk, and report it to the file system's developers",
        .copy.display()
    )]
    Differs { method: &'static str, copy: PathBuf },
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error(transparent)]
    Observe(#[from] ObserveError),
    #[error("cannot {doing}: {source}")]
    Io { doing: String, source: io::Error },
}

impl LabError {
    /// Whether no measurement can be trusted.
    pub(crate) fn spoils_all(&self) -> bool {
        matches!(self, Self::Differs { .. })
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::Usage(message.into())
    }

    pub(crate) fn at(doing: &str, path: &Path, source: impl Into<io::Error>) -> Self {
        Self::io(format!("{doing} {}", path.display()), source)
    }

    pub(crate) fn io(doing: impl Into<String>, source: impl Into<io::Error>) -> Self {
        Self::Io {
            doing: doing.into(),
            source: source.into(),
        }
    }
}
