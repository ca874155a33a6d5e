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

/// Families of sockets that a network namespace holds whole: `AF_UNIX`, `AF_INET`, `AF_INET6`.
const FAMILIES: [u32; 3] = [1, 2, 10];

/// `AF_NETLINK`, of which only `NETLINK_ROUTE` is allowed: others tell of the machine, such as its devices.
const NETLINK: u32 = 16;

/// Of `ioctl(2)`, the low half: `FS_IOC_ADD_ENCRYPTION_KEY`, `FS_IOC_REMOVE_ENCRYPTION_KEY` and the same for all users
/// (include/uapi/linux/fscrypt.h). They change who can read files of a whole file system, and ask for no privilege.
const KEYS: [u32; 3] = [0xc050_6617, 0xc040_6618, 0xc040_6619];

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
        [N::clone, N::socket, N::ioctl].map(number),
        &[number(N::clone3)],
    );
    let mut code = vec![load(ARCHITECTURE_AT)];
    code.extend(of_architecture(ARCHITECTURE, &native));
    #[cfg(target_arch = "x86_64")]
    {
        const CLONE_SOCKET_IOCTL: [u32; 3] = [120, 359, 54];
        const SOCKETCALL: u32 = 102;
        const CLONE3: u32 = 435;
        let part = part(
            denied_of_32_bits(),
            CLONE_SOCKET_IOCTL,
            &[SOCKETCALL, CLONE3],
        );
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
    [clone, socket, ioctl]: [u32; 3],
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
        if_equal(ioctl, 0, 6),
        load(argument_at(1)),
        if_equal(KEYS[0], 2, 0),
        if_equal(KEYS[1], 1, 0),
        if_equal(KEYS[2], 0, 1),
        answer(EPERM),
        answer(libc::SECCOMP_RET_ALLOW),
        if_equal(socket, 0, 9),
        load(argument_at(0)),
        if_equal(FAMILIES[0], 5, 0),
        if_equal(FAMILIES[1], 4, 0),
        if_equal(FAMILIES[2], 3, 0),
        if_equal(NETLINK, 0, 3),
        load(argument_at(2)),
        if_equal(0, 0, 1),
        answer(libc::SECCOMP_RET_ALLOW),
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
        let made = |family, protocol| {
            let arguments = [family, 1, protocol, 0, 0, 0];
            filter().verdict(ARCHITECTURE, N::socket.id().cast_unsigned(), arguments)
        };
        for family in [1, 2, 10] {
            assert_eq!(made(family, 17), ALLOW, "{family}");
        }
        assert_eq!(made(16, 0), ALLOW, "NETLINK_ROUTE");
        let refused = fails(libc::EAFNOSUPPORT);
        assert_eq!(made(16, 15), refused, "NETLINK_KOBJECT_UEVENT");
        for family in [0, 3, 17, 38, 40, 45] {
            assert_eq!(made(family, 0), refused, "{family}");
        }
    }

    #[test]
    fn keys_of_file_systems_are_left_alone() {
        let asked = |request| {
            let arguments = [3, request, 0, 0, 0, 0];
            filter().verdict(ARCHITECTURE, N::ioctl.id().cast_unsigned(), arguments)
        };
        for request in KEYS {
            assert_eq!(asked(request), EPERM, "{request:#x}");
        }
        for request in [0x5401, 0xc050_6616, 0] {
            assert_eq!(asked(request), ALLOW, "{request:#x}");
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
