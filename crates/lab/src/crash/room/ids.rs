//! Whom a checker runs as: users of a user namespace, who are nobody outside.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::UnixStream;
use std::path::Path;

use iostrata_tracer::kernel::{Own, forked, own_user_namespace};
use rustix::fs::{AtFlags, CWD, chownat};
use rustix::io::retry_on_intr;
use rustix::process::{Gid, Pid, Resource, Uid, WaitOptions, waitpid};
use rustix::thread::{CapabilitiesSecureBits, set_capabilities_secure_bits, set_thread_res_uid};

use super::{MOST_PROCESSES, limit};

/// The first of the user IDs that neither systems nor containers give to anybody (1879048192 to 2147352575,
/// <https://systemd.io/UIDS-GIDS/>).
const FIRST: u32 = 0x7000_0000;
/// So many ranges of [`STRIDE`] fit in there.
const RANGES: u32 = 2_000;
const STRIDE: u32 = 0x2_0000;

/// Ids below this one are shown in a room as they are outside.
const MAPPED: u32 = 0x1_0000;
/// `overflowuid` (`user_namespaces(7)`)
const NOBODY: u32 = 65_534;

/// The user and the group of a checker, and the range of ids outside that stands for those inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::crash) struct Ids {
    user: u32,
    group: u32,
    range: u32,
}

impl Ids {
    /// Of the room with this number, among those of this process.
    pub(in crate::crash) fn new(user: u32, group: u32, number: usize) -> Self {
        // Two runs at the same time have different ranges, if they can.
        let number = u32::try_from(number).unwrap_or(0);
        let range = std::process::id().wrapping_mul(61).wrapping_add(number) % RANGES;
        Self { user, group, range }
    }

    pub(super) fn user(self) -> Uid {
        Uid::from_raw(self.user)
    }

    /// Who stands for root outside.
    pub(super) fn root(self) -> Uid {
        Uid::from_raw(self.outside(0, self.user))
    }

    pub(super) fn group(self) -> Gid {
        Gid::from_raw(self.group)
    }

    /// As words for a command.
    pub(in crate::crash) fn words(self) -> String {
        format!("{} {} {}", self.user, self.group, self.range)
    }

    pub(in crate::crash) fn parse(words: &str) -> Option<Self> {
        let mut numbers = words.split(' ').map(|word| word.parse().ok());
        Some(Self {
            user: numbers.next()??,
            group: numbers.next()??,
            range: numbers.next()??,
        })
    }

    fn base(self) -> u32 {
        FIRST + self.range * STRIDE
    }

    /// Who stands for an id outside; `own` is that of the checker.
    fn outside(self, id: u32, own: u32) -> u32 {
        self.base()
            + match id {
                _ if id < MAPPED => id,
                _ if id == own => MAPPED,
                _ => NOBODY,
            }
    }

    /// A map for `/proc/PID/uid_map` or `gid_map`.
    fn map(self, own: u32) -> String {
        let all = format!("0 {} {MAPPED}\n", self.base());
        if own < MAPPED {
            return all;
        }
        format!("{all}{own} {} 1\n", self.base() + MAPPED)
    }

    /// The user namespace, in which no process is.
    ///
    /// Its maker is the user of the range, for whom the kernel then counts all processes in it, also those of another
    /// user there (`enforced_nproc_rlimit`, kernel/fork.c).
    pub(in crate::crash) fn namespace(self) -> io::Result<OwnedFd> {
        let (mine, its) = UnixStream::pair()?;
        let mut mine = Some(mine);
        let maker = forked(Own::Nothing, || {
            // So that it notices when there is no other one.
            drop(mine.take());
            u8::from(self.make(&its).is_err())
        })?;
        drop(its);
        let made = mine.as_ref().ok_or(io::ErrorKind::NotConnected.into());
        let opened = made.and_then(|made| self.open(maker, made));
        drop(mine);
        retry_on_intr(|| waitpid(Some(maker), WaitOptions::empty()))?;
        opened
    }

    /// The work of its maker, who stays until it has been opened.
    fn make(self, opened: &UnixStream) -> io::Result<()> {
        set_capabilities_secure_bits(CapabilitiesSecureBits::NO_SETUID_FIXUP)?;
        let maker = Uid::from_raw(self.base());
        set_thread_res_uid(maker, maker, maker)?;
        limit(Resource::Nproc, MOST_PROCESSES)?;
        own_user_namespace()?;
        rustix::io::write(opened, b"m")?;
        retry_on_intr(|| rustix::io::read(opened, &mut [0; 1]))?;
        Ok(())
    }

    fn open(self, maker: Pid, made: &UnixStream) -> io::Result<OwnedFd> {
        if retry_on_intr(|| rustix::io::read(made, &mut [0; 1]))? == 0 {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        let process = Path::new("/proc").join(maker.as_raw_nonzero().to_string());
        fs::write(process.join("uid_map"), self.map(self.user))?;
        fs::write(process.join("gid_map"), self.map(self.group))?;
        Ok(fs::File::open(process.join("ns/user"))?.into())
    }

    /// Gives a tree, in which nobody is, to the users of the range. Without `keeps` all of it is the checker's.
    pub(in crate::crash) fn own(self, tree: &Path, keeps: bool) -> io::Result<()> {
        let mut waiting = vec![tree.to_owned()];
        while let Some(path) = waiting.pop() {
            let entry = fs::symlink_metadata(&path)?;
            let (user, group) = if keeps {
                (entry.uid(), entry.gid())
            } else {
                (self.user, self.group)
            };
            let user = Uid::from_raw(self.outside(user, self.user));
            let group = Gid::from_raw(self.outside(group, self.group));
            chownat(
                CWD,
                &path,
                Some(user),
                Some(group),
                AtFlags::SYMLINK_NOFOLLOW,
            )?;
            // A new owner takes these bits away (notify_change, fs/attr.c).
            if entry.is_file() && entry.mode() & 0o6000 != 0 {
                fs::set_permissions(&path, entry.permissions())?;
            }
            if entry.is_dir() {
                for below in fs::read_dir(&path)? {
                    waiting.push(below?.path());
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_in_a_room_is_nobody_outside() {
        let ids = Ids {
            user: 1000,
            group: 100,
            range: 3,
        };
        assert_eq!(Ids::parse(&ids.words()), Some(ids));
        assert_eq!(Ids::parse("1 2"), None);
        assert_eq!(ids.map(ids.user), "0 1879441408 65536\n");
        assert_eq!(ids.outside(0, 1000), 1_879_441_408);
        assert_eq!(ids.outside(1000, 1000), 1_879_442_408);
        assert_eq!(ids.outside(70_000, 1000), 1_879_441_408 + 65_534);
        let large = Ids {
            user: 70_000,
            ..ids
        };
        assert_eq!(
            large.map(large.user),
            "0 1879441408 65536\n70000 1879506944 1\n"
        );
        assert_eq!(large.outside(70_000, 70_000), 1_879_506_944);
    }

    #[test]
    fn ranges_do_not_overlap_and_are_nobodys() {
        let last = Ids {
            user: 0,
            group: 0,
            range: RANGES - 1,
        };
        assert!(last.base() + STRIDE <= 0x7ffe_0000);
        let ranges: Vec<u32> = (0..64).map(|number| Ids::new(0, 0, number).range).collect();
        assert!(ranges.iter().all(|one| *one < RANGES));
        assert!((1..64).all(|at| !ranges[..at].contains(&ranges[at])));
    }
}
