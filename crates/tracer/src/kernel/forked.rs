//! Children: copies of a small process, each at the head of namespaces of its own, and what they inherit.

use std::os::fd::RawFd;
use std::os::unix::process::CommandExt as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;
use std::{fs, io};

use rustix::process::{
    Pid, Resource, Signal, getpid, getppid, getrlimit, set_parent_process_death_signal,
};

use super::outcome;

/// What a copy has for itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Own {
    /// Nothing: a copy as of `fork(2)`.
    Nothing,
    /// Namespaces for processes, mounts, IPC, the network and host names: it is process 1, and all that it leaves behind
    /// ends with it (`pid_namespaces(7)`).
    Room,
    /// Those, and a user namespace that owns them. Nobody is mapped into it yet.
    UserRoom,
}

impl Own {
    fn flags(self) -> libc::c_int {
        const ROOM: libc::c_int = libc::CLONE_NEWPID
            | libc::CLONE_NEWNS
            | libc::CLONE_NEWIPC
            | libc::CLONE_NEWNET
            | libc::CLONE_NEWUTS;
        match self {
            Self::Nothing => 0,
            Self::Room => ROOM,
            Self::UserRoom => ROOM | libc::CLONE_NEWUSER,
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

/// Makes the kernel kill the child when the thread that spawns it dies, also by `SIGKILL`.
///
/// The thread, not the process (`PR_SET_PDEATHSIG(2const)`): spawn from a thread
/// that waits for the child. A set-user-ID program or one with file
/// capabilities loses the setting.
pub fn die_with_parent(command: &mut Command) -> &mut Command {
    let parent = getpid();
    // SAFETY: between fork and exec the closure makes two system calls, which is
    // async-signal-safe; it neither allocates nor takes a lock.
    unsafe { command.pre_exec(move || tie_to(parent)) }
}

fn tie_to(parent: Pid) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // The parent may have died before the line above; then no signal would come.
    if getppid() == Some(parent) {
        Ok(())
    } else {
        Err(io::Error::from_raw_os_error(libc::ESRCH))
    }
}

/// Closes all descriptors from `first` to `last`, both included. Only for a child between `fork`
/// and its end, in which nothing uses them: makes system calls and nothing else.
///
/// Linux before 5.9 has no `close_range(2)`, and a filter may refuse it. A descriptor left open
/// would keep open a pipe whose end another process waits for.
pub(crate) fn close_descriptors(from: u32, to: u32) {
    // SAFETY: the caller guarantees that nothing uses them.
    if unsafe { libc::syscall(libc::SYS_close_range, from, to, 0) } == 0 {
        return;
    }
    // None is above the limit unless the limit was lowered: fs.nr_open bounds it (fs/file.c).
    let limit = getrlimit(Resource::Nofile).maximum;
    let end = limit.and_then(|limit| u32::try_from(limit).ok());
    for descriptor in from..=to.min(end.unwrap_or(MOST)) {
        // SAFETY: the caller guarantees that nothing uses it.
        unsafe { libc::close(descriptor.cast_signed()) };
    }
}

/// The kernel's default bound; root may raise it (`sysctl_nr_open`, fs/file.c).
const MOST: u32 = 1 << 20;

/// Waits for a byte or the end of a pipe; returns the result of `read(2)`: 1, 0, or -1 on failure.
/// Makes system calls and nothing else, as required in a child between `fork` and its end.
pub(crate) fn wait_for_byte(fd: RawFd, byte: &mut u8) -> isize {
    loop {
        // SAFETY: the kernel writes at most one byte, which lives.
        let read = unsafe { libc::read(fd, std::ptr::from_mut(byte).cast(), 1) };
        if read >= 0 || io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
            return read;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;
    use std::sync::mpsc;
    use std::thread;

    use super::*;

    #[test]
    fn a_process_with_several_threads_is_not_copied() {
        // Each test runs in a thread of its own.
        let refused = forked(Own::Nothing, || 0).unwrap_err();
        assert!(refused.to_string().contains("several threads"), "{refused}");
    }

    #[test]
    fn kills_the_child_of_a_thread_that_ends() {
        let (hand_over, child) = mpsc::channel();
        thread::spawn(move || {
            let mut command = Command::new("sleep");
            hand_over.send(die_with_parent(command.arg("600")).spawn().unwrap())
        })
        .join()
        .unwrap()
        .unwrap();
        let status = child.recv().unwrap().wait().unwrap();
        assert_eq!(status.signal(), Some(libc::SIGKILL));
    }
}
