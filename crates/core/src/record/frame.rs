//! Frames: the parts of a log file, each with its length and its checksums.
//!
//! A file begins with [`MAGIC`] and the version. A frame is a head of [`HEAD_BYTES`] and
//! a body; all numbers are little-endian:
//!
//! | bytes | of the head |
//! |---|---|
//! | 0..4 | kind |
//! | 4..8 | stored length of the body |
//! | 8..12 | length of the body when it is decompressed; equal to the former if it is not compressed (zstd) |
//! | 12..20 | first 8 bytes of the BLAKE3 hash of the stored body |
//! | 20..24 | first 4 bytes of the BLAKE3 hash of the head up to here |

use std::io::{self, Read, Write};

use super::ReadError;

/// The first bytes of every log.
pub const MAGIC: &[u8; 16] = b"iostrata record\n";

/// Version of the written format, the only one that is read.
pub const VERSION: u32 = 2;

/// Length of magic and version.
pub(super) const PREFIX_BYTES: usize = 20;

pub(super) const HEAD_BYTES: usize = 24;

/// Longest body: bounds what a damaged length can make a reader allocate.
pub(super) const LONGEST_BODY: usize = 8 << 20;

/// Fast: the program waits when the recorder cannot keep up.
const COMPRESSION_LEVEL: i32 = 1;

/// The kind of a frame's contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Begin = 1,
    Chunk = 2,
    Operations = 3,
    End = 4,
}

impl Kind {
    fn from_code(code: u32) -> Option<Self> {
        [Self::Begin, Self::Chunk, Self::Operations, Self::End]
            .into_iter()
            .find(|kind| *kind as u32 == code)
    }
}

pub(super) fn write_prefix(out: &mut impl Write) -> io::Result<()> {
    out.write_all(MAGIC)?;
    out.write_all(&VERSION.to_le_bytes())
}

pub(super) fn read_prefix(input: &mut impl Read) -> Result<(), ReadError> {
    let mut prefix = [0; PREFIX_BYTES];
    let had = read_fully(input, &mut prefix)?;
    let magic = &prefix[..MAGIC.len().min(had)];
    if !MAGIC.starts_with(magic) || had == 0 {
        return Err(ReadError::NotALog);
    }
    if had < prefix.len() {
        return Err(ReadError::Truncated { offset: had as u64 });
    }
    match number(&prefix, MAGIC.len()) {
        VERSION => Ok(()),
        found => Err(ReadError::Version { found }),
    }
}

/// Compresses the body if that makes it shorter, and writes it. Returns the frame's length.
pub(super) fn write(out: &mut impl Write, kind: Kind, body: &[u8]) -> io::Result<u64> {
    let compressed = zstd::bulk::compress(body, COMPRESSION_LEVEL)?;
    let stored = if compressed.len() < body.len() {
        &compressed
    } else {
        body
    };
    let mut head = [0; HEAD_BYTES];
    head[0..4].copy_from_slice(&(kind as u32).to_le_bytes());
    head[4..8].copy_from_slice(&length(stored)?.to_le_bytes());
    head[8..12].copy_from_slice(&length(body)?.to_le_bytes());
    head[12..20].copy_from_slice(&blake3::hash(stored).as_bytes()[..8]);
    let sum = blake3::hash(&head[..20]);
    head[20..24].copy_from_slice(&sum.as_bytes()[..4]);
    out.write_all(&head)?;
    out.write_all(stored)?;
    Ok((HEAD_BYTES + stored.len()) as u64)
}

fn length(body: &[u8]) -> io::Result<u32> {
    u32::try_from(body.len())
        .ok()
        .filter(|_| body.len() <= LONGEST_BODY)
        .ok_or_else(|| io::Error::other("a frame of the operation log is too long"))
}

pub(super) struct Frame {
    pub(super) kind: Kind,
    pub(super) body: Vec<u8>,
    /// Its length in the file.
    pub(super) bytes: u64,
}

/// The frame at `offset`, the current position of `input`; `None` at the end of the file.
pub(super) fn read(input: &mut impl Read, offset: u64) -> Result<Option<Frame>, ReadError> {
    let mut head = [0; HEAD_BYTES];
    match read_fully(input, &mut head)? {
        0 => return Ok(None),
        HEAD_BYTES => {}
        _ => return Err(ReadError::Truncated { offset }),
    }
    let corrupt = |what| ReadError::Corrupt { offset, what };
    if blake3::hash(&head[..20]).as_bytes()[..4] != head[20..24] {
        return Err(corrupt("the head of a frame does not match its checksum"));
    }
    let kind = Kind::from_code(number(&head, 0)).ok_or_else(|| corrupt("unknown kind of frame"))?;
    let (stored_bytes, bytes) = (number(&head, 4) as usize, number(&head, 8) as usize);
    if stored_bytes > bytes || bytes > LONGEST_BODY {
        return Err(corrupt("impossible frame length"));
    }
    let mut stored = vec![0; stored_bytes];
    if read_fully(input, &mut stored)? < stored_bytes {
        return Err(ReadError::Truncated { offset });
    }
    if blake3::hash(&stored).as_bytes()[..8] != head[12..20] {
        return Err(corrupt("the body of a frame does not match its checksum"));
    }
    let body = if stored_bytes == bytes {
        stored
    } else {
        zstd::bulk::decompress(&stored, bytes)
            .ok()
            .filter(|body| body.len() == bytes)
            .ok_or_else(|| corrupt("a frame cannot be decompressed"))?
    };
    Ok(Some(Frame {
        kind,
        body,
        bytes: (HEAD_BYTES + stored_bytes) as u64,
    }))
}

fn number(bytes: &[u8], at: usize) -> u32 {
    let mut number = [0; 4];
    number.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(number)
}

/// Reads until the buffer is full or the input ends; returns the number of bytes.
fn read_fully(input: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut had = 0;
    while had < buffer.len() {
        match input.read(&mut buffer[had..]) {
            Ok(0) => break,
            Ok(more) => had += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(had)
}
