//! Opens files by device, inode number and generation, whatever their names are by now (`open_by_handle_at(2)`).
#![expect(unsafe_code, reason = "file handles are wrapped by no library")]

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, FromRawFd as _, OwnedFd};
use std::path::Path;

use iostrata_core::FileId;
use rustix::fs::{Mode, OFlags, fstatfs};

use crate::identity::device_of;
use crate::permission::filtered;
use crate::stack::Roots;
use crate::stack::mountinfo::Mounts;

/// `MAX_HANDLE_SZ`, include/linux/exportfs.h.
const MOST_BYTES: usize = 128;

/// `struct file_handle`, include/linux/fs.h.
#[repr(C)]
#[derive(Clone, Copy)]
struct Handle {
    bytes: libc::c_uint,
    kind: libc::c_int,
    body: [u8; MOST_BYTES],
}

/// What a handle consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layout {
    /// `FILEID_INO32_GEN`: ext4, f2fs, and xfs with short inode numbers.
    Short,
    /// `FILEID_INO32_GEN | XFS_FILEID_TYPE_64FLAG` (`fs/xfs/xfs_export.h`).
    Xfs,
    /// `FILEID_BTRFS_WITHOUT_PARENT`: the root of the subvolume lies between (`struct btrfs_fid`, fs/btrfs/export.h).
    Btrfs,
}

impl Layout {
    /// FUSE uses the number of xfs for handles of another layout (fs/fuse/inode.c).
    fn of(file_system: u64, kind: libc::c_int) -> Option<Self> {
        match (file_system, kind) {
            (EXT4 | F2FS | XFS, 1) => Some(Self::Short),
            (XFS, 0x81) => Some(Self::Xfs),
            (BTRFS, 0x4d) => Some(Self::Btrfs),
            _ => None,
        }
    }
}

// include/uapi/linux/magic.h
const EXT4: u64 = 0xef53;
const F2FS: u64 = 0xf2f5_2010;
const XFS: u64 = 0x5846_5342;
const BTRFS: u64 = 0x9123_683e;

pub(crate) enum ByHandle {
    Open(OwnedFd),
    /// No longer in the page cache, nor on the disk.
    Gone,
    /// Not by a handle.
    NotKnown,
}

/// A directory of a file system, and its handle.
struct Entrance {
    directory: OwnedFd,
    handle: Handle,
    layout: Layout,
}

/// Where the file systems of some devices can be entered.
pub(crate) struct Entrances(HashMap<u32, Entrance>);

impl Entrances {
    /// Those of these devices. `near` are paths that may lead into one of them, as into a subvolume that is mounted with
    /// another.
    pub(crate) fn of<'a>(devices: impl Iterator<Item = (u32, Option<&'a Path>)>) -> Self {
        if filtered::ends_at_handles() {
            return Self(HashMap::new());
        }
        let mounts = Mounts::read(&Roots::default());
        let points = mounts.iter().flat_map(Mounts::all).map(|mount| {
            let device = FileId::kernel_device(mount.device.major, mount.device.minor);
            (device, mount.point.as_path())
        });
        let mut by_device: HashMap<u32, Vec<&Path>> = HashMap::new();
        for (device, point) in points {
            by_device.entry(device).or_default().push(point);
        }
        let mut all = HashMap::new();
        for (device, near) in devices {
            if all.contains_key(&device) {
                continue;
            }
            let mounted = by_device.get(&device).into_iter().flatten().copied();
            let above = near.into_iter().flat_map(|path| path.ancestors().skip(1));
            if let Some(entrance) = mounted.chain(above).find_map(|at| enter(device, at)) {
                all.insert(device, entrance);
            }
        }
        Self(all)
    }

    pub(crate) fn open(&self, file: FileId) -> ByHandle {
        let entrance = self.0.get(&file.device);
        let Some((entrance, mut handle)) = entrance.and_then(|at| Some((at, at.handle_of(file)?)))
        else {
            return ByHandle::NotKnown;
        };
        let flags = libc::O_RDONLY | libc::O_CLOEXEC | libc::O_NONBLOCK | libc::O_NOCTTY;
        // SAFETY: the kernel reads as many bytes of the live handle as it says.
        let opened = unsafe {
            libc::open_by_handle_at(
                entrance.directory.as_raw_fd(),
                (&raw mut handle).cast(),
                flags,
            )
        };
        if opened >= 0 {
            // SAFETY: the kernel has just made it, and nobody else knows it.
            return ByHandle::Open(unsafe { OwnedFd::from_raw_fd(opened) });
        }
        match io::Error::last_os_error().raw_os_error() {
            Some(libc::ESTALE) => ByHandle::Gone,
            _ => ByHandle::NotKnown,
        }
    }
}

impl Entrance {
    /// `None` where a part is not known: the kernel takes 0 for any generation, or for none.
    fn handle_of(&self, file: FileId) -> Option<Handle> {
        let mut handle = self.handle;
        let (inode, generation) = (file.inode.to_ne_bytes(), file.generation.to_ne_bytes());
        if file.generation == 0 {
            return None;
        }
        let body = &mut handle.body;
        handle.bytes = match self.layout {
            Layout::Short => {
                let short = u32::try_from(file.inode).ok()?;
                body[..4].copy_from_slice(&short.to_ne_bytes());
                body[4..8].copy_from_slice(&generation);
                8
            }
            Layout::Xfs => {
                body[..8].copy_from_slice(&inode);
                body[8..12].copy_from_slice(&generation);
                12
            }
            Layout::Btrfs => {
                body[..8].copy_from_slice(&inode);
                body[16..20].copy_from_slice(&generation);
                20
            }
        };
        Some(handle)
    }
}

/// `None` where it is of another device, or its handles are of no known kind.
fn enter(device: u32, at: &Path) -> Option<Entrance> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = rustix::fs::open(at, flags, Mode::empty()).ok()?;
    if device_of(&directory).ok()? != device {
        return None;
    }
    let file_system = u64::try_from(fstatfs(&directory).ok()?.f_type).ok()?;
    let mut handle = Handle {
        bytes: libc::c_uint::try_from(MOST_BYTES).ok()?,
        kind: 0,
        body: [0; MOST_BYTES],
    };
    let mut mount = 0;
    // SAFETY: the kernel stores at most as many bytes as the live handle says that it has, and a mount id.
    let outcome = unsafe {
        libc::name_to_handle_at(
            directory.as_fd().as_raw_fd(),
            c"".as_ptr(),
            (&raw mut handle).cast(),
            &raw mut mount,
            libc::AT_EMPTY_PATH,
        )
    };
    let layout = Layout::of(file_system, handle.kind).filter(|_| outcome == 0)?;
    Some(Entrance {
        directory,
        handle,
        layout,
    })
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Write as _;
    use std::os::unix::fs::MetadataExt as _;

    use super::*;
    use crate::identity::generation;

    #[test]
    fn a_file_is_found_without_its_name_until_it_is_gone() {
        if !rustix::process::geteuid().is_root() {
            crate::skip::skip("opening by handle needs root");
            return;
        }
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let path = dir.path().join("f");
        let mut file = File::create(&path).unwrap();
        file.write_all(b"x").unwrap();
        let id = FileId {
            device: device_of(&file).unwrap(),
            inode: file.metadata().unwrap().ino(),
            generation: generation(file.as_fd()).unwrap(),
        };
        let entrances = Entrances::of([(id.device, Some(path.as_path()))].into_iter());
        let found = || entrances.open(id);
        let is_it = |found: ByHandle| match found {
            ByHandle::Open(again) => {
                let again = File::from(again).metadata().unwrap();
                assert_eq!((again.ino(), again.len()), (id.inode, 1));
                true
            }
            ByHandle::Gone => false,
            ByHandle::NotKnown => panic!("no handle"),
        };
        assert!(is_it(found()));
        std::fs::rename(&path, dir.path().join("g")).unwrap();
        assert!(is_it(found()));
        std::fs::remove_file(dir.path().join("g")).unwrap();
        // It is still open.
        assert!(is_it(found()));
        drop(file);
        assert!(!is_it(found()));
        let other = |change: fn(&mut FileId)| {
            let mut other = id;
            change(&mut other);
            entrances.open(other)
        };
        assert!(matches!(other(|id| id.generation = 0), ByHandle::NotKnown));
        assert!(matches!(other(|id| id.device ^= 1), ByHandle::NotKnown));
        assert!(matches!(other(|id| id.generation ^= 1), ByHandle::Gone));
    }
}
