//! Why an experiment could not be run.

use std::io;
use std::path::{Path, PathBuf};

use iostrata_core::bytes;
use iostrata_core::observe::ObserveError;

use crate::engine::EngineError;

/// Fact, cause and remedy.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// What was asked for makes no sense.
    #[error("{0}")]
    Usage(String),
    /// The largest case does not fit.
    #[error(
        "not enough space in {}: the largest case needs {} and {} are free; \
         choose another directory, or fewer or smaller records",
        .dir.display(), bytes::short(*needed_bytes), bytes::short(*free_bytes)
    )]
    NoSpace {
        /// Target's directory.
        dir: PathBuf,
        /// What the largest case takes, with a reserve.
        needed_bytes: u64,
        /// What the file system gives to this user.
        free_bytes: u64,
    },
    /// The directory cannot be written to.
    #[error("cannot write to {}: {source}; choose a directory that this user may write to", .dir.display())]
    Denied {
        /// Target's directory.
        dir: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// The largest case does not fit into memory.
    #[error("{0}")]
    NoMemory(String),
    /// This kernel, or the file system that was chosen, has nothing that can be measured.
    #[error("{0}")]
    Impossible(String),
    /// A copy is not what it was made from.
    #[error(
        "the copy {} made by {method} differs from its source; this run is not reported: check \
         memory and disk, and report it to the file system's developers",
        .copy.display()
    )]
    Differs {
        /// Which method.
        method: &'static str,
        /// The copy.
        copy: PathBuf,
    },
    /// A workload process failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The observer failed.
    #[error(transparent)]
    Observe(#[from] ObserveError),
    /// Anything else the kernel refused.
    #[error("cannot {doing}: {source}")]
    Io {
        /// What was tried.
        doing: String,
        /// What the kernel said.
        source: io::Error,
    },
}

impl LabError {
    /// Whether the user asked for something that cannot be, as opposed to a
    /// machine that cannot do it.
    pub fn is_usage(&self) -> bool {
        matches!(self, Self::Usage(_))
    }

    /// Whether nothing that was measured can be believed.
    pub(crate) fn spoils_all(&self) -> bool {
        matches!(self, Self::Differs { .. })
    }

    /// What was asked for makes no sense.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::Usage(message.into())
    }

    /// What the kernel refused to do with `path`.
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
