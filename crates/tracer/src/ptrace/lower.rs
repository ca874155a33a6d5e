//! The lower strata from outside: page-cache residency of files, accounting of processes.

use std::collections::HashMap;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;

use iostrata_core::op::FileId;
use iostrata_core::trace::{ProcessIo, Residency};
use rustix::fs::{Mode, OFlags};

use super::identity::Identifier;
use super::usage::number;
use crate::kernel::{CacheStat, cachestat};

/// A file whose residency is compared at the end.
#[derive(Debug)]
struct Before {
    path: Vec<u8>,
    stat: Option<CacheStat>,
}

#[derive(Debug, Default)]
pub(super) struct Residencies {
    before: HashMap<FileId, Before>,
}

impl Residencies {
    pub(super) fn first_use(&mut self, file: FileId, path: &[u8], fd: BorrowedFd<'_>) {
        let path = path.to_vec();
        let stat = cachestat(fd, 0..u64::MAX).ok();
        self.before.insert(file, Before { path, stat });
    }

    /// Their current residency. A file that has another name now is not searched for.
    pub(super) fn now(self, identifier: &mut Identifier) -> Vec<Residency> {
        let me = std::process::id();
        let mut all: Vec<Residency> = self
            .before
            .into_iter()
            .map(|(file, before)| {
                let stat = open_again(before.path).and_then(|again| {
                    let same = identifier.identify(again.as_fd(), me).ok()?.file == file;
                    same.then(|| cachestat(again.as_fd(), 0..u64::MAX).ok())?
                });
                Residency {
                    file,
                    before_bytes: before.stat.map(cached_bytes),
                    after_bytes: stat.map(cached_bytes),
                }
            })
            .collect();
        all.sort_by_key(|residency| residency.file);
        all
    }
}

fn open_again(path: Vec<u8>) -> Option<rustix::fd::OwnedFd> {
    let path = PathBuf::from(std::ffi::OsString::from_vec(path));
    // Another file may have that name now: opening it must neither block nor make it a controlling
    // terminal.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    rustix::fs::open(path, flags, Mode::empty()).ok()
}

fn cached_bytes(stat: CacheStat) -> u64 {
    stat.cached_pages
        .saturating_mul(crate::kernel::page_size() as u64)
}

pub(super) fn accounts(process: u32) -> Option<ProcessIo> {
    let text = std::fs::read(format!("/proc/{process}/io")).ok()?;
    parse_accounts(&text)
}

pub(super) fn parse_accounts(text: &[u8]) -> Option<ProcessIo> {
    Some(ProcessIo {
        processes: 1,
        read_bytes: number(text, b"rchar:")?,
        written_bytes: number(text, b"wchar:")?,
        read_calls: number(text, b"syscr:")?,
        write_calls: number(text, b"syscw:")?,
        device_read_bytes: number(text, b"read_bytes:")?,
        dirtied_bytes: number(text, b"write_bytes:")?,
        cancelled_bytes: number(text, b"cancelled_write_bytes:")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_are_read_by_name() {
        let text = b"rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 5\nwrite_bytes: 6\n\
                     cancelled_write_bytes: 7\n";
        let io = parse_accounts(text).unwrap();
        let expected = ProcessIo {
            processes: 1,
            read_bytes: 1,
            written_bytes: 2,
            read_calls: 3,
            write_calls: 4,
            device_read_bytes: 5,
            dirtied_bytes: 6,
            cancelled_bytes: 7,
        };
        assert_eq!(io, expected);
        let mut sum = io;
        sum.add(&io);
        assert_eq!((sum.processes, sum.dirtied_bytes), (2, 12));
        assert_eq!(parse_accounts(b"rchar: 1\n"), None);
    }
}
