//! The operations that are single calls.

use std::fs::{self, File, OpenOptions};
use std::hint::black_box;
use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;

use iostrata_core::atime::Operation;
use iostrata_tracer::kernel::Mapping;
use rustix::fs::{Mode, OFlags, RawDir, copy_file_range, open, readlink, sendfile};
use rustix::io::{read, readv};

use super::settings::FILE_BYTES;
use super::tree::Tree;

/// Makes a single call on its subject. [`super::programs`] has the operations that need a program.
pub(super) fn call(operation: Operation, tree: &Tree) -> io::Result<()> {
    let subject = tree.subject(operation);
    let mut buffer = [0; FILE_BYTES];
    match operation {
        Operation::Stat => fs::metadata(&subject).map(drop),
        Operation::OpenClose => File::open(&subject).map(drop),
        Operation::Read => {
            let count = read(File::open(&subject)?, &mut buffer)?;
            whole(count)
        }
        Operation::ReadZero => Ok(read(File::open(&subject)?, &mut buffer[..0]).map(drop)?),
        Operation::Pread => whole(File::open(&subject)?.read_at(&mut buffer, 0)?),
        Operation::Readv => {
            let (head, tail) = buffer.split_at_mut(FILE_BYTES / 2);
            let mut pieces = [IoSliceMut::new(head), IoSliceMut::new(tail)];
            whole(readv(File::open(&subject)?, &mut pieces)?)
        }
        Operation::Mmap => Mapping::of(&File::open(&subject)?).map(drop),
        Operation::MmapTouch => {
            let mapping = Mapping::of(&File::open(&subject)?)?;
            black_box(mapping.as_slice().first());
            Ok(())
        }
        Operation::Readdir => list(&subject),
        Operation::Readlink => Ok(readlink(&subject, Vec::new()).map(drop)?),
        Operation::NoatimeRead => {
            let flags = OFlags::NOATIME.bits().cast_signed();
            let file = OpenOptions::new()
                .read(true)
                .custom_flags(flags)
                .open(&subject)?;
            whole(read(file, &mut buffer)?)
        }
        Operation::Write => {
            let file = OpenOptions::new().write(true).open(&subject)?;
            file.write_all_at(&buffer, 0)
        }
        Operation::Truncate => {
            let file = OpenOptions::new().write(true).open(&subject)?;
            file.set_len(FILE_BYTES as u64 / 2)?;
            file.set_len(FILE_BYTES as u64)
        }
        Operation::SendfileFrom => {
            let target = File::create(tree.path("out/sent"))?;
            whole(sendfile(target, File::open(&subject)?, None, FILE_BYTES)?)
        }
        Operation::CopyFileRangeFrom => {
            let target = File::create(tree.path("out/copied"))?;
            let source = File::open(&subject)?;
            whole(copy_file_range(source, None, target, None, FILE_BYTES)?)
        }
        Operation::Open
        | Operation::Exec
        | Operation::Find
        | Operation::Grep
        | Operation::Cp
        | Operation::Tar
        | Operation::GitStatus => Err(io::Error::other("not a single call")),
    }
}

fn whole(count: usize) -> io::Result<()> {
    if count == FILE_BYTES {
        return Ok(());
    }
    Err(io::Error::other(format!(
        "only {count} of {FILE_BYTES} bytes were read"
    )))
}

/// `getdents64` until the end.
fn list(directory: &Path) -> io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = open(directory, flags, Mode::empty())?;
    let mut buffer = [MaybeUninit::uninit(); 4096];
    let mut entries = RawDir::new(directory, &mut buffer);
    while let Some(entry) = entries.next() {
        entry?;
    }
    Ok(())
}
