//! Copies of a small process, each at the head of namespaces of its own.

use std::fs;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

use rustix::process::Pid;

use super::outcome;

/// What a copy has for itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Own {
    /// Nothing: a copy as of `fork(2)`.
    Nothing,
    /// PID and mount namespaces: it is process 1, and all that it leaves behind ends with it (`pid_namespaces(7)`).
    Processes,
    /// Those, and user, IPC and network namespaces. Nobody is mapped into the first yet.
    User,
}

impl Own {
    fn flags(self) -> libc::c_int {
        const PROCESSES: libc::c_int = libc::CLONE_NEWPID | libc::CLONE_NEWNS;
        match self {
            Self::Nothing => 0,
            Self::Processes => PROCESSES,
            Self::User => PROCESSES | libc::CLONE_NEWUSER | libc::CLONE_NEWIPC | libc::CLONE_NEWNET,
        }
    }
}

/// Copies the calling process; the copy does `work`, and ends with the exit code that this gives.
///
/// Fails in a process that has several threads: a copy has one of them, and what the others held would stay held.
pub fn forked(own: Own, work: impl FnOnce() -> u8) -> io::Result<Pid> {
    if fs::read_dir("/proc/self/task")?.count() != 1 {
        return Err(io::Error::other(
            "a process with several threads is not copied",
        ));
    }
    let flags = libc::c_long::from(own.flags() | libc::SIGCHLD);
    let nothing: libc::c_long = 0;
    // SAFETY: without CLONE_VM and a stack of its own the copy goes on as after fork(2), in memory of its own. There is
    // one thread, so nothing is held by one that the copy lacks. With the last four arguments zero, their order, which
    // differs between architectures, does not matter.
    let pid = unsafe { libc::syscall(libc::SYS_clone, flags, nothing, nothing, nothing, nothing) };
    if pid == 0 {
        let code = catch_unwind(AssertUnwindSafe(work)).unwrap_or(101);
        // SAFETY: it ends the process, whose caller's destructors and exit handlers are not the copy's to run.
        unsafe { libc::_exit(libc::c_int::from(code)) }
    }
    outcome(pid)?;
    i32::try_from(pid)
        .ok()
        .and_then(Pid::from_raw)
        .ok_or_else(|| io::Error::other("clone gave no process"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_with_several_threads_is_not_copied() {
        // Each test runs in a thread of its own.
        let refused = forked(Own::Nothing, || 0).unwrap_err();
        assert!(refused.to_string().contains("several threads"), "{refused}");
    }
}
