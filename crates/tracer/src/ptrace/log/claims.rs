//! What a call needs exclusively, by its number and arguments.

use iostrata_core::op::FileId;
use iostrata_core::trace::calls::{Effect, effect};
use rustix::fs::{FileType, OFlags, fstat};
use syscalls::Sysno;

use super::paths::{last, may_create, opening_flags};
use crate::ptrace::calls::{self, call};
use crate::ptrace::identity::Open;
use crate::ptrace::place::{self, descriptor};
use crate::ptrace::recorder::Recorder;
use crate::ptrace::request::Tid;
use crate::ptrace::resolve::{Found, resolve};
use crate::ptrace::told::{self, CallKind};
use crate::ptrace::turns::{Claim, Contents};
use crate::record::attributes;

const NAMES: Claim = Claim {
    names: true,
    contents: Contents::None,
    source: None,
    position: None,
};

/// Attribute changes may concern any file, and an open may truncate any.
const ALL: Claim = Claim {
    names: true,
    contents: Contents::ChangesAny,
    source: None,
    position: None,
};

impl Recorder {
    /// What the call that a thread is about to make needs exclusively.
    pub(in crate::ptrace) fn claim(&mut self, tid: Tid, number: u64, arguments: [u64; 6]) -> Claim {
        use Sysno as N;
        let mut arguments = arguments;
        let Some(number) = calls::known(number).filter(|_| self.log.is_some() && self.counts)
        else {
            return Claim::default();
        };
        let CallKind { meaning, counted } = told::at_entry(tid, number, &mut arguments);
        match number {
            N::open | N::openat | N::openat2 | N::creat => {
                return opening(tid, number, &arguments);
            }
            N::truncate => return ALL,
            _ if effect(number.name()) == Some(Effect::Names) => return NAMES,
            N::ioctl | N::fcntl if !changes_by_command(calls::name(counted), &arguments) => {
                return Claim::default();
            }
            _ if attributes::is_one(number.name()) && meaning & call::WRITES == 0 => return ALL,
            _ => {}
        }
        let fd = match meaning {
            _ if meaning & call::FD_FIRST != 0 => descriptor(arguments[0]),
            _ if meaning & call::FD_THIRD != 0 => descriptor(arguments[2]),
            _ => return Claim::default(),
        };
        let contents: fn(FileId) -> Contents = match number {
            N::ftruncate | N::fallocate => Contents::Changes,
            _ if meaning & call::WRITES != 0 => Contents::Changes,
            N::lseek => Contents::Moves,
            // Also for a call that turns out to have its own offset: the claim is short.
            _ if meaning & call::READS != 0 && meaning & call::MOVES != 0 => Contents::Moves,
            _ => return Claim::default(),
        };
        let mut file = |fd| Some(self.resolve(tid, fd).filter(Open::is_regular)?.file);
        Claim {
            names: false,
            contents: file(fd).map_or(Contents::None, contents),
            source: place::source(meaning, &arguments).and_then(file),
            position: self.moved_position(tid, number, meaning, &arguments),
        }
    }
}

/// An open that may create or truncate a regular file. Other opens, such as those of a FIFO, may
/// wait forever.
fn opening(tid: Tid, number: Sysno, arguments: &[u64; 6]) -> Claim {
    let flags = opening_flags(number, arguments);
    if !may_create(flags) && !flags.contains(OFlags::TRUNC) {
        return Claim::default();
    }
    let [given, _] = place::given(tid, calls::paths_of(number), arguments);
    let found = given.and_then(|given| resolve(&given, tid, last(number, arguments)));
    let there = found.and_then(Found::file);
    let kind = there.and_then(|there| fstat(there).ok());
    match kind.map(|found| FileType::from_raw_mode(found.st_mode)) {
        Some(FileType::RegularFile) if flags.contains(OFlags::TRUNC) => ALL,
        None | Some(FileType::RegularFile | FileType::Directory) => NAMES,
        Some(_) => Claim::default(),
    }
}

/// Whether an `ioctl(2)` or `fcntl(2)` request changes a file, or the behaviour of its open file.
pub(super) fn changes_by_command(name: &str, arguments: &[u64; 6]) -> bool {
    match name {
        "fcntl" => arguments[1] == attributes::F_SETFL,
        "ioctl" => attributes::is_request(arguments[1]),
        clone => clone.starts_with("ioctl(FICLONE"),
    }
}
