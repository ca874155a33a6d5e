//! Memory from `mmap(2)`, unmapped on drop: buffers of whole pages, and files.

use std::fs::File;
use std::io::{self, Read as _};
use std::ops::{Deref, DerefMut};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::path::Path;
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

/// Private memory that begins on a page.
///
/// Page alignment is enough for direct I/O: no block device requires more of the memory address
/// (`blk_validate_limits`, `block/blk-settings.c`). Length and file offset must be multiples of
/// `stx_dio_offset_align` from `statx(2)`.
#[derive(Debug)]
pub struct AlignedBuffer(Region);

impl AlignedBuffer {
    /// Zeroed memory that is not resident yet: the first use of each page is a page fault, as in a
    /// buffer that `malloc(3)` has just obtained from the kernel. With transparent huge pages one
    /// fault may map 2 MiB, unless [advised](Self::advise) otherwise.
    ///
    /// Fails with `ENOMEM`.
    pub fn fresh(len_bytes: usize) -> io::Result<Self> {
        Region::anonymous(len_bytes).map(Self)
    }

    /// Resident zeroed memory: using it causes no page fault.
    pub fn touched(len_bytes: usize) -> io::Result<Self> {
        let mut buffer = Self::fresh(len_bytes)?;
        buffer.fill(0);
        Ok(buffer)
    }

    pub fn advise(&self, advice: Advice) -> io::Result<()> {
        self.0.advise(advice)
    }
}

impl Deref for AlignedBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.0.as_slice()
    }
}

impl DerefMut for AlignedBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        self.0.as_mut_slice()
    }
}

/// A whole file, mapped for reading.
///
/// **Map only files that nothing else changes meanwhile.** Rust assumes that the bytes behind a
/// slice do not change while it is borrowed, and access to a page beyond the end of a file that was
/// truncated after it was mapped ends the process with `SIGBUS` (`mmap(2)`). No kernel interface
/// can guarantee either, so the caller must: iostrata maps files of its own scratch directory,
/// which only its own user may enter, and does not write to them in other ways while a slice is
/// borrowed.
#[derive(Debug)]
pub struct Mapping(Region);

impl Mapping {
    /// Maps the current length of `file`, open for reading. An empty file gives an empty slice.
    ///
    /// Fails with `EINVAL` if it is not a regular file, `EACCES` if it is open for writing only,
    /// and `ENODEV` where the file system does not support mappings.
    pub fn of(file: &File) -> io::Result<Self> {
        let len = mappable_len(file)?;
        Region::shared(file.as_fd(), len, ProtFlags::READ).map(Self)
    }

    /// The contents. [`Mapping`] says what must not happen while they are borrowed.
    pub fn as_slice(&self) -> &[u8] {
        self.0.as_slice()
    }

    pub fn advise(&self, advice: Advice) -> io::Result<()> {
        self.0.advise(advice)
    }
}

/// A whole file, mapped for changes in place; its length stays. The requirements of [`Mapping`]
/// apply to it too.
#[derive(Debug)]
pub struct MappingMut(Region);

impl MappingMut {
    /// Maps the current length of `file`, open for reading and writing: set its length before.
    /// Fails as [`Mapping::of`] does, and with `EACCES` when `file` is not open for both.
    pub fn of(file: &File) -> io::Result<Self> {
        let len = mappable_len(file)?;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        Region::shared(file.as_fd(), len, protection).map(Self)
    }

    pub fn as_slice(&self) -> &[u8] {
        self.0.as_slice()
    }

    /// The contents; a store dirties its page in the page cache. A page without a block gets one at
    /// its first store, and the process ends with `SIGBUS` when the disk is full: allocate before,
    /// or check the free space.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        self.0.as_mut_slice()
    }

    pub fn advise(&self, advice: Advice) -> io::Result<()> {
        self.0.advise(advice)
    }

    /// `msync(2)` with `MS_SYNC`: makes stores durable.
    pub fn sync(&self) -> io::Result<()> {
        self.0.sync()
    }
}

fn mappable_len(file: &File) -> io::Result<usize> {
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    let too_large = |_| io::Error::from_raw_os_error(libc::EOVERFLOW);
    usize::try_from(metadata.len()).map_err(too_large)
}

/// A file that the kernel generates and never changes, such as its BTF.
#[derive(Debug)]
pub struct Shown(Contents);

#[derive(Debug)]
enum Contents {
    Mapped(Region),
    Read(Vec<u8>),
}

impl Shown {
    /// A read returns one page at a time, so the file is mapped where the kernel supports that,
    /// since Linux 6.16.
    pub fn of(path: &Path) -> io::Result<Self> {
        let mut file = File::open(path)?;
        let len = usize::try_from(file.metadata()?.len()).unwrap_or(0);
        let mapped = Region::private(file.as_fd(), len).ok();
        if let Some(region) = mapped.filter(|_| len > 0) {
            return Ok(Self(Contents::Mapped(region)));
        }
        let mut bytes = Vec::with_capacity(len);
        file.read_to_end(&mut bytes)?;
        Ok(Self(Contents::Read(bytes)))
    }

    pub fn as_slice(&self) -> &[u8] {
        match &self.0 {
            Contents::Mapped(region) => region.as_slice(),
            Contents::Read(bytes) => bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use rustix::fs::{Mode, OFlags, open};

    use super::*;
    use crate::kernel::{cachestat, page_size};

    const PAGES: usize = 16;

    /// Minor faults of this thread so far, field 10 of `proc_pid_stat(5)`; read without the heap,
    /// whose new pages would cause faults too.
    fn minor_faults() -> u64 {
        let stat = open("/proc/thread-self/stat", OFlags::RDONLY, Mode::empty()).unwrap();
        let mut text = [0; 1024];
        let len = rustix::io::read(stat, &mut text).unwrap();
        let text = str::from_utf8(&text[..len]).unwrap();
        let after_name = text.rsplit_once(") ").unwrap().1;
        after_name.split(' ').nth(7).unwrap().parse().unwrap()
    }

    /// Faults while every page is written.
    fn faults_of_use(buffer: &mut AlignedBuffer) -> u64 {
        minor_faults(); // its own code and stack are in memory now
        let before = minor_faults();
        for page in buffer.chunks_mut(page_size()) {
            page[0] = 1;
        }
        minor_faults() - before
    }

    #[test]
    fn every_page_of_a_fresh_buffer_is_a_fault_and_none_of_a_touched_one() {
        // A page of the program may be a fault, too, where it was taken away.
        let least = |use_of: fn() -> [u64; 3]| {
            let each: Vec<_> = (0..20).map(|_| use_of()).collect();
            [0, 1, 2].map(|of| each.iter().map(|faults| faults[of]).min())
        };
        let faults = least(|| {
            let mut fresh = AlignedBuffer::fresh(PAGES * page_size()).unwrap();
            fresh.advise(Advice::BasePages).unwrap();
            let (first, again) = (faults_of_use(&mut fresh), faults_of_use(&mut fresh));
            let mut touched = AlignedBuffer::touched(PAGES * page_size()).unwrap();
            [first, again, faults_of_use(&mut touched)]
        });
        assert_eq!(faults, [PAGES as u64, 0, 0].map(Some));
    }

    #[test]
    fn takes_direct_io() {
        let len = 2 * page_size();
        let file = tempfile::NamedTempFile::new_in("/var/tmp").unwrap();
        fs::write(file.path(), vec![7; len]).unwrap();
        let direct = open(file.path(), OFlags::RDONLY | OFlags::DIRECT, Mode::empty()).unwrap();
        let mut buffer = AlignedBuffer::fresh(len).unwrap();
        assert_eq!(rustix::io::pread(&direct, &mut *buffer, 0), Ok(len));
        assert_eq!(*buffer, vec![7; len]);
    }

    #[test]
    fn may_be_empty_or_too_large() {
        assert!(AlignedBuffer::touched(0).unwrap().is_empty());
        let error = AlignedBuffer::fresh(usize::MAX).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENOMEM));
    }

    fn file_of(contents: &[u8]) -> tempfile::NamedTempFile {
        // /var/tmp, not /tmp: pages of a tmpfs stay dirty forever.
        let file = tempfile::NamedTempFile::new_in("/var/tmp").unwrap();
        fs::write(file.path(), contents).unwrap();
        file
    }

    #[test]
    fn has_what_the_file_has() {
        let contents: Vec<u8> = (0..=250).cycle().take(10_000).collect();
        let file = file_of(&contents);
        let mapping = Mapping::of(&File::open(file.path()).unwrap()).unwrap();
        for advice in [Advice::Sequential, Advice::Random, Advice::PopulateRead] {
            mapping.advise(advice).unwrap();
        }
        assert_eq!(mapping.as_slice(), contents);
    }

    #[test]
    fn a_store_reaches_the_file_and_sync_cleans_its_page() {
        let page = page_size();
        let file = file_of(&vec![b'.'; 3 * page]);
        file.as_file().sync_all().unwrap();
        let mut mapping = MappingMut::of(file.as_file()).unwrap();
        mapping.as_mut_slice()[page] = b'!';
        assert_eq!(fs::read(file.path()).unwrap()[page - 1..=page + 1], *b".!.");
        mapping.sync().unwrap();
        let stat = cachestat(file.as_file().as_fd(), 0..u64::MAX).unwrap();
        assert_eq!((stat.dirty_pages, stat.writeback_pages), (0, 0));
        assert_eq!(mapping.as_slice().len(), 3 * page);
    }

    #[test]
    fn populating_for_write_dirties_every_page() {
        let page = page_size();
        let file = file_of(&vec![b'.'; 3 * page]);
        file.as_file().sync_all().unwrap();
        let mapping = MappingMut::of(file.as_file()).unwrap();
        mapping.advise(Advice::PopulateWrite).unwrap();
        let stat = cachestat(file.as_file().as_fd(), 0..u64::MAX).unwrap();
        assert_eq!(stat.dirty_pages, 3);
    }

    #[test]
    fn an_empty_file_is_an_empty_slice() {
        let file = file_of(b"");
        let mut mapping = MappingMut::of(file.as_file()).unwrap();
        assert!(mapping.as_mut_slice().is_empty());
        mapping.sync().unwrap();
        mapping.advise(Advice::Sequential).unwrap();
        assert!(Mapping::of(file.as_file()).unwrap().as_slice().is_empty());
    }

    #[test]
    fn passes_refusals_on() {
        let file = file_of(b"x");
        let read_only = File::open(file.path()).unwrap();
        let error = MappingMut::of(&read_only).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EACCES));
        let error = Mapping::of(&File::open("/dev/zero").unwrap()).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EINVAL));
        let mapping = Mapping::of(&read_only).unwrap();
        let error = mapping.advise(Advice::PopulateWrite).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EINVAL));
    }

    #[test]
    fn both_ways_give_the_same() {
        let path = Path::new("/sys/kernel/btf/vmlinux");
        let shown = Shown::of(path).unwrap();
        assert_eq!(shown.as_slice(), fs::read(path).unwrap());
        // A file that cannot be mapped.
        let version = Shown::of(Path::new("/proc/version")).unwrap();
        assert_eq!(version.as_slice(), fs::read("/proc/version").unwrap());
        assert!(Shown::of(Path::new("/proc/none")).is_err());
    }
}
