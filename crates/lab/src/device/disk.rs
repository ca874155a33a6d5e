//! The FUSE file system: a directory with one file, whose every request is logged in order.
//!
//! A request is answered when it is done, and logged before the next one: who waits for it need not wait for the log.

use std::ffi::OsStr;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, UNIX_EPOCH};

use fuser::{
    Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, InitFlags,
    KernelConfig, LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyEmpty, ReplyEntry, ReplyOpen,
    ReplyWrite, Request, WriteFlags,
};
use iostrata_tracer::clock::now_ns;

use super::image::DiskImage;
use super::log::Writer;

pub(super) const DISK: &str = "disk";

/// Nothing but this server changes anything.
const FOREVER: Duration = Duration::from_hours(24);

const FILE: INodeNo = INodeNo(2);

/// include/uapi/linux/falloc.h
const FALLOC_FL_PUNCH_HOLE: i32 = 0x02;
const FALLOC_FL_ZERO_RANGE: i32 = 0x10;

#[derive(Debug)]
pub(super) struct Disk {
    pub(super) image: DiskImage,
    pub(super) log: Mutex<Writer>,
    /// Before each request is done, until the user asks for an end.
    pub(super) delay: Duration,
    pub(super) hurries: Arc<AtomicBool>,
}

impl Disk {
    fn attributes(&self, inode: INodeNo) -> FileAttr {
        let is_file = inode == FILE;
        let size = if is_file { self.image.size_bytes() } else { 0 };
        FileAttr {
            ino: inode,
            size,
            blocks: size / 512,
            atime: UNIX_EPOCH,
            mtime: UNIX_EPOCH,
            ctime: UNIX_EPOCH,
            crtime: UNIX_EPOCH,
            kind: if is_file {
                FileType::RegularFile
            } else {
                FileType::Directory
            },
            perm: 0o700,
            nlink: 1,
            uid: 0,
            gid: 0,
            rdev: 0,
            blksize: 4096,
            flags: 0,
        }
    }

    /// Does what was asked for, and gives when that was.
    fn done(&self, change: impl FnOnce(&DiskImage) -> io::Result<()>) -> Result<u64, Errno> {
        if !self.delay.is_zero() && !self.hurries.load(Ordering::Relaxed) {
            thread::sleep(self.delay);
        }
        change(&self.image)
            .map(|()| now_ns())
            .map_err(|error| error.raw_os_error().map_or(Errno::EIO, Errno::from_i32))
    }

    fn log(&self) -> MutexGuard<'_, Writer> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Filesystem for Disk {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        // A kernel that takes less splits requests of the loop device: more pieces, the same order.
        _ = config.set_max_write(1 << 20);
        // Without it a thread of the loop device waits for each answer, and has to be woken.
        _ = config.add_capabilities(InitFlags::FUSE_ASYNC_DIO);
        Ok(())
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        if parent == INodeNo::ROOT && name == DISK {
            reply.entry(&FOREVER, &self.attributes(FILE), Generation(0));
        } else {
            reply.error(Errno::ENOENT);
        }
    }

    fn getattr(&self, _: &Request, inode: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&FOREVER, &self.attributes(inode));
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        // The next one to open it asks whether the log has all that was answered (`Recorder::close`).
        if self.log().is_cut() {
            return reply.error(Errno::EIO);
        }
        reply.opened(FileHandle(0), FopenFlags::FOPEN_DIRECT_IO);
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        bytes: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let left = self.image.size_bytes().saturating_sub(offset);
        let bytes = u64::from(bytes).min(left);
        let mut data = vec![0; usize::try_from(bytes).unwrap_or(0)];
        match self.image.read(&mut data, offset) {
            Ok(()) => reply.data(&data),
            Err(_) => reply.error(Errno::EIO),
        }
    }

    fn write(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let done = self.done(|image| image.write(data, offset));
        match (done, u32::try_from(data.len())) {
            (Ok(now_ns), Ok(bytes)) => {
                reply.written(bytes);
                self.log().write(now_ns, offset, data);
            }
            (Err(error), _) => reply.error(error),
            (Ok(_), Err(_)) => reply.error(Errno::EIO),
        }
    }

    fn fsync(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        match self.done(|_| Ok(())) {
            Ok(now_ns) => {
                reply.ok();
                self.log().flush(now_ns);
            }
            Err(error) => reply.error(error),
        }
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }

    fn fallocate(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        bytes: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        if mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE) == 0 {
            return reply.error(Errno::EOPNOTSUPP);
        }
        match self.done(|image| image.zero(offset, bytes)) {
            Ok(now_ns) => {
                reply.ok();
                match mode & FALLOC_FL_PUNCH_HOLE {
                    0 => self.log().zero(now_ns, offset, bytes),
                    _ => self.log().discard(now_ns, offset, bytes),
                }
            }
            Err(error) => reply.error(error),
        }
    }
}
