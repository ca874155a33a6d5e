//! Where a checker works: a tree, what had been printed, and room for files of its own.

use std::collections::HashSet;
use std::fs::{self, File, Permissions};
use std::io::{self, ErrorKind};
use std::os::fd::AsFd as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use iostrata_core::crash::Sandbox;
use iostrata_tracer::kernel::private_mounts;
use rustix::mount::{MountFlags, UnmountFlags, unmount};

use super::checker::{
    CheckError, Checker, HOME, Manner, Owners, Reply, SAID, Site, TEMPORARY, TREE,
};
use super::room::{Ids, memory};
use super::server::{Server, late};
use super::starter::Starter;
use crate::interrupt::Interrupt;
use crate::scratch::remove_tree;

/// Room that a checker has besides twice the files.
const MARGIN_BYTES: u64 = 256 << 20;

/// Files that are larger together are not kept in memory.
const MOST_IN_MEMORY: u64 = 512 << 20;

/// Of the states that a running checker accepts, one in so many is checked again by a new process; of the first ones,
/// the 1st, 2nd, 4th and so on, since small programs have few states.
const ANEW_EACH: u64 = 50;

#[derive(Debug)]
enum Runner {
    /// Starts a checker for each state.
    EachTime(Starter),
    /// Keeps one running; `None` before the first state and after the end of the checker.
    Stays(Option<Server>),
}

/// Where a checker works: a tree, what had been printed, and room for its own files. Each use begins with an
/// empty one, except that a running checker finds its own files again.
#[derive(Debug)]
pub struct Stage {
    pub(super) path: PathBuf,
    /// Size of the tmpfs that it is; `None` where it is a directory on disk.
    pub(super) bytes: Option<u64>,
    ids: Ids,
    gains: bool,
    runner: Runner,
    /// States that a running checker was asked about.
    asked: u64,
    /// Of these, those that it accepted after others, or failed with a message that was doubted before.
    accepted: u64,
    /// Messages that were doubted.
    doubted: HashSet<String>,
    /// Whether the checker changed the last tree, where that is noted.
    pub(super) has_changed: bool,
}

/// Where a state is built: a running checker cannot write to it there.
const NEXT: &str = "next";

impl Stage {
    /// In an empty directory that the caller removes, for trees of at most so many bytes; the stage has this number
    /// among those of the process. A tmpfs is seen by this thread and what it starts, and ends with them.
    pub fn enter(
        path: PathBuf,
        checker: &Checker,
        tree_bytes: u64,
        number: usize,
    ) -> io::Result<Self> {
        let sandbox = checker.sandbox;
        let is_small = tree_bytes <= MOST_IN_MEMORY && sandbox == Sandbox::Room;
        let bytes = is_small.then_some(2 * tree_bytes + MARGIN_BYTES);
        if sandbox == Sandbox::Room {
            // A long-lived room would keep busy what is mounted later.
            private_mounts()?;
        }
        if let Some(bytes) = bytes {
            mount_memory(&path, bytes, checker.gains)?;
        }
        let ids = Ids::new(checker.user.0, checker.user.1, number);
        let runner = if checker.manner == Manner::Starts {
            Runner::EachTime(Starter::start(checker, &path, ids, None)?)
        } else {
            Runner::Stays(None)
        };
        Ok(Self {
            path,
            bytes,
            ids,
            gains: checker.gains,
            runner,
            asked: 0,
            accepted: 0,
            doubted: HashSet::new(),
            has_changed: false,
        })
    }

    /// Whether the next state meets a new process.
    pub(super) fn is_new(&self) -> bool {
        matches!(self.runner, Runner::EachTime(_) | Runner::Stays(None))
    }

    /// Whether what a running checker said of a state is to be checked by a new process.
    pub(super) fn is_doubted(&mut self, said: Option<&str>, manner: Manner) -> bool {
        let is_news = said.is_some_and(|message| match manner {
            Manner::Own => self.doubted.insert(message.to_owned()),
            Manner::Tells => false,
            Manner::Starts | Manner::Stays => true,
        });
        if is_news {
            return true;
        }
        self.accepted += 1;
        self.accepted.is_multiple_of(ANEW_EACH)
            || self.accepted < ANEW_EACH && self.accepted.is_power_of_two()
    }

    /// Ends a running checker.
    pub(super) fn end(&mut self) {
        if let Runner::Stays(server) = &mut self.runner {
            *server = None;
        }
    }

    /// An empty site for a state. A checker that keeps running is started here, while the state is built.
    pub(super) fn site(&mut self, checker: &Checker) -> io::Result<Site> {
        if checker.manner == Manner::Starts {
            self.renew()?;
            return Ok(Site::of(&self.path));
        }
        if self.is_crowded() {
            self.end();
        }
        if self.is_new() {
            self.renew()?;
            // The checker may enter it, and not write to it.
            fs::set_permissions(self.path.join(TREE), Permissions::from_mode(0o755))?;
            if checker.sandbox == Sandbox::Room {
                self.own_room()?;
            }
            self.runner = Runner::Stays(Some(Server::start(checker, &self.path, self.ids)?));
        }
        let next = self.path.join(NEXT);
        if next.exists() {
            remove(&next)?;
        }
        let site = Site::of(&next);
        fs::create_dir_all(&site.tree)?;
        fs::set_permissions(next, Permissions::from_mode(0o755))?;
        Ok(site)
    }

    /// Has the checker look at a site; gives the place to which the site was moved for it.
    pub(super) fn run(
        &mut self,
        site: Site,
        patience: Duration,
        interrupt: &Interrupt,
    ) -> Result<(Site, Reply), CheckError> {
        let server = match &mut self.runner {
            Runner::EachTime(starter) => {
                let status = starter.run(patience, interrupt);
                interrupt.check()?;
                let reply = match status? {
                    None => Reply::Over(late(patience)),
                    Some(status) if status.success() => Reply::Fine,
                    Some(status) => Reply::Ended(status),
                };
                return Ok((site, reply));
            }
            Runner::Stays(server) => server,
        };
        let Some(asked) = server else {
            return Err(io::Error::from(ErrorKind::NotConnected).into());
        };
        self.asked += 1;
        let place = self.path.join(TREE).join(self.asked.to_string());
        fs::rename(self.path.join(NEXT), &place)?;
        let site = Site::of(&place);
        let reply = asked.ask(&site, patience, interrupt)?;
        if matches!(reply, Reply::Over(_) | Reply::Ended(_)) {
            *server = None;
        }
        Ok((site, reply))
    }

    /// Removes the state that a running checker was asked about.
    pub(super) fn clear(&mut self, site: &Site) {
        let Some(place) = site.tree.parent().filter(|place| *place != self.path) else {
            return;
        };
        let parent = File::open(self.path.join(TREE));
        let removed =
            parent.map(|parent| remove_tree(parent.as_fd(), place.file_name().unwrap_or_default()));
        // It still writes there, or has taken permissions away: a new stage is cleared without it.
        if !matches!(removed, Ok(Ok(()))) {
            self.end();
        }
    }

    /// Empty again.
    fn renew(&self) -> io::Result<()> {
        if let Some(bytes) = self.bytes {
            unmount(&self.path, UnmountFlags::DETACH)?;
            mount_memory(&self.path, bytes, self.gains)?;
        }
        let temporary = self.path.join(TEMPORARY);
        for directory in [&self.path.join(TREE), &temporary] {
            if directory.exists() {
                remove(directory)?;
            }
            fs::create_dir(directory)?;
        }
        fs::create_dir(self.path.join(HOME))?;
        File::create(self.path.join(SAID))?;
        // As /tmp, which it is too.
        fs::set_permissions(temporary, Permissions::from_mode(0o1777))
    }

    /// Gives a site, and what else is written to, to the users of the room.
    pub(super) fn own(&self, site: &Site, owners: Owners) -> io::Result<()> {
        self.ids.own(&site.tree, owners == Owners::Kept)?;
        if site.printed.exists() {
            self.ids.own(&site.printed, false)?;
        }
        match self.runner {
            Runner::EachTime(_) => self.own_room(),
            Runner::Stays(_) => Ok(()),
        }
    }

    fn own_room(&self) -> io::Result<()> {
        fs::set_permissions(&self.path, Permissions::from_mode(0o755))?;
        for mine in [SAID, TEMPORARY] {
            self.ids.own(&self.path.join(mine), false)?;
        }
        Ok(())
    }

    /// Whether a running checker has left too little room for a state: less than its tree and half the margin.
    fn is_crowded(&self) -> bool {
        let system = rustix::fs::statvfs(&self.path);
        let is_below =
            |bytes| system.is_ok_and(|system| system.f_bavail * system.f_frsize < bytes / 2);
        self.bytes.is_some_and(is_below)
    }

    /// Whether a checker has left no room in it.
    pub(super) fn is_full(&self) -> bool {
        let system = rustix::fs::statvfs(&self.path);
        self.bytes.is_some() && system.is_ok_and(|system| system.f_bavail == 0)
    }
}

impl Drop for Stage {
    /// A directory on disk is removed by its maker, which could not remove all that a checker can leave.
    fn drop(&mut self) {
        self.end();
        if self.bytes.is_none() {
            remove(&self.path.join(TREE)).ok();
            remove(&self.path.join(TEMPORARY)).ok();
        }
    }
}

fn mount_memory(path: &Path, bytes: u64, gains: bool) -> io::Result<()> {
    let flags = if gains {
        MountFlags::empty()
    } else {
        MountFlags::NOSUID
    };
    memory(path, &format!("size={bytes},mode=755,nr_inodes=1m"), flags)
}

/// Removes a directory that a checker has worked in, however deep it has made that: it may have taken permissions away.
pub(in crate::crash) fn remove(path: &Path) -> io::Result<()> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(ErrorKind::InvalidInput.into());
    };
    let parent = File::open(parent)?;
    if remove_tree(parent.as_fd(), name).is_ok() {
        return Ok(());
    }
    let mut allow = Command::new("chmod");
    allow.args(["-R", "u+rwX", "--"]).arg(path);
    allow.stderr(Stdio::null()).status()?;
    Ok(remove_tree(parent.as_fd(), name)?)
}
