//! The calls of litmus programs.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use iostrata_core::crash::litmus::{Call, Filled, Given};
use iostrata_tracer::kernel::{AlignedBuffer, MappingMut, SyncFileRange, sync_file_range};
use nix::fcntl::OFlag;
use rustix::fs::{FallocateFlags, fallocate};

/// Makes what a program finds.
pub(super) fn give(given: &[Given], work: &Path) -> io::Result<()> {
    for one in given {
        match one {
            Given::Directory(path) => fs::create_dir(work.join(path))?,
            Given::File(filled) => fs::write(work.join(filled.path), letters(*filled))?,
        }
    }
    Ok(())
}

/// Performs calls in a directory, with `changed` after each.
pub(super) fn perform(
    calls: &[Call],
    work: &Path,
    mut changed: impl FnMut() -> io::Result<()>,
) -> io::Result<()> {
    let mut program = Program {
        work,
        open: HashMap::new(),
        mapped: HashMap::new(),
    };
    for call in calls {
        program.call(*call)?;
        changed()?;
    }
    Ok(())
}

struct Program<'a> {
    work: &'a Path,
    /// Files that stay open until they are closed.
    open: HashMap<&'static str, File>,
    mapped: HashMap<&'static str, MappingMut>,
}

impl Program<'_> {
    fn call(&mut self, call: Call) -> io::Result<()> {
        match call {
            Call::MakeDirectory(path) => fs::create_dir(self.at(path)),
            Call::Create(path) => self.keep(path, options().create_new(true)),
            Call::Empty(path) => self.keep(path, options().truncate(true)),
            Call::Close(path) => {
                self.open.remove(path);
                Ok(())
            }
            Call::Write(filled) => self.with(filled.path, |file| {
                file.write_all_at(&letters(filled), filled.at)
            }),
            Call::WriteDsync(filled) => {
                let mut options = options();
                let file = options.custom_flags(OFlag::O_DSYNC.bits());
                let file = file.open(self.at(filled.path))?;
                file.write_all_at(&letters(filled), filled.at)
            }
            Call::WriteDirect(filled) => {
                let mut options = options();
                let file = options.custom_flags(OFlag::O_DIRECT.bits());
                let file = file.open(self.at(filled.path))?;
                let letters = letters(filled);
                let mut aligned = AlignedBuffer::touched(letters.len())?;
                aligned.copy_from_slice(&letters);
                file.write_all_at(&aligned, filled.at)
            }
            Call::Store(filled) => self.store(filled),
            Call::Allocate(path, bytes) => self.with(path, |file| {
                Ok(fallocate(file, FallocateFlags::empty(), 0, bytes)?)
            }),
            Call::Rename(from, to) => fs::rename(self.at(from), self.at(to)),
            Call::Link(from, to) => fs::hard_link(self.at(from), self.at(to)),
            Call::Unlink(path) => fs::remove_file(self.at(path)),
            Call::Fsync(path) => self.with(path, File::sync_all),
            Call::Fdatasync(path) => self.with(path, File::sync_data),
            Call::SyncFileRange(path) => self.with(path, |file| {
                sync_file_range(file.as_fd(), 0, 0, SyncFileRange::WRITE_AND_WAIT)
            }),
            Call::Msync(path) => match self.mapped.get(path) {
                Some(mapping) => mapping.sync(),
                None => Err(io::ErrorKind::NotFound.into()),
            },
        }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.work.join(path)
    }

    fn keep(&mut self, path: &'static str, options: &OpenOptions) -> io::Result<()> {
        let file = options.open(self.at(path))?;
        self.open.insert(path, file);
        Ok(())
    }

    /// A file that is open, or opened for this.
    fn with(&self, path: &str, call: impl FnOnce(&File) -> io::Result<()>) -> io::Result<()> {
        if let Some(file) = self.open.get(path) {
            return call(file);
        }
        let place = self.at(path);
        let file = if place.is_dir() {
            File::open(place)?
        } else {
            options().open(place)?
        };
        call(&file)
    }

    fn store(&mut self, filled: Filled) -> io::Result<()> {
        let file = options().open(self.at(filled.path))?;
        let mut mapping = MappingMut::of(&file)?;
        let letters = letters(filled);
        let begin = usize::try_from(filled.at).map_err(io::Error::other)?;
        mapping.as_mut_slice()[begin..begin + letters.len()].copy_from_slice(&letters);
        self.mapped.insert(filled.path, mapping);
        Ok(())
    }
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    options
}

fn letters(filled: Filled) -> Vec<u8> {
    // A u32 fits into every address space that Linux has here.
    let bytes = usize::try_from(filled.bytes).unwrap_or(usize::MAX);
    filled.letter.to_string().repeat(bytes).into_bytes()
}
