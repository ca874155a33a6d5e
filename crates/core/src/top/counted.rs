//! What the kernel counted in one interval, as the observer hands it over.

use std::collections::HashMap;

use super::{CallFigures, Calls, Commits, Dirty, Pages, RequestFigures};
use crate::environment::Way;
use crate::evidence::Cause;
use crate::gap::Gap;
use crate::op::FileId;

/// What one process did with one file.
#[derive(Debug, Clone, PartialEq)]
pub struct Share {
    /// The process; 0 when it is outside the observer's PID namespace.
    pub process: u32,
    /// The file; `None` for calls that name one by its path only, and where there was no room.
    pub file: Option<FileId>,
    pub calls: Calls,
    /// Of the calls that write, those that sync what they write.
    pub synchronous: CallFigures,
    pub pages: Pages,
}

/// Block requests of one disk, cause, file and process.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RequestRow {
    /// Disk, kernel `dev_t`.
    pub disk: u32,
    pub cause: Cause,
    /// The file, if it is file contents.
    pub file: Option<FileId>,
    /// The process that submitted it; `None` for the kernel's threads, and for requests that name no
    /// file: those are the file system's.
    pub process: Option<u32>,
    pub sum: RequestFigures,
}

/// A process that did something.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Actor {
    /// Name of its first thread.
    pub name: Option<String>,
    /// Who started it.
    pub parent: Option<u32>,
    /// Path of its cgroup (version 2).
    pub cgroup: Option<String>,
}

/// Name and place of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// Absolute path.
    pub path: Vec<u8>,
    pub filesystem: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Disk {
    /// Kernel name: `vda`, `loop0`.
    pub name: Option<String>,
    /// Mounted file systems: type, and where.
    pub filesystems: Vec<(String, Vec<u8>)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Strata {
    pub calls: bool,
    pub pages: bool,
    pub device: bool,
}

/// Of iostrata itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Own {
    pub process: u32,
    /// CPU time of all its threads, nanoseconds.
    pub cpu_ns: u64,
    /// Most memory that was resident so far, bytes.
    pub peak_resident_bytes: u64,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Counted {
    /// Its begin, nanoseconds since 1970.
    pub started_ns: u64,
    pub length_ns: u64,
    pub strata: Strata,
    pub ways: Vec<Way>,
    /// By process and file.
    pub shares: Vec<Share>,
    pub requests: Vec<RequestRow>,
    pub commits: Commits,
    /// Processes that appear.
    pub actors: HashMap<u32, Actor>,
    pub names: HashMap<FileId, Named>,
    /// Disks that appear, by their `dev_t`.
    pub disks: HashMap<u32, Disk>,
    /// The disk of a file system that has one, by its `s_dev`.
    pub disk_of: HashMap<u32, u32>,
    /// Dirty at the end.
    pub dirty: Option<Dirty>,
    pub own: Own,
    pub lost_events: u64,
    pub missing: Vec<Gap>,
}
