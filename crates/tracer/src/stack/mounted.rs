//! File systems that are mounted on block devices, and the disks that their requests go to.

use std::os::unix::ffi::OsStrExt as _;

use iostrata_core::FileId;
use iostrata_core::doctor::DeviceNumber;

use super::Roots;
use super::block::{self, Block};
use super::mountinfo::{Mount, Mounts};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mounted {
    /// `s_dev`.
    pub(crate) device: u32,
    pub(crate) kind: String,
    /// Where it was mounted first.
    pub(crate) point: Vec<u8>,
    /// Kernel `dev_t` of the disks: below partitions and what is composed of others.
    pub(crate) disks: Vec<u32>,
}

/// As this process sees them; none where `/proc` does not show them.
pub(crate) fn mounted(roots: &Roots) -> Vec<Mounted> {
    let Ok(mounts) = Mounts::read(roots) else {
        return Vec::new();
    };
    let mut all: Vec<Mounted> = Vec::new();
    for mount in mounts.all() {
        let device = number(mount.device);
        if all.iter().any(|mounted| mounted.device == device) {
            continue;
        }
        let blocks = blocks_of(mount, roots);
        let mut disks: Vec<u32> = blocks
            .iter()
            .flat_map(|of| disks_below(of, roots))
            .collect();
        disks.sort_unstable();
        disks.dedup();
        if !disks.is_empty() {
            all.push(Mounted {
                device,
                kind: mount.kind.clone(),
                point: mount.point.as_os_str().as_bytes().to_vec(),
                disks,
            });
        }
    }
    all
}

fn blocks_of(mount: &Mount, roots: &Roots) -> Vec<Block> {
    if mount.on_block_device() {
        block::by_number(roots, mount.device).into_iter().collect()
    } else {
        block::members(roots, &mount.kind, &mount.source)
    }
}

fn disks_below(block: &Block, roots: &Roots) -> Vec<u32> {
    let lower = block.lower(roots);
    if lower.is_empty() {
        return vec![number(block.number)];
    }
    lower.iter().flat_map(|of| disks_below(of, roots)).collect()
}

fn number(device: DeviceNumber) -> u32 {
    FileId::kernel_device(device.major, device.minor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// A partition's directory in sysfs lies in that of its disk.
    #[test]
    fn a_partition_is_on_its_disk_and_a_bind_mount_is_no_file_system() {
        let (directory, roots) = Roots::with(&[
            (
                "proc/thread-self/mountinfo",
                "20 1 254:1 / / rw - ext4 /dev/vda1 rw\n\
                 21 20 254:1 /home /srv rw - ext4 /dev/vda1 rw\n\
                 22 20 0:30 / /proc rw - proc proc rw\n\
                 23 20 7:0 / /mnt rw - xfs /dev/loop0 rw\n",
            ),
            ("sys/devices/vda/dev", "254:0"),
            ("sys/devices/vda/vda1/dev", "254:1"),
            ("sys/devices/vda/vda1/partition", "1"),
            ("sys/devices/loop0/dev", "7:0"),
            ("sys/dev/block/.kept", ""),
        ]);
        let link = |name: &str, to: &str| {
            let at = directory.path().join("sys/dev/block").join(name);
            symlink(directory.path().join("sys/devices").join(to), at).unwrap();
        };
        link("254:1", "vda/vda1");
        link("7:0", "loop0");
        let told: Vec<_> = mounted(&roots)
            .into_iter()
            .map(|one| (one.kind, String::from_utf8(one.point).unwrap(), one.disks))
            .collect();
        let disk = |major| vec![FileId::kernel_device(major, 0)];
        assert_eq!(
            told,
            [
                ("ext4".to_owned(), "/".to_owned(), disk(254)),
                ("xfs".to_owned(), "/mnt".to_owned(), disk(7)),
            ]
        );
    }
}
