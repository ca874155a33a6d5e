//! Which calls the log tells of, and what else they were given.

use iostrata_core::trace::FileKind;
use rustix::fs::OFlags;
use syscalls::Sysno;

use super::LONGEST_VALUE;
use super::claims::changes_by_command;
use super::paths::opening_flags;
use crate::ptrace::calls::{self, call};
use crate::ptrace::identity::Open;
use crate::ptrace::memory;
use crate::ptrace::request::Tid;
use crate::ptrace::tasks::Entered;
use crate::record::attributes;

/// Whether a call on the descriptor of this file may be told of.
pub(super) fn may_be_told(meaning: u32, number: Sysno, open: &Open) -> bool {
    let is_step = meaning & call::STEP != 0 || attributes::is_one(number.name());
    is_step && meaning & call::FD_FIRST != 0 && is_in_tree(open)
}

/// Whether the file has, or may get, a name in a file system.
pub(super) fn is_in_tree(open: &Open) -> bool {
    !matches!(
        open.kind(),
        FileKind::Anonymous | FileKind::Pipe | FileKind::Socket
    )
}

/// Whether the paths of the call say which node it changes.
pub(super) fn names_node(number: Sysno, arguments: &[u64; 6]) -> bool {
    use Sysno as N;
    match number {
        N::open | N::openat | N::openat2 | N::creat => {
            let flags = opening_flags(number, arguments);
            flags.intersects(OFlags::CREATE | OFlags::TMPFILE)
        }
        N::rename
        | N::renameat
        | N::renameat2
        | N::link
        | N::linkat
        | N::unlink
        | N::unlinkat
        | N::rmdir
        | N::truncate => true,
        other => makes_node(other) || is_attribute_by_path(other),
    }
}

pub(super) fn makes_node(number: Sysno) -> bool {
    use Sysno as N;
    matches!(
        number,
        N::mkdir | N::mkdirat | N::symlink | N::symlinkat | N::mknod | N::mknodat
    )
}

pub(super) fn is_attribute_by_path(number: Sysno) -> bool {
    calls::paths_of(number) != 0 && attributes::is_one(number.name())
}

/// Whether the end of the call is of interest to the log, should its thread be killed in it.
pub(super) fn may_change(entered: &Entered) -> bool {
    let moves = entered
        .before
        .as_ref()
        .is_some_and(|before| before.write.is_some() || before.read.is_some());
    moves || names_node(entered.number, &entered.arguments) || is_step(entered, false)
}

/// Whether the call is one of those that the log tells of, other than by what they wrote
/// (`is_step`, `bpf/history.h`).
pub(super) fn is_step(entered: &Entered, failed: bool) -> bool {
    let Entered {
        meaning, number, ..
    } = entered;
    let open = entered.file.as_ref().map(|(_, open)| open);
    let is_regular = open.is_some_and(Open::is_regular);
    if open.is_some_and(|open| !is_in_tree(open)) {
        return false;
    }
    if failed {
        let writes = meaning & call::WRITES != 0 && is_regular;
        return entered.has_paths || meaning & call::STEP != 0 || writes;
    }
    if attributes::is_one(number.name()) {
        return match number {
            Sysno::fcntl | Sysno::ioctl => {
                open.is_some()
                    && changes_by_command(calls::name(entered.counted), &entered.arguments)
            }
            _ => true,
        };
    }
    if meaning & call::STEP == 0 {
        return false;
    }
    let argument = &entered.arguments;
    match number {
        Sysno::mmap => {
            is_regular
                && argument[2] & libc::PROT_WRITE as u64 != 0
                && argument[3] & libc::MAP_SHARED as u64 != 0
        }
        Sysno::open | Sysno::openat | Sysno::openat2 | Sysno::creat => {
            let empties = opening_flags(*number, argument).contains(OFlags::TRUNC);
            let is_writable = open.is_some_and(Open::is_writable);
            is_regular && (is_writable || entered.creates || empties)
        }
        _ if meaning & (call::FD_RETURNED | call::CLOSES) != 0 => {
            is_regular && open.is_some_and(Open::is_writable)
        }
        _ => true,
    }
}

/// What else a call that sets attributes was given in memory.
pub(super) fn extra(tid: Tid, entered: &Entered) -> Vec<u8> {
    use Sysno as N;
    let argument = &entered.arguments;
    let (address, bytes) = match entered.number {
        N::utime => (argument[1], 16),
        N::utimes => (argument[1], 32),
        N::futimesat | N::utimensat => (argument[2], 32),
        N::ioctl => (argument[2], 4),
        N::setxattr | N::lsetxattr | N::fsetxattr => (argument[2], argument[3].min(LONGEST_VALUE)),
        _ => return Vec::new(),
    };
    let mut read = Vec::new();
    memory::append(tid, address, &mut read, usize::try_from(bytes).unwrap_or(0));
    read
}
