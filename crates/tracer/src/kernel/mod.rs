//! System calls and C functions that no safe library wraps, each behind a safe function.
//!
//! Everything here acts on the calling process or on descriptors it owns, and
//! returns the kernel's answer unchanged.
#![expect(unsafe_code, reason = "raw system calls; no other safe wrapper exists")]

mod aligned;
mod cachestat;
mod descriptors;
mod forked;
mod loop_device;
mod mapping;
mod mincore;
mod mounts;
mod orphan;
pub(crate) mod rcu;
mod region;
mod ring;
mod secluded;
mod shown;
mod stdio;
mod sync_file_range;
mod sysconf;

pub use aligned::AlignedBuffer;
pub use cachestat::{CacheStat, cachestat};
pub(crate) use descriptors::{close_descriptors, wait_for_byte};
pub use forked::{Own, forked};
pub use loop_device::{LoopDevice, LoopError};
pub use mapping::{Mapping, MappingMut};
pub use mincore::mincore;
pub use mounts::{PrivateMounts, private_mounts};
pub use orphan::die_with_parent;
pub use region::Advice;
pub use ring::{Ring, RingError};
pub use secluded::Secluded;
pub use shown::Shown;
pub use stdio::{Stdio, StdioMode, copy_by_fgetc, copy_by_getc_unlocked};
pub use sync_file_range::{SyncFileRange, sync_file_range};
pub use sysconf::{clock_ticks_per_second, page_size};

use std::io;

/// The result of a C library function that returns -1 on failure, with the reason in `errno`.
pub(crate) fn outcome(returned: impl Into<i64>) -> io::Result<()> {
    match returned.into() {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}
