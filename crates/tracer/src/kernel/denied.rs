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
/// of the machine; what reads the memory of other processes or of the kernel.
const DENIED: &[N] = &[
    N::acct,
    N::add_key,
    N::adjtimex,
    N::bpf,
    N::clock_adjtime,
    N::clock_settime,
    N::delete_module,
    N::fanotify_init,
    N::finit_module,
    N::fsconfig,
    N::fsmount,
    N::fsopen,
    N::fspick,
    N::init_module,
    N::io_uring_setup,
    N::kexec_file_load,
    N::kexec_load,
    N::keyctl,
    N::mount,
    N::mount_setattr,
    N::move_mount,
    N::open_by_handle_at,
    N::open_tree,
    N::perf_event_open,
    N::pivot_root,
    N::process_vm_readv,
    N::process_vm_writev,
    N::quotactl,
    N::quotactl_fd,
    N::reboot,
    N::request_key,
    N::setns,
    N::settimeofday,
    N::swapoff,
    N::swapon,
    N::syslog,
    N::umount2,
    N::unshare,
    N::userfaultfd,
    #[cfg(target_arch = "x86_64")]
    N::ioperm,
    #[cfg(target_arch = "x86_64")]
    N::iopl,
];

/// The same for programs of 32 bits, by their numbers there (arch/x86/entry/syscalls/syscall_32.tbl), in their order:
/// mount, umount, stime, acct, umount2, settimeofday, swapon, reboot, ioperm, syslog, iopl, vm86old, swapoff, adjtimex,
/// init_module, delete_module, quotactl, vm86, pivot_root, clock_settime, kexec_load, add_key, request_key, keyctl,
/// unshare, perf_event_open, fanotify_init, open_by_handle_at, clock_adjtime, setns, process_vm_readv,
/// process_vm_writev, finit_module, bpf, userfaultfd, clock_settime64, clock_adjtime64, io_uring_setup, open_tree,
/// move_mount, fsopen, fsconfig, fsmount, fspick, mount_setattr, quotactl_fd, open_tree_attr.
#[cfg(target_arch = "x86_64")]
const DENIED_I386: &[u32] = &[
    21, 22, 25, 51, 52, 79, 87, 88, 101, 103, 110, 113, 115, 124, 128, 129, 131, 166, 217, 264,
    283, 286, 287, 288, 310, 336, 338, 342, 343, 346, 347, 348, 350, 357, 374, 404, 405, 425, 428,
    429, 430, 431, 432, 433, 442, 443, 467,
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
    let numbers = |calls: &[N]| {
        calls
            .iter()
            .filter_map(|call| u32::try_from(call.id()).ok())
            .collect()
    };
    let mut denied: Vec<u32> = numbers(DENIED);
    denied.push(OPEN_TREE_ATTR);
    let native = part(
        &denied,
        N::clone.id().cast_unsigned(),
        N::socket.id().cast_unsigned(),
        &numbers(&[N::clone3]),
    );
    let mut code = vec![load(ARCHITECTURE_AT)];
    code.extend(of_architecture(ARCHITECTURE, native));
    #[cfg(target_arch = "x86_64")]
    {
        const CLONE: u32 = 120;
        const SOCKET: u32 = 359;
        const SOCKETCALL: u32 = 102;
        const CLONE3: u32 = 435;
        code.extend(of_architecture(
            I386,
            part(DENIED_I386, CLONE, SOCKET, &[SOCKETCALL, CLONE3]),
        ));
    }
    code.push(answer(ENOSYS));
    Filter(code)
}

/// Skips its code, of at most 255 instructions, for another architecture.
fn of_architecture(architecture: u32, code: Vec<libc::sock_filter>) -> Vec<libc::sock_filter> {
    let length = u8::try_from(code.len()).expect("a table of few calls");
    [vec![if_equal(architecture, 0, length)], code].concat()
}

/// Decides about a call. Those of `in_memory` have their arguments there, where no filter can read them.
fn part(denied: &[u32], clone: u32, socket: u32, in_memory: &[u32]) -> Vec<libc::sock_filter> {
    let mut code = vec![load(NUMBER_AT), if_set(X32, 0, 1), answer(ENOSYS)];
    for number in denied {
        code.extend([if_equal(*number, 0, 1), answer(EPERM)]);
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
        for call in DENIED {
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
        for number in DENIED_I386 {
            assert_eq!(about(I386, *number, 0), EPERM, "{number}");
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

    /// Those that the compiler's own table of 32 bits has.
    #[test]
    #[cfg(target_arch = "x86_64")]
    fn the_numbers_of_32_bits_are_those_of_the_same_calls() {
        let header = "/usr/include/x86_64-linux-gnu/asm/unistd_32.h";
        let Ok(header) = std::fs::read_to_string(header) else {
            crate::skip::skip("the kernel's headers are not installed");
            return;
        };
        let mut known: Vec<u32> = header
            .lines()
            .filter_map(|line| line.strip_prefix("#define __NR_")?.split_once(' '))
            .filter(|(name, _)| {
                let name = name.trim_end_matches("64");
                let only = ["umount", "stime", "vm86", "vm86old"];
                DENIED.iter().any(|call| call.name() == name) || only.contains(&name)
            })
            .filter_map(|(_, number)| number.trim().parse().ok())
            .chain([OPEN_TREE_ATTR])
            .collect();
        known.sort_unstable();
        known.dedup();
        assert_eq!(known, DENIED_I386);
    }
}
