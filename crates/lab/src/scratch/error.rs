//! Why a scratch directory or an image could not be created.

use std::io;
use std::path::{Path, PathBuf};

use iostrata_core::bytes;
use iostrata_tracer::kernel::LoopError;
use rustix::io::Errno;

use super::kind::ImageKind;
use crate::interrupt::Interrupted;

/// When one of these is returned, nothing was left behind.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScratchError {
    #[error(
        "cannot use {} for measuring: {reason}; name an existing directory with --dir",
        path.display()
    )]
    NotADirectory { path: PathBuf, reason: &'static str },
    #[error(
        "cannot write in {}: permission denied; choose a directory of your own with --dir",
        path.display()
    )]
    NoPermission { path: PathBuf },
    #[error(
        "cannot trust {}: files created there do not belong to this user, and others could \
         replace them; run iostrata as the owner of the directory, or choose one of your own with \
         --dir",
        path.display()
    )]
    NotOwn { path: PathBuf },
    #[error(
        "cannot write in {}: its file system is mounted read-only; choose another directory \
         with --dir",
        path.display()
    )]
    ReadOnly { path: PathBuf },
    /// Not enough room, found before or while writing.
    #[error(
        "not enough space in {}: {} are needed, {} are free; use fewer or smaller records \
         (--count, --size), fewer file systems (--fs), or choose another directory with --dir",
        path.display(), bytes::short(*needed_bytes), bytes::short(*free_bytes)
    )]
    NoSpace {
        path: PathBuf,
        /// Needed, the margin included.
        needed_bytes: u64,
        /// Free for this user.
        free_bytes: u64,
    },
    #[error(
        "cannot make file-system images: {cause}; images need root (CAP_SYS_ADMIN in the initial \
         user namespace): run as root, or measure the directory's own file system with --fs host"
    )]
    NeedsRoot { cause: String },
    #[error(
        "cannot make {kind} images: {program} was not found in PATH, /usr/sbin or /sbin; \
         install it (Debian package {package})"
    )]
    NoMkfs {
        kind: ImageKind,
        program: &'static str,
        /// Debian package that contains it.
        package: &'static str,
    },
    #[error("cannot make an image of {kind}: {command} ended with {status} and said: {output}")]
    MkfsFailed {
        kind: ImageKind,
        command: String,
        status: std::process::ExitStatus,
        output: String,
    },
    #[error(
        "cannot mount {kind}: this kernel has no {filesystem}; load its module or leave {kind} out"
    )]
    NoFileSystem {
        kind: ImageKind,
        /// Name in `/proc/filesystems`.
        filesystem: &'static str,
    },
    #[error("cannot mount {kind} from {}: {source}; the kernel log says why", device.display())]
    MountFailed {
        kind: ImageKind,
        device: PathBuf,
        source: io::Error,
    },
    #[error(
        "asked for {kind} but {found}; mkfs or kernel defaults differ on this machine; leave \
         {kind} out"
    )]
    NotAsAsked {
        kind: ImageKind,
        /// The actual one, as a clause.
        found: String,
    },
    #[error(transparent)]
    Loop(LoopError),
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        doing: &'static str,
        path: PathBuf,
        source: io::Error,
    },
}

impl ScratchError {
    pub(super) fn io(doing: &'static str, path: &Path, source: impl Into<io::Error>) -> Self {
        Self::Io {
            doing,
            path: path.to_owned(),
            source: source.into(),
        }
    }

    /// The error of a first access to the user's directory.
    pub(super) fn access(path: &Path, errno: Errno) -> Self {
        let path = path.to_owned();
        let not_a_directory = |path, reason| Self::NotADirectory { path, reason };
        match errno {
            Errno::NOENT => not_a_directory(path, "it does not exist"),
            Errno::NOTDIR => not_a_directory(path, "it is not a directory"),
            Errno::ACCESS | Errno::PERM => Self::NoPermission { path },
            Errno::ROFS => Self::ReadOnly { path },
            errno => Self::io("use", &path, errno),
        }
    }
}

impl From<LoopError> for ScratchError {
    fn from(error: LoopError) -> Self {
        match error {
            LoopError::NotPermitted { doing, source } => Self::NeedsRoot {
                cause: format!("not permitted to {doing}: {source}"),
            },
            other => Self::Loop(other),
        }
    }
}

/// A path that could not be removed, and why. The next run in the same directory tries again.
#[derive(Debug, thiserror::Error)]
#[error("{} could not be removed: {cause}", path.display())]
pub struct Leftover {
    pub path: PathBuf,
    pub cause: String,
}
