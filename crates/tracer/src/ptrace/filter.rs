//! The filter that stops a program at its I/O calls and lets all others run free.

use syscalls::Sysno;

use super::calls;
use crate::kernel::filter::{
    ARCHITECTURE, ARCHITECTURE_AT, Filter, NUMBER_AT, X32, answer, argument_at, if_equal, if_set,
    load,
};

const THIRD_ARGUMENT_AT: u32 = argument_at(2);
const FIFTH_ARGUMENT_AT: u32 = argument_at(4);

/// include/uapi/asm-generic/mman-common.h
const PROT_WRITE: u32 = 2;
const MADV_REMOVE: u32 = 9;

/// Stops at recorded calls, and at calls that the recorder must know of.
///
/// It stops at all calls of another architecture and at x32 calls: their numbers mean other
/// calls, so they can only be counted. Since Linux 5.11 the kernel caches for each number
/// whether a filter always allows it (kernel/seccomp.c, `seccomp_cache_check_allow`), so those
/// calls cost nothing.
pub(super) fn for_io() -> Filter {
    let mut code = vec![
        load(ARCHITECTURE_AT),
        if_equal(ARCHITECTURE, 1, 0),
        answer(libc::SECCOMP_RET_TRACE),
        load(NUMBER_AT),
        if_set(X32, 0, 1),
        answer(libc::SECCOMP_RET_TRACE),
    ];
    for number in calls::all().filter(|number| calls::is_stopped_at(*number)) {
        let Ok(id) = u32::try_from(number.id()) else {
            continue;
        };
        // Calls as memory allocators make them, which are not I/O: no file, no range made
        // writable, no hole punched into a file.
        let of_files = match number {
            Sysno::mmap => Some((FIFTH_ARGUMENT_AT, if_equal(u32::MAX, 1, 0))),
            Sysno::mprotect | Sysno::pkey_mprotect => {
                Some((THIRD_ARGUMENT_AT, if_set(PROT_WRITE, 0, 1)))
            }
            Sysno::madvise => Some((THIRD_ARGUMENT_AT, if_equal(MADV_REMOVE, 0, 1))),
            _ => None,
        };
        if let Some((argument_at, condition)) = of_files {
            code.extend([
                if_equal(id, 0, 4),
                load(argument_at),
                condition,
                answer(libc::SECCOMP_RET_TRACE),
                answer(libc::SECCOMP_RET_ALLOW),
            ]);
        } else {
            code.extend([if_equal(id, 0, 1), answer(libc::SECCOMP_RET_TRACE)]);
        }
    }
    code.push(answer(libc::SECCOMP_RET_ALLOW));
    Filter(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer_to(number: u32, architecture: u32, argument: u32) -> u32 {
        for_io().verdict(architecture, number, [argument; 6])
    }

    fn of(number: Sysno, argument: u32) -> u32 {
        answer_to(u32::try_from(number.id()).unwrap(), ARCHITECTURE, argument)
    }

    #[test]
    fn io_stops_and_the_rest_runs_free() {
        use Sysno as N;
        for number in [
            N::read,
            N::write,
            N::fsync,
            N::openat,
            N::renameat2,
            N::execve,
        ] {
            assert_eq!(of(number, 0), libc::SECCOMP_RET_TRACE, "{number}");
        }
        for number in [N::getpid, N::futex, N::brk, N::clock_nanosleep, N::munmap] {
            assert_eq!(of(number, 0), libc::SECCOMP_RET_ALLOW, "{number}");
        }
        let unknown = answer_to(9_999, ARCHITECTURE, 0);
        assert_eq!(unknown, libc::SECCOMP_RET_ALLOW);
    }

    #[test]
    fn memory_that_is_mapped_without_a_file_runs_free() {
        assert_eq!(of(Sysno::mmap, u32::MAX), libc::SECCOMP_RET_ALLOW);
        assert_eq!(of(Sysno::mmap, 3), libc::SECCOMP_RET_TRACE);
        for protects in [Sysno::mprotect, Sysno::pkey_mprotect] {
            assert_eq!(of(protects, 1 | PROT_WRITE), libc::SECCOMP_RET_TRACE);
            assert_eq!(of(protects, 5), libc::SECCOMP_RET_ALLOW);
        }
        assert_eq!(of(Sysno::madvise, MADV_REMOVE), libc::SECCOMP_RET_TRACE);
        assert_eq!(of(Sysno::madvise, 4), libc::SECCOMP_RET_ALLOW);
        // Calls compared after it are still found.
        assert_eq!(of(Sysno::openat2, 3), libc::SECCOMP_RET_TRACE);
    }

    #[test]
    fn numbers_of_another_architecture_are_counted() {
        const I386: u32 = 0x4000_0003;
        let getpid = u32::try_from(Sysno::getpid.id()).unwrap();
        assert_eq!(answer_to(getpid, I386, 0), libc::SECCOMP_RET_TRACE);
        let x32 = answer_to(getpid | X32, ARCHITECTURE, 0);
        assert_eq!(x32, libc::SECCOMP_RET_TRACE);
    }
}
