//! Calls that change attributes: the position of their arguments. They are steps only in a
//! recording.

use syscalls::Sysno;

use super::wire::{call, extra, path};
use crate::record::attributes::is_one;

/// [`call`] bits that recording adds.
pub(super) fn meaning(number: Sysno) -> u32 {
    use Sysno as N;
    match number {
        N::fcntl => call::STEP | call::COMMAND,
        N::ioctl => call::STEP | call::COMMAND | call::STOPS,
        N::fchmod | N::fchown | N::fsetxattr | N::fremovexattr => call::FD_FIRST | call::STEP,
        other if is_one(other.name()) => call::STEP | call::TOUCHES,
        _ => 0,
    }
}

/// Which arguments are paths, one of [`path`], for calls that matter only in a recording.
pub(super) fn paths_of(number: Sysno) -> u8 {
    use Sysno as N;
    match number {
        N::utime => path::FIRST,
        N::futimesat | N::fchmodat2 => path::AT,
        N::setxattr | N::lsetxattr | N::removexattr | N::lremovexattr => path::AND_NAME,
        N::fsetxattr | N::fremovexattr => path::ONLY_NAME,
        _ => 0,
    }
}

/// Other data in memory: the number of the argument that points to it, from 1, and its length.
pub(super) fn extra_of(number: Sysno) -> u16 {
    use Sysno as N;
    let (argument, bytes) = match number {
        N::utime => (2, 16),
        N::utimes => (2, 32),
        N::futimesat | N::utimensat | N::ioctl => (3, 32),
        N::setxattr | N::lsetxattr | N::fsetxattr => (3, extra::LENGTH | 3),
        _ => return 0,
    };
    bytes << 8 | argument
}
