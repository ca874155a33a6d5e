//! Memory from `mmap(2)`, unmapped on drop.

use std::io;
use std::os::fd::BorrowedFd;
use std::ptr::{self, NonNull};
use std::slice;

use rustix::mm::{MapFlags, ProtFlags, madvise, mmap, mmap_anonymous, msync, munmap};

/// Advice to `madvise(2)` about a whole region. None of it changes the contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Advice {
    /// `MADV_SEQUENTIAL`: read further ahead, drop pages soon after use.
    Sequential,
    /// `MADV_RANDOM`: do not read ahead.
    Random,
    /// `MADV_POPULATE_READ`: map every page now, as if it were read. Linux 5.14; before, `EINVAL`.
    PopulateRead,
    /// `MADV_POPULATE_WRITE`: map every page now, as if it were written. Linux 5.14;
    /// `EINVAL` before and on a read-only mapping.
    PopulateWrite,
    /// `MADV_NOHUGEPAGE`: a page fault brings one base page, never a huge page.
    BasePages,
}

impl Advice {
    fn raw(self) -> rustix::mm::Advice {
        match self {
            Self::Sequential => rustix::mm::Advice::Sequential,
            Self::Random => rustix::mm::Advice::Random,
            Self::PopulateRead => rustix::mm::Advice::LinuxPopulateRead,
            Self::PopulateWrite => rustix::mm::Advice::LinuxPopulateWrite,
            Self::BasePages => rustix::mm::Advice::LinuxNoHugepage,
        }
    }
}

/// A mapping that nothing else in this process refers to. Its length may be 0, which `mmap`
/// refuses; then there is no mapping.
#[derive(Debug)]
pub(super) struct Region {
    start: NonNull<u8>,
    len_bytes: usize,
}

impl Region {
    fn empty() -> Self {
        Self {
            start: NonNull::dangling(),
            len_bytes: 0,
        }
    }

    /// Private zeroed memory, none of it resident before its first use.
    pub(super) fn anonymous(len_bytes: usize) -> io::Result<Self> {
        if len_bytes == 0 {
            return Ok(Self::empty());
        }
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping where the kernel finds room overlaps no other memory.
        let start =
            unsafe { mmap_anonymous(ptr::null_mut(), len_bytes, protection, MapFlags::PRIVATE) }?;
        Ok(Self::at(start.cast(), len_bytes))
    }

    /// The first `len_bytes` of a file, shared with the page cache.
    pub(super) fn shared(
        file: BorrowedFd<'_>,
        len_bytes: usize,
        protection: ProtFlags,
    ) -> io::Result<Self> {
        if len_bytes == 0 {
            return Ok(Self::empty());
        }
        let flags = MapFlags::SHARED;
        // SAFETY: a new mapping where the kernel finds room overlaps no other memory.
        let start = unsafe { mmap(ptr::null_mut(), len_bytes, protection, flags, file, 0) }?;
        Ok(Self::at(start.cast(), len_bytes))
    }

    /// A private file mapping for reading. The kernel's BTF file supports no other
    /// (`btf_sysfs_vmlinux_mmap`, `kernel/bpf/sysfs_btf.c`).
    pub(super) fn private(file: BorrowedFd<'_>, len_bytes: usize) -> io::Result<Self> {
        if len_bytes == 0 {
            return Ok(Self::empty());
        }
        let (protection, flags) = (ProtFlags::READ, MapFlags::PRIVATE);
        // SAFETY: a new mapping where the kernel finds room overlaps no other memory.
        let start = unsafe { mmap(ptr::null_mut(), len_bytes, protection, flags, file, 0) }?;
        Ok(Self::at(start.cast(), len_bytes))
    }

    fn at(start: *mut u8, len_bytes: usize) -> Self {
        Self {
            start: NonNull::new(start).expect("mmap without MAP_FIXED never returns address 0"),
            len_bytes,
        }
    }

    pub(super) fn as_slice(&self) -> &[u8] {
        // SAFETY: `len_bytes` bytes from `start` are mapped readable until drop and hold integers;
        // functions that return a shared file mapping state who must not change it.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.len_bytes) }
    }

    /// Only for regions mapped writable: in others a store ends the process.
    pub(super) fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: as in `as_slice`, and `&mut self` makes it the only reference.
        unsafe { slice::from_raw_parts_mut(self.start.as_ptr(), self.len_bytes) }
    }

    pub(super) fn advise(&self, advice: Advice) -> io::Result<()> {
        if self.len_bytes == 0 {
            return Ok(());
        }
        let start = self.start.as_ptr().cast();
        // SAFETY: the range is a mapping of ours, and no advice of the enum changes contents.
        Ok(unsafe { madvise(start, self.len_bytes, advice.raw()) }?)
    }

    /// Writes changed pages back and waits, as `fsync` of the range would (`vfs_fsync_range`,
    /// called by `msync` in `mm/msync.c`).
    pub(super) fn sync(&self) -> io::Result<()> {
        if self.len_bytes == 0 {
            return Ok(());
        }
        let start = self.start.as_ptr().cast();
        // SAFETY: the range is a mapping of ours, and MS_SYNC leaves its contents as they are.
        Ok(unsafe { msync(start, self.len_bytes, rustix::mm::MsyncFlags::SYNC) }?)
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        if self.len_bytes == 0 {
            return;
        }
        // SAFETY: the mapping is ours, and references to it ended with the borrow of `self`.
        let outcome = unsafe { munmap(self.start.as_ptr().cast(), self.len_bytes) };
        // Fails only for ranges that are not mapped (munmap(2)).
        debug_assert!(outcome.is_ok(), "munmap: {outcome:?}");
    }
}
