//! The contents of a device, in memory.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileExt as _;

use rustix::fs::{FallocateFlags, MemfdFlags, SeekFrom, fallocate, ftruncate, memfd_create, seek};
use rustix::io::Errno;

/// How much is copied at a time.
const PART_BYTES: usize = 1 << 20;

/// What is compared at a time.
const BLOCK_BYTES: usize = 4096;

/// A sparse file in memory without a name: it is gone with its last descriptor.
#[derive(Debug)]
pub struct DiskImage {
    file: File,
    size_bytes: u64,
}

impl DiskImage {
    /// One of this size that reads as zeros.
    ///
    /// # Errors
    /// When the kernel has no descriptors.
    pub fn new(size_bytes: u64) -> io::Result<Self> {
        let file = File::from(memfd_create("iostrata disk", MemfdFlags::CLOEXEC)?);
        ftruncate(&file, size_bytes)?;
        Ok(Self { file, size_bytes })
    }

    /// One that another process made.
    pub(super) fn from_file(file: File) -> io::Result<Self> {
        let size_bytes = file.metadata()?.len();
        Ok(Self { file, size_bytes })
    }

    /// Its size.
    pub fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// The same content in memory of its own.
    ///
    /// # Errors
    /// When there is no memory.
    pub fn copy(&self) -> io::Result<Self> {
        let copy = Self::new(self.size_bytes)?;
        self.copy_to(&copy)?;
        Ok(copy)
    }

    /// Makes another one of the same size hold this content; only what differs is written.
    ///
    /// # Errors
    /// When there is no memory.
    pub fn copy_to(&self, other: &Self) -> io::Result<()> {
        let mut at = 0;
        while let Some((begin, end)) = other.next_data(at)? {
            self.zero_holes_in(other, begin, end)?;
            at = end;
        }
        let mut held = vec![0; PART_BYTES];
        self.each_part(|part, offset| {
            let held = &mut held[..part.len()];
            other.file.read_exact_at(held, offset)?;
            let mut at = 0;
            for (wanted, is) in part.chunks(BLOCK_BYTES).zip(held.chunks(BLOCK_BYTES)) {
                if wanted != is {
                    other.file.write_all_at(wanted, offset + at)?;
                }
                at += wanted.len() as u64;
            }
            Ok(())
        })
    }

    /// Writes the content to an empty file; holes stay holes.
    ///
    /// # Errors
    /// When there is no room.
    pub fn write_to(&self, file: &File) -> io::Result<()> {
        ftruncate(file, self.size_bytes)?;
        self.each_part(|part, offset| file.write_all_at(part, offset))
    }

    /// Empties what another one has in a range where this one has holes.
    fn zero_holes_in(&self, other: &Self, begin: u64, end: u64) -> io::Result<()> {
        let mut at = begin;
        while at < end {
            let (data, next) = self.next_data(at)?.unwrap_or((end, end));
            if data > at {
                other.zero(at, data.min(end) - at)?;
            }
            at = next;
        }
        Ok(())
    }

    /// Reads all that holds more than holes, from its begin to its end, with the offset of each part.
    fn each_part(&self, mut with: impl FnMut(&[u8], u64) -> io::Result<()>) -> io::Result<()> {
        let mut part = vec![0; PART_BYTES];
        let mut at = 0;
        while let Some((begin, end)) = self.next_data(at)? {
            let mut from = begin;
            while from < end {
                let left = usize::try_from(end - from).unwrap_or(PART_BYTES);
                let part = &mut part[..left.min(PART_BYTES)];
                self.file.read_exact_at(part, from)?;
                with(part, from)?;
                from += part.len() as u64;
            }
            at = end;
        }
        Ok(())
    }

    /// The next range that holds more than a hole.
    fn next_data(&self, at: u64) -> io::Result<Option<(u64, u64)>> {
        match seek(&self.file, SeekFrom::Data(at)) {
            Ok(begin) => Ok(Some((begin, seek(&self.file, SeekFrom::Hole(begin))?))),
            Err(Errno::NXIO) => Ok(None),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Gives up memory that holds zeros only.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn drop_zeros(&self) -> io::Result<()> {
        self.each_part(|part, offset| {
            let blocks: Vec<&[u8]> = part.chunks(BLOCK_BYTES).collect();
            let is_zero = |block: &[u8]| block.iter().all(|byte| *byte == 0);
            let mut at = offset;
            for run in blocks.chunk_by(|one, other| is_zero(one) == is_zero(other)) {
                let bytes = run.iter().map(|block| block.len() as u64).sum();
                if is_zero(run[0]) {
                    self.zero(at, bytes)?;
                }
                at += bytes;
            }
            Ok(())
        })
    }

    /// Reads bytes at a place.
    ///
    /// # Errors
    /// When they are not all inside.
    pub fn read(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        self.file.read_exact_at(bytes, offset)
    }

    /// Writes bytes at a place.
    ///
    /// # Errors
    /// When they would lie behind the end, or there is no memory.
    pub fn write(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        if offset.saturating_add(bytes.len() as u64) > self.size_bytes {
            return Err(Errno::NOSPC.into());
        }
        self.file.write_all_at(bytes, offset)
    }

    /// Makes a range read as zeros.
    ///
    /// # Errors
    /// When it is empty.
    pub fn zero(&self, offset: u64, bytes: u64) -> io::Result<()> {
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        Ok(fallocate(&self.file, flags, offset, bytes)?)
    }
}

impl AsFd for DiskImage {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}
