//! System calls that rustix does not wrap, each behind a safe function.
//!
//! Everything here acts on the calling process or on descriptors it owns, and
//! returns the kernel's answer unchanged.
#![expect(unsafe_code, reason = "raw system calls; no other safe wrapper exists")]

mod cachestat;
mod loop_device;
mod mounts;
mod orphan;
mod sync_file_range;

pub use cachestat::{CacheStat, cachestat};
pub use loop_device::{LoopDevice, LoopError};
pub use mounts::{PrivateMounts, private_mounts};
pub use orphan::die_with_parent;
pub use sync_file_range::{SyncFileRange, sync_file_range};
