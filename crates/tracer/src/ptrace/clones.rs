//! The flags of `clone(2)`, and those that a tracer must remove.

use syscalls::Sysno;

use super::memory;
use super::request::{self, Tid};

/// include/uapi/linux/sched.h
pub(super) const CLONE_FILES: u64 = 0x400;
pub(super) const CLONE_THREAD: u64 = 0x1_0000;
const CLONE_UNTRACED: u64 = 0x80_0000;

/// The flags of `clone` or `clone3`; 0 for other calls.
pub(super) fn flags(number: Sysno, arguments: &[u64; 6], tid: Tid) -> u64 {
    match number {
        Sysno::clone => arguments[0],
        // The flags are the first word of struct clone_args.
        Sysno::clone3 => memory::word(tid, arguments[0]).unwrap_or(0),
        _ => 0,
    }
}

/// Removes `CLONE_UNTRACED` from a call at its entry: every filtered call of an untraced task would
/// fail. Returns whether the flag was set.
pub(super) fn take_untraced(number: Sysno, arguments: &[u64; 6], tid: Tid) -> bool {
    let flags = flags(number, arguments, tid);
    flags & CLONE_UNTRACED != 0
        && set_flags(number, arguments, tid, flags & !CLONE_UNTRACED).is_ok()
}

/// Restores it in the program's memory when the call has ended.
pub(super) fn put_untraced_back(number: Sysno, arguments: &[u64; 6], tid: Tid) {
    let flags = flags(number, arguments, tid) | CLONE_UNTRACED;
    // It fails for a thread that is being killed, which will not read it.
    drop(set_flags(number, arguments, tid, flags));
}

fn set_flags(number: Sysno, arguments: &[u64; 6], tid: Tid, flags: u64) -> std::io::Result<()> {
    match number {
        Sysno::clone3 => memory::set_word(tid, arguments[0], flags),
        _ => request::set_first_argument(tid, flags),
    }
}
