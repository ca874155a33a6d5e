//! Copies through mappings, and through `io_uring` requests.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::AsFd as _;

use iostrata_core::copy::Case;
use iostrata_tracer::kernel::{AlignedBuffer, Mapping, MappingMut, Ring, RingError};

use super::buffer_bytes;

/// Maximum number of requests under way.
const DEPTH: usize = 8;

/// Maximum memory of all buffers, unless one alone is larger.
const BUFFERS_BYTES: usize = 64 << 20;

/// Both files mapped. The copy gets its length first: there is nothing to map in an empty file.
pub(super) fn mmap_memcpy(from: &File, to: &File, case: &Case) -> io::Result<()> {
    let source = Mapping::of(from)?;
    if to.metadata()?.len() != case.size_bytes {
        to.set_len(case.size_bytes)?;
    }
    let mut copy = MappingMut::of(to)?;
    copy.as_mut_slice().copy_from_slice(source.as_slice());
    Ok(())
}

/// The source mapped, and written from the mapping.
pub(super) fn mmap_write(from: &File, mut to: &File, _: &Case) -> io::Result<()> {
    let source = Mapping::of(from)?;
    to.write_all(source.as_slice())
}

/// Each buffer has a read and then its write under way.
pub(super) fn io_uring(from: &File, to: &File, case: &Case) -> io::Result<()> {
    let bytes = buffer_bytes(case)?;
    let depth = (BUFFERS_BYTES / bytes.max(1)).clamp(1, DEPTH);
    let mut ring = Ring::open(u32::try_from(depth).unwrap_or(1)).map_err(refused)?;
    let mut buffers = (0..depth)
        .map(|_| AlignedBuffer::fresh(bytes))
        .collect::<io::Result<Vec<_>>>()?;
    ring.copy(from.as_fd(), to.as_fd(), case.size_bytes, &mut buffers)
}

/// An unavailable ring is reported as an operation that this kernel does not support.
fn refused(error: RingError) -> io::Error {
    match error {
        RingError::Io(error) => error,
        other => io::Error::new(io::ErrorKind::Unsupported, other.to_string()),
    }
}
