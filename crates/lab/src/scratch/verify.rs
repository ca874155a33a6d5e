//! Whether the mounted file system is the requested one.

use std::fs;
use std::io;
use std::os::fd::AsFd as _;

use rustix::fs::statfs;
use rustix::io::pread;

use super::error::ScratchError;
use super::image::Image;
use super::kind::ImageKind;
use super::mounted::mount_line;

/// All kinds are created with this block size, so that their counts are comparable.
const BLOCK_SIZE_BYTES: u64 = 4096;

/// `struct ext4_super_block` starts 1024 bytes into the device and has
/// `s_feature_compat`, little-endian, at 0x5C (`fs/ext4/ext4.h`).
const FEATURE_COMPAT_OFFSET: u64 = 1024 + 0x5C;
const FEATURE_COMPAT_FAST_COMMIT: u32 = 0x0400;

pub(super) fn verify(image: &Image) -> Result<(), ScratchError> {
    let kind = image.kind();
    let found = statfs(image.path()).map_err(|errno| unreadable(image, errno))?;
    // A signed word in some ABIs, a 32-bit number in all.
    let magic = found.f_type.cast_unsigned() & 0xFFFF_FFFF;
    let wanted = kind.magic();
    let what = format!("the magic number is {magic:#x}, not {wanted:#x}");
    refuse_if(magic != wanted, kind, what)?;
    let block = found.f_bsize.cast_unsigned();
    let what = format!("blocks have {block} bytes, not {BLOCK_SIZE_BYTES}");
    refuse_if(block != BLOCK_SIZE_BYTES, kind, what)?;

    let line = mount_line(image.path()).map_err(|error| unreadable(image, error))?;
    let mount = line.as_deref().and_then(parse_mount);
    let mount = mount.ok_or_else(|| ScratchError::NotAsAsked {
        kind,
        found: format!("/proc/thread-self/mountinfo says of its mount: {line:?}"),
    })?;
    let device = image.device().path().to_string_lossy();
    let what = format!("{} is mounted, not {device}", mount.source);
    refuse_if(mount.source != device, kind, what)?;
    match kind {
        ImageKind::Xfs | ImageKind::Btrfs => Ok(()),
        ImageKind::Ext4
        | ImageKind::Ext4NoJournal
        | ImageKind::Ext4FastCommit
        | ImageKind::Ext4DataJournal => verify_ext4(image, &mount),
    }
}

fn verify_ext4(image: &Image, mount: &Mount) -> Result<(), ScratchError> {
    let kind = image.kind();
    // "<none>" or the journal thread's id (fs/ext4/sysfs.c).
    let task = format!("/sys/fs/ext4/{}/journal_task", image.device().name());
    let task = fs::read_to_string(&task)
        .map_err(|error| ScratchError::io("read", task.as_ref(), error))?;
    let mut features = [0; 4];
    pread(image.device().as_fd(), &mut features, FEATURE_COMPAT_OFFSET)
        .map_err(|errno| unreadable(image, errno))?;
    let features = u32::from_le_bytes(features);
    // data=ordered, the default, is not listed (_ext4_show_options, fs/ext4/super.c).
    let mut options = mount.options.split(',');
    let data_journal = options.any(|option| option == "data=journal");
    let fast_commit = features & FEATURE_COMPAT_FAST_COMMIT != 0;
    let journal = task.trim() != "<none>";
    expect(kind, "a journal", journal, kind != ImageKind::Ext4NoJournal)?;
    let wanted = kind == ImageKind::Ext4FastCommit;
    expect(kind, "fast commits", fast_commit, wanted)?;
    let wanted = kind == ImageKind::Ext4DataJournal;
    expect(kind, "data=journal", data_journal, wanted)
}

fn expect(kind: ImageKind, what: &str, found: bool, wanted: bool) -> Result<(), ScratchError> {
    let has = if found { "has" } else { "lacks" };
    let what = format!("the file system {has} {what}");
    refuse_if(found != wanted, kind, what)
}

fn refuse_if(wrong: bool, kind: ImageKind, found: String) -> Result<(), ScratchError> {
    if wrong {
        return Err(ScratchError::NotAsAsked { kind, found });
    }
    Ok(())
}

fn unreadable(image: &Image, error: impl Into<io::Error>) -> ScratchError {
    ScratchError::io("examine", image.path(), error)
}

/// One line of `/proc/self/mountinfo`, `proc_pid_mountinfo(5)`.
struct Mount {
    source: String,
    /// Options of the superblock.
    options: String,
}

fn parse_mount(line: &str) -> Option<Mount> {
    let (_, after) = line.split_once(" - ")?;
    let mut words = after.split(' ').skip(1);
    Some(Mount {
        source: words.next()?.to_owned(),
        options: words.next()?.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_source_and_superblock_options() {
        let line =
            "42 27 7:0 / /tmp/a\\040-\\040b rw,relatime shared:1 - ext4 /dev/loop0 rw,data=journal";
        let mount = parse_mount(line).unwrap();
        assert_eq!(mount.source, "/dev/loop0");
        assert_eq!(mount.options, "rw,data=journal");
    }

    #[test]
    fn a_difference_says_what_is_there() {
        let error = expect(ImageKind::Ext4NoJournal, "a journal", true, false).unwrap_err();
        assert_eq!(
            error.to_string(),
            "asked for ext4-nojournal but the file system has a journal; mkfs or kernel defaults \
             differ on this machine; leave ext4-nojournal out"
        );
    }
}
