//! Copies through a buffer of the program: `read` and `write` in their forms, and C stdio.

use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut, Read as _, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use iostrata_core::copy::{Case, CopyMethod, DIRECT_ALIGNMENT_BYTES, PIECES};
use iostrata_tracer::kernel::{
    AlignedBuffer, Stdio, StdioMode, copy_by_fgetc, copy_by_getc_unlocked,
};

use super::{buffer_bytes, sync};

/// One `read` and one `write` per buffer, to the end of the file.
pub(super) fn read_write(mut from: &File, mut to: &File, case: &Case) -> io::Result<()> {
    let mut buffer = AlignedBuffer::fresh(buffer_bytes(case)?)?;
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(bytes) => to.write_all(&buffer[..bytes])?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// The same with the buffer in [`PIECES`] pieces.
pub(super) fn readv_writev(mut from: &File, mut to: &File, case: &Case) -> io::Result<()> {
    let mut buffer = AlignedBuffer::fresh(buffer_bytes(case)?)?;
    let pieces = usize::try_from(PIECES).unwrap_or(1);
    let piece = buffer.len().div_ceil(pieces);
    loop {
        let mut into: Vec<IoSliceMut<'_>> = buffer.chunks_mut(piece).map(IoSliceMut::new).collect();
        let bytes = match from.read_vectored(&mut into) {
            Ok(0) => return Ok(()),
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let mut out: Vec<IoSlice<'_>> = buffer[..bytes].chunks(piece).map(IoSlice::new).collect();
        let mut rest = out.as_mut_slice();
        while !rest.is_empty() {
            match to.write_vectored(rest) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => IoSlice::advance_slices(&mut rest, written),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// `pread` and `pwrite` with direct I/O. The last block is written completely, because `O_DIRECT`
/// accepts no partial one, and the file is then truncated to its length.
pub(super) fn direct(from: &File, to: &File, case: &Case) -> io::Result<()> {
    let mut buffer = AlignedBuffer::fresh(buffer_bytes(case)?)?;
    let block = usize::try_from(DIRECT_ALIGNMENT_BYTES).unwrap_or(usize::MAX);
    let mut offset = 0;
    while offset < case.size_bytes {
        let bytes = from.read_at(&mut buffer, offset)?;
        if bytes == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let whole = bytes.next_multiple_of(block);
        buffer[bytes..whole].fill(0);
        to.write_all_at(&buffer[..whole], offset)?;
        offset += bytes as u64;
    }
    if !case.size_bytes.is_multiple_of(DIRECT_ALIGNMENT_BYTES) {
        to.set_len(case.size_bytes)?;
    }
    Ok(())
}

/// Byte by byte through the C library, which opens with `"w"`: an existing file is truncated.
pub(super) fn characters(from: &Path, to: &Path, case: &Case) -> io::Result<()> {
    let mut from = Stdio::open(from, StdioMode::Read)?;
    let mut to = Stdio::open(to, StdioMode::Write)?;
    match case.method {
        CopyMethod::FgetcFputc => copy_by_fgetc(&mut from, &mut to)?,
        _ => copy_by_getc_unlocked(&mut from, &mut to)?,
    };
    if case.durable {
        to.flush()?;
        rustix::fs::fsync(&to)?;
    }
    from.close()?;
    to.close()
}

/// Makes another program's writes durable.
pub(super) fn sync_path(path: &Path, case: &Case) -> io::Result<()> {
    if case.durable {
        sync(&File::open(path)?, case)?;
    }
    Ok(())
}
