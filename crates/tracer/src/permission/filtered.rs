//! Filters of system calls (seccomp) that would end iostrata.
//!
//! A filter may answer a call with an error, which its caller handles, or kill the calling process,
//! as `SystemCallFilter=` of a systemd unit does (systemd.exec(5)). No file shows how a filter
//! treats a call, so a child makes it first.
#![expect(
    unsafe_code,
    reason = "a child between fork and its end may only make system calls"
)]

use std::fs;
use std::sync::OnceLock;

/// Calls required for tracing by ptrace.
const OF_TRACING: [(&str, libc::c_long); 6] = [
    ("ptrace", libc::SYS_ptrace),
    ("seccomp", libc::SYS_seccomp),
    ("pidfd_open", libc::SYS_pidfd_open),
    ("pidfd_getfd", libc::SYS_pidfd_getfd),
    ("process_vm_readv", libc::SYS_process_vm_readv),
    ("kcmp", libc::SYS_kcmp),
];

/// Whether this process has a filter: 2 is `SECCOMP_MODE_FILTER` (`proc_pid_status(5)`).
pub(crate) fn is_filtered() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mode = status
        .lines()
        .find_map(|line| line.strip_prefix("Seccomp:"));
    mode.is_some_and(|mode| mode.trim() == "2")
}

/// Whether a filter kills the caller of `bpf(2)`.
pub(crate) fn ends_at_bpf() -> bool {
    is_filtered() && ends_at(libc::SYS_bpf)
}

/// Whether a filter kills the caller of `cachestat(2)`: systemd's groups of calls lack it.
pub(crate) fn ends_at_cachestat(number: libc::c_long) -> bool {
    static ENDS: OnceLock<bool> = OnceLock::new();
    *ENDS.get_or_init(|| is_filtered() && ends_at(number))
}

/// Whether a filter kills who opens a file by its handle.
pub(crate) fn ends_at_handles() -> bool {
    let calls = [libc::SYS_name_to_handle_at, libc::SYS_open_by_handle_at];
    is_filtered() && calls.into_iter().any(ends_at)
}

/// The first call that ptrace tracing needs and for which a filter kills the caller.
pub fn ends_at_tracing() -> Option<&'static str> {
    if !is_filtered() {
        return None;
    }
    let mut calls = OF_TRACING.into_iter();
    calls
        .find(|(_, number)| ends_at(*number))
        .map(|(name, _)| name)
}

/// Makes the call in a child, with arguments that no call accepts.
fn ends_at(number: libc::c_long) -> bool {
    // SAFETY: the child makes only system calls until it ends.
    let child = unsafe { libc::fork() };
    if child == 0 {
        make(number);
    }
    if child < 0 {
        return false; // -1 stands for any child, such as the program
    }
    let mut status = 0;
    // SAFETY: waits for the child that was just made, and writes to a live integer.
    let waited = unsafe { libc::waitpid(child, &raw mut status, 0) };
    waited == child && libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGSYS
}

fn make(number: libc::c_long) -> ! {
    // SAFETY: takes numbers only. An undumpable process leaves no core.
    unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0) };
    // SAFETY: no process, command or flag has this number, so the kernel reads no address.
    unsafe { libc::syscall(number, -1_i64, -1_i64, 0_i64, 0_i64, -1_i64, -1_i64) };
    // SAFETY: ends this process at once, without the parent's clean-up.
    unsafe { libc::_exit(0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_that_no_filter_ends_are_made() {
        for (_, number) in OF_TRACING {
            assert!(!ends_at(number));
        }
        assert!(!ends_at(libc::SYS_bpf));
    }
}
