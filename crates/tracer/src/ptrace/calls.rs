//! The system calls that stop the program. [`crate::ebpf::calls`] has their meaning, in the table
//! that the kernel side also reads.

use iostrata_core::trace::calls::{Effect, Following, group};
use syscalls::Sysno;

pub(super) use crate::ebpf::calls::{CLONE, all, meaning, name, paths_of, told_by};
pub(super) use crate::ebpf::told;
pub(super) use crate::ebpf::wire::{TOLD_BASE, call, path, told_by};

/// Whether calls with this name are recorded.
pub fn sees(call: &str) -> bool {
    // Only some of these calls stop the program: those with another name.
    let is_in_part = matches!(call, "mprotect" | "pkey_mprotect" | "madvise");
    let mut stopped_at = all().filter(|number| is_stopped_at(*number));
    told::number(call).is_some() || !is_in_part && stopped_at.any(|number| number.name() == call)
}

/// Whether the recorder needs to see the call.
pub(super) fn is_stopped_at(number: Sysno) -> bool {
    meaning(number) != 0 || paths_of(number) != 0 || has_effect(number) || is_bookkeeping(number)
}

/// Whether results report the effect of the call, by its class.
fn has_effect(number: Sysno) -> bool {
    group(number.name()).is_some_and(|class| match class.effect {
        Effect::Nothing | Effect::Waits => false,
        Effect::Handles | Effect::Maps => class.following != Following::NotNeeded,
        _ => true,
    })
}

/// Calls that are not I/O, but change the meaning of descriptors and paths, or create tasks.
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
            | N::seccomp
    )
}

/// The meaning of a call by its number; `None` for a number that this program does not know.
pub(super) fn known(number: u64) -> Option<Sysno> {
    Sysno::new(usize::try_from(number).ok()?)
}
/// `RWF_*`, of this call only.
pub(super) fn call_flags(meaning: u32, arguments: &[u64; 6]) -> u32 {
    if meaning & call::FLAGS == 0 {
        return 0;
    }
    let [a, b, c, d, ..] = arguments[5].to_le_bytes();
    u32::from_le_bytes([a, b, c, d])
}
