//! The file system that a program begins with: made once, with the program's files in it, and copied for each
//! recording.

use std::fs;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};

use iostrata_tracer::kernel::{LoopDevice, PrivateMounts};
use iostrata_tracer::machine::available_memory_bytes;
use rustix::fs::{CWD, syncfs};
use rustix::mount::{MountFlags, mount};

use super::BlockError;
use crate::crash::copied::copy_directory;
use crate::device::DiskImage;
use crate::interrupt::Interrupt;
use crate::place::open_to_list;
use crate::scratch::{ImageKind, Mounted, mkfs};

const MIB: u64 = 1 << 20;

/// The program's directory on the file system.
pub(super) const WORK: &str = "work";

/// Besides the files there is room for what the program writes, bytes.
const ROOM_BYTES: u64 = 64 * MIB;

/// Where block mode may mount.
#[derive(Debug)]
pub struct Room<'a> {
    /// A directory of this run.
    pub directory: &'a Path,
    /// From [`isolate`](crate::scratch::isolate).
    pub mounts: &'a PrivateMounts,
    pub interrupt: &'a Interrupt,
}

/// Where images are recovered: also by threads that the one with the mounts has started, which see the same.
#[derive(Debug, Clone, Copy)]
pub struct Site<'a> {
    directory: &'a Path,
    pub interrupt: &'a Interrupt,
}

impl<'a> Room<'a> {
    /// For threads that this one starts.
    pub fn site(&self) -> Site<'a> {
        Site {
            directory: self.directory,
            interrupt: self.interrupt,
        }
    }

    pub(super) fn place(&self, name: &str) -> Result<PathBuf, BlockError> {
        self.site().place(name)
    }
}

impl Site<'_> {
    pub(super) fn place(&self, name: &str) -> Result<PathBuf, BlockError> {
        let path = self.directory.join(name);
        fs::create_dir_all(&path).map_err(BlockError::io("make a mount point"))?;
        Ok(path)
    }
}

/// A file system with the program's files, as they are before it runs.
#[derive(Debug)]
pub struct Foundation {
    pub(super) kind: ImageKind,
    pub(super) image: DiskImage,
}

impl Foundation {
    /// Makes a file system, copies a directory into it, and lets `prepare` change the copy.
    pub fn make(
        room: &Room<'_>,
        kind: ImageKind,
        files: Option<&Path>,
        prepare: impl FnOnce(&Path) -> Result<(), BlockError>,
    ) -> Result<Self, BlockError> {
        let size_bytes = size_for(kind, files)?;
        check_memory(size_bytes)?;
        let program = mkfs::find(kind)?;
        let image = DiskImage::new(size_bytes).map_err(BlockError::io("make a disk in memory"))?;
        let device = LoopDevice::attach(image.as_fd())?;
        mkfs::run(kind, further(kind), &program, device.path(), room.interrupt)?;
        let at = room.place("foundation")?;
        let mounted = mount_at(&device, kind, &at, None)?;
        let work = at.join(WORK);
        match files {
            Some(files) => copy_directory(files, &work, room.interrupt)?,
            None => fs::create_dir(&work).map_err(BlockError::io("make a directory"))?,
        }
        prepare(&work)?;
        sync(&at)?;
        drop(mounted);
        drop(device);
        room.interrupt.check()?;
        image
            .drop_zeros()
            .map_err(BlockError::io("read the disk in memory"))?;
        Ok(Self { kind, image })
    }

    pub fn kind(&self) -> ImageKind {
        self.kind
    }
}

/// Mounts a device as a program would find it.
pub(super) fn mount_at(
    device: &LoopDevice,
    kind: ImageKind,
    at: &Path,
    options: Option<&'static std::ffi::CStr>,
) -> Result<Mounted, BlockError> {
    let flags = MountFlags::empty();
    let options = options.or(kind.mount_data());
    mount(device.path(), at, kind.filesystem(), flags, options).map_err(|errno| {
        let doing = format!("mount {kind} from {}", device.path().display());
        BlockError::io(doing)(errno)
    })?;
    Ok(Mounted::at(at.to_owned()))
}

/// Writes everything of the file system at a path to its device, and waits.
pub(super) fn sync(at: &Path) -> Result<(), BlockError> {
    let directory = open_to_list(CWD, at).map_err(BlockError::io("sync"))?;
    syncfs(directory.as_fd()).map_err(BlockError::io("sync the file system under test"))
}

/// Small file systems are recovered faster; what a crash leaves does not depend on their size.
fn size_for(kind: ImageKind, files: Option<&Path>) -> Result<u64, BlockError> {
    let usual = match kind {
        ImageKind::Xfs => 320 * MIB,
        ImageKind::Btrfs => 128 * MIB,
        _ => 96 * MIB,
    };
    let held = files.map_or(Ok(0), |files| {
        bytes_below(files).map_err(BlockError::io(format!("read {}", files.display())))
    })?;
    // btrfs keeps metadata twice and reserves chunks.
    let needed = held.saturating_mul(2).saturating_add(ROOM_BYTES);
    Ok(usual.max(needed.next_multiple_of(MIB)))
}

fn bytes_below(directory: &Path) -> std::io::Result<u64> {
    let mut bytes = 0_u64;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let meta = entry.metadata()?;
        bytes = bytes.saturating_add(if meta.is_dir() {
            bytes_below(&entry.path())?
        } else {
            meta.len()
        });
    }
    Ok(bytes)
}

/// Three images of it may exist at one time, and a log. They are sparse.
fn check_memory(size_bytes: u64) -> Result<(), BlockError> {
    let unknown = || std::io::Error::other("it has no MemAvailable");
    let free = available_memory_bytes().ok_or_else(unknown);
    let free_mib = free.map_err(BlockError::io("read /proc/meminfo"))? / MIB;
    let needed_mib = 3 * size_bytes / MIB;
    if free_mib < needed_mib {
        return Err(BlockError::NoMemory {
            needed_mib,
            free_mib,
        });
    }
    Ok(())
}

/// A small journal or log: recovery reads all of it.
fn further(kind: ImageKind) -> &'static [&'static str] {
    match kind {
        ImageKind::Ext4 | ImageKind::Ext4DataJournal => &["-J", "size=4"],
        _ => &[],
    }
}
