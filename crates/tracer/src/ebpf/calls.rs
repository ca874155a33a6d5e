//! What each system call's arguments say, by number.

use syscalls::Sysno;

use super::wire::{RING_BASE, SOURCE_BASE, SYSCALLS, call, path};
use super::{moments, uring};

/// Every name that a counted call can have: the system calls of this architecture, and the
/// operations of io_uring.
pub fn call_names() -> impl Iterator<Item = &'static str> {
    Sysno::iter().map(|call| call.name()).chain(uring::names())
}

/// Name of a counted number: a system call of this architecture, or an operation of
/// io_uring.
pub(crate) fn name(nr: u32) -> &'static str {
    let nr = nr as usize;
    let number = match nr {
        RING_BASE..SOURCE_BASE => return uring::name(nr - RING_BASE),
        SOURCE_BASE.. => nr - SOURCE_BASE,
        _ => nr,
    };
    Sysno::new(number).map_or("unknown", |number| number.name())
}

/// Whether the number stands for the file that a call reads from.
pub(super) fn is_source(nr: u32) -> bool {
    nr as usize >= SOURCE_BASE
}

/// Whether the number's rows have a shape: bytes of a file at an offset.
pub(super) fn has_shape(nr: u32) -> bool {
    let meaning = Sysno::new(nr as usize).map_or(0, meaning);
    meaning & (call::OFFSET | call::POSITION) != 0
}

/// What a counted number's arguments say.
pub(super) fn meaning_of(nr: u32) -> u32 {
    Sysno::new(nr as usize).map_or(0, meaning)
}

/// The call table for the kernel side: where the file is, and what the call does.
pub(super) fn table() -> [u32; SYSCALLS] {
    of_each(meaning)
}

/// The path table for the kernel side: which arguments are paths.
pub(super) fn paths() -> [u8; SYSCALLS] {
    of_each(paths_of)
}

/// The purpose table for the kernel side: what each counted call is for.
pub(super) fn purposes() -> [u8; SOURCE_BASE] {
    let mut table = [0; SOURCE_BASE];
    for (nr, entry) in (0..).zip(&mut table) {
        *entry = moments::number_of(name(nr));
    }
    table
}

fn of_each<T: Copy + Default>(of: impl Fn(Sysno) -> T) -> [T; SYSCALLS] {
    let mut table = [T::default(); SYSCALLS];
    for number in Sysno::iter() {
        if let Some(entry) = usize::try_from(number.id())
            .ok()
            .and_then(|nr| table.get_mut(nr))
        {
            *entry = of(number);
        }
    }
    table
}

/// Where the file of a call is and what the call does: [`call`] bits.
pub(crate) fn meaning(number: Sysno) -> u32 {
    transfer(number).unwrap_or_else(|| other(number))
}

/// Calls that move bytes of a file.
fn transfer(number: Sysno) -> Option<u32> {
    use Sysno as N;
    const READ: u32 = call::FD_FIRST | call::READS | call::MOVES;
    const WRITE: u32 = call::FD_FIRST | call::STREAMED | call::WRITES | call::MOVES;
    Some(match number {
        N::read | N::readv => READ | call::POSITION,
        N::pread64 | N::preadv | N::preadv2 => READ | call::OFFSET,
        N::write => WRITE | call::POSITION,
        N::pwrite64 => WRITE | call::OFFSET,
        N::writev => WRITE | call::POSITION | call::VECTORED,
        N::pwritev => WRITE | call::OFFSET | call::VECTORED,
        N::pwritev2 => WRITE | call::OFFSET | call::VECTORED | call::RWF,
        N::sendfile => {
            call::FD_FIRST
                | call::READS
                | call::MOVES
                | call::WRITES
                | call::POSITION
                | call::SOURCE_SECOND
        }
        N::copy_file_range | N::splice => {
            call::FD_THIRD
                | call::READS
                | call::MOVES
                | call::WRITES
                | call::POSITION
                | call::SOURCE_FIRST
        }
        _ => return None,
    })
}

fn other(number: Sysno) -> u32 {
    use Sysno as N;
    match number {
        N::readahead | N::fadvise64 => call::FD_FIRST | call::READS,
        N::fsync | N::fdatasync | N::sync_file_range | N::syncfs => {
            call::FD_FIRST | call::STREAMED | call::STEP
        }
        N::close => call::FD_FIRST | call::CLOSES | call::STEP,
        N::dup2 | N::dup3 => call::FD_FIRST | call::CLOSES,
        N::close_range | N::io_uring_enter => call::CLOSES,
        N::open | N::openat | N::openat2 | N::creat => call::FD_RETURNED | call::STEP,
        N::ftruncate | N::fallocate => call::FD_FIRST | call::STEP,
        N::rename
        | N::renameat
        | N::renameat2
        | N::link
        | N::linkat
        | N::symlink
        | N::symlinkat
        | N::unlink
        | N::unlinkat
        | N::rmdir
        | N::mkdir
        | N::mkdirat
        | N::mknod
        | N::mknodat
        | N::truncate
        | N::sync => call::STEP,
        N::msync => call::STEP | call::STOPS,
        N::fstat
        | N::lseek
        | N::fchmod
        | N::fchown
        | N::flock
        | N::fcntl
        | N::ioctl
        | N::getdents
        | N::getdents64
        | N::fchdir
        | N::fstatfs
        | N::fgetxattr
        | N::fsetxattr
        | N::dup
        | N::cachestat => call::FD_FIRST,
        N::sendto | N::sendmsg | N::sendmmsg => call::SENDS,
        N::mmap => call::FD_FIFTH | call::STEP | call::STOPS,
        _ => 0,
    }
}

/// Which arguments of a call are paths: one of [`path`].
pub(crate) fn paths_of(number: Sysno) -> u8 {
    use Sysno as N;
    match number {
        N::open
        | N::creat
        | N::stat
        | N::lstat
        | N::access
        | N::readlink
        | N::truncate
        | N::unlink
        | N::rmdir
        | N::mkdir
        | N::mknod
        | N::chdir
        | N::statfs
        | N::chmod
        | N::chown
        | N::lchown
        | N::getxattr
        | N::lgetxattr
        | N::execve
        | N::utimes => path::FIRST,
        N::openat
        | N::openat2
        | N::newfstatat
        | N::statx
        | N::faccessat
        | N::faccessat2
        | N::readlinkat
        | N::unlinkat
        | N::mkdirat
        | N::mknodat
        | N::fchmodat
        | N::fchownat
        | N::utimensat
        | N::execveat => path::AT,
        N::rename | N::link => path::TWO,
        N::renameat | N::renameat2 | N::linkat => path::TWO_AT,
        N::symlink => path::SECOND,
        N::symlinkat => path::THIRD_AT,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_calls_by_number_and_name() {
        let table = table();
        let write = Sysno::write.id().unsigned_abs();
        assert_eq!(name(write), "write");
        assert_ne!(table[write as usize] & call::WRITES, 0);
        assert_eq!(table[write as usize] & call::OFFSET, 0);
        assert_eq!(table[Sysno::getpid.id().unsigned_abs() as usize], 0);
        assert_eq!(name(9_999), "unknown");
        assert_eq!(name(512 + 23), "io_uring.write");
        let copy = 640 + Sysno::copy_file_range.id().unsigned_abs();
        assert_eq!(name(copy), "copy_file_range");
        assert!(is_source(copy) && !is_source(write));
        assert!(has_shape(write) && !has_shape(copy) && !has_shape(535));
    }
}
