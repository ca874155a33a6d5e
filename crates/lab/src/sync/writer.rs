//! One writer and its file.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use hdrhistogram::Histogram;
use iostrata_core::sync::{Bucket, Case, SyncCall, Write};
use nix::fcntl::OFlag;
use rustix::fs::{FallocateFlags, SeekFrom, fallocate, seek, sync, syncfs};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::engine::{Failure, monotonic_ns, random_bytes};

/// Bytes that an overwriting writer cycles through: enough that no block is rewritten while the
/// device may still hold it, and quickly written.
const OVERWRITTEN_BYTES: u64 = 4 << 20;

/// Longest latency that the histogram distinguishes.
const LONGEST_NS: u64 = 600_000_000_000;

/// Digits of a latency that are kept: within 1 %.
const DIGITS: u8 = 2;

/// Makes file contents differ from previous contents of memory or disk.
const CONTENT_SEED: u64 = 0x5_10c5;

/// When a writer stops in a stretch; `MAX` is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limit {
    /// Maximum number of syncs.
    pub syncs: u64,
    /// Nanoseconds after its first write, after which it starts no other.
    pub duration_ns: u64,
}

impl Limit {
    pub(super) fn time(time: Duration) -> Self {
        Self {
            syncs: u64::MAX,
            duration_ns: u64::try_from(time.as_nanos()).unwrap_or(u64::MAX),
        }
    }
}

/// The work of one writer in a stretch.
pub(super) struct Stretch {
    pub(super) syncs: u64,
    pub(super) full: bool,
    latencies: Histogram<u64>,
}

pub(super) struct Writer {
    file: File,
    path: PathBuf,
    call: SyncCall,
    record: Vec<u8>,
    offset: u64,
    /// The end of the file for this writer.
    end: u64,
    /// Whether it returns to the start there.
    round: bool,
}

impl Writer {
    /// Creates `path`, which must not exist, in the starting state of the case, and makes that
    /// state durable.
    pub(super) fn create(path: &Path, case: &Case, file_bytes: u64) -> Result<Self, Failure> {
        let record = random_bytes(case.size_bytes, 0, CONTENT_SEED)?;
        // rustix's `OFlags::DSYNC` is `O_SYNC` in its raw Linux back end (1.1.6).
        let flags = match case.call {
            SyncCall::OSync => OFlag::O_SYNC,
            SyncCall::ODsync => OFlag::O_DSYNC,
            _ => OFlag::empty(),
        };
        let mut options = OpenOptions::new();
        let file = options
            .write(true)
            .create_new(true)
            .custom_flags(flags.bits())
            .open(path)
            .map_err(Failure::at("create", path))?;
        let end = end_of(case, file_bytes);
        match case.write {
            Write::Append => {}
            Write::Overwrite => fill(path, &record, end).map_err(Failure::at("write", path))?,
            Write::Preallocated => fallocate(&file, FallocateFlags::empty(), 0, end)
                .map_err(Failure::at("preallocate", path))?,
        }
        file.sync_all().map_err(Failure::at("sync", path))?;
        Ok(Self {
            file,
            path: path.to_owned(),
            call: case.call,
            record,
            offset: 0,
            end,
            round: case.write == Write::Overwrite,
        })
    }

    /// How the file differs from `write`; `None` when it does not.
    ///
    /// Blocks that were allocated and never written are a hole for `SEEK_DATA`, and count in
    /// `st_blocks` (lseek(2)).
    pub(super) fn not_as_asked(&self, write: Write) -> Result<Option<String>, Failure> {
        let failed = || Failure::at::<io::Error>("look at", &self.path);
        let found = self.file.metadata().map_err(failed())?;
        let allocated = found.blocks() * 512;
        let data = match seek(&self.file, SeekFrom::Data(0)) {
            Ok(start) => Some(start),
            Err(Errno::NXIO) => None,
            Err(errno) => return Err(failed()(errno.into())),
        };
        Ok(match write {
            Write::Append => (found.len() > 0).then(|| "the new file was not empty".to_owned()),
            Write::Overwrite if data != Some(0) || found.len() != self.end => {
                Some("part of the file had not been written before".to_owned())
            }
            Write::Preallocated if data.is_some() || allocated < self.end => {
                Some("the file system did not keep the preallocated blocks as unwritten".to_owned())
            }
            Write::Overwrite | Write::Preallocated => None,
        })
    }

    /// Writes and syncs up to `limit`.
    ///
    /// One time stamp ends a sync and begins the next, so that no time of the loop falls between
    /// two latencies.
    pub(super) fn work(&mut self, limit: Limit) -> Result<Stretch, Failure> {
        let mut latencies = Histogram::new_with_bounds(1, LONGEST_NS, DIGITS)
            .map_err(|error| Failure::job(format!("no histogram: {error}")))?;
        let mut syncs = 0;
        let mut last = monotonic_ns();
        let begun = last;
        while syncs < limit.syncs && last - begun < limit.duration_ns && self.has_room() {
            self.write_and_sync()
                .map_err(|error| self.failure(syncs + 1, &error))?;
            let now = monotonic_ns();
            latencies.saturating_record(now - last);
            last = now;
            syncs += 1;
        }
        Ok(Stretch {
            syncs,
            full: !self.has_room(),
            latencies,
        })
    }

    /// Whether the next record fits.
    fn has_room(&mut self) -> bool {
        let size = self.record.len() as u64;
        if self.round && self.offset + size > self.end {
            self.offset = 0;
        }
        self.offset + size <= self.end
    }

    fn write_and_sync(&mut self) -> io::Result<()> {
        self.stamp();
        self.file.write_all_at(&self.record, self.offset)?;
        self.offset += self.record.len() as u64;
        match self.call {
            SyncCall::Fsync => self.file.sync_all(),
            SyncCall::Fdatasync => self.file.sync_data(),
            SyncCall::ODsync | SyncCall::OSync => Ok(()),
            SyncCall::Sync => {
                sync();
                Ok(())
            }
            SyncCall::Syncfs => Ok(syncfs(&self.file)?),
        }
    }

    /// Makes the record differ from the previous one at this position.
    fn stamp(&mut self) {
        let stamp = spread(self.offset).to_le_bytes();
        let length = self.record.len().min(stamp.len());
        for (byte, new) in self.record[..length].iter_mut().zip(stamp) {
            *byte = byte.wrapping_add(new | 1);
        }
    }

    fn failure(&self, number: u64, error: &io::Error) -> Failure {
        let doing = format!("write and sync record {number} of {}", self.path.display());
        Failure::from_io(&doing, error)
    }
}

/// Spreads an offset over the bits of a number.
fn spread(offset: u64) -> u64 {
    offset.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

impl Stretch {
    /// The latencies, and the longest in nanoseconds.
    pub(super) fn latencies(&self) -> (Vec<Bucket>, u64) {
        let buckets = self.latencies.iter_recorded().map(|step| Bucket {
            upto_ns: step.value_iterated_to(),
            count: step.count_since_last_iteration(),
        });
        (buckets.collect(), self.latencies.max())
    }
}

/// The end of a writer's file: a whole number of records.
fn end_of(case: &Case, file_bytes: u64) -> u64 {
    let most = match case.write {
        Write::Overwrite => file_bytes.min(OVERWRITTEN_BYTES),
        Write::Append | Write::Preallocated => file_bytes,
    };
    (most / case.size_bytes).max(1) * case.size_bytes
}

/// Writes `bytes` of records through a separate file description, without the flags of the case.
fn fill(path: &Path, record: &[u8], bytes: u64) -> io::Result<()> {
    let file = OpenOptions::new().write(true).open(path)?;
    let mut offset = 0;
    while offset < bytes {
        file.write_all_at(record, offset)?;
        offset += record.len() as u64;
    }
    file.sync_all()
}
