//! `mincore(2)`: which pages of a file are resident, seen through a mapping.

use std::io;
use std::ops::Range;
use std::os::fd::BorrowedFd;
use std::ptr;

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

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
    use std::os::fd::AsFd as _;

    use super::*;
    use crate::kernel::cachestat;

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
    fn passes_the_kernels_refusal_on() {
        let file = std::fs::File::open("/proc/self/status").unwrap();
        assert!(mincore(file.as_fd(), 0..4096).is_err());
    }
}
