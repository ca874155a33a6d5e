//! System calls and C functions that no safe library wraps, each behind a safe function.
//!
//! Everything here acts on the calling process or on descriptors it owns, and
//! returns the kernel's answer unchanged.
#![expect(unsafe_code, reason = "raw system calls; no other safe wrapper exists")]

mod cachestat;
mod denied;
pub(crate) mod filter;
mod forked;
mod loop_device;
mod mounts;
pub(crate) mod rcu;
mod region;
mod ring;
mod room;
mod stdio;
mod sync_file_range;

use std::io;

pub use cachestat::{CacheStat, cachestat, mincore};
pub use denied::deny_calls;
pub use forked::{Own, die_with_parent, forked};
pub(crate) use forked::{close_descriptors, wait_for_byte};
pub use loop_device::{LoopDevice, LoopError};
pub use mounts::{PrivateMounts, private_mounts};
pub use region::{Advice, AlignedBuffer, Mapping, MappingMut, Shown};
pub use ring::{Ring, RingError};
pub use room::{
    inherit_standard_only, make_all_read_only, make_read_only, make_writable, map_owners,
    own_user_namespace, turn_on_loopback,
};
pub use stdio::{Stdio, StdioMode, copy_by_fgetc, copy_by_getc_unlocked};
pub use sync_file_range::{SyncFileRange, sync_file_range};

/// The result of a C library function that returns -1 on failure, with the reason in `errno`.
pub(crate) fn outcome(returned: impl Into<i64>) -> io::Result<()> {
    match returned.into() {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

pub fn page_size() -> usize {
    usize::try_from(sysconf(libc::_SC_PAGESIZE)).unwrap_or(4096)
}

/// In which `/proc/PID/stat` counts time.
pub fn clock_ticks_per_second() -> u64 {
    u64::try_from(sysconf(libc::_SC_CLK_TCK)).unwrap_or(100)
}

/// Not by `rustix::param`: that reads /proc/self/auxv before Linux 6.4, which a program file with capabilities may not
/// when a user runs it, and panics.
fn sysconf(name: libc::c_int) -> libc::c_long {
    // SAFETY: the call takes an integer, and changes no memory.
    unsafe { libc::sysconf(name) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kernel tells every program both (`getauxval(3)`: `AT_PAGESZ`, `AT_CLKTCK`).
    #[test]
    fn they_are_what_the_kernel_says() {
        let auxv = std::fs::read("/proc/self/auxv").unwrap();
        let entry = |kind: u64| {
            let mut words = auxv.chunks_exact(16).map(|entry| {
                let (kind, value) = entry.split_at(8);
                let word = |bytes: &[u8]| u64::from_ne_bytes(bytes.try_into().unwrap());
                (word(kind), word(value))
            });
            words.find(|(one, _)| *one == kind).unwrap().1
        };
        assert_eq!(page_size() as u64, entry(6));
        assert_eq!(clock_ticks_per_second(), entry(17));
    }
}
