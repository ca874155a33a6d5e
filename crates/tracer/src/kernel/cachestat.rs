//! How many pages of a file range the page cache holds: `cachestat(2)`, and `mincore(2)` before Linux 6.5.

use std::ops::Range;
use std::os::fd::{AsRawFd as _, BorrowedFd};
use std::{io, ptr};

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use crate::permission::filtered;

/// `cachestat` has this number on every architecture (Linux 6.5,
/// `include/uapi/asm-generic/unistd.h`); the libc crate lacks it on most.
const SYS_CACHESTAT: libc::c_long = 451;

/// `struct cachestat_range` of `include/uapi/linux/mman.h`.
#[repr(C)]
struct RawRange {
    off: u64,
    len: u64,
}

/// Pages of one file range, as `struct cachestat` of `include/uapi/linux/mman.h`
/// counts them. A page is the machine's base page, whatever the folio size.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CacheStat {
    pub cached_pages: u64,
    pub dirty_pages: u64,
    pub writeback_pages: u64,
    /// Pages that were in the cache before and left a shadow entry.
    pub evicted_pages: u64,
    /// Evicted pages whose return would count as thrashing.
    pub recently_evicted_pages: u64,
}

const _: () = assert!(size_of::<RawRange>() == 16);
const _: () = assert!(size_of::<CacheStat>() == 40);

/// Counts the cached pages that overlap `range` (bytes). `0..u64::MAX` is the whole file.
///
/// Fails with `ENOSYS` before Linux 6.5, `EPERM` when the caller neither owns
/// nor may write the file (`can_do_cachestat`, `mm/filemap.c`), and
/// `EOPNOTSUPP` on hugetlbfs.
pub fn cachestat(fd: BorrowedFd<'_>, range: Range<u64>) -> io::Result<CacheStat> {
    if range.is_empty() {
        // The kernel takes a length of 0 as "to the end of the file".
        return Ok(CacheStat::default());
    }
    if filtered::ends_at_cachestat(SYS_CACHESTAT) {
        return Err(io::Error::from_raw_os_error(libc::ENOSYS));
    }
    let raw = RawRange {
        off: range.start,
        len: range.end - range.start,
    };
    let mut stat = CacheStat::default();
    // SAFETY: the kernel reads `raw` and fills `stat`, both live and of the
    // sizes asserted above; flags must be 0.
    super::outcome(unsafe {
        libc::syscall(
            SYS_CACHESTAT,
            fd.as_raw_fd(),
            ptr::from_ref(&raw),
            ptr::from_mut(&mut stat),
            0 as libc::c_uint,
        )
    })?;
    Ok(stat)
}

/// Bytes mapped at a time: the kernel fills a byte for each page.
const WINDOW_BYTES: u64 = 1 << 30;

/// Counts the resident pages of `range` (bytes, starting on a page boundary) of a file open for
/// reading. The file is mapped for this and not touched.
///
/// **Accurate only for files that the caller owns or may write to**: for all others the kernel
/// reports every page as resident (`can_do_mincore`, `mm/mincore.c`).
///
/// Fails with `ENODEV` where the file system does not support mappings.
pub fn mincore(file: BorrowedFd<'_>, range: Range<u64>) -> io::Result<u64> {
    let mut resident = 0;
    let mut start = range.start;
    while start < range.end {
        let length = WINDOW_BYTES.min(range.end - start);
        resident += window(file, start, length)?;
        start += length;
    }
    Ok(resident)
}

fn window(file: BorrowedFd<'_>, start: u64, length_bytes: u64) -> io::Result<u64> {
    let too_large = |_| io::Error::from_raw_os_error(libc::EOVERFLOW);
    let length = usize::try_from(length_bytes).map_err(too_large)?;
    let pages = length.div_ceil(crate::kernel::page_size());
    let mut told: Vec<u8> = vec![0; pages];
    let (protection, flags) = (ProtFlags::READ, MapFlags::SHARED);
    // SAFETY: a new mapping where the kernel finds room overlaps no other memory.
    let mapped = unsafe { mmap(ptr::null_mut(), length, protection, flags, file, start) }?;
    // SAFETY: the range is the mapping just made, and `told` has a byte for each of its pages.
    let asked = super::outcome(unsafe { libc::mincore(mapped, length, told.as_mut_ptr()) });
    // SAFETY: the mapping is ours and nothing refers to it.
    unsafe { munmap(mapped, length) }?;
    asked?;
    // The other bits are reserved (mincore(2)).
    Ok(told.iter().filter(|page| **page & 1 == 1).count() as u64)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::fd::AsFd as _;

    use rustix::fs::{Mode, OFlags};

    use super::*;
    use crate::kernel::cachestat;

    #[test]
    fn counts_the_pages_just_written_as_cached_and_dirty() {
        // /var/tmp, not /tmp: pages of a tmpfs stay dirty forever.
        let mut file = tempfile::tempfile_in("/var/tmp").unwrap();
        let page = crate::kernel::page_size();
        file.write_all(&vec![1; 3 * page]).unwrap();
        let whole = cachestat(file.as_fd(), 0..u64::MAX).unwrap();
        assert_eq!(whole.cached_pages, 3);
        assert_eq!(whole.evicted_pages, 0);
        let page = page as u64;
        let second = cachestat(file.as_fd(), page..2 * page).unwrap();
        assert_eq!(second.cached_pages, 1);
        assert_eq!(
            cachestat(file.as_fd(), 5..5).unwrap(),
            CacheStat::default(),
            "an empty range is not the whole file"
        );
        file.sync_all().unwrap();
        let synced = cachestat(file.as_fd(), 0..u64::MAX).unwrap();
        assert_eq!((synced.dirty_pages, synced.writeback_pages), (0, 0));
        assert_eq!(synced.cached_pages, 3);
    }

    #[test]
    fn passes_the_kernels_refusal_on() {
        let path_only = rustix::fs::open("/", OFlags::PATH, Mode::empty()).unwrap();
        let error = cachestat(path_only.as_fd(), 0..4096).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EBADF));
    }

    #[test]
    fn says_of_an_own_file_what_cachestat_says() {
        let file = tempfile::tempfile_in("/var/tmp").unwrap();
        let page = crate::kernel::page_size() as u64;
        file.set_len(100 * page).unwrap();
        rustix::io::pwrite(&file, &[1; 10_000], 7 * page).unwrap();
        for range in [0..100 * page, 8 * page..9 * page, 20 * page..30 * page] {
            let resident = mincore(file.as_fd(), range.clone()).unwrap();
            let expected = cachestat(file.as_fd(), range.clone()).unwrap();
            assert_eq!(resident, expected.cached_pages, "{range:?}");
        }
        assert_eq!(mincore(file.as_fd(), 0..100 * page).unwrap(), 3);
        assert_eq!(mincore(file.as_fd(), 0..0).unwrap(), 0);
    }

    #[test]
    fn windows_are_added_up() {
        let file = tempfile::tempfile_in("/var/tmp").unwrap();
        let page = crate::kernel::page_size() as u64;
        file.set_len(2 * WINDOW_BYTES + page).unwrap();
        for at in [WINDOW_BYTES - page, WINDOW_BYTES, 2 * WINDOW_BYTES] {
            rustix::io::pwrite(&file, &[1; 1], at).unwrap();
        }
        let whole = 0..2 * WINDOW_BYTES + page;
        assert_eq!(mincore(file.as_fd(), whole).unwrap(), 3);
    }

    #[test]
    fn passes_the_refusal_of_mincore_on() {
        let file = std::fs::File::open("/proc/self/status").unwrap();
        assert!(mincore(file.as_fd(), 0..4096).is_err());
    }
}
