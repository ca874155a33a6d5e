//! The ten ways of writing records.

use std::fs::{File, OpenOptions};
use std::hint::black_box;
use std::io::{self, BufWriter, IoSlice, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use iostrata_core::buffering::{APPLICATION_BUFFER_BYTES, GROUP_WRITES, Mode};
use iostrata_tracer::kernel::{SyncFileRange, sync_file_range};
use nix::fcntl::OFlag;
use rustix::io::{ReadWriteFlags, pwritev2};

/// A file that accepts records in one [`Mode`], or discards them.
pub(super) struct Writer {
    sink: Sink,
    mode: Mode,
    /// Bytes written so far, the offset of the next record.
    offset: u64,
    records: u64,
}

enum Sink {
    /// Through a user-space buffer.
    Buffered(BufWriter<File>),
    /// One system call for each record.
    Direct(File),
    /// `pwritev2` with `RWF_DSYNC`.
    SyncedCall(File),
    /// Does nothing, to measure the cost of the loop.
    Nothing,
}

impl Writer {
    /// Creates `path`, which must not exist, for `mode`.
    ///
    /// The new file is synced, so that its creation is not part of the first
    /// record's sync.
    pub(super) fn create(path: &Path, mode: Mode) -> io::Result<Self> {
        // rustix's `OFlags::DSYNC` is `O_SYNC` in its raw Linux back end (1.1.6).
        let flags = match mode {
            Mode::OSync => OFlag::O_SYNC,
            Mode::ODsync => OFlag::O_DSYNC,
            _ => OFlag::empty(),
        };
        let mut options = OpenOptions::new();
        let file = options
            .write(true)
            .create_new(true)
            .custom_flags(flags.bits())
            .open(path)?;
        file.sync_all()?;
        let sink = match mode {
            Mode::OSync | Mode::ODsync => Sink::Direct(file),
            Mode::RwfDsync => Sink::SyncedCall(file),
            Mode::Buffered
            | Mode::Flush
            | Mode::Fsync
            | Mode::Fdatasync
            | Mode::SyncFileRange
            | Mode::FinalFsync
            | Mode::GroupFsync => {
                let bytes = usize::try_from(APPLICATION_BUFFER_BYTES).unwrap_or(usize::MAX);
                Sink::Buffered(BufWriter::with_capacity(bytes, file))
            }
        };
        Ok(Self::new(sink, mode))
    }

    /// A writer that does nothing.
    pub(super) fn nothing() -> Self {
        Self::new(Sink::Nothing, Mode::Buffered)
    }

    fn new(sink: Sink, mode: Mode) -> Self {
        Self {
            sink,
            mode,
            offset: 0,
            records: 0,
        }
    }

    /// Writes one record, and syncs as the mode requires.
    pub(super) fn write(&mut self, record: &[u8]) -> io::Result<()> {
        let start = self.offset;
        match &mut self.sink {
            Sink::Buffered(buffer) => buffer.write_all(record)?,
            Sink::Direct(file) => file.write_all(record)?,
            Sink::SyncedCall(file) => write_synced(file, record, start)?,
            Sink::Nothing => {
                black_box(record);
            }
        }
        self.offset += record.len() as u64;
        self.records += 1;
        self.after_record(start)
    }

    fn after_record(&mut self, start: u64) -> io::Result<()> {
        match self.mode {
            Mode::Flush => self.flush(),
            Mode::Fsync => self.fsync(),
            Mode::Fdatasync => {
                self.flush()?;
                self.file().map_or(Ok(()), File::sync_data)
            }
            Mode::SyncFileRange => {
                self.flush()?;
                let length = self.offset - start;
                self.file().map_or(Ok(()), |file| {
                    sync_file_range(file.as_fd(), start, length, SyncFileRange::WRITE_AND_WAIT)
                })
            }
            Mode::GroupFsync if self.records.is_multiple_of(GROUP_WRITES) => self.fsync(),
            Mode::Buffered
            | Mode::OSync
            | Mode::ODsync
            | Mode::RwfDsync
            | Mode::FinalFsync
            | Mode::GroupFsync => Ok(()),
        }
    }

    /// The work of closing the file: write out the rest of the buffer, and the mode's last sync.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        match self.mode {
            Mode::FinalFsync => self.fsync(),
            Mode::GroupFsync if !self.records.is_multiple_of(GROUP_WRITES) => self.fsync(),
            _ => self.flush(),
        }
    }

    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// Writes out the user-space buffer.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        match &mut self.sink {
            Sink::Buffered(buffer) => buffer.flush(),
            Sink::Direct(_) | Sink::SyncedCall(_) | Sink::Nothing => Ok(()),
        }
    }

    fn fsync(&mut self) -> io::Result<()> {
        self.flush()?;
        self.file().map_or(Ok(()), File::sync_all)
    }

    fn file(&self) -> Option<&File> {
        match &self.sink {
            Sink::Buffered(buffer) => Some(buffer.get_ref()),
            Sink::Direct(file) | Sink::SyncedCall(file) => Some(file),
            Sink::Nothing => None,
        }
    }
}

fn write_synced(file: &File, mut record: &[u8], mut offset: u64) -> io::Result<()> {
    while !record.is_empty() {
        match pwritev2(file, &[IoSlice::new(record)], offset, ReadWriteFlags::DSYNC) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => {
                record = &record[written..];
                offset += written as u64;
            }
            Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(())
}
