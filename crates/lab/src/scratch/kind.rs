//! The file systems that can be created, and their special features.

use std::ffi::CStr;
use std::fmt;

const MIB: u64 = 1 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ImageKind {
    /// ext4 with the defaults of mke2fs: journal, `data=ordered`.
    Ext4,
    Ext4NoJournal,
    Ext4FastCommit,
    /// ext4 that journals file contents too, `data=journal`.
    Ext4DataJournal,
    Xfs,
    Btrfs,
}

impl ImageKind {
    /// All of them, in the order of the documentation.
    pub const ALL: [Self; 6] = [
        Self::Ext4,
        Self::Ext4NoJournal,
        Self::Ext4FastCommit,
        Self::Ext4DataJournal,
        Self::Xfs,
        Self::Btrfs,
    ];

    /// Name in options and results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ext4 => "ext4",
            Self::Ext4NoJournal => "ext4-nojournal",
            Self::Ext4FastCommit => "ext4-fast_commit",
            Self::Ext4DataJournal => "ext4-data_journal",
            Self::Xfs => "xfs",
            Self::Btrfs => "btrfs",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Name of the driver, as in `/proc/filesystems`.
    pub fn filesystem(self) -> &'static str {
        match self {
            Self::Xfs => "xfs",
            Self::Btrfs => "btrfs",
            Self::Ext4 | Self::Ext4NoJournal | Self::Ext4FastCommit | Self::Ext4DataJournal => {
                "ext4"
            }
        }
    }

    /// Smallest image size.
    ///
    /// mkfs.xfs 6 refuses less than 300 MB, mkfs.btrfs 6 less than 109 MiB. ext4 would need less,
    /// but below 32,768 blocks its journal shrinks from 16 to 4 MiB (`ext2fs_default_journal_size`,
    /// e2fsprogs `lib/ext2fs/mkjournal.c`).
    pub fn minimum_bytes(self) -> u64 {
        match self {
            Self::Xfs => 320 * MIB,
            _ => 128 * MIB,
        }
    }

    pub(super) fn mkfs(self) -> Mkfs {
        // Without -E a kernel thread writes inode tables and journal during the measurement.
        const EXT4: &str = "-q -F -b 4096 -E lazy_itable_init=0,lazy_journal_init=0 -O";
        let ext4 = |features| Mkfs {
            program: "mkfs.ext4",
            package: "e2fsprogs",
            arguments: EXT4.split(' ').chain([features]).collect(),
        };
        match self {
            Self::Ext4 | Self::Ext4DataJournal => ext4("has_journal,^fast_commit"),
            Self::Ext4NoJournal => ext4("^has_journal,^fast_commit"),
            Self::Ext4FastCommit => ext4("has_journal,fast_commit"),
            Self::Xfs => Mkfs {
                program: "mkfs.xfs",
                package: "xfsprogs",
                arguments: vec!["-q", "-f", "-b", "size=4096"],
            },
            Self::Btrfs => Mkfs {
                program: "mkfs.btrfs",
                package: "btrfs-progs",
                arguments: vec!["-q", "-f", "-s", "4096"],
            },
        }
    }

    /// Options for mount(2); the rest are the kernel's defaults.
    pub(crate) fn mount_data(self) -> Option<&'static CStr> {
        (self == Self::Ext4DataJournal).then_some(c"data=journal")
    }

    /// Superblock magic, `include/uapi/linux/magic.h`.
    pub(super) fn magic(self) -> u64 {
        match self.filesystem() {
            "ext4" => 0xEF53,
            "xfs" => 0x5846_5342,
            _ => 0x9123_683E,
        }
    }
}

impl fmt::Display for ImageKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A mkfs program, and its arguments before the device.
#[derive(Debug)]
pub(super) struct Mkfs {
    pub(super) program: &'static str,
    /// Debian package that contains it.
    pub(super) package: &'static str,
    pub(super) arguments: Vec<&'static str>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back_to_their_kind() {
        for kind in ImageKind::ALL {
            assert_eq!(ImageKind::from_name(kind.name()), Some(kind));
        }
        assert_eq!(ImageKind::from_name("ext3"), None);
    }
}
