//! The kind of file at a path, determined without opening files that must not be opened.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::Path;

use iostrata_core::op::FileId;
use iostrata_core::trace::FileKind;
use rustix::fs::{AtFlags, Mode, OFlags, Statx, StatxFlags, open, statx};

use crate::foreign;
use crate::identity::KernelFile;
use crate::stack::{Roots, StackError, mountinfo::Mounts};

/// A regular file, open for reading.
#[derive(Debug)]
pub struct Regular {
    pub file: File,
    pub identity: KernelFile,
    /// Type of its file system.
    pub filesystem: String,
    pub size_bytes: u64,
    pub allocated_bytes: u64,
    /// Whether the caller is its owner.
    pub is_own: bool,
}

#[derive(Debug)]
pub enum LookedAt {
    Regular(Regular),
    /// A directory, on the file system with this `s_dev`.
    Directory(u32),
    /// A symbolic link that is not followed.
    SymbolicLink,
    /// A FIFO, socket or device. It was not opened: that could block, or move a tape.
    Special,
}

/// The file systems of files, by mount.
#[derive(Debug)]
pub struct FileSystems {
    mounts: Mounts,
    /// `s_dev` and type by the id of the mount.
    known: HashMap<u64, (u32, String)>,
}

impl FileSystems {
    /// Those of this process's namespace, as mounted now.
    pub fn read() -> Result<Self, StackError> {
        Ok(Self {
            mounts: Mounts::read(&Roots::default())?,
            known: HashMap::new(),
        })
    }

    /// The superblock's device, not `st_dev`: see [`crate::identity::kernel_file`].
    fn holding(&mut self, found: &Statx) -> (u32, &str) {
        let (device, kind) = self.known.entry(found.stx_mnt_id).or_insert_with(|| {
            let mount = self.mounts.with_id(found.stx_mnt_id);
            mount.map_or_else(
                || {
                    let (major, minor) = (found.stx_dev_major, found.stx_dev_minor);
                    (FileId::kernel_device(major, minor), "unknown".to_owned())
                },
                |mount| {
                    let device = FileId::kernel_device(mount.device.major, mount.device.minor);
                    (device, mount.kind.clone())
                },
            )
        });
        (*device, kind)
    }
}

/// Inspects `path`, and opens it if it is a regular file. Follows a symbolic link at its end only
/// with `follow`.
///
/// Fails as `open(2)` does. The file is first opened with `O_PATH`, so that it cannot be replaced
/// in between.
pub fn look_at(path: &Path, follow: bool, systems: &mut FileSystems) -> io::Result<LookedAt> {
    let mut flags = OFlags::PATH | OFlags::CLOEXEC;
    if !follow {
        flags |= OFlags::NOFOLLOW;
    }
    let held = open(path, flags, Mode::empty())?;
    let wanted = StatxFlags::BASIC_STATS | StatxFlags::MNT_ID;
    let found = statx(&held, c"", AtFlags::EMPTY_PATH, wanted)?;
    let (device, filesystem) = systems.holding(&found);
    match FileKind::from_mode(u32::from(found.stx_mode)) {
        FileKind::Regular => {}
        FileKind::Directory => return Ok(LookedAt::Directory(device)),
        FileKind::Symlink => return Ok(LookedAt::SymbolicLink),
        _ => return Ok(LookedAt::Special),
    }
    let filesystem = filesystem.to_owned();
    Ok(LookedAt::Regular(Regular {
        file: foreign::opened(&held)?,
        identity: KernelFile {
            device,
            inode: found.stx_ino,
        },
        filesystem,
        size_bytes: found.stx_size,
        allocated_bytes: found.stx_blocks * 512,
        is_own: found.stx_uid == rustix::process::geteuid().as_raw(),
    }))
}
