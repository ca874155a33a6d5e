//! Loop devices that the kernel releases by itself.

use std::io;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::ptr;
use std::thread;
use std::time::Duration;

use rustix::fs::{Mode, OFlags, fstat, major, minor, open};
use rustix::io::Errno;
use zerocopy::FromZeros;

const CONTROL: &str = "/dev/loop-control";

/// Smallest logical block; fixed unless asked for otherwise, because the kernel's own choice depends on
/// the backing file system (`loop_default_blocksize`, `drivers/block/loop.c`).
const BLOCK_SIZE_BYTES: u32 = 512;

/// Another process may take the free device first. A hundred losses in a row, a second in all, is
/// no longer a race.
const ATTEMPTS: u32 = 100;
const PAUSE: Duration = Duration::from_millis(10);

// include/uapi/linux/loop.h
const LOOP_CTL_GET_FREE: libc::Ioctl = 0x4C82;
const LOOP_CONFIGURE: libc::Ioctl = 0x4C0A;
const LOOP_GET_STATUS64: libc::Ioctl = 0x4C05;
const LO_FLAGS_AUTOCLEAR: u32 = 4;
const LO_FLAGS_DIRECT_IO: u32 = 16;

/// `_IOW(0x12, 113, size_t)`, include/uapi/linux/fs.h; the argument is an `int`.
const BLKBSZSET: libc::Ioctl = 0x4008_1271;

/// `struct loop_info64`, whose fields all begin with `lo_`.
#[derive(FromZeros)]
#[repr(C)]
struct LoopInfo64 {
    device: u64,
    inode: u64,
    rdevice: u64,
    offset: u64,
    sizelimit: u64,
    number: u32,
    encrypt_type: u32,
    encrypt_key_size: u32,
    flags: u32,
    file_name: [u8; 64],
    crypt_name: [u8; 64],
    encrypt_key: [u8; 32],
    init: [u64; 2],
}

/// `struct loop_config`.
#[repr(C)]
struct LoopConfig {
    fd: u32,
    block_size: u32,
    info: LoopInfo64,
    reserved: [u64; 8],
}

const _: () = assert!(size_of::<LoopInfo64>() == 232);
const _: () = assert!(std::mem::offset_of!(LoopInfo64, flags) == 52);
const _: () = assert!(size_of::<LoopConfig>() == 304);
const _: () = assert!(std::mem::offset_of!(LoopConfig, info) == 8);

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoopError {
    #[error("this kernel has no loop devices ({CONTROL}: {0}); load the module `loop`")]
    NoDriver(io::Error),
    #[error("not permitted to {doing}: {source}; loop devices need root outside any container")]
    NotPermitted { doing: String, source: io::Error },
    #[error(
        "the kernel offers {} but the device node is missing; /dev is not kept up to date here, \
         as in many containers: create it with `mknod {} b 7 {number}`",
        path.display(), path.display()
    )]
    NodeMissing {
        path: PathBuf,
        /// Its minor number.
        number: u32,
    },
    /// Other processes were always faster.
    #[error("every free loop device was taken by another process; try again")]
    Busy,
    #[error("cannot {doing}: {source}")]
    Io { doing: String, source: io::Error },
}

impl LoopError {
    fn new(doing: String, source: Errno) -> Self {
        let not_permitted = matches!(source, Errno::PERM | Errno::ACCESS);
        let source = source.into();
        if not_permitted {
            Self::NotPermitted { doing, source }
        } else {
            Self::Io { doing, source }
        }
    }
}

/// A loop device over an image file.
///
/// The device exists as long as this handle or a mount of it; after the last of them the kernel
/// detaches it (`LO_FLAGS_AUTOCLEAR`, `loop(4)`), also when the process is killed.
#[derive(Debug)]
pub struct LoopDevice {
    device: OwnedFd,
    path: PathBuf,
    number: u32,
    numbers: (u32, u32),
    direct_io: bool,
    block_size_bytes: u32,
}

impl LoopDevice {
    /// Attaches `image`, open for reading and writing, to a free device with
    /// 512-byte logical blocks. Needs Linux 5.8 (`LOOP_CONFIGURE`).
    ///
    /// Requests direct I/O to the image, so that its contents are not cached twice;
    /// [`direct_io`](Self::direct_io) reports whether it is in effect.
    pub fn attach(image: BorrowedFd<'_>) -> Result<Self, LoopError> {
        Self::attach_with(image, BLOCK_SIZE_BYTES)
    }

    /// The same with logical blocks of another size, a power of two from 512 to the size of a page.
    pub fn attach_with(image: BorrowedFd<'_>, block_size_bytes: u32) -> Result<Self, LoopError> {
        let flags = OFlags::RDWR | OFlags::CLOEXEC;
        let control = open(CONTROL, flags, Mode::empty()).map_err(|errno| match errno {
            Errno::NOENT | Errno::NXIO | Errno::NODEV => LoopError::NoDriver(errno.into()),
            _ => LoopError::new(format!("open {CONTROL}"), errno),
        })?;
        for _ in 0..ATTEMPTS {
            let number = free_number(&control)
                .map_err(|errno| LoopError::new("get a free loop device".to_owned(), errno))?;
            if let Some(device) = Self::configure(number, image, block_size_bytes)? {
                return Ok(device);
            }
            thread::sleep(PAUSE);
        }
        Err(LoopError::Busy)
    }

    /// `None` when another process took the device in the meantime.
    fn configure(
        number: u32,
        image: BorrowedFd<'_>,
        block_size_bytes: u32,
    ) -> Result<Option<Self>, LoopError> {
        let path = PathBuf::from(format!("/dev/loop{number}"));
        let device = match open(&path, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()) {
            Ok(device) => device,
            Err(Errno::NOENT) => return Err(LoopError::NodeMissing { path, number }),
            // Its last user is releasing it (lo_open, drivers/block/loop.c).
            Err(Errno::NXIO | Errno::BUSY) => return Ok(None),
            Err(errno) => {
                return Err(LoopError::new(format!("open {}", path.display()), errno));
            }
        };
        let attaching = || format!("attach an image to {}", path.display());
        match bind(&device, image, block_size_bytes) {
            Ok(()) => {}
            Err(Errno::BUSY | Errno::NXIO) => return Ok(None),
            Err(errno) => return Err(LoopError::new(attaching(), errno)),
        }
        let stat = fstat(&device).map_err(|errno| LoopError::new(attaching(), errno))?;
        let flags = flags(&device).map_err(|errno| LoopError::new(attaching(), errno))?;
        Ok(Some(Self {
            device,
            path,
            number,
            numbers: (major(stat.st_rdev), minor(stat.st_rdev)),
            direct_io: flags & LO_FLAGS_DIRECT_IO != 0,
            block_size_bytes,
        }))
    }

    /// `/dev/loopN`.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// `loopN`, the name under `/sys/block`.
    pub fn name(&self) -> String {
        format!("loop{}", self.number)
    }

    /// Major and minor number of the device.
    pub fn numbers(&self) -> (u32, u32) {
        self.numbers
    }

    /// Drops what the kernel has cached of the device, so that its image may be changed from outside. Fails with
    /// `EBUSY` while a file system is mounted from it, in whatever namespace.
    ///
    /// A change of the block size of the cache truncates it (`set_blocksize`, block/bdev.c), unlike `BLKFLSBUF`, which
    /// leaves what is in use. It needs the device for itself, as a mount does (`blkdev_bszset`, block/ioctl.c). Afterwards
    /// the cache has blocks of the size of the device's.
    ///
    /// The kernel holds the device for itself only during the call. A descriptor opened with `O_EXCL` would do so for
    /// longer: a process that another thread starts has a copy of it until its `execve(2)`.
    ///
    /// Fails with `EINVAL` on a device with blocks as large as a page where the kernel has none that are larger.
    pub fn forget(&self) -> io::Result<()> {
        for size_bytes in [2 * self.block_size_bytes, self.block_size_bytes] {
            let size_bytes = size_bytes.cast_signed();
            // SAFETY: the kernel reads one `int` from the pointer and keeps no reference to it.
            super::outcome(unsafe {
                libc::ioctl(
                    self.device.as_raw_fd(),
                    BLKBSZSET,
                    ptr::from_ref(&size_bytes),
                )
            })?;
        }
        Ok(())
    }

    /// Whether the kernel uses direct I/O for the image. It silently ignores the request where the
    /// image's file system does not support it or has larger blocks than the device
    /// (`loop_update_dio`, `drivers/block/loop.c`).
    pub fn direct_io(&self) -> bool {
        self.direct_io
    }
}

impl AsFd for LoopDevice {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.device.as_fd()
    }
}

fn free_number(control: &OwnedFd) -> Result<u32, Errno> {
    // SAFETY: the request takes no argument and touches no memory of ours.
    let outcome = unsafe { libc::ioctl(control.as_raw_fd(), LOOP_CTL_GET_FREE) };
    errno(super::outcome(outcome)).map(|()| outcome.unsigned_abs())
}

fn bind(device: &OwnedFd, image: BorrowedFd<'_>, block_size_bytes: u32) -> Result<(), Errno> {
    let config = LoopConfig {
        fd: image.as_raw_fd().cast_unsigned(),
        block_size: block_size_bytes,
        info: LoopInfo64 {
            flags: LO_FLAGS_AUTOCLEAR | LO_FLAGS_DIRECT_IO,
            ..LoopInfo64::new_zeroed()
        },
        reserved: [0; 8],
    };
    // SAFETY: the kernel copies one `struct loop_config` from the pointer, whose
    // layout is asserted above, and keeps no reference to it.
    errno(super::outcome(unsafe {
        libc::ioctl(device.as_raw_fd(), LOOP_CONFIGURE, ptr::from_ref(&config))
    }))
}

/// The flags in effect, possibly fewer than requested.
fn flags(device: &OwnedFd) -> Result<u32, Errno> {
    let mut info = LoopInfo64::new_zeroed();
    // SAFETY: the kernel fills one `struct loop_info64`, whose layout is asserted above.
    errno(super::outcome(unsafe {
        libc::ioctl(
            device.as_raw_fd(),
            LOOP_GET_STATUS64,
            ptr::from_mut(&mut info),
        )
    }))?;
    Ok(info.flags)
}

fn errno(outcome: io::Result<()>) -> Result<(), Errno> {
    outcome.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::private_mounts;
    use rustix::mount::{MountFlags, mount};
    use std::fs;
    use std::os::unix::fs::FileExt as _;
    use std::process::Command;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Instant;

    fn backing_file(name: &str) -> Option<String> {
        fs::read_to_string(format!("/sys/block/{name}/loop/backing_file")).ok()
    }

    #[test]
    fn a_device_lives_exactly_as_long_as_its_handle() {
        if !rustix::process::geteuid().is_root() {
            crate::skip::skip("loop devices need root");
            return;
        }
        let image = tempfile::NamedTempFile::new_in("/var/tmp").unwrap();
        let image_path = image.path().to_str().unwrap().to_owned();
        image.as_file().set_len(1 << 20).unwrap();
        let device = LoopDevice::attach(image.as_file().as_fd()).unwrap();
        let name = device.name();
        assert!(backing_file(&name).unwrap().contains(&image_path));
        let sysfs = |file: &str| fs::read_to_string(format!("/sys/block/{name}/{file}")).unwrap();
        assert_eq!(sysfs("size").trim(), "2048");
        assert_eq!(sysfs("queue/logical_block_size").trim(), "512");
        let (major, minor) = device.numbers();
        assert_eq!(sysfs("dev").trim(), format!("{major}:{minor}"));
        drop(device);
        let deadline = Instant::now() + Duration::from_secs(5);
        while backing_file(&name).is_some_and(|file| file.contains(&image_path)) {
            assert!(Instant::now() < deadline, "{name} is still attached");
            thread::sleep(PAUSE);
        }
    }

    #[test]
    fn what_is_cached_is_forgotten_unless_the_device_is_mounted() {
        if !rustix::process::geteuid().is_root() {
            crate::skip::skip("loop devices need root");
            return;
        }
        let image = tempfile::tempfile_in("/var/tmp").unwrap();
        image.set_len(16 << 20).unwrap();
        let device = LoopDevice::attach(image.as_fd()).unwrap();
        let mut first = [1; 4096];
        let mut read = || {
            let disk = fs::File::open(device.path()).unwrap();
            disk.read_exact_at(&mut first, 0).unwrap();
            first[0]
        };
        assert_eq!(read(), 0);
        image.write_all_at(&[7; 4096], 0).unwrap();
        assert_eq!(read(), 0, "cached");
        device.forget().unwrap();
        assert_eq!(read(), 7);
        let made = Command::new("mkfs.ext4")
            .arg("-q")
            .arg(device.path())
            .status();
        assert!(made.unwrap().success());
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().to_owned();
        thread::spawn(move || {
            private_mounts().unwrap();
            mount(device.path(), &path, "ext4", MountFlags::empty(), None).unwrap();
            let refused = device.forget().unwrap_err();
            assert_eq!(refused.raw_os_error(), Some(libc::EBUSY));
        })
        .join()
        .unwrap();
    }

    #[test]
    fn what_other_threads_start_does_not_keep_the_device() {
        if !rustix::process::geteuid().is_root() {
            crate::skip::skip("loop devices need root");
            return;
        }
        let image = tempfile::tempfile_in("/var/tmp").unwrap();
        image.set_len(1 << 20).unwrap();
        let device = LoopDevice::attach(image.as_fd()).unwrap();
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    assert!(Command::new("true").status().unwrap().success());
                }
            });
            let outcome = (0..100_000).try_for_each(|_| device.forget());
            is_over.store(true, Ordering::Relaxed);
            outcome.unwrap();
        });
    }

    #[test]
    fn direct_io_is_on_where_the_file_system_has_it() {
        if !rustix::process::geteuid().is_root() {
            crate::skip::skip("loop devices need root");
            return;
        }
        let on_disk = tempfile::tempfile_in("/var/tmp").unwrap();
        assert_direct_io(&on_disk, true);
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().to_owned();
        thread::spawn(move || {
            private_mounts().unwrap();
            // ramfs has no direct I/O: fs/ramfs/file-mmu.c sets no FMODE_CAN_ODIRECT.
            mount("none", &path, "ramfs", MountFlags::empty(), None).unwrap();
            assert_direct_io(&tempfile::tempfile_in(&path).unwrap(), false);
        })
        .join()
        .unwrap();
    }

    #[track_caller]
    fn assert_direct_io(image: &fs::File, expected: bool) {
        image.set_len(1 << 20).unwrap();
        let device = LoopDevice::attach(image.as_fd()).unwrap();
        assert_eq!(device.direct_io(), expected);
        let dio = fs::read_to_string(format!("/sys/block/{}/loop/dio", device.name())).unwrap();
        assert_eq!(dio.trim(), if expected { "1" } else { "0" });
    }

    #[test]
    fn refuses_what_is_not_a_file() {
        if !rustix::process::geteuid().is_root() {
            crate::skip::skip("loop devices need root");
            return;
        }
        let (reader, _writer) = io::pipe().unwrap();
        let error = LoopDevice::attach(reader.as_fd()).unwrap_err();
        assert!(
            error.to_string().starts_with("cannot attach an image"),
            "{error}"
        );
    }
}
