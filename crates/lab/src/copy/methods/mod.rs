//! The ways of copying a file, as the workload process does them.

mod program;

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io;
use std::io::{IoSlice, IoSliceMut, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;

use iostrata_core::copy::{Case, CopyMethod, DIRECT_ALIGNMENT_BYTES, Destination, PIECES};
use iostrata_tracer::kernel::{
    AlignedBuffer, Mapping, MappingMut, Ring, RingError, Stdio, StdioMode, copy_by_fgetc,
    copy_by_getc_unlocked,
};
use nix::fcntl::OFlag;
use rustix::pipe::{PipeFlags, SpliceFlags, fcntl_setpipe_size, pipe_with, splice as splice_once};
use serde::{Deserialize, Serialize};

use crate::engine::{Failure, Job, Stopwatch, Task, Work};

pub(super) use program::start_and_end;

/// A file to copy, and its destination. Nothing is opened before the start: a copy goes from path
/// to path, like that of `cp`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CopyJob {
    pub case: Case,
    /// The source, with the case's size.
    pub from: OsString,
    /// The destination. It must exist or must not exist, as the case requires.
    pub to: OsString,
}

impl CopyJob {
    fn copy(&self) -> Result<(), Failure> {
        if self.case.method == CopyMethod::Cp {
            return program::copy(&self.case, Path::new(&self.from), Path::new(&self.to));
        }
        self.by_method().map_err(|error| {
            let doing = format!(
                "copy {} to {} by {}",
                self.from.display(),
                self.to.display(),
                self.case.method.as_str()
            );
            Failure::from_io(&doing, &error)
        })
    }

    fn by_method(&self) -> io::Result<()> {
        let case = &self.case;
        let plain = |copy: fn(&File, &File, &Case) -> io::Result<()>| {
            let from = File::open(&self.from)?;
            let to = create(Path::new(&self.to), case, OFlag::empty())?;
            copy(&from, &to, case)?;
            finish(&to, case)
        };
        match case.method {
            CopyMethod::FgetcFputc | CopyMethod::GetcUnlocked => {
                characters(Path::new(&self.from), Path::new(&self.to), case)
            }
            CopyMethod::ReadWrite => plain(read_write),
            CopyMethod::ReadvWritev => plain(readv_writev),
            CopyMethod::MmapMemcpy => plain(mmap_memcpy),
            CopyMethod::MmapWrite => plain(mmap_write),
            CopyMethod::Sendfile => plain(sendfile),
            CopyMethod::Splice => plain(splice),
            CopyMethod::CopyFileRange => plain(copy_file_range),
            CopyMethod::Reflink => plain(reflink),
            CopyMethod::IoUring => plain(io_uring),
            CopyMethod::Direct => {
                let from = open_direct(Path::new(&self.from))?;
                let to = create(Path::new(&self.to), case, OFlag::O_DIRECT)?;
                direct(&from, &to, case)?;
                finish(&to, case)
            }
            CopyMethod::Cp => Err(io::ErrorKind::InvalidInput.into()),
        }
    }
}

impl Job for CopyJob {
    const NAME: &'static str = "copy";
    type Report = Work;
}

impl Task for CopyJob {
    type Job = Self;

    fn prepare(job: Self) -> Result<Self, Failure> {
        Ok(job)
    }

    /// Copies, timed from the first open to the last close.
    fn go(&mut self) -> Result<Work, Failure> {
        let watch = Stopwatch::start()?;
        self.copy()?;
        watch.stop()
    }
}

/// Opens a file for reads that bypass the page cache.
pub(super) fn open_direct(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .custom_flags(OFlag::O_DIRECT.bits())
        .open(path)
}

/// Opens the copy, for reading too, because a shared mapping requires that (mmap(2), `EACCES`).
fn create(path: &Path, case: &Case, flags: OFlag) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).custom_flags(flags.bits());
    match case.destination {
        Destination::Fresh => options.create_new(true),
        Destination::Existing => &mut options,
    };
    options.open(path)
}

/// Truncates what a longer file had after the copy, and syncs as the case requires.
fn finish(to: &File, case: &Case) -> io::Result<()> {
    if case.destination == Destination::Existing {
        cut(to, case)?;
    }
    sync(to, case)
}

/// Truncates a longer file to the length of the source.
fn cut(to: &File, case: &Case) -> io::Result<()> {
    if to.metadata()?.len() > case.size_bytes {
        to.set_len(case.size_bytes)?;
    }
    Ok(())
}

fn sync(to: &File, case: &Case) -> io::Result<()> {
    if case.durable {
        to.sync_all()?;
    }
    Ok(())
}

fn buffer_bytes(case: &Case) -> io::Result<usize> {
    let bytes = case.buffer_bytes.unwrap_or(1 << 20);
    usize::try_from(bytes).map_err(|_too_large| io::ErrorKind::OutOfMemory.into())
}

/// One `read` and one `write` per buffer, to the end of the file.
fn read_write(mut from: &File, mut to: &File, case: &Case) -> io::Result<()> {
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
fn readv_writev(mut from: &File, mut to: &File, case: &Case) -> io::Result<()> {
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
fn direct(from: &File, to: &File, case: &Case) -> io::Result<()> {
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
fn characters(from: &Path, to: &Path, case: &Case) -> io::Result<()> {
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
fn sync_path(path: &Path, case: &Case) -> io::Result<()> {
    if case.durable {
        sync(&File::open(path)?, case)?;
    }
    Ok(())
}

/// Most bytes that one call moves: `MAX_RW_COUNT` in include/linux/fs.h, for pages of 4 KiB.
const MOST_BYTES: usize = 0x7fff_f000;

/// Largest pipe buffer without privileges: default of /proc/sys/fs/pipe-max-size (pipe(7)).
const PIPE_BYTES: usize = 1 << 20;

/// `sendfile` from file to file.
fn sendfile(from: &File, to: &File, _: &Case) -> io::Result<()> {
    until_nothing(|| rustix::fs::sendfile(to, from, None, MOST_BYTES))
}

/// `copy_file_range`. The file system decides what it does: share blocks, or copy pages.
fn copy_file_range(from: &File, to: &File, _: &Case) -> io::Result<()> {
    until_nothing(|| rustix::fs::copy_file_range(from, None, to, None, MOST_BYTES))
}

/// Shares the source's blocks (`ioctl_ficlone(2)`). A longer file is truncated first: the source's
/// partial last block can only be shared with a file's last (`generic_remap_check_len`,
/// `fs/remap_range.c`).
fn reflink(from: &File, to: &File, case: &Case) -> io::Result<()> {
    if case.destination == Destination::Existing {
        cut(to, case)?;
    }
    Ok(rustix::fs::ioctl_ficlone(to, from)?)
}

/// From the source into a pipe and out of it.
fn splice(from: &File, to: &File, _: &Case) -> io::Result<()> {
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC)?;
    // A smaller pipe, where the limit is lower, only needs more calls.
    let held = fcntl_setpipe_size(&writer, PIPE_BYTES).unwrap_or(PIPE_BYTES);
    let flags = SpliceFlags::empty();
    until_nothing(|| {
        let in_pipe = splice_once(from, None, &writer, None, held, flags)?;
        let mut left = in_pipe;
        while left > 0 {
            match splice_once(&reader, None, to, None, left, flags) {
                Ok(0) => return Err(rustix::io::Errno::IO),
                Ok(bytes) => left -= bytes,
                Err(rustix::io::Errno::INTR) => {}
                Err(errno) => return Err(errno),
            }
        }
        Ok(in_pipe)
    })
}

/// Calls repeated until nothing is moved: the end of the file.
fn until_nothing(mut call: impl FnMut() -> rustix::io::Result<usize>) -> io::Result<()> {
    loop {
        match call() {
            Ok(0) => return Ok(()),
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
}

/// Maximum number of requests under way.
const DEPTH: usize = 8;

/// Maximum memory of all buffers, unless one alone is larger.
const BUFFERS_BYTES: usize = 64 << 20;

/// Both files mapped. The copy gets its length first: there is nothing to map in an empty file.
fn mmap_memcpy(from: &File, to: &File, case: &Case) -> io::Result<()> {
    let source = Mapping::of(from)?;
    if to.metadata()?.len() != case.size_bytes {
        to.set_len(case.size_bytes)?;
    }
    let mut copy = MappingMut::of(to)?;
    copy.as_mut_slice().copy_from_slice(source.as_slice());
    Ok(())
}

/// The source mapped, and written from the mapping.
fn mmap_write(from: &File, mut to: &File, _: &Case) -> io::Result<()> {
    let source = Mapping::of(from)?;
    to.write_all(source.as_slice())
}

/// Each buffer has a read and then its write under way.
fn io_uring(from: &File, to: &File, case: &Case) -> io::Result<()> {
    let bytes = buffer_bytes(case)?;
    let depth = (BUFFERS_BYTES / bytes.max(1)).clamp(1, DEPTH);
    let mut ring = Ring::open(u32::try_from(depth).unwrap_or(1)).map_err(refused)?;
    let mut buffers = (0..depth)
        .map(|_| AlignedBuffer::fresh(bytes))
        .collect::<io::Result<Vec<_>>>()?;
    ring.copy(from.as_fd(), to.as_fd(), case.size_bytes, &mut buffers)
}

/// An unavailable ring is reported as an operation that this kernel does not support.
fn refused(error: RingError) -> io::Error {
    match error {
        RingError::Io(error) => error,
        other => io::Error::new(io::ErrorKind::Unsupported, other.to_string()),
    }
}
