//! Block devices as sysfs shows them.
//! Source: Documentation/ABI/{stable,testing}/sysfs-block*.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use iostrata_core::doctor::{DeviceNumber, LayerKind, Queue};

use super::Roots;
use super::mountinfo::device_number;

#[derive(Debug, Clone)]
pub(super) struct Block {
    /// Kernel name, such as `nvme0n1p2`.
    pub(super) name: String,
    pub(super) number: DeviceNumber,
    /// Without symbolic links: a partition's parent directory is its disk's.
    pub(super) directory: PathBuf,
}

pub(super) fn by_number(roots: &Roots, number: DeviceNumber) -> Option<Block> {
    at(&roots
        .sys
        .join(format!("dev/block/{}:{}", number.major, number.minor)))
}

pub(super) fn by_name(roots: &Roots, name: &str) -> Option<Block> {
    at(&roots.sys.join("class/block").join(name))
}

fn at(link: &Path) -> Option<Block> {
    let directory = std::fs::canonicalize(link).ok()?;
    let number = device_number(&Roots::read(&directory.join("dev"))?)?;
    let name = directory.file_name()?.to_string_lossy().into_owned();
    Some(Block {
        name,
        number,
        directory,
    })
}

/// Kernel name of a device node: `/dev/mapper/vg-root` is `dm-0`.
pub(super) fn name_of(node: &Path) -> Option<String> {
    let real = std::fs::canonicalize(node).unwrap_or_else(|_| node.to_owned());
    Some(real.file_name()?.to_string_lossy().into_owned())
}

/// Devices of a file system whose `s_dev` identifies none of them.
pub(super) fn members(roots: &Roots, kind: &str, source: &Path) -> Vec<Block> {
    let names = match kind {
        "btrfs" => btrfs_members(roots, source),
        // A colon joins the members (fs/bcachefs/fs.c, `bch2_show_devname`).
        "bcachefs" => {
            let nodes = source.as_os_str().as_bytes().split(|byte| *byte == b':');
            nodes
                .filter_map(|node| name_of(Path::new(&OsString::from_vec(node.to_vec()))))
                .collect()
        }
        _ => Vec::new(),
    };
    names
        .iter()
        .filter_map(|name| by_name(roots, name))
        .collect()
}

/// The members listed for the file system of `source`. A source that sysfs does not know
/// (`/dev/root`) is assumed to be the only one.
fn btrfs_members(roots: &Roots, source: &Path) -> Vec<String> {
    let node = name_of(source);
    let file_systems: Vec<Vec<String>> = entries(&roots.sys.join("fs/btrfs"))
        .iter()
        .map(|uuid| entries(&roots.sys.join("fs/btrfs").join(uuid).join("devices")))
        .filter(|devices| !devices.is_empty())
        .collect();
    let of_source = file_systems
        .iter()
        .find(|devices| node.as_ref().is_some_and(|node| devices.contains(node)));
    match (of_source, file_systems.as_slice()) {
        (Some(devices), _) => devices.clone(),
        (None, [only]) => only.clone(),
        (None, _) => node.into_iter().collect(),
    }
}

fn entries(directory: &Path) -> Vec<String> {
    let listed = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let mut names: Vec<String> = listed
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort_unstable();
    names
}

/// What serves the files of this type of file system, in place of a block device whose requests are theirs.
pub(crate) fn served(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "nfs" | "nfs4" | "cifs" | "smb3" | "ceph" | "afs" | "lustre" => {
            "no block device here: the storage is on a server"
        }
        "9p" | "virtiofs" => "no block device here: the storage is on the host",
        "zfs" => "iostrata cannot identify the devices of the pool",
        fuse if fuse.starts_with("fuse") => {
            "no block device here: a user-space program serves the files"
        }
        _ => return None,
    })
}

/// Why there is no block device, by file-system type.
pub(super) fn no_device(kind: &str) -> &'static str {
    served(kind).unwrap_or(match kind {
        "tmpfs" | "ramfs" | "devtmpfs" | "hugetlbfs" => {
            "no block device: its contents are in memory, tmpfs also in swap"
        }
        "btrfs" | "bcachefs" => "its devices are not in sysfs",
        _ => "no block device: the kernel generates the contents",
    })
}

impl Block {
    pub(super) fn is_partition(&self) -> bool {
        self.directory.join("partition").exists()
    }

    pub(super) fn kind(&self) -> LayerKind {
        let has = |entry: &str| self.directory.join(entry).exists();
        if self.is_partition() {
            LayerKind::Partition
        } else if let Some(file) = self.backing_file() {
            LayerKind::Loop {
                backing_file: file.to_string_lossy().into_owned(),
                direct_io: Roots::read_number(&self.directory.join("loop/dio")).map(|on| on != 0),
            }
        } else if has("dm") {
            LayerKind::DeviceMapper
        } else if has("md") {
            LayerKind::Raid
        } else if self.name.starts_with("bcache") {
            LayerKind::Bcache
        } else if self.name.starts_with("zram") || self.name.starts_with("ram") {
            LayerKind::Memory
        } else {
            LayerKind::Disk { bus: self.bus() }
        }
    }

    /// File behind a bound loop device. Raw bytes, then one newline (drivers/block/loop.c,
    /// `loop_attr_backing_file_show`).
    pub(super) fn backing_file(&self) -> Option<PathBuf> {
        let mut path = std::fs::read(self.directory.join("loop/backing_file")).ok()?;
        path.pop_if(|last| *last == b'\n');
        Some(PathBuf::from(OsString::from_vec(path)))
    }

    /// The device's contribution, as a phrase.
    pub(super) fn note(&self) -> Option<String> {
        let text =
            |file: &str| Roots::read(&self.directory.join(file)).filter(|text| !text.is_empty());
        match self.kind() {
            LayerKind::DeviceMapper => {
                let name = text("dm/name").unwrap_or_default();
                let uuid = text("dm/uuid").unwrap_or_default();
                let what = match uuid.split('-').next() {
                    Some("LVM") => "LVM volume",
                    Some("CRYPT") => "encrypted by dm-crypt,",
                    Some("mpath") => "multipath",
                    _ => "device-mapper",
                };
                Some(format!("{what} {name}"))
            }
            LayerKind::Raid => text("md/level"),
            LayerKind::Bcache => Some("requests on its cache device are not followed".to_owned()),
            _ => None,
        }
    }

    /// `size` is in units of 512 bytes whatever the device's block size.
    pub(super) fn size_bytes(&self) -> Option<u64> {
        Roots::read_number(&self.directory.join("size"))?.checked_mul(512)
    }

    /// The layers below: the disk of a partition, the parts of a composed device.
    pub(super) fn lower(&self, roots: &Roots) -> Vec<Self> {
        if self.is_partition() {
            return self.directory.parent().and_then(at).into_iter().collect();
        }
        let parts = entries(&self.directory.join("slaves"));
        parts
            .iter()
            .filter_map(|name| by_name(roots, name))
            .collect()
    }

    fn bus(&self) -> Option<String> {
        let subsystem = std::fs::canonicalize(self.directory.join("device/subsystem")).ok()?;
        let name = subsystem.file_name()?.to_string_lossy().into_owned();
        let path = self.directory.to_string_lossy();
        let transport = Roots::read(&self.directory.join("device/transport"));
        Some(match (name.as_str(), transport.as_deref()) {
            ("nvme", Some(transport @ ("tcp" | "rdma" | "fc"))) => format!("nvme over {transport}"),
            ("scsi", _) if path.contains("/virtio") => "virtio".to_owned(),
            ("scsi", _) if path.contains("/usb") => "usb".to_owned(),
            ("scsi", _) if path.contains("/ata") => "ata".to_owned(),
            ("scsi", _) if path.to_ascii_lowercase().contains("/vmbus") => "hyper-v".to_owned(),
            ("scsi", _) if path.contains("/session") => "iscsi".to_owned(),
            _ => name,
        })
    }
}

/// Reads `/sys/block/DISK/queue`; missing attributes are `None`. Source: Documentation/ABI/stable/sysfs-block.
pub(super) fn queue_of(block: &Block) -> Queue {
    let text = |name: &str| Roots::read(&block.directory.join("queue").join(name));
    let number = |name: &str| Roots::read_number(&block.directory.join("queue").join(name));
    Queue {
        model: model(block),
        // Only blk-mq has requests, and it creates this directory (block/blk-mq-sysfs.c,
        // `blk_mq_sysfs_register`).
        request_based: block.directory.join("mq").exists(),
        rotational: number("rotational").map(|value| value != 0),
        write_cache: text("write_cache"),
        fua: number("fua").map(|value| value != 0),
        scheduler: text("scheduler").and_then(|list| active_scheduler(&list)),
        logical_block_bytes: number("logical_block_size"),
        physical_block_bytes: number("physical_block_size"),
        nr_requests: number("nr_requests"),
        read_ahead_bytes: number("read_ahead_kb").and_then(|kib| kib.checked_mul(1024)),
        discard_granularity_bytes: number("discard_granularity"),
    }
}

/// The name in brackets; devices without a choice show a bare `none`.
fn active_scheduler(list: &str) -> Option<String> {
    let mut names = list.split_whitespace();
    let bracketed = names
        .clone()
        .find_map(|name| name.strip_prefix('[')?.strip_suffix(']'));
    bracketed.or_else(|| names.next()).map(str::to_owned)
}

/// Model with its vendor. SCSI disks behind libata all report vendor `ATA`; virtio shows a PCI id
/// under that name.
fn model(block: &Block) -> Option<String> {
    let text = |name: &str| {
        Roots::read(&block.directory.join("device").join(name)).filter(|text| !text.is_empty())
    };
    let model = text("model").or_else(|| text("name"))?;
    let vendor = text("vendor").filter(|vendor| vendor != "ATA" && !vendor.starts_with("0x"));
    Some(vendor.map_or_else(|| model.clone(), |vendor| format!("{vendor} {model}")))
}

#[cfg(test)]
mod tests {
    use super::active_scheduler;

    #[test]
    fn the_active_scheduler_is_bracketed() {
        assert_eq!(
            active_scheduler("none [mq-deadline] kyber").as_deref(),
            Some("mq-deadline")
        );
        assert_eq!(active_scheduler("none").as_deref(), Some("none"));
        assert_eq!(active_scheduler(""), None);
    }
}
