//! Writes a log: gathers payload into chunks, each distinct block once.

use std::collections::HashMap;
use std::io::{self, Write};

use super::frame::{self, Kind};
use super::{Begin, End, Operation, Payload, Piece, Position};

/// Maximum length of a block that is deduplicated.
const BLOCK_BYTES: usize = 64 << 10;

/// Shorter blocks are stored directly: searching for them costs more than storing them.
const SHORTEST_BLOCK: usize = 512;

/// A chunk is written when it reaches this length.
const CHUNK_BYTES: usize = 1 << 20;

/// Operations are written when they reach this length, encoded.
const OPERATIONS_BYTES: usize = 256 << 10;

/// Maximum number of remembered blocks: some 50 MiB. Beyond it all are forgotten, and a block may
/// be stored again.
const REMEMBERED: usize = 1 << 19;

/// Writes a log to `out`, which should not be buffered: single writes are large.
///
/// Operations may refer to any payload stored before them; in the file, payload always precedes
/// them, so that a truncated log has the payload of all its operations.
pub struct Writer<W> {
    out: W,
    chunk: Vec<u8>,
    operations: Vec<u8>,
    known: HashMap<[u8; 32], (u64, u32)>,
    position: Position,
    first_id: u64,
}

impl<W: Write> Writer<W> {
    /// Starts a new log.
    ///
    /// # Errors
    /// When `out` cannot be written to.
    pub fn new(mut out: W, begin: &Begin) -> io::Result<Self> {
        frame::write_prefix(&mut out)?;
        Self::append(out, Position::START, begin)
    }

    /// Starts another recording after the existing ones. `out` must be at `position`, and
    /// everything after it must have been truncated.
    ///
    /// # Errors
    /// When `out` cannot be written to.
    pub fn append(out: W, position: Position, begin: &Begin) -> io::Result<Self> {
        let mut writer = Self {
            out,
            chunk: Vec::with_capacity(CHUNK_BYTES),
            operations: Vec::new(),
            known: HashMap::new(),
            position,
            first_id: position.operations,
        };
        writer.frame_of(Kind::Begin, begin)?;
        Ok(writer)
    }

    /// The start of the next frame, and the contents before it, without data that is gathered but
    /// not yet written.
    pub fn position(&self) -> Position {
        self.position
    }

    /// Stores payload and adds its location to `payload`.
    ///
    /// # Errors
    /// When `out` cannot be written to.
    pub fn store(&mut self, bytes: &[u8], payload: &mut Payload) -> io::Result<()> {
        for block in bytes.chunks(BLOCK_BYTES) {
            if self.chunk.len() + block.len() > CHUNK_BYTES {
                self.end_chunk()?;
            }
            let piece = self.place(block);
            payload.push(piece);
        }
        Ok(())
    }

    /// The location of the block: where it was stored before, or at the end of the chunk.
    fn place(&mut self, block: &[u8]) -> Piece {
        let here = (self.position.chunks, short(self.chunk.len()));
        let bytes = short(block.len());
        let (chunk, at) = if block.len() < SHORTEST_BLOCK {
            here
        } else {
            if self.known.len() >= REMEMBERED {
                self.known.clear();
            }
            let key = *blake3::hash(block).as_bytes();
            *self.known.entry(key).or_insert(here)
        };
        if (chunk, at) == here {
            self.chunk.extend_from_slice(block);
        }
        Piece::Stored { chunk, at, bytes }
    }

    /// Adds an operation; its `id` is set to its position in the log.
    ///
    /// # Errors
    /// When `out` cannot be written to.
    pub fn operation(&mut self, operation: &mut Operation) -> io::Result<()> {
        operation.id = self.position.operations;
        let encoded = postcard::to_stdvec(operation).map_err(io::Error::other)?;
        let length = u32::try_from(encoded.len()).map_err(io::Error::other)?;
        self.operations = postcard::to_extend(&length, std::mem::take(&mut self.operations))
            .map_err(io::Error::other)?;
        self.operations.extend_from_slice(&encoded);
        self.position.operations += 1;
        if self.operations.len() >= OPERATIONS_BYTES {
            self.write_out()?;
        }
        Ok(())
    }

    /// Writes the gathered data.
    ///
    /// # Errors
    /// When `out` cannot be written to.
    pub fn write_out(&mut self) -> io::Result<()> {
        self.end_chunk()?;
        let operations = std::mem::take(&mut self.operations);
        // One operation could exceed a frame only by its paths, which are shorter.
        if !operations.is_empty() {
            self.position.offset += frame::write(&mut self.out, Kind::Operations, &operations)?;
        }
        Ok(())
    }

    /// Ends the recording and returns `out`.
    ///
    /// # Errors
    /// When `out` cannot be written to.
    pub fn finish(mut self, mut end: End) -> io::Result<W> {
        self.write_out()?;
        end.operations = self.position.operations - self.first_id;
        self.frame_of(Kind::End, &end)?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn end_chunk(&mut self) -> io::Result<()> {
        if !self.chunk.is_empty() {
            self.position.offset += frame::write(&mut self.out, Kind::Chunk, &self.chunk)?;
            self.position.chunks += 1;
            self.chunk.clear();
        }
        Ok(())
    }

    fn frame_of(&mut self, kind: Kind, value: &impl serde::Serialize) -> io::Result<()> {
        let body = postcard::to_stdvec(value).map_err(io::Error::other)?;
        self.position.offset += frame::write(&mut self.out, kind, &body)?;
        Ok(())
    }
}

/// Lengths within a chunk fit because of its limit.
fn short(bytes: usize) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}
