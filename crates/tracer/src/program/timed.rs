//! Runs of a user's program that nobody watches: how long it takes, and what it uses.
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

/// A program that was told to end has so long for that.
const GRACE: Duration = Duration::from_secs(2);

/// Memory that a process may touch between the look at it and its exec.
const TOUCHED_BYTES: u64 = 256 << 10;

/// How a run ended, and what it used.
#[derive(Debug, Clone, Copy)]
pub struct Took {
    /// How it ended.
    pub status: ExitStatus,
    /// From the exec to the end.
    pub wall: Duration,
    /// CPU time in user mode, of the program and of all it waited for.
    pub user: Duration,
    /// The same in the kernel.
    pub system: Duration,
    /// Most memory that one of its processes had resident; `None` when it is no more than what
    /// the process had before it became the program, which the kernel counts too
    /// (`setmax_mm_hiwater_rss` at exec, fs/exec.c).
    pub max_resident_bytes: Option<u64>,
}

/// What came of a run.
#[derive(Debug, Clone, Copy)]
pub enum Ended {
    /// The program ended.
    ByItself(Took),
    /// This signal asked for an end, and the program and all in its process group was ended.
    Interrupted(i32),
}

/// A program that is ready to run, in a process group of its own.
#[derive(Debug)]
pub struct Ready {
    blocked: Blocked,
    /// What its process has resident of this one.
    floor_bytes: Option<u64>,
}

/// Makes the process of `command`, with the standard streams of this one as they are now.
pub fn prepare(command: &[OsString], held: &Held) -> Result<Ready, StartError> {
    let blocked = Blocked::in_own_group(command, held.before())?;
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

/// Ends all that is in the group: as it was asked for, and if that does not help by force.
fn end(group: Pid, signal: i32, ends: &impl std::os::fd::AsFd) {
    let asked = Signal::from_named_raw(signal).unwrap_or(Signal::TERM);
    // A group that is gone needs no end.
    let _ = kill_process_group(group, asked);
    let grace = Timespec::try_from(GRACE).ok();
    let mut wanted = [PollFd::new(ends, PollFlags::IN)];
    let _ = rustix::io::retry_on_intr(|| poll(&mut wanted, grace.as_ref()));
    // The program may have ended and left others: the group is theirs until the last one is gone,
    // and its number nobody else's until the program is reaped.
    let _ = kill_process_group(group, Signal::KILL);
}

/// Waits for a child; says how it ended and what it and those it waited for used.
fn reap(pid: Pid) -> io::Result<(ExitStatus, libc::rusage)> {
    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    loop {
        // SAFETY: the kernel writes one int and one rusage to places that are live.
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

/// The most that a process had resident until now, `proc_pid_status(5)`.
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
