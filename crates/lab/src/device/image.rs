//! The contents of a device, in memory.

use std::fs::File;
use std::io;
use std::ops::Range;
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

    pub fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// The same content in memory of its own.
    pub fn copy(&self) -> io::Result<Self> {
        let copy = Self::new(self.size_bytes)?;
        self.write_to(&copy.file)?;
        Ok(copy)
    }

    /// Makes a range hold these bytes; only blocks that differ are written, and zeros cost no memory. What was there is
    /// in `held` then. Fails where not all of it is inside, and without memory.
    pub fn set(&self, bytes: &[u8], offset: u64, held: &mut Vec<u8>) -> io::Result<()> {
        held.resize(bytes.len(), 0);
        self.file.read_exact_at(held, offset)?;
        let blocks = bytes.chunks(BLOCK_BYTES).zip(held.chunks(BLOCK_BYTES));
        let differs: Vec<bool> = blocks.map(|(wanted, held)| wanted != held).collect();
        let mut begin = 0;
        for run in differs.chunk_by(|one, other| one == other) {
            let end = bytes.len().min(begin + run.len() * BLOCK_BYTES);
            let (part, at) = (&bytes[begin..end], offset + begin as u64);
            match run {
                [false, ..] => {}
                _ if is_zero(part) => self.zero(at, part.len() as u64)?,
                _ => self.file.write_all_at(part, at)?,
            }
            begin = end;
        }
        Ok(())
    }

    /// Writes the content to an empty file; holes stay holes.
    pub fn write_to(&self, file: &File) -> io::Result<()> {
        ftruncate(file, self.size_bytes)?;
        self.each_part(|part, offset| file.write_all_at(part, offset))
    }

    /// The ranges that hold more than holes.
    pub fn extents(&self) -> io::Result<Vec<Range<u64>>> {
        let mut extents = Vec::new();
        let mut at = 0;
        while let Some((begin, end)) = self.next_data(at)? {
            extents.push(begin..end);
            at = end;
        }
        Ok(extents)
    }

    /// Reads all that holds more than holes, from its begin to its end, with the offset of each part.
    fn each_part(&self, mut with: impl FnMut(&[u8], u64) -> io::Result<()>) -> io::Result<()> {
        let mut part = vec![0; PART_BYTES];
        for extent in self.extents()? {
            let mut from = extent.start;
            while from < extent.end {
                let left = usize::try_from(extent.end - from).unwrap_or(PART_BYTES);
                let part = &mut part[..left.min(PART_BYTES)];
                self.file.read_exact_at(part, from)?;
                with(part, from)?;
                from += part.len() as u64;
            }
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
    pub fn drop_zeros(&self) -> io::Result<()> {
        self.each_part(|part, offset| {
            let blocks: Vec<&[u8]> = part.chunks(BLOCK_BYTES).collect();
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

    /// Reads bytes at a place; fails where not all of them are inside.
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

fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte == 0)
}

impl AsFd for DiskImage {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}
