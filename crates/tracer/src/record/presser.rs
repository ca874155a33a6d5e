//! Forces journal commits by syncing an unrelated file.
//!
//! What a crash leaves depends on who commits when. A commit right after a change finds what one some seconds later hides:
//! the data on its way, the metadata on disk.

use std::fs::{File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use iostrata_core::op::FileId;
use rustix::fs::{fstat, major, minor};

/// A file that nobody else uses.
#[derive(Debug)]
pub struct Presser {
    file: File,
    device: u32,
    presses: u32,
}

impl Presser {
    /// Makes the file, or takes the one that is there.
    pub fn open(path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false).mode(0o600);
        let file = options.open(path)?;
        let device = fstat(&file)?.st_dev;
        Ok(Self {
            file,
            device: FileId::kernel_device(major(device), minor(device)),
            presses: 0,
        })
    }

    /// Whether a file is on the same file system: a change of another one leaves nothing here to commit.
    pub fn is_beside(&self, file: FileId) -> bool {
        file.device == self.device
    }

    /// Changes the file's mode and syncs it, which commits what the file system has to commit, and at once: a sync of
    /// data would wait behind the data of others.
    pub fn press(&mut self) -> io::Result<()> {
        self.presses = self.presses.wrapping_add(1);
        let mode = 0o600 | (self.presses & 1);
        self.file.set_permissions(Permissions::from_mode(mode))?;
        self.file.sync_all()
    }
}
