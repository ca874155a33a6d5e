//! What each system call's arguments say, by number.

use syscalls::Sysno;

use super::wire::{SYSCALLS, call};

/// Name of a system call of this architecture.
pub(super) fn name(nr: u32) -> &'static str {
    Sysno::new(nr as usize).map_or("unknown", |number| number.name())
}

/// The call table for the kernel side: where the file is, and what the call does.
pub(super) fn table() -> [u8; SYSCALLS] {
    let mut table = [0; SYSCALLS];
    for number in Sysno::iter() {
        if let Some(entry) = usize::try_from(number.id())
            .ok()
            .and_then(|nr| table.get_mut(nr))
        {
            *entry = meaning(number);
        }
    }
    table
}

fn meaning(number: Sysno) -> u8 {
    use Sysno as N;
    match number {
        N::read
        | N::pread64
        | N::readv
        | N::preadv
        | N::preadv2
        | N::sendfile
        | N::readahead
        | N::fadvise64 => call::FD_FIRST | call::READS,
        N::write | N::pwrite64 | N::fsync | N::fdatasync | N::sync_file_range | N::syncfs => {
            call::FD_FIRST | call::STREAMED
        }
        N::writev | N::pwritev | N::pwritev2 => call::FD_FIRST | call::STREAMED | call::VECTORED,
        N::copy_file_range | N::splice => call::FD_THIRD | call::READS,
        N::close | N::dup2 | N::dup3 => call::FD_FIRST | call::CLOSES,
        N::close_range | N::io_uring_enter => call::CLOSES,
        N::open | N::openat | N::openat2 | N::creat => call::FD_RETURNED,
        N::fstat
        | N::lseek
        | N::ftruncate
        | N::fallocate
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
        N::mmap => call::FD_FIFTH,
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
        assert_eq!(table[write as usize], call::FD_FIRST | call::STREAMED);
        assert_eq!(table[Sysno::getpid.id().unsigned_abs() as usize], 0);
        assert_eq!(name(9_999), "unknown");
    }
}
