//! Files mapped into memory: `mmap(2)` with `MAP_SHARED`.

use std::fs::File;
use std::io;
use std::os::fd::AsFd as _;

use rustix::mm::ProtFlags;

use super::region::{Advice, Region};

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::cachestat;
    use std::fs;

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
        let page = crate::kernel::page_size();
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
        let page = crate::kernel::page_size();
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
}
