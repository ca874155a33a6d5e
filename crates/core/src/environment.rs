//! The machine and the storage a result was measured on.

use serde::{Deserialize, Serialize};

/// Where a result was measured; stored in every result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Environment {
    /// Kernel release, as `uname -r`.
    pub kernel: String,
    /// CPUs this process may use.
    pub cpus: u32,
    /// Memory of the machine, bytes.
    pub memory_bytes: u64,
    /// Hypervisor or container technology found, `null` on bare metal or when unknown.
    pub virtualization: Option<String>,
    /// The directory that was measured.
    pub target: Target,
    /// What observed the runs.
    pub backend: Backend,
    /// Version of iostrata that wrote the result.
    pub iostrata_version: String,
    /// How each stratum was observed in the kernel; empty where nothing was loaded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ways: Vec<Way>,
}

/// How the kernel tells of one stratum.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Way {
    /// The stratum, as in `missing`.
    pub what: String,
    /// By tracepoints, and by which functions where the kernel has none.
    pub by: String,
}

impl Way {
    /// Whether the kernel has a tracepoint for all of it.
    pub fn is_usual(&self) -> bool {
        self.by == TRACEPOINTS
    }
}

/// [`Way::by`] where the kernel has a tracepoint for everything.
pub const TRACEPOINTS: &str = "tracepoints";

/// What can observe a process tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Backend {
    /// BTF tracepoints.
    Ebpf,
    /// ptrace with a seccomp filter.
    Ptrace,
    /// Nothing: timings and `/proc` only.
    None,
}

/// A directory and the storage under it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Target {
    /// The directory, lossily decoded.
    pub path: String,
    /// File-system type, as in `/proc/self/mountinfo`.
    pub filesystem: String,
    /// Mount and superblock options.
    pub mount_options: String,
    /// Whether the file system has a journal or log; `null` when unknown.
    pub journal: Option<bool>,
    /// Block devices from the file system down to the hardware.
    pub devices: Vec<Device>,
}

/// One block device of the stack. What sysfs does not say is `null`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Device {
    /// Kernel name, such as `nvme0n1p2`.
    pub name: String,
    /// Model the device reports.
    pub model: Option<String>,
    /// Whether the kernel believes it rotates. Virtual disks often claim so.
    pub rotational: Option<bool>,
    /// `write back` or `write through`.
    pub write_cache: Option<String>,
    /// Whether the device takes forced-unit-access writes.
    pub fua: Option<bool>,
    /// Active I/O scheduler.
    pub scheduler: Option<String>,
}
