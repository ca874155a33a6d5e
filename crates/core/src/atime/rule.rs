//! The kernel's rules, written down from its sources, to compare the matrix with.
//!
//! Two questions: does the call reach `touch_atime` (fs/inode.c) for this inode, and does
//! `atime_needs_update` there let it through under this mount.

use super::{Mount, Operation, Subject};

/// The condition that relatime finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ClockState {
    /// Not newer than mtime or ctime, or a day old: relatime moves it.
    Due,
    /// Newer than mtime and ctime and less than a day old: relatime leaves it.
    Fresh,
}

/// Whether the operation moves the access time of its [`Subject`].
pub fn expected(operation: Operation, mount: Mount, filesystem: &str, state: ClockState) -> bool {
    reaches(operation, filesystem) && lets_through(mount, operation.subject(), state)
}

/// Whether a program that walks a tree moves the access time of the directory; `None`
/// for operations that are done to one file.
pub fn expected_of_directory(
    operation: Operation,
    mount: Mount,
    state: ClockState,
) -> Option<bool> {
    let reads_directory = match operation {
        // They list it: iterate_dir, fs/readdir.c.
        Operation::Find | Operation::Grep | Operation::Tar | Operation::GitStatus => true,
        // It is given the file's name.
        Operation::Cp => false,
        _ => return None,
    };
    Some(reads_directory && lets_through(mount, Subject::Directory, state))
}

/// Whether the kernel considers the operation an access on this file system.
#[expect(clippy::match_same_arms, reason = "each arm has its own source")]
fn reaches(operation: Operation, filesystem: &str) -> bool {
    match operation {
        // Metadata, or a change, which is mtime's and ctime's matter. `git status`
        // compares the results of stat with its index.
        Operation::Stat
        | Operation::Open
        | Operation::OpenClose
        | Operation::Write
        | Operation::Truncate
        | Operation::Find
        | Operation::GitStatus => false,
        // file_accessed (include/linux/fs.h) leaves files opened with O_NOATIME alone.
        Operation::NoatimeRead => false,
        // filemap_read (mm/filemap.c) or shmem_file_read_iter (mm/shmem.c).
        Operation::Read | Operation::Pread | Operation::Readv => true,
        // generic_file_read_iter, ext4_file_read_iter and filemap_read return before
        // file_accessed when nothing was asked for; shmem_file_read_iter does not.
        Operation::ReadZero => is_memory(filesystem),
        // The file system's mmap method counts as the access, whatever is touched later:
        // ext4_file_mmap, xfs_file_mmap, btrfs_file_mmap, shmem_mmap. A fault does not.
        Operation::Mmap | Operation::MmapTouch => true,
        // iterate_dir, fs/readdir.c; do_readlinkat, fs/stat.c.
        Operation::Readdir | Operation::Readlink => true,
        // prepare_binprm reads the head of the file with kernel_read (fs/exec.c).
        Operation::Exec => true,
        // filemap_splice_read, shmem_file_splice_read.
        Operation::SendfileFrom => true,
        // vfs_copy_file_range (fs/read_write.c) shares the blocks where the file system
        // can, which reads nothing; else it splices. cp tries the first by FICLONE.
        Operation::CopyFileRangeFrom | Operation::Cp => !shares_blocks(filesystem),
        Operation::Grep | Operation::Tar => true,
    }
}

/// `atime_needs_update` and `relatime_need_update`, fs/inode.c. Both nodiratime and
/// lazytime leave relatime switched on (`path_mount`, fs/namespace.c).
fn lets_through(mount: Mount, subject: Subject, state: ClockState) -> bool {
    match mount {
        Mount::Strictatime => true,
        Mount::Noatime => false,
        Mount::Nodiratime if subject == Subject::Directory => false,
        Mount::Relatime | Mount::Nodiratime | Mount::Lazytime => state == ClockState::Due,
    }
}

fn is_memory(filesystem: &str) -> bool {
    filesystem == "tmpfs"
}

/// As mkfs makes them: xfs with `reflink=1`, the default since xfsprogs 5.1.
fn shares_blocks(filesystem: &str) -> bool {
    matches!(filesystem, "xfs" | "btrfs")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relatime_waits_until_it_is_due() {
        for (mount, due, fresh) in [
            (Mount::Strictatime, true, true),
            (Mount::Relatime, true, false),
            (Mount::Noatime, false, false),
            (Mount::Nodiratime, true, false),
            (Mount::Lazytime, true, false),
        ] {
            let read = |state| expected(Operation::Read, mount, "ext4", state);
            assert_eq!(
                (read(ClockState::Due), read(ClockState::Fresh)),
                (due, fresh),
                "{mount:?}"
            );
        }
    }

    #[test]
    fn nodiratime_is_about_directories() {
        let moved = |operation| expected(operation, Mount::Nodiratime, "xfs", ClockState::Due);
        assert!(!moved(Operation::Readdir));
        assert!(moved(Operation::Readlink));
        assert!(moved(Operation::Read));
        let directory = |mount| expected_of_directory(Operation::Find, mount, ClockState::Due);
        assert_eq!(directory(Mount::Nodiratime), Some(false));
        assert_eq!(directory(Mount::Relatime), Some(true));
        assert_eq!(
            expected_of_directory(Operation::Read, Mount::Relatime, ClockState::Due),
            None
        );
    }

    #[test]
    fn sharing_blocks_reads_nothing() {
        let copy = |filesystem| {
            let operation = Operation::CopyFileRangeFrom;
            expected(operation, Mount::Strictatime, filesystem, ClockState::Due)
        };
        assert_eq!(
            ["ext4", "tmpfs", "xfs", "btrfs"].map(copy),
            [true, true, false, false]
        );
    }
}
