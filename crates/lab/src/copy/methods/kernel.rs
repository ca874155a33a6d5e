//! Copies whose bytes never enter the program.

use std::fs::File;
use std::io;

use iostrata_core::copy::{Case, Destination};
use rustix::pipe::{PipeFlags, SpliceFlags, fcntl_setpipe_size, pipe_with, splice as splice_once};

use super::cut;

/// Most bytes that one call moves: `MAX_RW_COUNT` in include/linux/fs.h, for pages of 4 KiB.
const MOST_BYTES: usize = 0x7fff_f000;

/// Largest pipe buffer without privileges: default of /proc/sys/fs/pipe-max-size (pipe(7)).
const PIPE_BYTES: usize = 1 << 20;

/// `sendfile` from file to file.
pub(super) fn sendfile(from: &File, to: &File, _: &Case) -> io::Result<()> {
    until_nothing(|| rustix::fs::sendfile(to, from, None, MOST_BYTES))
}

/// `copy_file_range`. The file system decides what it does: share blocks, or copy pages.
pub(super) fn copy_file_range(from: &File, to: &File, _: &Case) -> io::Result<()> {
    until_nothing(|| rustix::fs::copy_file_range(from, None, to, None, MOST_BYTES))
}

/// Shares the source's blocks (`ioctl_ficlone(2)`). A longer file is truncated first: the source's
/// partial last block can only be shared with a file's last (`generic_remap_check_len`,
/// `fs/remap_range.c`).
pub(super) fn reflink(from: &File, to: &File, case: &Case) -> io::Result<()> {
    if case.destination == Destination::Existing {
        cut(to, case)?;
    }
    Ok(rustix::fs::ioctl_ficlone(to, from)?)
}

/// From the source into a pipe and out of it.
pub(super) fn splice(from: &File, to: &File, _: &Case) -> io::Result<()> {
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
