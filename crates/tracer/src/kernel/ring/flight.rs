//! Requests under way, and the memory they use.

use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd, RawFd};
use std::thread;

use io_uring::{cqueue, opcode, types};

use super::Ring;

/// More than the kernel moves in one request (`MAX_RW_COUNT`, `include/linux/fs.h`).
const MAX_REQUEST_BYTES: usize = 1 << 30;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Read,
    Write,
}

/// Bytes to transfer between a file and memory, in as many requests as needed.
#[derive(Debug)]
pub(super) struct Transfer<'m> {
    direction: Direction,
    fd: RawFd,
    memory: &'m mut [u8],
    len: usize,
    done: usize,
    offset_bytes: u64,
}

impl<'m> Transfer<'m> {
    /// The first `len` bytes of `memory`, from or to `offset_bytes` of the file.
    pub(super) fn new(
        direction: Direction,
        file: BorrowedFd<'_>,
        memory: &'m mut [u8],
        len: usize,
        offset_bytes: u64,
    ) -> Self {
        Self {
            direction,
            fd: file.as_raw_fd(),
            len: len.min(memory.len()),
            memory,
            done: 0,
            offset_bytes,
        }
    }

    pub(super) fn direction(&self) -> Direction {
        self.direction
    }

    /// The write of the same bytes to the same offset of `file`.
    pub(super) fn written_to(self, file: BorrowedFd<'_>) -> Self {
        Self {
            direction: Direction::Write,
            fd: file.as_raw_fd(),
            done: 0,
            ..self
        }
    }

    pub(super) fn into_memory(self) -> &'m mut [u8] {
        self.memory
    }

    fn request(&mut self) -> io_uring::squeue::Entry {
        let rest = &mut self.memory[self.done..self.len];
        let len = u32::try_from(rest.len().min(MAX_REQUEST_BYTES)).expect("2^30 fits");
        let fd = types::Fd(self.fd);
        let offset = self.offset_bytes + self.done as u64;
        match self.direction {
            Direction::Read => opcode::Read::new(fd, rest.as_mut_ptr(), len)
                .offset(offset)
                .build(),
            Direction::Write => opcode::Write::new(fd, rest.as_ptr(), len)
                .offset(offset)
                .build(),
        }
    }

    /// Nothing moved although bytes remain.
    fn stuck(&self) -> io::Error {
        let at = self.offset_bytes + self.done as u64;
        match self.direction {
            Direction::Read => io::Error::new(
                io::ErrorKind::UnexpectedEof,
                format!("the file ended at byte {at}, more was to be read"),
            ),
            Direction::Write => io::Error::new(
                io::ErrorKind::WriteZero,
                format!("the file took nothing at byte {at}"),
            ),
        }
    }
}

/// The requests of one call. Dropping it waits until none is under way, so that nothing uses the
/// memory afterwards, which is borrowed for longer than this value lives.
pub(super) struct Flight<'a, 'm> {
    ring: &'a mut Ring,
    /// Occupied while the request is under way; the index is its `user_data`.
    slots: &'a mut [Option<Transfer<'m>>],
    under_way: usize,
}

impl<'a, 'm> Flight<'a, 'm> {
    /// `slots`, all `None`, has one entry per concurrent request: at most the ring's depth.
    pub(super) fn new(
        ring: &'a mut Ring,
        slots: &'a mut [Option<Transfer<'m>>],
    ) -> io::Result<Self> {
        if ring.refused {
            return Err(io::Error::other(
                "the kernel refused this io_uring queue before",
            ));
        }
        Ok(Self {
            ring,
            slots,
            under_way: 0,
        })
    }

    pub(super) fn room(&self) -> usize {
        self.slots.len() - self.under_way
    }

    /// Queues a request; the next wait submits it to the kernel.
    pub(super) fn issue(&mut self, mut transfer: Transfer<'m>) {
        let free = self.slots.iter().position(Option::is_none);
        let slot = free.expect("a request is issued for each that ended");
        let request = transfer.request().user_data(slot as u64);
        self.slots[slot] = Some(transfer);
        self.under_way += 1;
        let mut submission = self.ring.queue.submission();
        // SAFETY: the request's memory is exclusively borrowed for 'm, which outlives `self`, and
        // nothing touches it before the request is complete: the slot keeps the borrow, and drop
        // waits. The kernel takes its own reference to the file at submission.
        let queued = unsafe { submission.push(&request) };
        queued.expect("the queue has an entry for each slot");
    }

    /// One request that ended, and the bytes it moved. `None` when none is under way.
    pub(super) fn wait(&mut self) -> io::Result<Option<(Transfer<'m>, io::Result<usize>)>> {
        if self.under_way == 0 {
            return Ok(None);
        }
        let ended = self.completion()?;
        self.under_way -= 1;
        let slot = usize::try_from(ended.user_data()).expect("it was an index");
        let transfer = self.slots[slot].take().expect("it was under way");
        let moved = usize::try_from(ended.result())
            .map_err(|_negative| io::Error::from_raw_os_error(-ended.result()));
        Ok(Some((transfer, moved)))
    }

    /// One transfer whose bytes were all moved, after as many requests as needed. `None` when none
    /// is under way.
    pub(super) fn finish_one(&mut self) -> io::Result<Option<Transfer<'m>>> {
        while let Some((mut transfer, moved)) = self.wait()? {
            match moved {
                Ok(0) => return Err(transfer.stuck()),
                Ok(bytes) => transfer.done += bytes,
                Err(error) if is_temporary(&error) => {}
                Err(error) => return Err(error),
            }
            if transfer.done >= transfer.len {
                return Ok(Some(transfer));
            }
            self.issue(transfer);
        }
        Ok(None)
    }

    /// Submits the queue and waits for one completion.
    fn completion(&mut self) -> io::Result<cqueue::Entry> {
        loop {
            if let Some(ended) = self.ring.queue.completion().next() {
                return Ok(ended);
            }
            match self.ring.queue.submit_and_wait(1) {
                Err(error) if !is_temporary(&error) => {
                    self.ring.refused = true;
                    return Err(error);
                }
                _ => {}
            }
        }
    }

    /// Waits without submitting again what the kernel refused.
    fn outlast_refusal(&mut self) {
        self.under_way -= self.ring.queue.submission().len();
        while self.under_way > 0 {
            match self.ring.queue.completion().next() {
                Some(_) => self.under_way -= 1,
                None => thread::yield_now(),
            }
        }
    }
}

impl Drop for Flight<'_, '_> {
    fn drop(&mut self) {
        while self.under_way > 0 {
            if !self.ring.refused && self.completion().is_ok() {
                self.under_way -= 1;
            } else {
                self.outlast_refusal();
            }
        }
    }
}

/// A signal, or a temporary lack of memory: the same call may succeed later (`io_uring_enter(2)`).
fn is_temporary(error: &io::Error) -> bool {
    let errno = error.raw_os_error();
    matches!(errno, Some(libc::EINTR | libc::EAGAIN | libc::EBUSY))
}
