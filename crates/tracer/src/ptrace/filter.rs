//! The filter that stops a program at its I/O calls and lets all others run free: classic
//! BPF for `seccomp(2)`, written by hand.
#![expect(unsafe_code, reason = "no library installs seccomp filters")]

use std::io;

use syscalls::Sysno;

use super::calls;
use super::request::{ARCHITECTURE, X32};
use crate::kernel;

// Offsets in struct seccomp_data (include/uapi/linux/seccomp.h).
const NUMBER_AT: u32 = 0;
const ARCHITECTURE_AT: u32 = 4;
/// The low halves of arguments 2 and 4.
const THIRD_ARGUMENT_AT: u32 = 16 + 2 * 8;
const FIFTH_ARGUMENT_AT: u32 = 16 + 4 * 8;

// include/uapi/linux/bpf_common.h: BPF_LD | BPF_W | BPF_ABS, BPF_JMP | BPF_JEQ | BPF_K,
// BPF_JMP | BPF_JSET | BPF_K and BPF_RET | BPF_K.
const LOAD: u16 = 0x20;
const JUMP_IF_EQUAL: u16 = 0x15;
const JUMP_IF_SET: u16 = 0x45;
const RETURN: u16 = 0x06;

/// include/uapi/asm-generic/mman-common.h
const PROT_WRITE: u32 = 2;
const MADV_REMOVE: u32 = 9;

#[derive(Debug, Clone)]
pub(super) struct Filter(Vec<libc::sock_filter>);

impl Filter {
    /// Stops at recorded calls, and at calls that the recorder must know of.
    ///
    /// It stops at all calls of another architecture and at x32 calls: their numbers mean other
    /// calls, so they can only be counted. Since Linux 5.11 the kernel caches for each number
    /// whether a filter always allows it (kernel/seccomp.c, `seccomp_cache_check_allow`), so those
    /// calls cost nothing.
    pub(super) fn for_io() -> Self {
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
        Self(code)
    }

    /// Installs it in the calling thread permanently: it survives `execve` and applies to all
    /// descendants. Without `CAP_SYS_ADMIN` the kernel requires that programs lose the ability to
    /// gain privileges. Makes system calls only, so it may run between `fork` and `exec`.
    pub(super) fn install(&self) -> io::Result<()> {
        match self.set() {
            Err(error) if error.raw_os_error() == Some(libc::EACCES) => {
                rustix::thread::set_no_new_privs(true)?;
                self.set()
            }
            outcome => outcome,
        }
    }

    fn set(&self) -> io::Result<()> {
        let len = u16::try_from(self.0.len())
            .map_err(|_too_long| io::Error::from_raw_os_error(libc::EINVAL))?;
        let program = libc::sock_fprog {
            len,
            filter: self.0.as_ptr().cast_mut(),
        };
        // SAFETY: the kernel reads `len` instructions, which outlive the call.
        kernel::outcome(unsafe {
            libc::syscall(
                libc::SYS_seccomp,
                libc::SECCOMP_SET_MODE_FILTER,
                0,
                &raw const program,
            )
        })
    }
}

fn load(at: u32) -> libc::sock_filter {
    instruction(LOAD, 0, 0, at)
}

/// Skips `yes` instructions when the loaded word is `value`, otherwise `no`.
fn if_equal(value: u32, yes: u8, no: u8) -> libc::sock_filter {
    instruction(JUMP_IF_EQUAL, yes, no, value)
}

/// Skips `yes` instructions when the loaded word has one of these bits, otherwise `no`.
fn if_set(bits: u32, yes: u8, no: u8) -> libc::sock_filter {
    instruction(JUMP_IF_SET, yes, no, bits)
}

fn answer(action: u32) -> libc::sock_filter {
    instruction(RETURN, 0, 0, action)
}

fn instruction(code: u16, jt: u8, jf: u8, k: u32) -> libc::sock_filter {
    libc::sock_filter { code, jt, jf, k }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The filter's verdict, computed as in the kernel's interpreter (kernel/bpf/core.c): jumps are
    /// relative to the next instruction.
    fn answer_to(number: u32, architecture: u32, argument: u32) -> u32 {
        let Filter(code) = Filter::for_io();
        let (mut at, mut word) = (0, 0);
        loop {
            let now = code[at];
            at += 1;
            match now.code {
                LOAD => {
                    word = match now.k {
                        NUMBER_AT => number,
                        ARCHITECTURE_AT => architecture,
                        THIRD_ARGUMENT_AT | FIFTH_ARGUMENT_AT => argument,
                        other => panic!("offset {other}"),
                    }
                }
                JUMP_IF_EQUAL => {
                    at += usize::from(if word == now.k { now.jt } else { now.jf });
                }
                JUMP_IF_SET => {
                    at += usize::from(if word & now.k != 0 { now.jt } else { now.jf });
                }
                RETURN => return now.k,
                other => panic!("code {other:#x}"),
            }
        }
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
