//! Commit pressure: somebody else on the same file system who syncs a file of its own.
//!
//! What a crash can leave depends on who commits when. The presser waits for events of the file system
//! (fanotify(7)) and after each writes to its file and syncs it, so that every change of the program is followed by a
//! commit before the next one, unless that comes sooner.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

use nix::sys::fanotify::{EventFFlags, Fanotify, InitFlags, MarkFlags, MaskFlags};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::BlockError;

/// include/uapi/linux/fanotify.h: events name nodes, which changes of directories need.
const FAN_REPORT_FID: u32 = 0x0000_0200;

/// `struct fanotify_event_metadata`: its length comes first, its thread last.
const METADATA_BYTES: usize = 24;

/// Where in the file is written next, in turns, blocks.
const BLOCKS: u64 = 8;

/// How soon it ends when it is told to.
const PATIENCE_MS: i64 = 20;

/// A thread that syncs a file of its own after each change of the file system by others.
#[derive(Debug)]
pub struct Pressing {
    stop: Arc<AtomicBool>,
    synced: Arc<AtomicU64>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl Pressing {
    /// Starts it on the file system at a path; its file is beside the program's directory.
    ///
    /// # Errors
    /// When the kernel has no fanotify for file systems (Linux 5.1), or the file cannot be made.
    pub fn start(at: &Path) -> Result<Self, BlockError> {
        let unusable = "watch the file system for changes (fanotify)";
        let flags = InitFlags::from_bits_retain(FAN_REPORT_FID)
            | InitFlags::FAN_REPORT_TID
            | InitFlags::FAN_CLASS_NOTIF
            | InitFlags::FAN_CLOEXEC
            | InitFlags::FAN_NONBLOCK
            | InitFlags::FAN_UNLIMITED_QUEUE;
        let watch = Fanotify::init(flags, EventFFlags::empty());
        let watch = watch.map_err(BlockError::io(unusable))?;
        let changes = MaskFlags::FAN_MODIFY
            | MaskFlags::FAN_ATTRIB
            | MaskFlags::FAN_CLOSE_WRITE
            | MaskFlags::FAN_CREATE
            | MaskFlags::FAN_DELETE
            | MaskFlags::FAN_MOVE
            | MaskFlags::FAN_ONDIR;
        let flags = MarkFlags::FAN_MARK_ADD | MarkFlags::FAN_MARK_FILESYSTEM;
        let here = File::open(at).map_err(BlockError::io("open the file system"))?;
        watch
            .mark(flags, changes, here.as_fd(), Some("."))
            .map_err(BlockError::io(unusable))?;
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(at.join("presser"))
            .map_err(BlockError::io("make a file to sync"))?;
        let (stop, synced) = (Arc::default(), Arc::default());
        let shared = (Arc::clone(&stop), Arc::clone(&synced));
        let thread = thread::Builder::new()
            .name("pressure".to_owned())
            .spawn(move || press(&watch, &file, &shared.0, &shared.1))
            .map_err(BlockError::io("start a thread"))?;
        Ok(Self {
            stop,
            synced,
            thread: Some(thread),
        })
    }

    /// Ends it; gives how often it synced.
    ///
    /// # Errors
    /// When its file could not be synced: the recording lacks the pressure.
    pub fn stop(mut self) -> Result<u64, BlockError> {
        self.end()?;
        Ok(self.synced.load(Ordering::Relaxed))
    }

    fn end(&mut self) -> Result<(), BlockError> {
        self.stop.store(true, Ordering::Relaxed);
        let Some(thread) = self.thread.take() else {
            return Ok(());
        };
        let ended = thread
            .join()
            .unwrap_or_else(|_| Err(io::Error::other("its thread failed")));
        ended.map_err(BlockError::io("sync a file of the same file system"))
    }
}

impl Drop for Pressing {
    fn drop(&mut self) {
        drop(self.end());
    }
}

fn press(watch: &Fanotify, file: &File, stop: &AtomicBool, synced: &AtomicU64) -> io::Result<()> {
    let own = rustix::thread::gettid().as_raw_nonzero().get();
    let mut events = vec![0; 1 << 16];
    let patience = Timespec {
        tv_sec: 0,
        tv_nsec: PATIENCE_MS * 1_000_000,
    };
    while !stop.load(Ordering::Relaxed) {
        let mut waited = [PollFd::new(watch, PollFlags::IN)];
        if poll(&mut waited, Some(&patience))? == 0 {
            continue;
        }
        let length = rustix::io::read(watch, &mut events)?;
        if has_change_of_others(&events[..length], own) {
            let turn = synced.fetch_add(1, Ordering::Relaxed);
            file.write_all_at(&turn.to_le_bytes(), turn % BLOCKS * 4096)?;
            file.sync_all()?;
        }
    }
    Ok(())
}

/// Whether an event is of another thread than this one, whose own writes are events too.
fn has_change_of_others(mut events: &[u8], own: i32) -> bool {
    while let Some(metadata) = events.get(..METADATA_BYTES) {
        let word = |at: usize| {
            let bytes = metadata[at..at + 4].try_into().unwrap_or_default();
            i32::from_ne_bytes(bytes)
        };
        if word(20) != own {
            return true;
        }
        let length = usize::try_from(word(0)).unwrap_or(0);
        if length < METADATA_BYTES {
            return false;
        }
        events = events.get(length..).unwrap_or_default();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(thread: i32, further: usize) -> Vec<u8> {
        let length = i32::try_from(METADATA_BYTES + further).unwrap();
        let mut event = vec![0; METADATA_BYTES + further];
        event[..4].copy_from_slice(&length.to_ne_bytes());
        event[20..24].copy_from_slice(&thread.to_ne_bytes());
        event
    }

    #[test]
    fn own_events_are_no_reason_to_sync() {
        assert!(!has_change_of_others(&[], 7));
        assert!(!has_change_of_others(
            &[event(7, 20), event(7, 0)].concat(),
            7
        ));
        assert!(has_change_of_others(
            &[event(7, 36), event(8, 12)].concat(),
            7
        ));
        assert!(!has_change_of_others(&[0; 30], 7), "no event has no length");
    }
}
