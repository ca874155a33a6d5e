//! `io_uring(7)`: reads and copies with several requests under way.

mod flight;

use std::io;
use std::os::fd::BorrowedFd;

use flight::{Direction, Flight, Transfer};
use io_uring::IoUring;

use super::region::AlignedBuffer;

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RingError {
    #[error("this kernel has no usable io_uring ({0}); it needs Linux 5.6 with CONFIG_IO_URING")]
    Unsupported(io::Error),
    #[error(
        "io_uring is not permitted here ({0}): the sysctl kernel.io_uring_disabled or the \
         container's seccomp filter forbids it"
    )]
    NotPermitted(io::Error),
    #[error("cannot set up io_uring: {0}")]
    Io(io::Error),
}

impl RingError {
    fn new(source: io::Error) -> Self {
        match source.raw_os_error() {
            Some(libc::ENOSYS) => Self::Unsupported(source),
            // Documentation/admin-guide/sysctl/kernel.rst, io_uring_disabled; seccomp(2).
            Some(libc::EPERM | libc::EACCES) => Self::NotPermitted(source),
            _ => Self::Io(source),
        }
    }
}

/// A submission queue and its completions.
///
/// Every function waits for all its requests, also when one of them fails: no request uses a buffer
/// after the function that borrowed it has returned.
pub struct Ring {
    queue: IoUring,
    depth: usize,
    /// The kernel refused the queue itself; the entries still in it must never be submitted.
    refused: bool,
}

impl Ring {
    /// Creates a ring for `depth` concurrent requests, 1 to 32,768 (`IORING_MAX_ENTRIES`,
    /// `io_uring/io_uring.h`); other numbers are `EINVAL`.
    pub fn open(depth: u32) -> Result<Self, RingError> {
        let queue = IoUring::new(depth).map_err(RingError::new)?;
        // The same release, Linux 5.6, introduced IORING_OP_READ and IORING_OP_WRITE
        // (io_uring_enter(2)).
        if !queue.params().is_feature_rw_cur_pos() {
            let error = io::Error::from_raw_os_error(libc::ENOSYS);
            return Err(RingError::Unsupported(error));
        }
        let depth = usize::try_from(depth).expect("Linux has 32-bit addresses at least");
        Ok(Self {
            queue,
            depth,
            refused: false,
        })
    }

    /// One request, as `pread(2)`: returns the bytes read, fewer at the end of the file and 0
    /// beyond it.
    pub fn read_at(
        &mut self,
        file: BorrowedFd<'_>,
        buffer: &mut [u8],
        offset_bytes: u64,
    ) -> io::Result<usize> {
        let len = buffer.len();
        let mut slots = [None];
        let mut flight = Flight::new(self, &mut slots)?;
        flight.issue(Transfer::new(
            Direction::Read,
            file,
            buffer,
            len,
            offset_bytes,
        ));
        let (_, moved) = flight.wait()?.expect("one request is under way");
        moved
    }

    /// Fills `buffer` from `offset_bytes` on, with requests of `request_bytes`, up to the ring's
    /// depth at a time.
    ///
    /// Fails with `UnexpectedEof` when the file ends early, and `InvalidInput` for requests of 0
    /// bytes.
    pub fn read_exact_at(
        &mut self,
        file: BorrowedFd<'_>,
        buffer: &mut [u8],
        offset_bytes: u64,
        request_bytes: usize,
    ) -> io::Result<()> {
        if request_bytes == 0 {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let mut slots: Vec<_> = (0..self.depth).map(|_| None).collect();
        let mut offset_bytes = offset_bytes;
        let mut requests = buffer.chunks_mut(request_bytes).map(|memory| {
            let len = memory.len();
            let request = Transfer::new(Direction::Read, file, memory, len, offset_bytes);
            offset_bytes += len as u64;
            request
        });
        let mut flight = Flight::new(self, &mut slots)?;
        for request in requests.by_ref().take(flight.room()) {
            flight.issue(request);
        }
        while flight.finish_one()?.is_some() {
            if let Some(request) = requests.next() {
                flight.issue(request);
            }
        }
        Ok(())
    }

    /// Copies the first `len_bytes` of `from` to the same offsets in `to`. Each buffer has one
    /// request of its size under way, first a read, then the write of those bytes; buffers beyond
    /// the ring's depth stay unused.
    ///
    /// Fails with `UnexpectedEof` when `from` is shorter, `WriteZero` when `to` accepts nothing,
    /// and `InvalidInput` without buffers.
    pub fn copy(
        &mut self,
        from: BorrowedFd<'_>,
        to: BorrowedFd<'_>,
        len_bytes: u64,
        buffers: &mut [AlignedBuffer],
    ) -> io::Result<()> {
        if buffers.is_empty() || buffers.iter().any(|buffer| buffer.is_empty()) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let mut slots: Vec<_> = (0..self.depth).map(|_| None).collect();
        let mut next = 0;
        let mut read_next = |memory| next_read(from, memory, &mut next, len_bytes);
        let mut flight = Flight::new(self, &mut slots)?;
        for buffer in buffers.iter_mut().take(flight.room()) {
            if let Some(read) = read_next(buffer) {
                flight.issue(read);
            }
        }
        while let Some(done) = flight.finish_one()? {
            match done.direction() {
                Direction::Read => flight.issue(done.written_to(to)),
                Direction::Write => {
                    if let Some(read) = read_next(done.into_memory()) {
                        flight.issue(read);
                    }
                }
            }
        }
        Ok(())
    }
}

/// The read of the next part into `memory`; `None` after the last.
fn next_read<'m>(
    from: BorrowedFd<'_>,
    memory: &'m mut [u8],
    next: &mut u64,
    end: u64,
) -> Option<Transfer<'m>> {
    let rest = usize::try_from(end - *next).unwrap_or(usize::MAX);
    let len = memory.len().min(rest);
    let offset_bytes = *next;
    *next += len as u64;
    (len > 0).then(|| Transfer::new(Direction::Read, from, memory, len, offset_bytes))
}

#[cfg(test)]
mod tests;
