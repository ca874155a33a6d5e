//! The machine and the storage a result was measured on.

use serde::{Deserialize, Serialize};

/// Where a result was measured; stored in every result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Environment {
    /// A short label of the machine, such as `vda-2cpu-6b1f`.
    pub machine: String,
    /// Kernel release, as `uname -r`.
    pub kernel: String,
    /// CPUs this process may use.
    pub cpus: u32,
    /// Model of the first CPU; `null` where the kernel does not report it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_model: Option<String>,
    pub memory_bytes: u64,
    /// Hypervisor or container technology found, `null` on bare metal or when unknown.
    pub virtualization: Option<String>,
    /// The directory that was measured.
    pub target: Storage,
    /// The observer of the runs.
    pub backend: Backend,
    /// Version of iostrata that wrote the result.
    pub iostrata_version: String,
    /// How each stratum was observed in the kernel; empty if nothing was loaded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ways: Vec<Way>,
}

impl Environment {
    /// `vda-2cpu-6b1f`: the disk under the directory, the number of CPUs, and four digits that
    /// depend on the kernel, the CPU's model, the hypervisor and the disk's model.
    ///
    /// It is the same for every run on the machine, and reveals neither the machine's name nor a
    /// serial number. Machines with all of these in common share a label.
    pub fn label(&self) -> String {
        let disk = self.target.devices.last();
        let known = |text: &Option<String>| text.clone().unwrap_or_default();
        let facts = [
            self.kernel.clone(),
            self.cpus.to_string(),
            known(&self.cpu_model),
            known(&self.virtualization),
            disk.map(|disk| disk.kind().to_owned()).unwrap_or_default(),
            disk.map(|disk| known(&disk.model)).unwrap_or_default(),
        ];
        let hash = blake3::hash(facts.join("\n").as_bytes());
        let name = disk.map_or(self.target.filesystem.as_str(), Device::kind);
        let name: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
        let [first, second, ..] = *hash.as_bytes();
        format!("{:.16}-{}cpu-{first:02x}{second:02x}", name, self.cpus)
    }
}

/// How the kernel reports one stratum.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Way {
    /// The stratum, as in `missing`.
    pub what: String,
    /// By tracepoints, and by which functions where the kernel has none.
    pub by: String,
}

impl Way {
    /// Whether the kernel has tracepoints for all of it.
    pub fn is_usual(&self) -> bool {
        self.by == TRACEPOINTS
    }
}

/// [`Way::by`] where the kernel has a tracepoint for everything.
pub const TRACEPOINTS: &str = "tracepoints";

/// The observers of a process tree.
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
pub struct Storage {
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

/// One block device of the stack. Attributes missing in sysfs are `null`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Device {
    /// Kernel name, such as `nvme0n1p2`.
    pub name: String,
    pub model: Option<String>,
    /// The kernel's `rotational` flag. Virtual disks often set it.
    pub rotational: Option<bool>,
    /// `write back` or `write through`.
    pub write_cache: Option<String>,
    /// Whether the device takes forced-unit-access writes.
    pub fua: Option<bool>,
    /// Active I/O scheduler.
    pub scheduler: Option<String>,
}

impl Device {
    /// Its name; a loop device without its number, which is the next free one.
    pub fn kind(&self) -> &str {
        match self.name.strip_prefix("loop") {
            Some(number) if number.bytes().all(|byte| byte.is_ascii_digit()) => "loop",
            _ => &self.name,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment() -> Environment {
        Environment {
            machine: String::new(),
            kernel: "6.18.0".to_owned(),
            cpus: 2,
            cpu_model: Some("A CPU".to_owned()),
            memory_bytes: 8 << 30,
            virtualization: None,
            target: Storage {
                path: "/srv/one".to_owned(),
                filesystem: "ext4".to_owned(),
                mount_options: "rw".to_owned(),
                journal: Some(true),
                devices: ["dm-0", "nvme0n1"].map(device).into(),
            },
            backend: Backend::Ebpf,
            iostrata_version: "0.1.0".to_owned(),
            ways: Vec::new(),
        }
    }

    fn device(name: &str) -> Device {
        Device {
            name: name.to_owned(),
            model: Some("A disk".to_owned()),
            rotational: None,
            write_cache: None,
            fua: None,
            scheduler: None,
        }
    }

    #[test]
    fn a_label_is_that_of_the_machine_and_its_disk() {
        let label = environment().label();
        assert!(label.starts_with("nvme0n1-2cpu-"), "{label}");
        let hexadecimal = label["nvme0n1-2cpu-".len()..].bytes();
        assert_eq!(hexadecimal.clone().count(), 4);
        assert!(hexadecimal.clone().all(|digit| digit.is_ascii_hexdigit()));
        let labelled = |change: fn(&mut Environment)| {
            let mut other = environment();
            change(&mut other);
            other.label()
        };
        // Values that may differ in another run on the same machine.
        for same in [
            labelled(|one| one.target.path = "/srv/two".to_owned()),
            labelled(|one| one.memory_bytes += 4096),
            labelled(|one| one.backend = Backend::None),
            labelled(|one| one.iostrata_version = "0.2.0".to_owned()),
            labelled(|one| one.target.devices[0].name = "dm-1".to_owned()),
        ] {
            assert_eq!(same, label);
        }
        for other in [
            labelled(|one| one.kernel = "6.18.1".to_owned()),
            labelled(|one| one.cpus = 4),
            labelled(|one| one.cpu_model = None),
            labelled(|one| one.virtualization = Some("KVM".to_owned())),
            labelled(|one| one.target.devices[1].model = None),
            labelled(|one| one.target.devices[1].name = "sda".to_owned()),
        ] {
            assert_ne!(other, label);
        }
    }

    #[test]
    fn a_label_can_stand_in_an_id() {
        let mut odd = environment();
        odd.target.devices = vec![device("loop7")];
        assert!(odd.label().starts_with("loop-2cpu-"), "{}", odd.label());
        odd.target.devices[0].name = "a/b@c d!".repeat(9);
        let label = odd.label();
        assert!(label.starts_with("abcdabcdabcdabcd-2cpu-"), "{label}");
        odd.target.devices.clear();
        assert!(odd.label().starts_with("ext4-2cpu-"), "{}", odd.label());
    }
}
