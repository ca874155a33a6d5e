//! Which system calls are stopped at. What they mean is in [`crate::ebpf::calls`], the same
//! table that the kernel side reads.

use syscalls::Sysno;

pub(super) use crate::ebpf::calls::{all, meaning, name, paths_of};
pub(super) use crate::ebpf::wire::{call, path};

/// Whether calls of this name are seen.
pub fn sees(call: &str) -> bool {
    all().any(|number| number.name() == call && is_stopped_at(number))
}

/// Whether the recorder needs to see the call.
pub(super) fn is_stopped_at(number: Sysno) -> bool {
    meaning(number) != 0 || paths_of(number) != 0 || is_bookkeeping(number)
}

/// Calls that are no I/O, but change what descriptors and paths stand for, or make tasks.
fn is_bookkeeping(number: Sysno) -> bool {
    use Sysno as N;
    matches!(
        number,
        N::clone
            | N::clone3
            | N::unshare
            | N::chroot
            | N::pivot_root
            | N::setns
            | N::io_uring_setup
    )
}

/// The meaning of a call by its number; `None` for a number this program does not know.
pub(super) fn known(number: u64) -> Option<Sysno> {
    Sysno::new(usize::try_from(number).ok()?)
}
