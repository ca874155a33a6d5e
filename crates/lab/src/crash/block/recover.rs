//! Recovery of an image: it is mounted, which replays its journal or log.

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::iter;
use std::num::NonZeroU64;
use std::ops::Range;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use iostrata_tracer::kernel::LoopDevice;
use rustix::fs::{Advice, fadvise};
use rustix::io::Errno;
use rustix::mount::{MountFlags, mount};

use super::BlockError;
use super::foundation::{Site, WORK};
use super::images::{Image, Images};
use super::record::Recording;
use crate::crash::copied::copy_directory;
use crate::device::DiskImage;
use crate::interrupt::Interrupt;
use crate::scratch::{ImageKind, Mounted};

/// How long a file system may stay that was unmounted: a process may have had it open.
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(1);

/// Blocks of a device as large as those of the ext4 on it: the cache that a mount finds stays as it is, while one of
/// smaller blocks is emptied (`sb_set_blocksize`, block/bdev.c).
const EXT4_BLOCK_BYTES: u32 = 4096;

/// Where a small ext4 has superblock, group descriptors, bitmaps and inodes.
const METADATA: Range<u64> = 0..1 << 20;

/// What recovery reads behind the end of the log (`do_readahead`, fs/jbd2/recovery.c).
const AHEAD_BYTES: u64 = 132 << 10;

/// What fails when the kernel does not forget a disk.
const EMPTY: &str = "empty the cache of a loop device";

/// A place for one image after the other: a disk in memory, its device, and where it is mounted.
#[derive(Debug)]
pub(super) struct Bay<'r> {
    // Dropped in this order.
    device: LoopDevice,
    disk: DiskImage,
    path: PathBuf,
    recording: &'r Recording,
    /// What is read before a mount that would ask for it block by block; empty where that does not help.
    early: Vec<Range<u64>>,
}

impl<'r> Bay<'r> {
    /// One for images of a recording, to be mounted at a directory that exists.
    pub(super) fn new(path: PathBuf, recording: &'r Recording) -> Result<Self, BlockError> {
        let disk = DiskImage::new(recording.base.size_bytes());
        let disk = disk.map_err(BlockError::io("make a disk in memory"))?;
        if let Some(journal) = recording.journal() {
            let device = LoopDevice::attach_with(disk.as_fd(), EXT4_BLOCK_BYTES)?;
            // Kernels before 6.15 have no blocks that are larger than a page.
            if device.forget().is_ok() {
                let early = iter::once(METADATA).chain(journal.ranges().iter().cloned());
                return Ok(Self {
                    device,
                    disk,
                    path,
                    recording,
                    early: early.collect(),
                });
            }
        }
        Ok(Self {
            device: LoopDevice::attach(disk.as_fd())?,
            disk,
            path,
            recording,
            early: Vec::new(),
        })
    }

    /// Whose disk may be changed now. It holds what the last recovery has left.
    pub(super) fn ready(&mut self) -> Result<Mountable<'_, 'r>, BlockError> {
        if !self.is_free()? {
            // A mount would show the file system that is still there.
            *self = Self::new(self.path.clone(), self.recording)?;
        }
        Ok(Mountable(self))
    }

    /// Has the kernel read into its cache what a mount needs: it asks for each block of a log by itself, and waits.
    fn read_early(&self) -> Result<(), BlockError> {
        let extents = match &*self.early {
            [] => return Ok(()),
            _ => self.disk.extents(),
        };
        let extents = extents.map_err(BlockError::io("read a disk in memory"))?;
        for early in &self.early {
            for extent in &extents {
                let begin = extent.start.max(early.start);
                let end = (extent.end + AHEAD_BYTES).min(early.end);
                if let Some(bytes) = end.checked_sub(begin).and_then(NonZeroU64::new) {
                    // The mount reads what is refused here.
                    _ = fadvise(&self.device, begin, Some(bytes), Advice::WillNeed);
                }
            }
        }
        Ok(())
    }

    /// Whether no file system has the device, after a while.
    fn is_free(&self) -> Result<bool, BlockError> {
        let begun = Instant::now();
        loop {
            match self.device.forget() {
                Ok(()) => return Ok(true),
                Err(error) if error.kind() != io::ErrorKind::ResourceBusy => {
                    return Err(BlockError::io(EMPTY)(error));
                }
                Err(_) if begun.elapsed() < PATIENCE => thread::sleep(PAUSE),
                Err(_) => return Ok(false),
            }
        }
    }
}

/// A bay without a mount.
#[derive(Debug)]
pub(super) struct Mountable<'b, 'r>(&'b Bay<'r>);

impl Mountable<'_, '_> {
    pub(super) fn disk(&self) -> &DiskImage {
        &self.0.disk
    }

    /// Mounts the image read-only. The device is writable, so the file system recovers: never with `noload` or
    /// `norecovery`, which would show what no user sees.
    ///
    /// # Errors
    /// When the mount fails for another reason than the image. A file system that refuses it is no error, but a result.
    pub(super) fn mount(self) -> Result<Result<Recovery, io::Error>, BlockError> {
        let bay = self.0;
        // The kernel has what the last recovery has left, or what others have read while the image was made.
        let forgot = bay.device.forget();
        forgot.map_err(BlockError::io(EMPTY))?;
        bay.read_early()?;
        let kind = bay.recording.kind;
        let options: Option<&CStr> = match kind {
            // Others have the same number.
            ImageKind::Xfs => Some(c"nouuid"),
            // What is in memory needs no flush; what is recovered is the same.
            ImageKind::Ext4 | ImageKind::Ext4DataJournal => Some(c"nobarrier"),
            _ => None,
        };
        let (device, filesystem) = (bay.device.path(), kind.filesystem());
        let begun = Instant::now();
        let mounted = loop {
            let mounted = mount(device, &bay.path, filesystem, MountFlags::RDONLY, options);
            // btrfs still knows another image of this file system (`device_list_add`, fs/btrfs/volumes.c).
            if mounted != Err(Errno::EXIST) || begun.elapsed() >= PATIENCE {
                break mounted;
            }
            thread::sleep(PAUSE);
        };
        match mounted {
            Ok(()) => Ok(Ok(Recovery {
                work: bay.path.join(WORK),
                _mounted: Mounted::at(bay.path.clone()),
            })),
            Err(errno) if OF_THE_MACHINE.contains(&errno) => {
                let path = device.display();
                Err(BlockError::io(format!("mount {path}"))(errno))
            }
            Err(errno) => Ok(Err(errno.into())),
        }
    }
}

/// Why a mount fails whatever is on the disk.
const OF_THE_MACHINE: [Errno; 7] = [
    Errno::BUSY,
    Errno::EXIST,
    Errno::INTR,
    Errno::MFILE,
    Errno::NFILE,
    Errno::NOMEM,
    Errno::PERM,
];

#[cfg(test)]
mod tests {
    use super::{Errno, OF_THE_MACHINE};

    /// A mount that another image of the file system refuses says nothing about this one, nor does a full machine.
    #[test]
    fn only_what_the_disk_holds_is_a_finding() {
        let machine = [Errno::EXIST, Errno::NOMEM, Errno::BUSY, Errno::PERM];
        assert!(machine.iter().all(|errno| OF_THE_MACHINE.contains(errno)));
        let disk = [
            Errno::INVAL,
            Errno::IO,
            Errno::UCLEAN,
            Errno::BADMSG,
            Errno::NOENT,
        ];
        assert!(disk.iter().all(|errno| !OF_THE_MACHINE.contains(errno)));
    }
}

/// A recovered image, unmounted when this ends.
#[derive(Debug)]
pub(super) struct Recovery {
    work: PathBuf,
    _mounted: Mounted,
}

impl Recovery {
    /// The program's directory in it.
    pub(super) fn work(&self) -> &Path {
        &self.work
    }
}

/// Recovers an image again and copies its tree to `tree` in a directory that exists; of one that cannot be mounted, the image
/// itself to `image`. Gives the path.
pub fn keep(
    site: Site<'_>,
    recording: &Recording,
    image: &Image,
    into: &Path,
) -> Result<PathBuf, BlockError> {
    let at = site.place("kept")?;
    let mut bay = Bay::new(at, recording)?;
    let images = Images::new(recording)?;
    let mountable = bay.ready()?;
    images.make(image, mountable.disk())?;
    if let Ok(recovery) = mountable.mount()? {
        let tree = into.join("tree");
        copy_directory(recovery.work(), &tree, &Interrupt::never())?;
        return Ok(tree);
    }
    // As it was before the kernel tried.
    let mountable = bay.ready()?;
    images.make(image, mountable.disk())?;
    let path = into.join("image");
    let file = File::create_new(&path);
    let written = file.and_then(|file| mountable.disk().write_to(&file));
    written.map_err(BlockError::io(format!("write {}", path.display())))?;
    Ok(path)
}
