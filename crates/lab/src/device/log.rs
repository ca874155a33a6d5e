//! The requests of a device, in a file in memory that the server writes and this process reads.

use std::fs::File;
use std::io::{self, IoSlice, Write as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileExt as _;

use iostrata_core::crash::block::{Action, Request};
use iostrata_core::gap::Reason;
use rustix::fs::{MemfdFlags, memfd_create};

/// Before the bytes of each request: when it was done, what it asked for, where, how much. The first one of a log is none
/// of a request: it is there so that what it says needs no memory.
const HEADER_BYTES: usize = 32;

const WRITE: u64 = 1;
const FLUSH: u64 = 2;
const DISCARD: u64 = 3;
const ZERO: u64 = 4;
/// Of the first header, in place of 0: what follows is not all.
const CUT: u64 = 5;

/// Bytes of a log at most: what follows is not recorded, and the log says so.
const MOST_BYTES: u64 = 1 << 30;

/// A log can be sealed in tests.
const FLAGS: MemfdFlags = if cfg!(test) {
    MemfdFlags::CLOEXEC.union(MemfdFlags::ALLOW_SEALING)
} else {
    MemfdFlags::CLOEXEC
};

/// Bytes of a log at most that are at hand.
const AT_HAND_BYTES: u64 = 64 << 20;

/// What the server writes.
#[derive(Debug)]
pub(crate) struct Writer {
    file: File,
    written_bytes: u64,
    is_cut: bool,
}

impl Writer {
    pub(crate) fn new(file: File) -> Self {
        Self {
            file,
            written_bytes: HEADER_BYTES as u64,
            is_cut: false,
        }
    }

    /// Whether it lacks a request.
    pub(crate) fn is_cut(&self) -> bool {
        self.is_cut
    }

    pub(crate) fn write(&mut self, now_ns: u64, offset: u64, bytes: &[u8]) {
        self.add(now_ns, (WRITE, offset, bytes.len() as u64), bytes);
    }

    pub(crate) fn flush(&mut self, now_ns: u64) {
        self.add(now_ns, (FLUSH, 0, 0), &[]);
    }

    pub(crate) fn discard(&mut self, now_ns: u64, offset: u64, bytes: u64) {
        self.add(now_ns, (DISCARD, offset, bytes), &[]);
    }

    pub(crate) fn zero(&mut self, now_ns: u64, offset: u64, bytes: u64) {
        self.add(now_ns, (ZERO, offset, bytes), &[]);
    }

    /// Adds a request; a log that has no room for one says so, and has none of the later ones.
    fn add(&mut self, now_ns: u64, asked: (u64, u64, u64), payload: &[u8]) {
        if self.is_cut {
            return;
        }
        let whole = (HEADER_BYTES + payload.len()) as u64;
        let is_added = self.written_bytes + whole <= MOST_BYTES
            && append(&self.file, &header(now_ns, asked), payload).is_ok();
        if is_added {
            self.written_bytes += whole;
        } else {
            self.is_cut = true;
            // The first header has its page, and a part of a request is behind the end. Where even that fails, the
            // server refuses to open the device once more (`Recorder::close`).
            self.file.set_len(self.written_bytes).ok();
            let cut = header(now_ns, (CUT, 0, 0));
            self.file.write_all_at(&cut, 0).ok();
        }
    }
}

/// A file in memory takes all of it, or there is no memory.
fn append(mut file: &File, header: &[u8], payload: &[u8]) -> io::Result<()> {
    let written = file.write_vectored(&[IoSlice::new(header), IoSlice::new(payload)])?;
    if written == header.len() + payload.len() {
        return Ok(());
    }
    Err(io::ErrorKind::WriteZero.into())
}

fn header(now_ns: u64, (kind, offset, bytes): (u64, u64, u64)) -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    let words = [now_ns, kind, offset, bytes];
    for (part, word) in header.chunks_exact_mut(8).zip(words) {
        part.copy_from_slice(&word.to_le_bytes());
    }
    header
}

/// A log, which may still grow.
#[derive(Debug)]
pub struct RequestLog {
    file: File,
    /// What it begins with, once it is complete.
    begin: Vec<u8>,
    /// Why the writer may have lost a request without a word.
    cut: Option<Cut>,
}

/// Why a log lacks requests that were answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// There was no room for more.
    NoRoom,
    /// The process that serves the device ended before the run.
    NoServer,
}

impl Cut {
    pub fn reason(self) -> Reason {
        match self {
            Self::NoRoom => Reason::DeviceLogFull,
            Self::NoServer => Reason::DeviceServerEnded,
        }
    }
}

/// The requests that a log had when it was read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Requests {
    /// In the order of arrival.
    pub all: Vec<Request>,
    /// Why there are no later ones, if there may have been.
    pub cut: Option<Cut>,
}

impl RequestLog {
    pub(crate) fn new() -> io::Result<Self> {
        let file = File::from(memfd_create("iostrata requests", FLAGS)?);
        (&file).write_all(&header(0, (0, 0, 0)))?;
        Ok(Self {
            file,
            begin: Vec::new(),
            cut: None,
        })
    }

    /// The same log, which may lack requests.
    pub(crate) fn cut(self, why: Cut) -> Self {
        Self {
            cut: Some(why),
            ..self
        }
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

    /// Reads the requests so far, without the bytes of writes. One that the server was ended in the middle of is none.
    pub fn requests(&self) -> io::Result<Requests> {
        let size_bytes = self.file.metadata()?.len();
        let [_, kind, ..] = self.header(0)?;
        let mut requests = Requests {
            all: Vec::new(),
            cut: (kind == CUT).then_some(Cut::NoRoom).or(self.cut),
        };
        let mut at = HEADER_BYTES as u64;
        while at < size_bytes {
            let Some(header) = self.whole(at, size_bytes)? else {
                requests.cut.get_or_insert(Cut::NoServer);
                break;
            };
            let [done_ns, kind, offset, bytes] = header;
            at += HEADER_BYTES as u64;
            let action = match kind {
                WRITE => Action::Write { offset, bytes, at },
                FLUSH => Action::Flush,
                DISCARD => Action::Discard { offset, bytes },
                ZERO => Action::Zero { offset, bytes },
                _ => return Err(io::ErrorKind::InvalidData.into()),
            };
            if kind == WRITE {
                at += bytes;
            }
            requests.all.push(Request { done_ns, action });
        }
        Ok(requests)
    }

    /// The header of a request, if all of it is there.
    fn whole(&self, at: u64, size_bytes: u64) -> io::Result<Option<[u64; 4]>> {
        let Some(left_bytes) = (size_bytes - at).checked_sub(HEADER_BYTES as u64) else {
            return Ok(None);
        };
        let header = self.header(at)?;
        let [_, kind, _, bytes] = header;
        Ok((kind != WRITE || bytes <= left_bytes).then_some(header))
    }

    fn header(&self, at: u64) -> io::Result<[u64; 4]> {
        let mut header = [0; HEADER_BYTES];
        self.file.read_exact_at(&mut header, at)?;
        let word = |place: usize| {
            let word = header[place * 8..][..8].try_into();
            word.map_or(0, u64::from_le_bytes)
        };
        Ok([0, 1, 2, 3].map(word))
    }

    /// Reads bytes that a request names; fails where the log lacks them.
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

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{SealFlags, fcntl_add_seals};

    impl RequestLog {
        /// For a writer in this process.
        pub(crate) fn file(&self) -> io::Result<File> {
            self.file.try_clone()
        }
    }

    fn written(log: &RequestLog) -> Writer {
        let mut writer = Writer::new(log.file().unwrap());
        writer.write(1, 4096, &[7; 4096]);
        writer.flush(2);
        writer
    }

    #[test]
    fn requests_come_back_in_order() {
        let log = RequestLog::new().unwrap();
        let mut writer = written(&log);
        writer.discard(3, 0, 512);
        writer.zero(4, 512, 512);
        assert!(!writer.is_cut());
        let requests = log.requests().unwrap();
        assert_eq!(requests.cut, None);
        let at = 2 * HEADER_BYTES as u64;
        let (offset, bytes) = (4096, 4096);
        let actions = [
            Action::Write { offset, bytes, at },
            Action::Flush,
            Action::Discard {
                offset: 0,
                bytes: 512,
            },
            Action::Zero {
                offset: 512,
                bytes: 512,
            },
        ];
        let wanted = (1..).zip(actions);
        let wanted: Vec<_> = wanted
            .map(|(done_ns, action)| Request { done_ns, action })
            .collect();
        assert_eq!(requests.all, wanted);
        let mut block = [0; 4096];
        log.read(&mut block, at).unwrap();
        assert_eq!(block, [7; 4096]);
    }

    /// A request that finds no room cuts the log: it keeps what it has, says so, and has no later request.
    fn assert_cut(room: impl FnOnce(&RequestLog, &Writer) -> usize) {
        let log = RequestLog::new().unwrap();
        let mut writer = written(&log);
        let before = log.requests().unwrap();
        let too_much = room(&log, &writer);
        // Zeroed memory that nobody reads is none.
        writer.write(3, 0, &vec![0; too_much]);
        writer.flush(4);
        assert!(writer.is_cut());
        let requests = log.requests().unwrap();
        assert_eq!((requests.cut, before.cut), (Some(Cut::NoRoom), None));
        assert_eq!(requests.all, before.all);
    }

    #[test]
    fn a_full_log_keeps_what_it_has_and_says_so() {
        assert_cut(|_, writer| {
            let most = usize::try_from(MOST_BYTES - writer.written_bytes).unwrap();
            most - HEADER_BYTES + 1
        });
    }

    #[test]
    fn a_log_without_memory_says_so_and_has_no_later_request() {
        assert_cut(|log, _| {
            // Growing is refused as it is without memory; what is there can be written.
            fcntl_add_seals(&log.file, SealFlags::GROW).unwrap();
            4096
        });
    }

    #[test]
    fn what_a_server_was_writing_when_it_ended_is_no_request() {
        let log = RequestLog::new().unwrap();
        let mut writer = written(&log);
        let before = log.requests().unwrap();
        let whole_bytes = writer.written_bytes;
        writer.write(3, 0, &[9; 4096]);
        for bytes in [HEADER_BYTES as u64 + 4095, HEADER_BYTES as u64, 1] {
            log.file.set_len(whole_bytes + bytes).unwrap();
            let requests = log.requests().unwrap();
            assert_eq!(requests.all, before.all);
            assert_eq!(requests.cut, Some(Cut::NoServer), "{bytes} bytes");
        }
        log.file.set_len(whole_bytes).unwrap();
        assert_eq!(log.requests().unwrap(), before);
    }
}
