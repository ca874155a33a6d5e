//! The ways of copying a file, as the workload process does them.

mod buffered;
mod kernel;
mod memory;
mod program;

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use iostrata_core::copy::{Case, CopyMethod, Destination};
use nix::fcntl::OFlag;
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
                buffered::characters(Path::new(&self.from), Path::new(&self.to), case)
            }
            CopyMethod::ReadWrite => plain(buffered::read_write),
            CopyMethod::ReadvWritev => plain(buffered::readv_writev),
            CopyMethod::MmapMemcpy => plain(memory::mmap_memcpy),
            CopyMethod::MmapWrite => plain(memory::mmap_write),
            CopyMethod::Sendfile => plain(kernel::sendfile),
            CopyMethod::Splice => plain(kernel::splice),
            CopyMethod::CopyFileRange => plain(kernel::copy_file_range),
            CopyMethod::Reflink => plain(kernel::reflink),
            CopyMethod::IoUring => plain(memory::io_uring),
            CopyMethod::Direct => {
                let from = open_direct(Path::new(&self.from))?;
                let to = create(Path::new(&self.to), case, OFlag::O_DIRECT)?;
                buffered::direct(&from, &to, case)?;
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
