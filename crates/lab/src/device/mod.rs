//! A block device that iostrata serves: each write, flush, discard and zeroing of it is recorded in order.
//!
//! A FUSE file system with one file carries a loop device. The file is served by a process of its own
//! ([`server_main`]), in memory, one request at a time: what a file system on the device waits for never waits for
//! that file system. A flush of the device arrives as `FSYNC`, a discard as `FALLOCATE` with
//! `FALLOC_FL_PUNCH_HOLE`, a zeroing with `FALLOC_FL_ZERO_RANGE` (`lo_req_flush`, `lo_fallocate`,
//! drivers/block/loop.c).
//!
//! Nothing outlives a killed run. The mounts are in its private namespace and go with it, the loop device releases
//! itself, and the server, which is outside of that namespace, ends with the last connection.

mod disk;
mod image;
mod log;
mod recorder;
mod server;

pub use image::DiskImage;
#[cfg(test)]
pub(crate) use log::Writer as LogWriter;
pub use log::{Cut, RequestLog, Requests};
pub use recorder::{DeviceError, Recorder};
pub use server::{Server, server_main};
