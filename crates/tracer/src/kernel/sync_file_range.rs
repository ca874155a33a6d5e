//! `sync_file_range(2)`: write-back of a file range, without any guarantee of durability.

use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd};

/// The steps for the range, which run in this order.
///
/// None of them writes metadata or flushes the device's cache
/// (`sync_file_range(2)`, WARNING).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SyncFileRange {
    /// Wait for write-back already under way.
    pub wait_before: bool,
    /// Start write-back of dirty pages.
    pub write: bool,
    /// Wait for that write-back.
    pub wait_after: bool,
}

impl SyncFileRange {
    pub const WRITE_AND_WAIT: Self = Self {
        wait_before: true,
        write: true,
        wait_after: true,
    };

    fn bits(self) -> libc::c_uint {
        let mut bits = 0;
        if self.wait_before {
            bits |= libc::SYNC_FILE_RANGE_WAIT_BEFORE;
        }
        if self.write {
            bits |= libc::SYNC_FILE_RANGE_WRITE;
        }
        if self.wait_after {
            bits |= libc::SYNC_FILE_RANGE_WAIT_AFTER;
        }
        bits
    }
}

/// Writes back `len_bytes` from `offset_bytes`; a length of 0 means to the end of the file.
///
/// Fails with `EINVAL` when a number exceeds `i64::MAX`, and `ESPIPE` for anything but a file,
/// block device or directory.
pub fn sync_file_range(
    fd: BorrowedFd<'_>,
    offset_bytes: u64,
    len_bytes: u64,
    steps: SyncFileRange,
) -> io::Result<()> {
    let too_large = |_| io::Error::from_raw_os_error(libc::EINVAL);
    let offset = i64::try_from(offset_bytes).map_err(too_large)?;
    let len = i64::try_from(len_bytes).map_err(too_large)?;
    // SAFETY: passes integers only; the descriptor is borrowed for the call.
    super::outcome(unsafe { libc::sync_file_range(fd.as_raw_fd(), offset, len, steps.bits()) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::cachestat;
    use std::io::Write as _;
    use std::os::fd::AsFd as _;

    #[test]
    fn cleans_the_pages_of_the_range() {
        // /var/tmp, not /tmp: pages of a tmpfs stay dirty forever.
        let mut file = tempfile::tempfile_in("/var/tmp").unwrap();
        file.write_all(&[1; 16384]).unwrap();
        sync_file_range(file.as_fd(), 0, 0, SyncFileRange::WRITE_AND_WAIT).unwrap();
        let stat = cachestat(file.as_fd(), 0..u64::MAX).unwrap();
        assert_eq!((stat.dirty_pages, stat.writeback_pages), (0, 0));
    }

    #[test]
    fn refuses_what_the_kernel_cannot_express() {
        let file = tempfile::tempfile().unwrap();
        let steps = SyncFileRange::WRITE_AND_WAIT;
        let error = sync_file_range(file.as_fd(), u64::MAX, 1, steps).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EINVAL));
        let (reader, _writer) = io::pipe().unwrap();
        let error = sync_file_range(reader.as_fd(), 0, 0, steps).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ESPIPE));
    }
}
