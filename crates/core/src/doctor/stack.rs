//! The layers under a path, from the file system to the device.

use serde::{Deserialize, Serialize};

use crate::environment::{Device, Storage};
use crate::op::FileId;

/// Layers in depth-first order: each is followed by the layers under it, one deeper. The first is
/// the file system of the path.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Stack {
    pub layers: Vec<Layer>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Layer {
    /// Number of layers above this one.
    pub depth: u32,
    pub kind: LayerKind,
    /// File-system type, or the kernel's name of the device.
    pub name: String,
    /// Block device; `null` for file systems without one.
    pub device: Option<DeviceNumber>,
    /// Whether block requests on this device are the file system's traffic.
    pub charged: bool,
    /// Size of a block device.
    pub size_bytes: Option<u64>,
    /// Only for file systems.
    pub mount: Option<Mount>,
    /// Only for whole disks.
    pub queue: Option<Queue>,
    /// Additional information, as a phrase.
    pub note: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(tag = "is", rename_all = "kebab-case")]
pub enum LayerKind {
    /// A mounted file system.
    FileSystem,
    /// A partition of the disk below.
    Partition,
    /// A file used as a disk. The file system that holds it follows.
    Loop {
        /// The file, lossily decoded.
        backing_file: String,
        /// Whether the image bypasses the page cache of the underlying file system
        /// (`/sys/block/loopN/loop/dio`).
        direct_io: Option<bool>,
    },
    /// LVM, dm-crypt, multipath ...
    DeviceMapper,
    /// Software RAID (md).
    Raid,
    /// A disk cached by another.
    Bcache,
    /// A disk in memory: zram, brd.
    Memory,
    /// Hardware, or what the hypervisor shows as hardware.
    Disk {
        /// How it is attached: `nvme`, `virtio`, `scsi` ...
        bus: Option<String>,
    },
}

/// `major:minor`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct DeviceNumber {
    /// Driver.
    pub major: u32,
    /// Device of that driver.
    pub minor: u32,
}

impl DeviceNumber {
    /// The number in the kernel's encoding, under which requests are counted.
    pub fn kernel(self) -> u32 {
        FileId::kernel_device(self.major, self.minor)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Mount {
    /// Mount point, lossily decoded.
    pub point: String,
    /// Directory of the file system that is visible there: `/`, or another one for bind mounts and
    /// subvolumes.
    pub root: String,
    /// The source passed to mount: a device, a server, a name.
    pub source: String,
    /// Mount options and superblock options, without repetition.
    pub options: String,
    pub journal: Journal,
}

/// How the file system keeps itself consistent.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Journal {
    /// Whether there is a journal or log; `null` when unknown.
    pub present: Option<bool>,
    /// ext4: `ordered`, `writeback` or `journal`.
    pub data_mode: Option<String>,
    /// Whether fsync and commits flush the device's cache.
    pub barrier: Option<bool>,
    /// ext4: logical fast commits; `null` when the kernel does not report it.
    pub fast_commit: Option<bool>,
    /// Kernel name of the device that holds it, if it is a separate device.
    pub log_device: Option<String>,
    /// One phrase for readers.
    pub explanation: String,
}

/// The request queue of a disk. Attributes missing in sysfs are `null`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Queue {
    pub model: Option<String>,
    /// Whether requests pass through blk-mq here. If not, bios are passed on to the disks below.
    pub request_based: bool,
    /// The kernel's `rotational` flag.
    pub rotational: Option<bool>,
    /// `write back` or `write through`.
    pub write_cache: Option<String>,
    /// Whether the device takes forced-unit-access writes.
    pub fua: Option<bool>,
    /// Active I/O scheduler.
    pub scheduler: Option<String>,
    /// Smallest unit the device addresses.
    pub logical_block_bytes: Option<u64>,
    /// Smallest unit it writes without reading first.
    pub physical_block_bytes: Option<u64>,
    /// Requests the scheduler or the driver queues.
    pub nr_requests: Option<u64>,
    /// Largest read-ahead window.
    pub read_ahead_bytes: Option<u64>,
    /// Unit of discards; 0 when the device cannot discard.
    pub discard_granularity_bytes: Option<u64>,
}

/// Documentation/admin-guide/devices.txt
const LOOP_MAJOR: u32 = 7;

impl Stack {
    pub fn file_system(&self) -> Option<&Layer> {
        self.layers.first()
    }

    /// Disks (kernel `dev_t`) whose block requests are this file system's traffic: the first
    /// request-based ones below it. Empty when there is no such device.
    pub fn charged_disks(&self) -> Vec<u32> {
        let charged = self.layers.iter().filter(|layer| layer.charged);
        charged.fold(Vec::new(), |mut disks, layer| {
            if let Some(disk) = layer.device.map(DeviceNumber::kernel)
                && !disks.contains(&disk)
            {
                disks.push(disk);
            }
            disks
        })
    }

    /// Whether it is a loop device without a file.
    pub fn is_detached(&self) -> bool {
        let is = |layer: &Layer| {
            let is_loop = layer
                .device
                .is_some_and(|device| device.major == LOOP_MAJOR);
            is_loop && !matches!(layer.kind, LayerKind::Loop { .. } | LayerKind::Partition)
        };
        self.layers.iter().filter(|layer| layer.charged).any(is)
    }

    /// The disks whose requests count, each with the type of the file system on it.
    pub fn charged_file_systems(&self) -> Vec<(u32, String)> {
        let mut above: Option<&str> = None;
        let mut found = Vec::new();
        for layer in &self.layers {
            if layer.kind == LayerKind::FileSystem {
                above = Some(&layer.name);
            }
            let disk = layer.device.filter(|_| layer.charged);
            if let Some((disk, above)) = disk.zip(above) {
                found.push((disk.kernel(), above.to_owned()));
            }
        }
        found
    }

    /// Disks (kernel `dev_t`) below these: requests to a loop device reach the disk that holds its
    /// image again.
    pub fn disks_below(&self) -> Vec<u32> {
        let repeats = |layer: &&Layer| {
            let queue = layer.queue.as_ref();
            !layer.charged && queue.is_some_and(|queue| queue.request_based)
        };
        let below = self.layers.iter().filter(repeats);
        below
            .filter_map(|layer| layer.device.map(DeviceNumber::kernel))
            .collect()
    }

    /// Every block device once, from the file system down.
    pub fn devices(&self) -> Vec<Device> {
        let blocks = self
            .layers
            .iter()
            .filter(|layer| layer.kind != LayerKind::FileSystem);
        blocks.fold(Vec::new(), |mut devices: Vec<Device>, layer| {
            if devices.iter().all(|seen| seen.name != layer.name) {
                devices.push(layer.as_device());
            }
            devices
        })
    }

    /// The part of the environment about `path`. The journal of an overlay is that of its upper
    /// file system, which receives the writes.
    pub fn target(&self, path: String) -> Storage {
        let top = self.file_system();
        let is_written =
            |layer: &&Layer| layer.kind == LayerKind::FileSystem && layer.name != "overlay";
        let written = self.layers.iter().find(is_written);
        let journal = written.and_then(|layer| Some(&layer.mount.as_ref()?.journal));
        let mount = top.and_then(|layer| layer.mount.as_ref());
        let mut mount_options = mount.map_or_else(String::new, |mount| mount.options.clone());
        // ext4 shows only options that differ from its defaults.
        if let Some(mode) = journal.and_then(|journal| journal.data_mode.as_ref()) {
            let data = format!(",data={mode}");
            if !mount_options.contains(&data) {
                mount_options.push_str(&data);
            }
        }
        Storage {
            path,
            filesystem: top.map_or_else(String::new, |layer| layer.name.clone()),
            mount_options,
            journal: journal.and_then(|journal| journal.present),
            devices: self.devices(),
        }
    }
}

impl Layer {
    fn as_device(&self) -> Device {
        let queue = self.queue.as_ref();
        Device {
            name: self.name.clone(),
            model: queue.and_then(|queue| queue.model.clone()),
            rotational: queue.and_then(|queue| queue.rotational),
            write_cache: queue.and_then(|queue| queue.write_cache.clone()),
            fua: queue.and_then(|queue| queue.fua),
            scheduler: queue.and_then(|queue| queue.scheduler.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layer(
        depth: u32,
        kind: LayerKind,
        name: &str,
        number: Option<(u32, u32)>,
        charged: bool,
    ) -> Layer {
        Layer {
            depth,
            kind,
            name: name.to_owned(),
            device: number.map(|(major, minor)| DeviceNumber { major, minor }),
            charged,
            size_bytes: None,
            mount: None,
            queue: None,
            note: None,
        }
    }

    fn disk() -> LayerKind {
        LayerKind::Disk { bus: None }
    }

    #[test]
    fn a_disk_reached_twice_is_charged_and_listed_once() {
        let stack = Stack {
            layers: vec![
                layer(0, LayerKind::FileSystem, "btrfs", None, false),
                layer(1, LayerKind::Partition, "sda1", Some((8, 1)), false),
                layer(2, disk(), "sda", Some((8, 0)), true),
                layer(1, LayerKind::Partition, "sda2", Some((8, 2)), false),
                layer(2, disk(), "sda", Some((8, 0)), true),
                layer(1, disk(), "sdb", Some((8, 16)), true),
            ],
        };
        assert_eq!(stack.charged_disks(), [8 << 20, 8 << 20 | 16]);
        let names: Vec<String> = stack
            .devices()
            .into_iter()
            .map(|device| device.name)
            .collect();
        assert_eq!(names, ["sda1", "sda", "sda2", "sdb"]);
    }

    #[test]
    fn an_overlay_has_the_journal_of_its_upper_file_system() {
        let mount = |journal: Journal| {
            Some(Mount {
                point: "/".into(),
                root: "/".into(),
                source: "x".into(),
                options: "rw".into(),
                journal,
            })
        };
        let ordered = Journal {
            present: Some(true),
            data_mode: Some("ordered".into()),
            ..Journal::default()
        };
        let stack = Stack {
            layers: vec![
                Layer {
                    mount: mount(Journal::default()),
                    ..layer(0, LayerKind::FileSystem, "overlay", None, false)
                },
                Layer {
                    mount: mount(ordered),
                    ..layer(1, LayerKind::FileSystem, "ext4", Some((8, 1)), false)
                },
            ],
        };
        let target = stack.target("/x".into());
        assert_eq!(target.filesystem, "overlay");
        assert_eq!(target.journal, Some(true));
    }
}
