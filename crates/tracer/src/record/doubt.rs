//! Writes with an uncertain offset, and what decides it.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use blake3::{Hash, Hasher};
use iostrata_core::op::FileId;

use super::offsets::{Landing, Offsets, Write};
use crate::foreign;

/// Maximum number of files kept open for inspection.
const KEPT: usize = 256;

const READ_BYTES: usize = 64 << 10;

/// A write, and its payload.
#[derive(Debug)]
pub(super) struct Doubt {
    pub(super) write: Write,
    pub(super) payload: Hash,
}

#[derive(Debug, Default)]
pub(super) struct Doubts {
    offsets: Offsets,
    files: HashMap<FileId, Option<File>>,
    /// Writes whose offset could not be decided.
    pub(super) unsettled: u64,
}

impl Doubts {
    /// A write arrived, through a descriptor of a thread; `path` locates its file if the descriptor
    /// is closed.
    pub(super) fn saw(
        &mut self,
        file: FileId,
        write: Write,
        (thread, descriptor): (u32, u32),
        path: impl FnOnce() -> Option<Vec<u8>>,
    ) {
        self.offsets.saw(file, write);
        if matches!(write.landing, Landing::At(_)) || self.files.contains_key(&file) {
            return;
        }
        if self.files.len() >= KEPT {
            self.files.clear();
        }
        let descriptor = PathBuf::from(format!("/proc/{thread}/fd/{descriptor}"));
        let found = open(file, &descriptor).or_else(|| {
            let path = path()?;
            open(file, Path::new(OsStr::from_bytes(&path)))
        });
        self.files.insert(file, found);
    }

    /// The offset of a write. An unknown one is counted, and the last possible offset is returned.
    pub(super) fn settle(&mut self, file: FileId, doubt: &Doubt) -> u64 {
        let write = &doubt.write;
        let last = match write.landing {
            Landing::At(offset) => return offset,
            Landing::Within { end, .. } => end.saturating_sub(write.bytes),
        };
        let places = self.offsets.places(file, write).unwrap_or_default();
        let offset = match places[..] {
            [offset] => Some(offset),
            _ => places
                .into_iter()
                .find(|offset| self.holds(file, *offset, doubt)),
        };
        match offset {
            Some(offset) => self.offsets.settle(file, write, offset),
            None => self.unsettled += 1,
        }
        offset.unwrap_or(last)
    }

    /// Whether the file has the payload at this offset.
    fn holds(&self, file: FileId, offset: u64, doubt: &Doubt) -> bool {
        let Some(Some(handle)) = self.files.get(&file) else {
            return false;
        };
        let mut hasher = Hasher::new();
        let mut buffer = vec![0; READ_BYTES];
        let mut done = 0;
        while done < doubt.write.bytes {
            let left = usize::try_from(doubt.write.bytes - done).unwrap_or(READ_BYTES);
            let wanted = left.min(READ_BYTES);
            match handle.read_at(&mut buffer[..wanted], offset + done) {
                Ok(had @ 1..) => {
                    hasher.update(&buffer[..had]);
                    done += had as u64;
                }
                _ => return false,
            }
        }
        hasher.finalize() == doubt.payload
    }
}

/// The file, if it is still the one at this path.
fn open(file: FileId, path: &Path) -> Option<File> {
    let handle = foreign::open(path).ok()?;
    let is_it = handle.metadata().is_ok_and(|is| is.ino() == file.inode);
    is_it.then_some(handle)
}
