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
    /// The directory does not exist or is not a directory.
    #[error(
        "cannot use {} for measuring: {reason}; name an existing directory with --dir",
        path.display()
    )]
    NotADirectory {
        /// The named path.
        path: PathBuf,
        /// `it does not exist` or `it is not a directory`.
        reason: &'static str,
    },
    /// The user may not write there.
    #[error(
        "cannot write in {}: permission denied; choose a directory of your own with --dir",
        path.display()
    )]
    NoPermission {
        /// The named path.
        path: PathBuf,
    },
    /// Created files do not belong to their creator.
    #[error(
        "cannot trust {}: files created there do not belong to this user, and others could \
         replace them; run iostrata as the owner of the directory, or choose one of your own with \
         --dir",
        path.display()
    )]
    NotOwn {
        /// The named path.
        path: PathBuf,
    },
    /// No user can write there.
    #[error(
        "cannot write in {}: its file system is mounted read-only; choose another directory \
         with --dir",
        path.display()
    )]
    ReadOnly {
        /// The named path.
        path: PathBuf,
    },
    /// Not enough room, found before or while writing.
    #[error(
        "not enough space in {}: {} are needed, {} are free; use fewer or smaller records \
         (--count, --size), fewer file systems (--fs), or choose another directory with --dir",
        path.display(), bytes::short(*needed_bytes), bytes::short(*free_bytes)
    )]
    NoSpace {
        /// The directory.
        path: PathBuf,
        /// Needed, the margin included.
        needed_bytes: u64,
        /// Free for this user.
        free_bytes: u64,
    },
    /// The user chose images without the privilege to mount.
    #[error(
        "cannot make file-system images: {cause}; images need root (CAP_SYS_ADMIN in the initial \
         user namespace): run as root, or measure the directory's own file system with --fs host"
    )]
    NeedsRoot {
        /// The refused operation.
        cause: String,
    },
    /// The mkfs program is not installed.
    #[error(
        "cannot make {kind} images: {program} was not found in PATH, /usr/sbin or /sbin; \
         install it (Debian package {package})"
    )]
    NoMkfs {
        /// The file system to create.
        kind: ImageKind,
        /// The missing program.
        program: &'static str,
        /// Debian package that contains it.
        package: &'static str,
    },
    /// The mkfs program failed.
    #[error("cannot make an image of {kind}: {command} ended with {status} and said: {output}")]
    MkfsFailed {
        /// The file system to create.
        kind: ImageKind,
        /// The command line.
        command: String,
        /// How it ended.
        status: std::process::ExitStatus,
        /// What it printed.
        output: String,
    },
    /// The kernel has no driver for it.
    #[error(
        "cannot mount {kind}: this kernel has no {filesystem}; load its module or leave {kind} out"
    )]
    NoFileSystem {
        /// The file system to mount.
        kind: ImageKind,
        /// Name in `/proc/filesystems`.
        filesystem: &'static str,
    },
    /// The kernel refused the mount.
    #[error("cannot mount {kind} from {}: {source}; the kernel log says why", device.display())]
    MountFailed {
        /// The file system to mount.
        kind: ImageKind,
        /// The loop device.
        device: PathBuf,
        /// The kernel's error.
        source: io::Error,
    },
    /// The mounted file system is not the requested one.
    #[error(
        "asked for {kind} but {found}; mkfs or kernel defaults differ on this machine; leave \
         {kind} out"
    )]
    NotAsAsked {
        /// The file system to mount.
        kind: ImageKind,
        /// The actual one, as a clause.
        found: String,
    },
    /// No loop device.
    #[error(transparent)]
    Loop(LoopError),
    /// A signal ended it.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    /// Any other kernel error.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// The attempted operation.
        doing: &'static str,
        /// Its subject.
        path: PathBuf,
        /// The kernel's error.
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
    /// The remaining path.
    pub path: PathBuf,
    /// The reason.
    pub cause: String,
}
