//! Which calls the log records, and their further arguments.

use iostrata_core::trace::FileKind;
use iostrata_core::trace::calls::{Effect, effect};
use syscalls::Sysno;

use super::LONGEST_VALUE;
use super::claims::changes_by_command;
use super::paths::{may_create, opening_flags};
use crate::ptrace::calls::{self, call};
use crate::ptrace::history;
use crate::ptrace::identity::Open;
use crate::ptrace::memory;
use crate::ptrace::request::Tid;
use crate::ptrace::tasks::Entered;
use crate::record::attributes;

/// Whether the log may record a call on this file's descriptor.
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

/// Whether the paths of the call identify the node that it changes.
pub(super) fn names_node(number: Sysno, arguments: &[u64; 6]) -> bool {
    match effect(number.name()) {
        Some(Effect::Opens) => may_create(opening_flags(number, arguments)),
        Some(Effect::Names) => true,
        _ => number == Sysno::truncate || is_attribute_by_path(number),
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

/// Whether the log needs the outcome of the call if its thread is killed in it.
pub(super) fn may_change(entered: &Entered) -> bool {
    let moves = entered
        .before
        .as_ref()
        .is_some_and(|before| before.write.is_some() || before.read.is_some());
    moves || names_node(entered.number, &entered.arguments) || is_step(entered, false)
}

/// Whether the log records the call, apart from the bytes it wrote (`is_step`, `bpf/history.h`).
pub(super) fn is_step(entered: &Entered, failed: bool) -> bool {
    let open = entered.file.as_ref().map(|(_, open)| open);
    if open.is_some_and(|open| !is_in_tree(open)) {
        return false;
    }
    let (number, argument) = (entered.number, &entered.arguments);
    if failed || !attributes::is_one(number.name()) {
        return history::is_step(entered, failed);
    }
    match number {
        Sysno::fcntl | Sysno::ioctl => {
            open.is_some() && changes_by_command(calls::name(entered.counted), argument)
        }
        _ => true,
    }
}

/// Further arguments that a call setting attributes passed in memory.
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
