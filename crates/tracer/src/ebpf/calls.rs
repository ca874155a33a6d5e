//! The meaning of each system call's arguments, by call number.

use syscalls::Sysno;

use super::wire::{RING_BASE, SOURCE_BASE, SYSCALLS, TOLD_BASE, call, extra, path, told_by};
use super::{moments, told};
use crate::record::attributes::is_one;

/// All system calls of this architecture. The library's `Sysno::iter` omits the last.
pub(crate) fn all() -> impl Iterator<Item = Sysno> {
    (0..SYSCALLS).filter_map(Sysno::new)
}

/// Every name of a counted call: the system calls of this architecture, the io_uring and libaio
/// operations, and calls that only their arguments distinguish.
pub fn call_names() -> impl Iterator<Item = &'static str> {
    all()
        .map(|call| call.name())
        .chain(told::ring_names())
        .chain(told::names())
}

/// Name of a counted number. The number of a file read from has the name of its call.
pub(crate) fn name(nr: u32) -> &'static str {
    let nr = nr as usize;
    match nr.checked_sub(SOURCE_BASE).unwrap_or(nr) {
        told @ TOLD_BASE..SOURCE_BASE => told::name(told - TOLD_BASE),
        ring @ RING_BASE..TOLD_BASE => told::ring_name(ring - RING_BASE),
        number => Sysno::new(number).map_or("unknown", |number| number.name()),
    }
}

/// Whether the number stands for the source file of a call.
pub(super) fn is_source(nr: u32) -> bool {
    nr as usize >= SOURCE_BASE
}

/// Whether rows with this number have a shape: bytes of a file at an offset.
pub(super) fn has_shape(nr: u32) -> bool {
    meaning_of(nr) & (call::OFFSET | call::POSITION) != 0
}

/// The meaning of a counted number's arguments.
pub(super) fn meaning_of(nr: u32) -> u32 {
    match name(nr) {
        "ioctl(FICLONE)" | "ioctl(FICLONERANGE)" if !is_source(nr) => CLONE,
        _ => Sysno::new(nr as usize).map_or(0, meaning),
    }
}

/// The result of `is_clone` in `bpf/clone.h` for a clone request.
pub(crate) const CLONE: u32 =
    call::FD_FIRST | call::SOURCE_SECOND | call::WRITES | call::MOVES | call::OFFSET;

/// The call table for the kernel side: the position of the file, and the effect of the call.
pub(super) fn table(recorded: bool) -> [u32; SYSCALLS] {
    of_each(|number| {
        let added = if recorded { attribute_bits(number) } else { 0 };
        meaning(number) | added
    })
}

/// The path table for the kernel side: which arguments are paths.
pub(super) fn paths(recorded: bool) -> [u8; SYSCALLS] {
    of_each(|number| match attribute_paths(number) {
        0 => paths_of(number),
        style if recorded => style,
        _ => paths_of(number),
    })
}

/// The table of other arguments in memory for the kernel side.
pub(super) fn extras() -> [u16; SYSCALLS] {
    of_each(attribute_extra)
}

/// The table of calls that only their arguments distinguish, for the kernel side.
pub(super) fn told() -> [u8; SYSCALLS] {
    of_each(told_by)
}

/// What distinguishes the call, one of [`mod@told_by`]; 0 when its number is enough.
pub(crate) fn told_by(number: Sysno) -> u8 {
    use Sysno as N;
    match number {
        N::ioctl => told_by::IOCTL,
        N::io_submit => told_by::SUBMITTING,
        N::io_getevents | N::io_pgetevents => told_by::FETCHING,
        N::openat2 => told_by::HOW,
        N::msync => told_by::SYNCING,
        N::mmap => told_by::MAPPING,
        N::mprotect => told_by::PROTECTING,
        N::pkey_mprotect => told_by::KEYED_PROTECTING,
        N::mremap => told_by::MOVING,
        N::madvise => told_by::ADVICE,
        N::execve | N::execveat | N::finit_module | N::kexec_file_load => told_by::NOTHING,
        _ => 0,
    }
}

/// The purpose table for the kernel side: the purpose of each counted call.
pub(super) fn purposes() -> [u8; SOURCE_BASE] {
    let mut table = [0; SOURCE_BASE];
    for (nr, entry) in (0..).zip(&mut table) {
        *entry = moments::number_of(name(nr));
    }
    table
}

fn of_each<T: Copy + Default>(of: impl Fn(Sysno) -> T) -> [T; SYSCALLS] {
    let mut table = [T::default(); SYSCALLS];
    for number in all() {
        if let Some(entry) = usize::try_from(number.id())
            .ok()
            .and_then(|nr| table.get_mut(nr))
        {
            *entry = of(number);
        }
    }
    table
}

/// The position of the call's file and the effect of the call: [`call`] bits.
pub(crate) fn meaning(number: Sysno) -> u32 {
    let told = if told_by(number) == 0 { 0 } else { call::TOLD };
    told | touches(number) | transfer(number).unwrap_or_else(|| other(number))
}

/// Calls whose paths only the kernel can resolve.
fn touches(number: Sysno) -> u32 {
    use Sysno as N;
    match number {
        N::unlink | N::unlinkat | N::rmdir => call::TOUCHES,
        N::truncate => call::TOUCHES | call::NODE,
        N::rename
        | N::renameat
        | N::renameat2
        | N::link
        | N::linkat
        | N::symlink
        | N::symlinkat
        | N::mkdir
        | N::mkdirat
        | N::mknod
        | N::mknodat => call::TOUCHES | call::PLACES,
        _ => 0,
    }
}

/// Calls that move bytes of a file.
fn transfer(number: Sysno) -> Option<u32> {
    use Sysno as N;
    const READ: u32 = call::FD_FIRST | call::READS | call::MOVES;
    const WRITE: u32 = call::FD_FIRST | call::STREAMED | call::WRITES | call::MOVES;
    Some(match number {
        N::read | N::readv => READ | call::POSITION,
        N::pread64 | N::preadv => READ | call::OFFSET,
        N::preadv2 => READ | call::OFFSET | call::FLAGS,
        N::write => WRITE | call::POSITION,
        N::pwrite64 => WRITE | call::OFFSET,
        N::writev => WRITE | call::POSITION | call::VECTORED,
        N::pwritev => WRITE | call::OFFSET | call::VECTORED,
        N::pwritev2 => WRITE | call::OFFSET | call::VECTORED | call::FLAGS,
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
        N::vmsplice => call::FD_FIRST | call::WRITES | call::MOVES | call::VECTORED,
        N::tee => call::WRITES | call::MOVES,
        _ => return None,
    })
}

fn other(number: Sysno) -> u32 {
    use Sysno as N;
    match number {
        N::readahead | N::fadvise64 => call::FD_FIRST | call::READS,
        N::madvise => call::READS,
        N::sync_file_range => call::FD_FIRST | call::STREAMED | call::STEP,
        N::fsync | N::fdatasync | N::syncfs => {
            call::FD_FIRST | call::STREAMED | call::STEP | call::STOPS
        }
        N::close => call::FD_FIRST | call::CLOSES | call::STEP,
        N::dup2 | N::dup3 => call::FD_FIRST | call::CLOSES,
        N::close_range | N::io_uring_enter => call::CLOSES,
        N::open | N::openat | N::openat2 | N::creat | N::open_by_handle_at => {
            call::FD_RETURNED | call::STEP
        }
        N::ftruncate | N::fallocate => call::FD_FIRST | call::STEP,
        changes_names if touches(changes_names) != 0 => call::STEP,
        N::sync | N::msync => call::STEP | call::STOPS,
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
        | N::flistxattr
        | N::fremovexattr
        | N::dup
        | N::cachestat => call::FD_FIRST,
        N::sendto => call::SENDS | call::ADDRESSED,
        N::sendmsg | N::sendmmsg => call::SENDS,
        N::recvfrom | N::recvmsg | N::recvmmsg => call::HEARS,
        N::accept | N::accept4 => call::ACCEPTS,
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
        | N::setxattr
        | N::lsetxattr
        | N::listxattr
        | N::llistxattr
        | N::removexattr
        | N::lremovexattr
        | N::utime
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
        | N::futimesat
        | N::fchmodat2
        | N::name_to_handle_at
        | N::getxattrat
        | N::setxattrat
        | N::listxattrat
        | N::removexattrat
        | N::file_getattr
        | N::file_setattr
        | N::execveat => path::AT,
        N::rename | N::link => path::TWO,
        N::renameat | N::renameat2 | N::linkat => path::TWO_AT,
        N::symlink => path::SECOND,
        N::symlinkat => path::THIRD_AT,
        _ => 0,
    }
}

/// [`call`] bits that recording adds to calls that change attributes: only there they are steps.
pub(super) fn attribute_bits(number: Sysno) -> u32 {
    use Sysno as N;
    match number {
        N::fcntl => call::STEP | call::COMMAND,
        N::ioctl => call::STEP | call::COMMAND | call::STOPS,
        N::fchmod | N::fchown | N::fsetxattr | N::fremovexattr => call::FD_FIRST | call::STEP,
        other if is_one(other.name()) => call::STEP | call::TOUCHES,
        _ => 0,
    }
}

/// Which arguments are paths, one of [`path`], for calls that matter only in a recording.
pub(super) fn attribute_paths(number: Sysno) -> u8 {
    use Sysno as N;
    match number {
        N::utime => path::FIRST,
        N::futimesat | N::fchmodat2 => path::AT,
        N::setxattr | N::lsetxattr | N::removexattr | N::lremovexattr => path::AND_NAME,
        N::fsetxattr | N::fremovexattr => path::ONLY_NAME,
        _ => 0,
    }
}

/// Other data in memory: the number of the argument that points to it, from 1, and its length.
pub(super) fn attribute_extra(number: Sysno) -> u16 {
    use Sysno as N;
    let (argument, bytes) = match number {
        N::utime => (2, 16),
        N::utimes => (2, 32),
        N::futimesat | N::utimensat | N::ioctl => (3, 32),
        N::setxattr | N::lsetxattr | N::fsetxattr => (3, extra::LENGTH | 3),
        _ => return 0,
    };
    bytes << 8 | argument
}

#[cfg(test)]
mod tests {
    use iostrata_core::trace::direction;

    use super::*;

    /// Results take the same values for bytes that a back end sums as bytes.
    #[test]
    fn calls_that_return_bytes_are_those_that_have_a_direction() {
        let bytes = |nr: usize| purposes()[nr] == 1 || purposes()[nr] == 2;
        for number in Sysno::iter() {
            let moves = meaning(number) & call::MOVES != 0;
            assert_eq!(moves, direction(number.name()).is_some(), "{number}");
        }
        for nr in RING_BASE..SOURCE_BASE {
            let name = name(u32::try_from(nr).unwrap());
            assert_eq!(bytes(nr), direction(name).is_some(), "{name}");
        }
    }

    #[test]
    fn knows_calls_by_number_and_name() {
        let table = table(false);
        let write = Sysno::write.id().unsigned_abs();
        assert_eq!(name(write), "write");
        assert_ne!(table[write as usize] & call::WRITES, 0);
        assert_eq!(table[write as usize] & call::OFFSET, 0);
        assert_eq!(table[Sysno::getpid.id().unsigned_abs() as usize], 0);
        assert_eq!(name(9_999), "unknown");
        assert_eq!(name(512 + 23), "io_uring.write");
        let copy = 672 + Sysno::copy_file_range.id().unsigned_abs();
        assert_eq!(name(copy), "copy_file_range");
        assert_eq!(
            (name(640 + 1), name(640 + 16)),
            ("aio.pwrite", "ioctl(FICLONE)")
        );
        assert_eq!(name(672 + 640 + 16), "ioctl(FICLONE)");
        assert!(has_shape(640 + 16) && !has_shape(672 + 640 + 16));
        assert_eq!((name(640 + 4), name(640 + 31)), ("unknown", "unknown"));
        assert!(is_source(copy) && !is_source(write));
        assert!(has_shape(write) && !has_shape(copy) && !has_shape(535));
    }
}
