//! Which calls are steps of the history, by the rules of the kernel side.

use iostrata_core::op::{Call, FileId};
use iostrata_core::trace::{Did, Located};
use rustix::fs::OFlags;
use syscalls::Sysno;

use super::calls::{call, call_flags};
use super::identity::Open;
use super::tasks::Entered;
use crate::decode::{self, Ended, RWF_DURABLE};

/// The history's entry for a call.
pub(super) fn did(call: Call, entered: Entered, file_by_path: Option<FileId>) -> Option<Did> {
    if !is_step(&entered, call.outcome.is_err()) {
        return None;
    }
    let [argument @ .., _] = entered.arguments;
    let open = entered.file.map(|(_, open)| open);
    let directory = None;
    let located = |path: Option<Vec<u8>>| path.map(|path| Located { path, directory });
    let event = decode::event(&mut Ended {
        call,
        argument,
        file: open.map(|open| open.file),
        open: None,
        created: entered.creates,
        mode: open.map_or(0, |open| open.mode),
        first: located(entered.first),
        second: located(entered.second),
        second_text: Vec::new(),
        node: entered.linked.map(|open| open.file).or(file_by_path),
        inode: None,
        extra: Vec::new(),
    })?;
    Some(event.did)
}

/// Whether the call is a step of the history, by the rules of the kernel side (`is_step`,
/// `bpf/history.h`).
pub(super) fn is_step(entered: &Entered, failed: bool) -> bool {
    let meaning = entered.meaning;
    let open = entered.file.as_ref().map(|(_, open)| open);
    let is_regular = open.is_some_and(Open::is_regular);
    let is_writable = open.is_some_and(Open::is_writable) || entered.creates;
    let argument = &entered.arguments;
    if failed {
        entered.has_paths
            || meaning & call::STEP != 0
            || (meaning & call::WRITES != 0 && is_regular)
    } else if meaning & call::STEP == 0 {
        false
    } else if meaning & call::FD_FIFTH != 0 {
        is_regular
            && argument[2] & libc::PROT_WRITE as u64 != 0
            && argument[3] & libc::MAP_SHARED as u64 != 0
    } else if meaning & (call::FD_RETURNED | call::CLOSES) != 0 {
        is_regular && (is_writable || empties(entered))
    } else {
        true
    }
}

/// Whether the call opened a file, even if only to read, and truncated it.
fn empties(entered: &Entered) -> bool {
    entered.meaning & call::FD_RETURNED != 0
        && decode::opening_flags(entered.number.name(), &entered.arguments) & decode::O_TRUNC != 0
}

/// Whether the call's writes are durable when it returns (`bpf/durable.h`).
pub(super) fn is_durable(entered: &Entered) -> bool {
    let is_asked_for =
        entered.meaning & call::FLAGS != 0 && entered.arguments[5] & RWF_DURABLE != 0;
    let open = entered.file.map(|(_, open)| open);
    is_asked_for || open.is_some_and(|open| open.flags.bits() & decode::O_DSYNC != 0)
}

/// Whether the call writes at the end of the file.
pub(super) fn appends(entered: &Entered) -> bool {
    let open = entered.file.map_or(0, |(_, open)| open.flags.bits());
    decode::appends(open, call_flags(entered.meaning, &entered.arguments).into())
}

/// Whether a success of this call may create a file.
pub(super) fn creates(number: Sysno, arguments: &[u64; 6]) -> bool {
    use Sysno as N;
    let opens = matches!(number, N::open | N::openat | N::openat2 | N::creat);
    opens && decode::opening_flags(number.name(), arguments) & u64::from(OFlags::CREATE.bits()) != 0
}
