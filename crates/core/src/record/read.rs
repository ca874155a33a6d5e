//! Reads a log, operation by operation.

use std::collections::VecDeque;
use std::io::{self, Read, Seek, SeekFrom};

use blake3::{Hash, Hasher};
use serde::de::DeserializeOwned;

use super::frame::{self, Frame, Kind};
use super::{
    Begin, Completeness, Contents, End, Exceeded, Extent, Limits, Operation, Payload, Piece,
    Position, Source,
};
use crate::gap::{Gap, Missing, Reason};

/// Number of chunks kept decompressed: at most 8 MiB each, usually 1 MiB.
const KEPT_CHUNKS: usize = 16;

/// Why a log cannot be read, or not to its end.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It does not begin like a log.
    #[error("not an operation log: it does not begin with `iostrata record`")]
    NotALog,
    #[error(
        "operation log version {found}: this iostrata reads version {}",
        super::VERSION
    )]
    Version { found: u32 },
    /// It ends inside a frame.
    #[error(
        "the operation log is truncated: it ends within the frame at byte {offset}; everything \
         before that is usable"
    )]
    Truncated {
        /// The end of the last complete frame.
        offset: u64,
    },
    #[error(
        "the operation log is corrupt at byte {offset}: {what}; only the part before that is usable"
    )]
    Corrupt {
        /// The start of the frame.
        offset: u64,
        what: &'static str,
    },
    #[error("the operation log is not read further: {0}; everything before that is usable")]
    TooMuch(#[from] Exceeded),
    /// The file cannot be read.
    #[error("the operation log cannot be read: {0}")]
    Io(#[from] io::Error),
}

/// The next entry of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    Begin(Begin),
    Operation(Operation),
    End(End),
}

/// Reads a log from its beginning. Memory does not grow with the number of operations; each
/// megabyte of payload takes 8 bytes.
pub struct Reader<R> {
    input: R,
    position: Position,
    /// The position of each chunk.
    chunks: Vec<u64>,
    kept: VecDeque<(u64, Vec<u8>)>,
    /// Operations of the current frame.
    body: Vec<u8>,
    at: usize,
    frame_offset: u64,
    /// Gaps in the recordings read so far.
    gaps: Vec<Gap>,
    /// Whether the last recording has no end yet.
    open: bool,
    recordings: u64,
    /// First operation of the last recording.
    first_id: u64,
    limits: Limits,
    /// Expanded bytes, and bytes kept of begins and ends.
    expanded: u64,
    kept_bytes: u64,
}

/// One byte of a begin or an end may become a whole element of a list.
const KEPT_FOR_BYTE: u64 = 32;

impl<R: Read + Seek> Reader<R> {
    /// Checks the header.
    ///
    /// # Errors
    /// When this is not a log, or has another version.
    pub fn new(input: R) -> Result<Self, ReadError> {
        Self::within(input, Limits::default())
    }

    /// The same with other limits.
    ///
    /// # Errors
    /// When this is not a log, or has another version.
    pub fn within(mut input: R, limits: Limits) -> Result<Self, ReadError> {
        input.rewind()?;
        frame::read_prefix(&mut input)?;
        Ok(Self {
            input,
            position: Position::START,
            chunks: Vec::new(),
            kept: VecDeque::new(),
            body: Vec::new(),
            at: 0,
            frame_offset: frame::PREFIX_BYTES as u64,
            gaps: Vec::new(),
            open: true,
            recordings: 0,
            first_id: 0,
            limits,
            expanded: 0,
            kept_bytes: 0,
        })
    }

    /// The next entry; `None` at the end of the file.
    ///
    /// # Errors
    /// When the rest is truncated or corrupt. Everything before is intact.
    pub fn next_entry(&mut self) -> Result<Option<Entry>, ReadError> {
        loop {
            if self.at < self.body.len() {
                return self.next_operation().map(|one| Some(Entry::Operation(one)));
            }
            self.frame_offset = self.position.offset;
            self.input.seek(SeekFrom::Start(self.frame_offset))?;
            let Some(frame) = frame::read(&mut self.input, self.frame_offset)? else {
                return Ok(None);
            };
            self.position.offset += frame.bytes;
            match frame.kind {
                Kind::Begin => {
                    let begin = self.whole(&frame)?;
                    if self.open && self.recordings > 0 {
                        self.gaps.push(cut_off());
                    }
                    self.open = true;
                    self.recordings += 1;
                    self.first_id = self.position.operations;
                    return Ok(Some(Entry::Begin(begin)));
                }
                Kind::End => {
                    let end: End = self.whole(&frame)?;
                    if end.operations != self.position.operations - self.first_id {
                        return Err(self.corrupt("operations before an end are missing"));
                    }
                    self.open = false;
                    if let Completeness::Incomplete { because } = &end.completeness {
                        self.gaps.extend(because.iter().cloned());
                    }
                    return Ok(Some(Entry::End(end)));
                }
                Kind::Chunk => {
                    self.keep_bytes(size_of::<u64>() as u64)?;
                    self.chunks.push(self.frame_offset);
                    self.position.chunks += 1;
                    self.keep(self.position.chunks - 1, frame.body);
                }
                Kind::Operations => {
                    self.body = frame.body;
                    self.at = 0;
                }
            }
        }
    }

    fn next_operation(&mut self) -> Result<Operation, ReadError> {
        let rest = &self.body[self.at..];
        let (operation, bytes) =
            decoded(rest).ok_or_else(|| self.corrupt("an operation cannot be decoded"))?;
        self.at += bytes;
        if operation.id != self.position.operations {
            return Err(self.corrupt("an operation is missing or out of order"));
        }
        self.position.operations += 1;
        Ok(operation)
    }

    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// Counts expanded bytes.
    ///
    /// # Errors
    /// When they exceed the limit.
    pub fn expand(&mut self, bytes: u64) -> Result<(), Exceeded> {
        self.expanded = self.expanded.saturating_add(bytes);
        self.limits.check_expanded(self.expanded)
    }

    fn keep_bytes(&mut self, bytes: u64) -> Result<(), Exceeded> {
        self.kept_bytes = self.kept_bytes.saturating_add(bytes);
        self.limits.check_memory(self.kept_bytes)
    }

    fn whole<T: DeserializeOwned>(&mut self, frame: &Frame) -> Result<T, ReadError> {
        self.keep_bytes((frame.body.len() as u64 + 64).saturating_mul(KEPT_FOR_BYTE))?;
        postcard::from_bytes(&frame.body)
            .map_err(|_malformed| self.corrupt("the start or end of a recording cannot be decoded"))
    }

    /// The current position: after the last complete frame when the end was reached.
    pub fn position(&self) -> Position {
        self.position
    }

    /// Whether every change of all recordings is there, once [`Self::next_entry`] has returned
    /// `None`.
    pub fn completeness(&self) -> Completeness {
        let mut gaps = self.gaps.clone();
        if self.open {
            gaps.push(cut_off());
        }
        Completeness::from_gaps(gaps)
    }

    /// Passes the bytes of a payload to `each`, part by part; `None` stands for bytes that were not
    /// captured.
    ///
    /// # Errors
    /// When the payload is not in the log, or `each` fails.
    pub fn payload(
        &mut self,
        payload: &Payload,
        mut each: impl FnMut(u64, Option<&[u8]>) -> io::Result<()>,
    ) -> Result<(), ReadError> {
        for piece in &payload.pieces {
            match *piece {
                Piece::Unknown { bytes } => each(bytes, None)?,
                Piece::Stored { chunk, at, bytes } => {
                    self.expand(bytes.into())?;
                    let corrupt = self.corrupt("an operation refers to missing payload");
                    let from = at as usize;
                    let part = self
                        .chunk(chunk)?
                        .and_then(|chunk| chunk.get(from..from.checked_add(bytes as usize)?));
                    each(u64::from(bytes), Some(part.ok_or(corrupt)?))?;
                }
            }
        }
        Ok(())
    }

    /// Passes the logged contents of a file, with their offsets, in the order of the log, so that
    /// each chunk is decompressed only once.
    ///
    /// # Errors
    /// When a part of it is not in the log, or `each` fails.
    pub fn contents(
        &mut self,
        contents: &Contents,
        mut each: impl FnMut(u64, &[u8]) -> io::Result<()>,
    ) -> Result<(), ReadError> {
        let extents = contents.extents();
        let mut stored: Vec<(u64, u32, u64, u64)> = extents
            .filter_map(|(offset, Extent { bytes, source })| match source {
                Source::Stored { chunk, at } => Some((chunk, at, offset, bytes)),
                Source::Unknown | Source::Before { .. } => None,
            })
            .collect();
        stored.sort_unstable();
        for (chunk, at, offset, bytes) in stored {
            let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
            let payload = Payload {
                pieces: vec![Piece::Stored { chunk, at, bytes }],
            };
            self.payload(&payload, |_, part| each(offset, part.unwrap_or_default()))?;
        }
        Ok(())
    }

    /// The bytes of a payload; bytes that were not captured are zero. For payload that is known to
    /// be short.
    ///
    /// # Errors
    /// When the payload is not in the log, or is not short.
    pub fn payload_bytes(&mut self, payload: &Payload) -> Result<Vec<u8>, ReadError> {
        self.limits.check_memory(payload.bytes())?;
        let mut all = Vec::new();
        self.payload(payload, |bytes, part| {
            match part {
                Some(part) => all.extend_from_slice(part),
                None => all.resize(all.len() + usize::try_from(bytes).unwrap_or(0), 0),
            }
            Ok(())
        })?;
        Ok(all)
    }

    /// The BLAKE3 hash of a payload; `None` when a part of it was not captured.
    ///
    /// # Errors
    /// When the payload is not in the log.
    pub fn payload_blake3(&mut self, payload: &Payload) -> Result<Option<Hash>, ReadError> {
        if payload.unknown_bytes() > 0 {
            return Ok(None);
        }
        let mut hasher = Hasher::new();
        self.payload(payload, |_, part| {
            hasher.update(part.unwrap_or_default());
            Ok(())
        })?;
        Ok(Some(hasher.finalize()))
    }

    fn chunk(&mut self, number: u64) -> Result<Option<&[u8]>, ReadError> {
        if !self.kept.iter().any(|(kept, _)| *kept == number) {
            let place = usize::try_from(number).ok();
            let Some(&offset) = place.and_then(|place| self.chunks.get(place)) else {
                return Ok(None);
            };
            self.input.seek(SeekFrom::Start(offset))?;
            let Some(frame) = frame::read(&mut self.input, offset)? else {
                return Ok(None);
            };
            self.keep(number, frame.body);
        }
        let found = self.kept.iter().find(|(kept, _)| *kept == number);
        Ok(found.map(|(_, body)| body.as_slice()))
    }

    fn keep(&mut self, number: u64, body: Vec<u8>) {
        if self.kept.len() >= KEPT_CHUNKS {
            self.kept.pop_front();
        }
        self.kept.push_back((number, body));
    }

    fn corrupt(&self, what: &'static str) -> ReadError {
        ReadError::Corrupt {
            offset: self.frame_offset,
            what,
        }
    }
}

/// The first operation in an encoding, and its length.
fn decoded(encoded: &[u8]) -> Option<(Operation, usize)> {
    let (length, behind) = postcard::take_from_bytes::<u32>(encoded).ok()?;
    let one = behind.get(..usize::try_from(length).ok()?)?;
    let bytes = encoded.len() - behind.len() + one.len();
    Some((postcard::from_bytes(one).ok()?, bytes))
}

/// The gap of a recording without an end.
pub fn cut_off() -> Gap {
    Gap::new(Missing::RecordingEnd, Reason::NoEndMark)
}
