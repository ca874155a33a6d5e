//! Current contents of a file, without its holes.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt as _;

use iostrata_core::record::{Payload, Writer};
use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;

const READ_BYTES: usize = 1 << 20;

/// Maximum bytes of one operation, so that it fits into a frame of the log however it is split.
const LONGEST: u64 = 1 << 30;

/// Ranges of data: their starts and ends.
pub(super) fn ranges(file: &File, size_bytes: u64) -> io::Result<Vec<(u64, u64)>> {
    let mut ranges = Vec::new();
    let mut at = 0;
    while at < size_bytes {
        let from = match seek(file, SeekFrom::Data(at)) {
            Ok(from) => from,
            // No data after this offset (lseek(2)).
            Err(Errno::NXIO) => break,
            Err(error) => return Err(error.into()),
        };
        let to = seek(file, SeekFrom::Hole(from))?.min(size_bytes);
        if to <= from {
            break;
        }
        let mut begin = from;
        while begin < to {
            let end = to.min(begin.saturating_add(LONGEST));
            ranges.push((begin, end));
            begin = end;
        }
        at = to;
    }
    Ok(ranges)
}

/// Stores a range. `Ok(None)` when the file could not be read completely.
///
/// # Errors
/// When the log cannot be written to.
pub(super) fn store<W: Write>(
    file: &File,
    (from, to): (u64, u64),
    log: &mut Writer<W>,
) -> io::Result<Option<Payload>> {
    let mut payload = Payload::default();
    let mut buffer = vec![0; READ_BYTES];
    let mut at = from;
    while at < to {
        let left = usize::try_from(to - at).unwrap_or(READ_BYTES);
        let wanted = left.min(READ_BYTES);
        match file.read_at(&mut buffer[..wanted], at) {
            Ok(had @ 1..) => {
                log.store(&buffer[..had], &mut payload)?;
                at += had as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(0) | Err(_) => return Ok(None),
        }
    }
    Ok(Some(payload))
}
