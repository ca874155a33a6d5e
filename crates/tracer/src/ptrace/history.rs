//! Which calls are steps of the history, by the rules of the kernel side.

use iostrata_core::op::FileId;
use iostrata_core::trace::{FileKind, Step};
use rustix::fs::OFlags;
use syscalls::Sysno;

use super::calls::{self, call};
use super::tasks::Entered;
use crate::steps::{self, Asked};

/// `RWF_DSYNC` and `RWF_SYNC` (include/uapi/linux/fs.h).
const RWF_DURABLE: u64 = 2 | 4;

/// The step of the history that a call was, by the rules of the kernel side
/// (`is_step`, `bpf/history.h`).
pub(super) fn step(
    entered: Entered,
    outcome: Result<u64, i32>,
    file_by_path: Option<FileId>,
) -> Option<Step> {
    let failed = outcome.is_err();
    if is_report(&entered, outcome) {
        return Some(Step::Reported { count: 1 });
    }
    let meaning = entered.meaning;
    let open = entered.file.map(|(_, open)| open);
    let is_regular = open.is_some_and(|open| open.is_regular());
    let is_writable = open.is_some_and(|open| open.is_writable()) || entered.creates;
    let argument = &entered.arguments;
    let is_step = if failed {
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
        is_regular && is_writable
    } else {
        true
    };
    is_step.then(|| {
        steps::step(Asked {
            call: calls::name(entered.counted),
            argument,
            failed,
            file: open.map(|open| open.file),
            created: entered.creates,
            flags: open.map_or(0, |open| open.flags.bits()),
            first: entered.first,
            second: entered.second,
            linked: entered.linked.map(|open| open.file),
            file_by_path,
        })
    })?
}

/// Whether the call told the outside something (`bpf/reports.h`).
fn is_report(entered: &Entered, outcome: Result<u64, i32>) -> bool {
    let meaning = entered.meaning;
    if outcome.is_err() || outcome == Ok(0) {
        return false;
    }
    let kind = entered.file.map(|(_, open)| open.kind());
    let is_output = entered.arguments[0] == 1 && kind.is_some_and(|it| it != FileKind::Regular);
    meaning & call::SENDS != 0
        || meaning & call::WRITES != 0 && (is_output || kind == Some(FileKind::Socket))
}

/// Whether what the call wrote is durable when it returns (`bpf/durable.h`).
pub(super) fn is_durable(entered: &Entered) -> bool {
    let is_asked_for =
        entered.meaning & call::FLAGS != 0 && entered.arguments[5] & RWF_DURABLE != 0;
    let open = entered.file.map(|(_, open)| open);
    is_asked_for || open.is_some_and(|open| open.flags.bits() & steps::O_DSYNC != 0)
}

/// Whether a success of this call may create a file.
pub(super) fn creates(number: Sysno, arguments: &[u64; 6]) -> bool {
    let flags = match number {
        Sysno::creat => return true,
        Sysno::open => arguments[1],
        // Of openat2 the flags stand there, in the place of their address.
        Sysno::openat | Sysno::openat2 => arguments[2],
        _ => 0,
    };
    flags & u64::from(OFlags::CREATE.bits()) != 0
}
