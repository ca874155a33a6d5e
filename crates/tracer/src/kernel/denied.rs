//! The system calls that a program nobody trusts may not make, whatever privileges it has or gains.
//!
//! `ptrace(2)` is allowed: sanitizers use it, it reaches processes of the same PID namespace only, and since Linux 4.8
//! a tracer cannot change a call after the filter has seen it (kernel/entry, `syscall_trace_enter`).

use std::io;

use syscalls::Sysno as N;

use super::filter::{
    ARCHITECTURE, ARCHITECTURE_AT, Filter, NUMBER_AT, X32, answer, argument_at, if_equal, if_set,
    load,
};

/// Mounts and namespaces; what loads code into the kernel; what opens files past their paths; clocks, keys and quotas
/// of the machine; what reads the memory of other processes or of the kernel. With the number that programs of 32 bits
/// have for it (`arch/x86/entry/syscalls/syscall_32.tbl`).
const DENIED: &[(N, u32)] = &[
    (N::acct, 51),
    (N::add_key, 286),
    (N::adjtimex, 124),
    (N::bpf, 357),
    (N::clock_adjtime, 343),
    (N::clock_settime, 264),
    (N::delete_module, 129),
    (N::fanotify_init, 338),
    (N::finit_module, 350),
    (N::fsconfig, 431),
    (N::fsmount, 432),
    (N::fsopen, 430),
    (N::fspick, 433),
    (N::init_module, 128),
    (N::io_uring_setup, 425),
    (N::kexec_file_load, NONE),
    (N::kexec_load, 283),
    (N::keyctl, 288),
    (N::mount, 21),
    (N::mount_setattr, 442),
    (N::move_mount, 429),
    (N::open_by_handle_at, 342),
    (N::open_tree, 428),
    (N::perf_event_open, 336),
    (N::pivot_root, 217),
    (N::process_vm_readv, 347),
    (N::process_vm_writev, 348),
    (N::quotactl, 131),
    (N::quotactl_fd, 443),
    (N::reboot, 88),
    (N::request_key, 287),
    (N::setns, 346),
    (N::settimeofday, 79),
    (N::swapoff, 115),
    (N::swapon, 87),
    (N::syslog, 103),
    (N::umount2, 52),
    (N::unshare, 310),
    (N::userfaultfd, 374),
    #[cfg(target_arch = "x86_64")]
    (N::ioperm, 101),
    #[cfg(target_arch = "x86_64")]
    (N::iopl, 110),
];

const NONE: u32 = u32::MAX;

/// Those that only programs of 32 bits have.
#[cfg(target_arch = "x86_64")]
const OF_32_BITS: [(&str, u32); 6] = [
    ("umount", 22),
    ("stime", 25),
    ("vm86old", 113),
    ("vm86", 166),
    ("clock_settime64", 404),
    ("clock_adjtime64", 405),
];

/// `AUDIT_ARCH_I386` (include/uapi/linux/audit.h)
#[cfg(target_arch = "x86_64")]
const I386: u32 = 0x4000_0003;

/// Newer than the table of numbers by name; the same on all architectures.
const OPEN_TREE_ATTR: u32 = 467;

/// `CLONE_NEW*` in the first argument of clone (include/uapi/linux/sched.h). `CLONE_NEWTIME` is part of the exit signal
/// there.
const NAMESPACES: u32 = 0x7e02_0000;

/// Families of sockets that no network namespace holds (`AF_VSOCK`), and one that only opens the kernel's own ciphers
/// (`AF_ALG`).
const FAMILIES: [u32; 2] = [40, 38];

const fn fails(errno: i32) -> u32 {
    libc::SECCOMP_RET_ERRNO | errno.cast_unsigned()
}

const EPERM: u32 = fails(libc::EPERM);
/// What programs take for an older kernel, on which they do without.
const ENOSYS: u32 = fails(libc::ENOSYS);

/// Denies these calls to this process and all that it starts, for good. Needs `no_new_privs`, or `CAP_SYS_ADMIN` in the
/// process's user namespace.
pub fn deny_calls() -> io::Result<()> {
    filter().set()
}

fn filter() -> Filter {
    let number = |call: N| call.id().cast_unsigned();
    let denied = DENIED
        .iter()
        .map(|(call, _)| number(*call))
        .chain([OPEN_TREE_ATTR]);
    let native = part(
        denied,
        number(N::clone),
        number(N::socket),
        &[number(N::clone3)],
    );
    let mut code = vec![load(ARCHITECTURE_AT)];
    code.extend(of_architecture(ARCHITECTURE, &native));
    #[cfg(target_arch = "x86_64")]
    {
        const CLONE: u32 = 120;
        const SOCKET: u32 = 359;
        const SOCKETCALL: u32 = 102;
        const CLONE3: u32 = 435;
        let part = part(denied_of_32_bits(), CLONE, SOCKET, &[SOCKETCALL, CLONE3]);
        code.extend(of_architecture(I386, &part));
    }
    code.push(answer(ENOSYS));
    Filter(code)
}

#[cfg(target_arch = "x86_64")]
fn denied_of_32_bits() -> impl Iterator<Item = u32> {
    let all = DENIED.iter().map(|(_, number)| *number);
    let all = all.filter(|number| *number != NONE);
    all.chain(OF_32_BITS.iter().map(|(_, number)| *number))
        .chain([OPEN_TREE_ATTR])
}

/// Skips its code, of at most 255 instructions, for another architecture.
fn of_architecture(architecture: u32, code: &[libc::sock_filter]) -> Vec<libc::sock_filter> {
    let mut all = vec![if_equal(
        architecture,
        0,
        u8::try_from(code.len()).unwrap_or(u8::MAX),
    )];
    all.extend(code);
    all
}

/// Decides about a call. Those of `in_memory` have their arguments there, where no filter can read them.
fn part(
    denied: impl Iterator<Item = u32>,
    clone: u32,
    socket: u32,
    in_memory: &[u32],
) -> Vec<libc::sock_filter> {
    let mut code = vec![load(NUMBER_AT), if_set(X32, 0, 1), answer(ENOSYS)];
    for number in denied {
        code.extend([if_equal(number, 0, 1), answer(EPERM)]);
    }
    for number in in_memory {
        code.extend([if_equal(*number, 0, 1), answer(ENOSYS)]);
    }
    code.extend([
        if_equal(clone, 0, 4),
        load(argument_at(0)),
        if_set(NAMESPACES, 0, 1),
        answer(EPERM),
        answer(libc::SECCOMP_RET_ALLOW),
        if_equal(socket, 0, 4),
        load(argument_at(0)),
        if_equal(FAMILIES[0], 1, 0),
        if_equal(FAMILIES[1], 0, 1),
        answer(fails(libc::EAFNOSUPPORT)),
        answer(libc::SECCOMP_RET_ALLOW),
    ]);
    code
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALLOW: u32 = libc::SECCOMP_RET_ALLOW;

    fn about(architecture: u32, number: u32, first: u32) -> u32 {
        filter().verdict(architecture, number, [first, 0, 0, 0, 0, 0])
    }

    fn native(call: N, first: u32) -> u32 {
        about(ARCHITECTURE, call.id().cast_unsigned(), first)
    }

    #[test]
    fn what_leads_out_is_denied_and_the_rest_is_not() {
        for (call, _) in DENIED {
            assert_eq!(native(*call, 0), EPERM, "{call}");
        }
        for call in [
            N::read,
            N::openat,
            N::execve,
            N::fork,
            N::ptrace,
            N::setuid,
            N::kill,
            N::chown,
        ] {
            assert_eq!(native(call, 0), ALLOW, "{call}");
        }
        assert_eq!(about(ARCHITECTURE, OPEN_TREE_ATTR, 0), EPERM);
        assert_eq!(native(N::clone3, 0), ENOSYS);
    }

    #[test]
    fn threads_and_processes_are_made_and_no_namespaces() {
        const THREAD: u32 = 0x003d_0f00;
        assert_eq!(native(N::clone, THREAD), ALLOW);
        assert_eq!(native(N::clone, libc::SIGCHLD.cast_unsigned()), ALLOW);
        for bit in [17, 25, 26, 27, 28, 29, 30] {
            assert_eq!(native(N::clone, 1 << bit), EPERM, "{bit}");
        }
    }

    #[test]
    fn sockets_that_a_network_namespace_holds_are_made() {
        for family in [1, 2, 10, 16] {
            assert_eq!(native(N::socket, family), ALLOW, "{family}");
        }
        for family in FAMILIES {
            assert_eq!(native(N::socket, family), fails(libc::EAFNOSUPPORT));
        }
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn numbers_of_32_bits_and_of_x32_are_no_way_round() {
        for number in denied_of_32_bits() {
            assert_eq!(about(I386, number, 0), EPERM, "{number}");
        }
        let (read, mount) = (3, 21);
        assert_eq!(about(I386, read, 0), ALLOW);
        assert_eq!(about(ARCHITECTURE, 165, 0), EPERM, "mount");
        assert_eq!(about(I386, 120, 1 << 28), EPERM, "clone");
        assert_eq!(about(I386, 359, 40), fails(libc::EAFNOSUPPORT));
        assert_eq!(about(I386, 102, 1), ENOSYS, "socketcall");
        for number in [mount, read, 165] {
            assert_eq!(about(ARCHITECTURE, number | X32, 0), ENOSYS);
        }
        assert_eq!(about(0x4000_0028, read, 0), ENOSYS, "another architecture");
    }

    /// By the kernel's headers.
    #[test]
    #[cfg(target_arch = "x86_64")]
    fn the_numbers_of_32_bits_are_those_of_the_same_calls() {
        let header = "/usr/include/x86_64-linux-gnu/asm/unistd_32.h";
        let Ok(header) = std::fs::read_to_string(header) else {
            crate::skip::skip("the kernel's headers are not installed");
            return;
        };
        let named = DENIED.iter().map(|(call, number)| (call.name(), *number));
        for (name, number) in named.chain(OF_32_BITS) {
            let line = format!("#define __NR_{name} ");
            let found = header
                .lines()
                .find_map(|one| one.strip_prefix(&line)?.trim().parse().ok());
            assert_eq!(found.unwrap_or(NONE), number, "{name}");
        }
    }

    #[test]
    fn jumps_reach_over_each_part() {
        let longest = filter()
            .0
            .iter()
            .filter(|one| one.k == ARCHITECTURE)
            .map(|one| one.jf)
            .max();
        assert!(
            filter().0.len() < 2 * 255 && longest > Some(90),
            "{longest:?}"
        );
    }
}
