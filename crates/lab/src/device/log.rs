//! The requests of a device, in a file in memory that the server writes and this process reads.

use std::fs::File;
use std::io::{self, IoSlice, Write as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileExt as _;

use iostrata_core::crash::block::{Action, Request};
use rustix::fs::{MemfdFlags, memfd_create};

/// Before the bytes of each request: when it was done, what it asked for, where, how much.
const HEADER_BYTES: usize = 32;

const WRITE: u64 = 1;
const FLUSH: u64 = 2;
const DISCARD: u64 = 3;
const ZERO: u64 = 4;
const FULL: u64 = 5;

/// Bytes of a log at most: what follows is not recorded, and the log says so.
const MOST_BYTES: u64 = 1 << 30;

/// Bytes of a log at most that are at hand.
const AT_HAND_BYTES: u64 = 64 << 20;

/// What the server writes.
#[derive(Debug)]
pub(crate) struct Writer {
    file: File,
    written_bytes: u64,
    is_full: bool,
}

impl Writer {
    pub(crate) fn new(file: File) -> Self {
        Self {
            file,
            written_bytes: 0,
            is_full: false,
        }
    }

    pub(crate) fn write(&mut self, now_ns: u64, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.add(now_ns, (WRITE, offset, bytes.len() as u64), bytes)
    }

    pub(crate) fn flush(&mut self, now_ns: u64) -> io::Result<()> {
        self.add(now_ns, (FLUSH, 0, 0), &[])
    }

    pub(crate) fn discard(&mut self, now_ns: u64, offset: u64, bytes: u64) -> io::Result<()> {
        self.add(now_ns, (DISCARD, offset, bytes), &[])
    }

    pub(crate) fn zero(&mut self, now_ns: u64, offset: u64, bytes: u64) -> io::Result<()> {
        self.add(now_ns, (ZERO, offset, bytes), &[])
    }

    fn add(
        &mut self,
        now_ns: u64,
        (kind, offset, bytes): (u64, u64, u64),
        payload: &[u8],
    ) -> io::Result<()> {
        if self.is_full {
            return Ok(());
        }
        let room = MOST_BYTES - self.written_bytes;
        self.is_full = (HEADER_BYTES * 2 + payload.len()) as u64 > room;
        let kind = if self.is_full { FULL } else { kind };
        let mut header = [0; HEADER_BYTES];
        for (part, word) in header
            .chunks_exact_mut(8)
            .zip([now_ns, kind, offset, bytes])
        {
            part.copy_from_slice(&word.to_le_bytes());
        }
        let payload = if self.is_full { &[][..] } else { payload };
        let whole = HEADER_BYTES + payload.len();
        let written = self
            .file
            .write_vectored(&[IoSlice::new(&header), IoSlice::new(payload)])?;
        // A file in memory takes all of it, or there is no memory.
        if written != whole {
            return Err(io::ErrorKind::WriteZero.into());
        }
        self.written_bytes += whole as u64;
        Ok(())
    }
}

/// A log, which may still grow.
#[derive(Debug)]
pub struct RequestLog {
    file: File,
    /// What it begins with, once it is complete.
    begin: Vec<u8>,
}

/// The requests that a log had when it was read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Requests {
    /// In the order of arrival.
    pub all: Vec<Request>,
    /// Whether there was no room for more.
    pub is_cut: bool,
}

impl RequestLog {
    pub(crate) fn new() -> io::Result<Self> {
        let file = File::from(memfd_create("iostrata requests", MemfdFlags::CLOEXEC)?);
        Ok(Self {
            file,
            begin: Vec::new(),
        })
    }

    /// The same log with its begin at hand, once nobody writes to it any more: images are made of single blocks.
    pub(crate) fn read_ahead(self) -> Self {
        let size_bytes = self.file.metadata().map_or(0, |meta| meta.len());
        let bytes = usize::try_from(size_bytes.min(AT_HAND_BYTES)).unwrap_or(0);
        let mut begin = vec![0; bytes];
        // What is not at hand is read.
        match self.file.read_exact_at(&mut begin, 0) {
            Ok(()) => Self { begin, ..self },
            Err(_) => self,
        }
    }

    /// For a writer in this process.
    #[cfg(test)]
    pub(crate) fn file(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    /// Reads the requests so far, without the bytes of writes.
    ///
    /// # Errors
    /// When the server was ended in the middle of one, or the file cannot be read.
    pub fn requests(&self) -> io::Result<Requests> {
        let size_bytes = self.file.metadata()?.len();
        let mut requests = Requests::default();
        let mut at = 0;
        while at < size_bytes {
            let mut header = [0; HEADER_BYTES];
            self.file.read_exact_at(&mut header, at)?;
            at += HEADER_BYTES as u64;
            let mut words = header.chunks_exact(8).map(|word| {
                let bytes = word.try_into().unwrap_or_default();
                u64::from_le_bytes(bytes)
            });
            let mut word = || words.next().unwrap_or(0);
            let (done_ns, kind, offset, bytes) = (word(), word(), word(), word());
            let action = match kind {
                WRITE => Action::Write { offset, bytes, at },
                FLUSH => Action::Flush,
                DISCARD => Action::Discard { offset, bytes },
                ZERO => Action::Zero { offset, bytes },
                FULL => {
                    requests.is_cut = true;
                    break;
                }
                _ => return Err(io::ErrorKind::InvalidData.into()),
            };
            if kind == WRITE {
                at = at.saturating_add(bytes);
            }
            requests.all.push(Request { done_ns, action });
        }
        Ok(requests)
    }

    /// Reads bytes that a request names.
    ///
    /// # Errors
    /// When the log does not have them.
    pub fn read(&self, bytes: &mut [u8], at: u64) -> io::Result<()> {
        let begin = usize::try_from(at).unwrap_or(usize::MAX);
        let end = begin.saturating_add(bytes.len());
        match self.begin.get(begin..end) {
            Some(held) => {
                bytes.copy_from_slice(held);
                Ok(())
            }
            None => self.file.read_exact_at(bytes, at),
        }
    }
}

impl AsFd for RequestLog {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}
