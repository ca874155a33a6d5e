//! One run: a number of pieces, in one variant.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek as _, Write};
use std::os::unix::fs::FileExt as _;

use rustix::fs::{FallocateFlags, fallocate};

use super::plan::{Syncing, Way};
use crate::engine::monotonic_ns;

/// Bytes, and pieces if they are small, between two readings of the clock: a reading costs some
/// tens of nanoseconds, a tenth of the shortest call.
const UNWATCHED_BYTES: u64 = 1 << 20;
const UNWATCHED_PIECES: u64 = 64;

/// The work of one run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Done {
    /// Pieces; for [`Way::Synced`], those that a sync has made durable.
    pub(super) pieces: u64,
    /// Calls that read or wrote.
    pub(super) transfers: u64,
    pub(super) syncs: u64,
}

/// A file whose calls are counted.
struct Counted<'f> {
    file: &'f File,
    calls: u64,
}

impl Read for Counted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.calls += 1;
        self.file.read(buffer)
    }
}

impl Write for Counted<'_> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.calls += 1;
        self.file.write(buffer)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns from time to time whether the deadline has passed.
struct Watch {
    deadline_ns: u64,
    every: u64,
}

impl Watch {
    fn new(piece: &[u8], deadline_ns: u64) -> Self {
        let every = (UNWATCHED_BYTES / piece.len().max(1) as u64).clamp(1, UNWATCHED_PIECES);
        Self { deadline_ns, every }
    }

    fn is_over(&self, pieces: u64) -> bool {
        pieces.is_multiple_of(self.every) && monotonic_ns() >= self.deadline_ns
    }
}

/// Brings the file into the starting state of a run.
pub(super) fn reset(file: &mut File, way: Way) -> io::Result<()> {
    match way {
        Way::Transferred { write: false, .. } => file.rewind(),
        Way::Transferred { write: true, .. } => {
            file.set_len(0)?;
            file.rewind()
        }
        Way::Synced(Syncing { append: true, .. }) => {
            file.set_len(0)?;
            file.sync_all()
        }
        Way::Synced(Syncing { append: false, .. }) => Ok(()),
    }
}

/// Does `pieces` in one variant, as long as there is time.
///
/// `piece` has the bytes of each; overwrites cycle through the first `filled_bytes`.
pub(super) fn perform(
    file: &File,
    way: Way,
    piece: &mut [u8],
    pieces: u64,
    filled_bytes: u64,
    deadline_ns: u64,
) -> io::Result<Done> {
    let watch = Watch::new(piece, deadline_ns);
    match way {
        Way::Transferred { write, bytes } => {
            let counted = Counted { file, calls: 0 };
            let buffer_bytes = usize::try_from(bytes).map_err(io::Error::other)?;
            let buffered = buffer_bytes > piece.len();
            let (pieces, counted) = match (write, buffered) {
                (true, false) => written(counted, piece, pieces, &watch)?,
                (true, true) => {
                    let buffer = BufWriter::with_capacity(buffer_bytes, counted);
                    let (pieces, buffer) = written(buffer, piece, pieces, &watch)?;
                    let counted = buffer
                        .into_inner()
                        .map_err(io::IntoInnerError::into_error)?;
                    (pieces, counted)
                }
                (false, false) => read(counted, piece, pieces, &watch)?,
                (false, true) => {
                    let buffer = BufReader::with_capacity(buffer_bytes, counted);
                    let (pieces, buffer) = read(buffer, piece, pieces, &watch)?;
                    (pieces, buffer.into_inner())
                }
            };
            Ok(Done {
                pieces,
                transfers: counted.calls,
                syncs: 0,
            })
        }
        Way::Synced(syncing) => synced(file, syncing, piece, pieces, filled_bytes, &watch),
    }
}

fn written<W: Write>(mut to: W, piece: &[u8], pieces: u64, watch: &Watch) -> io::Result<(u64, W)> {
    let mut done = 0;
    while done < pieces && !watch.is_over(done) {
        to.write_all(piece)?;
        done += 1;
    }
    Ok((done, to))
}

fn read<R: Read>(
    mut from: R,
    piece: &mut [u8],
    pieces: u64,
    watch: &Watch,
) -> io::Result<(u64, R)> {
    let mut done = 0;
    while done < pieces && !watch.is_over(done) {
        from.read_exact(piece)?;
        done += 1;
    }
    Ok((done, from))
}

fn synced(
    file: &File,
    way: Syncing,
    piece: &[u8],
    pieces: u64,
    filled_bytes: u64,
    watch: &Watch,
) -> io::Result<Done> {
    let size = piece.len() as u64;
    if way.preallocate && way.append {
        fallocate(file, FallocateFlags::empty(), 0, pieces * size)?;
    }
    let round = if way.append { u64::MAX } else { filled_bytes };
    let mut done = Done::default();
    let mut offset = 0;
    while done.transfers < pieces && !watch.is_over(done.transfers) {
        file.write_all_at(piece, offset)?;
        done.transfers += 1;
        offset += size;
        if offset + size > round {
            offset = 0;
        }
        if done.transfers.is_multiple_of(way.writes_per_sync) || done.transfers == pieces {
            if way.data_only {
                file.sync_data()?;
            } else {
                file.sync_all()?;
            }
            done.syncs += 1;
            done.pieces = done.transfers;
            if monotonic_ns() >= watch.deadline_ns {
                break;
            }
        }
    }
    Ok(done)
}
