//! Buffers of whole pages, for `O_DIRECT` and for a known number of page faults.

use std::io;
use std::ops::{Deref, DerefMut};

use super::region::{Advice, Region};

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::page_size;
    use rustix::fs::{Mode, OFlags, open};
    use std::fs;

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
        let mut fresh = AlignedBuffer::fresh(PAGES * page_size()).unwrap();
        fresh.advise(Advice::BasePages).unwrap();
        assert_eq!(faults_of_use(&mut fresh), PAGES as u64);
        assert_eq!(faults_of_use(&mut fresh), 0, "used again");
        let mut touched = AlignedBuffer::touched(PAGES * page_size()).unwrap();
        assert_eq!(faults_of_use(&mut touched), 0);
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
}
