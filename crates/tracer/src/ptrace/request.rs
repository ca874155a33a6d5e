//! The requests of `ptrace(2)` and the stops that they answer.
#![expect(unsafe_code, reason = "ptrace and its wait are wrapped by no library")]

use std::io;
use std::mem::MaybeUninit;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::ptr;
use std::time::{Duration, Instant};

use crate::kernel;
use crate::kernel::filter::{ARCHITECTURE, X32};

pub(super) type Tid = u32;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Resume {
    /// To its next event.
    Freely,
    /// To the entry or exit of its next system call, or an event before it.
    ToCall,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    Gone,
    /// Entry or exit of a system call.
    Call,
    /// The filter asks for this system call.
    Filtered,
    /// It created a thread or process.
    Made,
    Executed,
    /// It is about to end.
    Ending,
    /// Its process was stopped by this signal, as a shell's Ctrl-Z does.
    GroupStopped,
    /// It is new, was interrupted, or its stopped process continues.
    Trapped,
    /// This signal is about to reach it.
    Signalled(i32),
}

impl Stop {
    /// From the `waitid(2)` information about a stopped thread.
    fn from_status(status: i32) -> Self {
        let signal = status & 0xff;
        match status >> 8 {
            libc::PTRACE_EVENT_SECCOMP => Self::Filtered,
            libc::PTRACE_EVENT_FORK | libc::PTRACE_EVENT_VFORK | libc::PTRACE_EVENT_CLONE => {
                Self::Made
            }
            libc::PTRACE_EVENT_EXEC => Self::Executed,
            libc::PTRACE_EVENT_EXIT => Self::Ending,
            // With PTRACE_SEIZE only these signals make a group-stop (ptrace(2)).
            libc::PTRACE_EVENT_STOP => match signal {
                libc::SIGSTOP | libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU => Self::GroupStopped,
                _ => Self::Trapped,
            },
            0 if signal == libc::SIGTRAP | 0x80 => Self::Call,
            0 => Self::Signalled(signal),
            _ => Self::Trapped,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallInfo {
    None,
    /// The entry of a call whose number means another call: of a 32-bit program, or made with the
    /// 32-bit convention.
    Foreign,
    Entry {
        number: u64,
        arguments: [u64; 6],
    },
    Exit {
        /// Result, negative `errno` when it failed.
        result: i64,
    },
}

/// Options of every traced thread, and `extra` ones behind a filter.
pub(super) fn options(extra: i32) -> i32 {
    libc::PTRACE_O_TRACESYSGOOD
        | libc::PTRACE_O_TRACEFORK
        | libc::PTRACE_O_TRACEVFORK
        | libc::PTRACE_O_TRACECLONE
        | libc::PTRACE_O_TRACEEXEC
        | libc::PTRACE_O_TRACEEXIT
        | extra
}

/// Starts tracing a thread without stopping it.
pub(super) fn seize(tid: Tid, options: i32) -> io::Result<()> {
    request(libc::PTRACE_SEIZE, tid, 0, options_word(options))
}

pub(super) fn interrupt(tid: Tid) -> io::Result<()> {
    request(libc::PTRACE_INTERRUPT, tid, 0, 0)
}

/// Continues a stopped thread, with a signal (0 for none).
pub(super) fn resume(tid: Tid, how: Resume, signal: i32) -> io::Result<()> {
    let what = match how {
        Resume::Freely => libc::PTRACE_CONT,
        Resume::ToCall => libc::PTRACE_SYSCALL,
    };
    request(what, tid, 0, options_word(signal))
}

/// Leaves a thread of a stopped process stopped, but reports when it continues.
pub(super) fn listen(tid: Tid) -> io::Result<()> {
    request(libc::PTRACE_LISTEN, tid, 0, 0)
}

/// The value of an event: the new thread, the former id of one that executed, or the status of one that ends.
pub(super) fn message(tid: Tid) -> io::Result<Tid> {
    let mut message: libc::c_ulong = 0;
    let address = ptr::from_mut(&mut message).addr();
    request(libc::PTRACE_GETEVENTMSG, tid, 0, address)?;
    Ok(Tid::try_from(message).unwrap_or(0))
}

/// Whether a thread has left its stop, which only SIGKILL can cause, and is on its way to
/// `PTRACE_EVENT_EXIT` or already there. Continuing it then would skip that stop. What a stop says of its
/// signal does not show: a program can send itself any.
pub(super) fn is_being_killed(tid: Tid) -> bool {
    let again = libc::WSTOPPED | libc::WNOHANG | libc::WNOWAIT;
    message(tid).is_err() || matches!(wait(libc::P_PID, tid, again), Ok(Some(_)))
}

/// The call of a stopped thread, as the kernel reports it, without counting stops.
pub(super) fn call_info(tid: Tid) -> io::Result<CallInfo> {
    let mut info = MaybeUninit::<libc::ptrace_syscall_info>::zeroed();
    let size = size_of::<libc::ptrace_syscall_info>();
    request(
        libc::PTRACE_GET_SYSCALL_INFO,
        tid,
        size,
        info.as_mut_ptr().addr(),
    )?;
    // SAFETY: all-zero is a value of this structure of integers, and the kernel wrote over it.
    let info = unsafe { info.assume_init() };
    Ok(match info.op {
        libc::PTRACE_SYSCALL_INFO_ENTRY | libc::PTRACE_SYSCALL_INFO_SECCOMP => {
            // SAFETY: number and arguments lie at the same offset for an entry and for a filter's
            // stop (include/uapi/linux/ptrace.h); the union consists of integers.
            let entry = unsafe { info.u.entry };
            if info.arch != ARCHITECTURE || is_x32(entry.nr) {
                CallInfo::Foreign
            } else {
                CallInfo::Entry {
                    number: entry.nr,
                    arguments: entry.args,
                }
            }
        }
        libc::PTRACE_SYSCALL_INFO_EXIT => {
            // SAFETY: the kernel reports this member as the valid one.
            let exit = unsafe { info.u.exit };
            CallInfo::Exit { result: exit.sval }
        }
        _ => CallInfo::None,
    })
}

/// No call has a negative number; a call to be skipped has.
fn is_x32(number: u64) -> bool {
    number & u64::from(X32) != 0 && number >> 31 == 0
}

/// Changes the first argument of the system call that a stopped thread is in.
#[cfg(target_arch = "x86_64")]
pub(super) fn set_first_argument(tid: Tid, value: u64) -> io::Result<()> {
    let at = std::mem::offset_of!(libc::user_regs_struct, rdi);
    let value =
        usize::try_from(value).map_err(|_too_large| io::Error::from_raw_os_error(libc::EINVAL))?;
    request(libc::PTRACE_POKEUSER, tid, at, value)
}

#[cfg(not(target_arch = "x86_64"))]
pub(super) fn set_first_argument(_tid: Tid, _value: u64) -> io::Result<()> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}

/// The result of the call of a thread that is about to end: when the thread is killed, the end
/// precedes the stop at the call's exit (ptrace(2), `PTRACE_EVENT_EXIT`). A call that was not
/// started has failed with `ENOSYS` (`arch/x86/entry/entry_64.S`). `None` where the result is
/// unknown.
#[cfg(target_arch = "x86_64")]
pub(super) fn last_result(tid: Tid) -> Option<i64> {
    user_word(tid, std::mem::offset_of!(libc::user_regs_struct, rax))
}

/// Instruction pointer, stack pointer and frame pointer of a stopped thread.
#[cfg(target_arch = "x86_64")]
pub(super) fn registers(tid: Tid) -> Option<[u64; 3]> {
    let ip = user_word(tid, std::mem::offset_of!(libc::user_regs_struct, rip))?;
    let sp = user_word(tid, std::mem::offset_of!(libc::user_regs_struct, rsp))?;
    let bp = user_word(tid, std::mem::offset_of!(libc::user_regs_struct, rbp))?;
    Some([ip, sp, bp].map(i64::cast_unsigned))
}

/// Not known on this architecture.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn registers(_tid: Tid) -> Option<[u64; 3]> {
    None
}

#[cfg(target_arch = "x86_64")]
fn user_word(tid: Tid, at: usize) -> Option<i64> {
    let mut word: libc::c_long = 0;
    // The system call itself stores the word, unlike the function of the C library. SAFETY: the
    // kernel writes one word to the address of a live one.
    let outcome = unsafe {
        libc::syscall(
            libc::SYS_ptrace,
            libc::PTRACE_PEEKUSER,
            tid,
            at,
            ptr::from_mut(&mut word),
        )
    };
    (outcome == 0).then_some(word)
}

/// The same; on this architecture the register still holds an argument if the call was not started.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn last_result(_tid: Tid) -> Option<i64> {
    None
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    Stop(Tid, Stop),
    /// No thread has stopped within the limit.
    Nothing,
    Nobody,
}

/// Interval between two checks while a thread waits for its turn.
const LOOK: Duration = Duration::from_micros(50);

/// The next stop of a thread that this thread traces, or the end of one of its children, which
/// stays in `/proc` until [`reap`]. Waits no longer than `limit` if there is one. Children of other
/// threads are not included.
///
/// Polls for up to `impatience` before it sleeps: waking up on another CPU takes longer than most
/// programs need until their next stop.
pub(super) fn next(impatience: Duration, limit: Option<Duration>) -> io::Result<Next> {
    let begun = Instant::now();
    loop {
        // Without children that could stop this fails, and the other call reports it.
        let stopped = wait(libc::P_ALL, 0, libc::WSTOPPED | libc::WNOHANG);
        if let Ok(Some((tid, ChildState::Stopped(status)))) = stopped {
            return Ok(Next::Stop(tid, Stop::from_status(status)));
        }
        let is_patient = begun.elapsed() >= impatience;
        let how = if is_patient && limit.is_none() {
            libc::WSTOPPED
        } else {
            libc::WNOHANG
        };
        match wait(libc::P_ALL, 0, libc::WEXITED | libc::WNOWAIT | how) {
            Ok(Some((tid, ChildState::Ended(_)))) => return Ok(Next::Stop(tid, Stop::Gone)),
            Ok(_) => {}
            Err(error) => match error.raw_os_error() {
                Some(libc::EINTR) => {}
                Some(libc::ECHILD) => return Ok(Next::Nobody),
                _ => return Err(error),
            },
        }
        if limit.is_some_and(|limit| begun.elapsed() >= limit) {
            return Ok(Next::Nothing);
        }
        if is_patient && limit.is_some() {
            std::thread::sleep(LOOK);
        }
    }
}

/// Removes a dead thread from `/proc`. Returns how it ended.
pub(super) fn reap(tid: Tid) -> Option<ExitStatus> {
    let ended = wait(libc::P_PID, tid, libc::WEXITED | libc::WNOHANG);
    match ended.ok().flatten()? {
        (_, ChildState::Ended(status)) => Some(status),
        (_, ChildState::Stopped(_)) => None,
    }
}

/// The `waitid(2)` information about a thread.
enum ChildState {
    Ended(ExitStatus),
    /// The signal, and the event of `ptrace(2)` above it.
    Stopped(i32),
}

/// `None` if no thread has changed, where `flags` say not to wait.
fn wait(whose: libc::idtype_t, tid: Tid, flags: i32) -> io::Result<Option<(Tid, ChildState)>> {
    // Threads traced by this thread and its children, however created; not its siblings' children.
    let flags = flags | libc::__WALL | libc::__WNOTHREAD;
    let mut found = MaybeUninit::<libc::siginfo_t>::zeroed();
    // SAFETY: the kernel writes one `siginfo_t` to `found`.
    kernel::outcome(unsafe { libc::waitid(whose, tid, found.as_mut_ptr(), flags) })?;
    // SAFETY: all-zero is a value of this structure, and the kernel wrote over it.
    let found = unsafe { found.assume_init() };
    // SAFETY: waitid(2) sets this member, to 0 when there was no child.
    let tid = unsafe { found.si_pid() };
    // SAFETY: waitid(2) sets this member.
    let status = unsafe { found.si_status() };
    let change = match found.si_code {
        libc::CLD_EXITED => ChildState::Ended(ExitStatus::from_raw(status << 8)),
        libc::CLD_KILLED => ChildState::Ended(ExitStatus::from_raw(status)),
        libc::CLD_DUMPED => ChildState::Ended(ExitStatus::from_raw(status | 0x80)),
        _ => ChildState::Stopped(status),
    };
    let tid = Tid::try_from(tid).ok().filter(|tid| *tid != 0);
    Ok(tid.map(|tid| (tid, change)))
}

/// Options and signals are small and not negative.
fn options_word(value: i32) -> usize {
    usize::try_from(value).unwrap_or(0)
}

fn request(what: libc::c_uint, tid: Tid, address: usize, data: usize) -> io::Result<()> {
    let tid = libc::pid_t::try_from(tid)
        .map_err(|_too_large| io::Error::from_raw_os_error(libc::ESRCH))?;
    // SAFETY: every caller passes, for requests that write, the address and size of a live value of
    // the type that the request writes; the others ignore or copy the words.
    kernel::outcome(unsafe { libc::ptrace(what, tid, address, data) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stopped(signal: i32, event: i32) -> Stop {
        Stop::from_status(event << 8 | signal)
    }

    #[test]
    fn stops_are_told_apart() {
        assert_eq!(stopped(libc::SIGTRAP | 0x80, 0), Stop::Call);
        assert_eq!(stopped(libc::SIGTRAP, 0), Stop::Signalled(libc::SIGTRAP));
        assert_eq!(
            stopped(libc::SIGTRAP, libc::PTRACE_EVENT_SECCOMP),
            Stop::Filtered
        );
        assert_eq!(stopped(libc::SIGTRAP, libc::PTRACE_EVENT_VFORK), Stop::Made);
        assert_eq!(
            stopped(libc::SIGTRAP, libc::PTRACE_EVENT_EXEC),
            Stop::Executed
        );
        assert_eq!(
            stopped(libc::SIGTRAP, libc::PTRACE_EVENT_EXIT),
            Stop::Ending
        );
        assert_eq!(
            stopped(libc::SIGTRAP, libc::PTRACE_EVENT_STOP),
            Stop::Trapped
        );
        assert_eq!(
            stopped(libc::SIGTSTP, libc::PTRACE_EVENT_STOP),
            Stop::GroupStopped
        );
        assert_eq!(stopped(libc::SIGSTOP, 0), Stop::Signalled(libc::SIGSTOP));
    }
}
