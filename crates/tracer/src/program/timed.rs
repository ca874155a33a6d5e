//! Runs of a user's program without an observer: its duration and its resource usage.
#![expect(
    unsafe_code,
    reason = "wait4, which tells what a child used, is wrapped by no library that is used here"
)]

use std::ffi::OsString;
use std::io;
use std::mem::MaybeUninit;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

use super::{Blocked, StartError};
use crate::signals::Held;

/// How long a program may take to end after it was signalled.
const GRACE: Duration = Duration::from_millis(800);

/// Memory that a process may touch between its measurement and its exec.
const TOUCHED_BYTES: u64 = 256 << 10;

#[derive(Debug, Clone, Copy)]
pub struct Took {
    pub status: ExitStatus,
    /// From the exec to the end.
    pub wall: Duration,
    /// CPU time in user mode, of the program and of all children it waited for.
    pub user: Duration,
    /// The same in the kernel.
    pub system: Duration,
    /// Peak resident memory of one of its processes; `None` if it is no more than the process had
    /// before it became the program, which the kernel counts too (`setmax_mm_hiwater_rss` at exec,
    /// fs/exec.c).
    pub max_resident_bytes: Option<u64>,
}

#[derive(Debug, Clone, Copy)]
pub enum Ended {
    ByItself(Took),
    /// This signal requested an end, and the whole process group of the program was ended.
    Interrupted(i32),
}

/// A program that is ready to run, in a process group of its own.
#[derive(Debug)]
pub struct Ready {
    blocked: Blocked,
    /// Resident memory that its process inherited from this one.
    floor_bytes: Option<u64>,
}

/// Creates the process of `command`, with the current standard streams of this process.
pub fn prepare(command: &[OsString], held: &Held) -> Result<Ready, StartError> {
    let blocked = Blocked::make(command, held.before(), true)?;
    Ok(Ready {
        floor_bytes: resident_bytes(blocked.pid()),
        blocked,
    })
}

/// Runs it to its end, or until a signal arrives.
pub fn time(ready: Ready, held: &Held) -> Result<Ended, StartError> {
    let arrive = held.descriptor().map_err(StartError::NoProcess)?;
    let begun = Instant::now();
    let child = ready.blocked.go()?;
    let pid = Pid::from_child(&child);
    let ends = match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(ends) => ends,
        Err(error) => {
            let _ = kill_process_group(pid, Signal::KILL);
            drop(reap(pid));
            return Err(StartError::NoProcess(error.into()));
        }
    };
    let mut wanted = [
        PollFd::new(&ends, PollFlags::IN),
        PollFd::new(&arrive, PollFlags::IN),
    ];
    let polled = rustix::io::retry_on_intr(|| poll(&mut wanted, None));
    let wall = begun.elapsed();
    let has_ended = !wanted[0].revents().is_empty();
    if !has_ended {
        let signal = held.arrived();
        end(pid, signal.unwrap_or(libc::SIGTERM), &ends);
        drop(reap(pid));
        let unheard = || io::Error::other("nothing told of the program's end");
        let signal = polled
            .map_err(io::Error::from)
            .and(signal.ok_or_else(unheard));
        return signal
            .map(Ended::Interrupted)
            .map_err(StartError::NoProcess);
    }
    let (status, usage) = reap(pid).map_err(StartError::NoProcess)?;
    let max_bytes = u64::try_from(usage.ru_maxrss).unwrap_or(0) * 1024;
    let is_its = ready
        .floor_bytes
        .is_some_and(|floor| max_bytes > floor + TOUCHED_BYTES);
    Ok(Ended::ByItself(Took {
        status,
        wall,
        user: duration(usage.ru_utime),
        system: duration(usage.ru_stime),
        max_resident_bytes: is_its.then_some(max_bytes),
    }))
}

/// Ends the whole group: with the requested signal, then by force if that does not help.
fn end(group: Pid, signal: i32, ends: &impl std::os::fd::AsFd) {
    let asked = Signal::from_named_raw(signal).unwrap_or(Signal::TERM);
    // A group without processes needs no end.
    let _ = kill_process_group(group, asked);
    let grace = Timespec::try_from(GRACE).ok();
    let mut wanted = [PollFd::new(ends, PollFlags::IN)];
    let _ = rustix::io::retry_on_intr(|| poll(&mut wanted, grace.as_ref()));
    // The program may have ended and left others: they keep the group until the last one is gone,
    // and its number is not reused until the program is reaped.
    let _ = kill_process_group(group, Signal::KILL);
}

/// Waits for a child; returns how it ended and the usage of it and of the children it waited for.
fn reap(pid: Pid) -> io::Result<(ExitStatus, libc::rusage)> {
    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    loop {
        // SAFETY: the kernel writes one int and one rusage to live memory.
        let reaped = unsafe {
            libc::wait4(
                pid.as_raw_nonzero().get(),
                &raw mut status,
                0,
                usage.as_mut_ptr(),
            )
        };
        if reaped >= 0 {
            // SAFETY: integers only, all zero or written by the kernel.
            return Ok((ExitStatus::from_raw(status), unsafe { usage.assume_init() }));
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// The peak resident memory of a process until now, `proc_pid_status(5)`.
fn resident_bytes(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kib * 1024)
}

fn duration(time: libc::timeval) -> Duration {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let micros = u64::try_from(time.tv_usec).unwrap_or(0);
    Duration::from_secs(seconds) + Duration::from_micros(micros)
}
