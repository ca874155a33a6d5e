//! Continues processes that the kernel side stopped when iostrata itself is killed.
//!
//! The guard is a separate process, because it must outlive iostrata: it waits for the end of a
//! pipe whose other end only iostrata holds.
#![expect(
    unsafe_code,
    reason = "a child between fork and exec may only make system calls"
)]

use std::io::{self, PipeWriter, Write as _};
use std::os::fd::{AsRawFd as _, BorrowedFd, RawFd};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command};

use aya_obj::generated::bpf_cmd;

use crate::failure;
use crate::kernel::{close_descriptors, wait_for_byte};

/// The programs are detached when iostrata's descriptors are closed, possibly a moment after the
/// pipe ends: until then they can still stop processes.
const LOOKS: u32 = 20;
const BETWEEN_LOOKS_MICROSECONDS: libc::c_uint = 100_000;

/// The watching process; it lives as long as this value.
pub(super) struct Guard {
    alive: PipeWriter,
    child: Child,
}

impl Guard {
    /// `stops` is the table of processes that were stopped.
    pub(super) fn start(stops: BorrowedFd<'_>) -> io::Result<Self> {
        let (waits, alive) = io::pipe()?;
        let (waits_fd, stops_fd) = (waits.as_raw_fd(), stops.as_raw_fd());
        // Never executed: the child runs no other program.
        let mut command = Command::new("/");
        // SAFETY: the closure makes system calls only; it neither allocates nor takes locks.
        unsafe {
            command.pre_exec(move || watch(waits_fd, stops_fd));
        }
        failure::stage("guard.start");
        let child = command.spawn()?;
        Ok(Self { alive, child })
    }

    pub(super) fn is_alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }
}

impl Drop for Guard {
    /// A normal end: there is nothing to continue.
    fn drop(&mut self) {
        // Fails when the child was killed.
        self.alive.write_all(&[1]).ok();
        self.child.wait().ok();
    }
}

/// In the child. Never returns.
fn watch(waits: RawFd, stops: RawFd) -> io::Result<()> {
    keep_only(waits, stops);
    // Ctrl-C must not reach the guard. SAFETY: without arguments; fails only if the child already
    // leads a group.
    unsafe { libc::setsid() };
    if wait_for_byte(waits, &mut 0) == 0 {
        for _ in 0..LOOKS {
            continue_all(stops);
            // SAFETY: takes a number.
            unsafe { libc::usleep(BETWEEN_LOOKS_MICROSECONDS) };
        }
    }
    // SAFETY: ends the child without iostrata's own clean-up.
    unsafe { libc::_exit(0) }
}

/// Closes all other descriptors, among them the other end of the pipe, the programs, and the pipe
/// on which the parent waits for the child's exec.
fn keep_only(one: RawFd, other: RawFd) {
    let low = u32::try_from(one.min(other)).unwrap_or(0);
    let high = u32::try_from(one.max(other)).unwrap_or(0);
    for (from, to) in [
        (0, low.saturating_sub(1)),
        (low + 1, high.saturating_sub(1)),
        (high + 1, u32::MAX),
    ] {
        if from <= to {
            close_descriptors(from, to);
        }
    }
}

/// The arguments of `bpf(2)` for walking a table.
#[repr(C)]
struct NextKey {
    map: u32,
    pad: u32,
    key: u64,
    next: u64,
    flags: u64,
}

fn continue_all(stops: RawFd) {
    let mut process = 0_u32;
    let mut first = true;
    loop {
        let mut next = 0_u32;
        let asked = NextKey {
            map: u32::try_from(stops).unwrap_or(u32::MAX),
            pad: 0,
            key: if first {
                0
            } else {
                (&raw const process).addr() as u64
            },
            next: (&raw mut next).expose_provenance() as u64,
            flags: 0,
        };
        // SAFETY: both keys are 4 bytes, as the table's are, and live; the structure has
        // the length that is given.
        let done = unsafe {
            libc::syscall(
                libc::SYS_bpf,
                bpf_cmd::BPF_MAP_GET_NEXT_KEY as libc::c_int,
                &raw const asked,
                size_of::<NextKey>(),
            )
        };
        if done != 0 {
            return;
        }
        first = false;
        process = next;
        if let Ok(pid) = libc::pid_t::try_from(process) {
            // SAFETY: takes numbers.
            unsafe { libc::kill(pid, libc::SIGCONT) };
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd as _;
    use std::time::{Duration, Instant};

    use rustix::process::{Pid, Signal, kill_process};

    use super::*;
    use crate::ebpf::Limits;
    use crate::ebpf::object::Object;

    struct Stopped(Child);

    impl Drop for Stopped {
        fn drop(&mut self) {
            self.0.kill().ok();
            self.0.wait().ok();
        }
    }

    fn state(process: &Stopped) -> char {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", process.0.id())).unwrap();
        let (_, rest) = stat.rsplit_once(") ").unwrap();
        rest.chars().next().unwrap()
    }

    fn wait_for(what: impl Fn() -> bool) {
        let begun = Instant::now();
        while !what() {
            assert!(begun.elapsed() < Duration::from_secs(30), "not in 30 s");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn what_was_stopped_goes_on_when_nobody_is_left() {
        let mut object = Object::load(&Limits::record()).unwrap();
        let mut stops = object.stops().unwrap();
        let process = Stopped(Command::new("sleep").arg("1000").spawn().unwrap());
        let pid = Pid::from_raw(process.0.id().cast_signed()).unwrap();
        kill_process(pid, Signal::STOP).unwrap();
        wait_for(|| state(&process) == 'T');
        stops.insert(process.0.id(), 1, 0).unwrap();

        let guard = Guard::start(object.stops_fd().unwrap().as_fd()).unwrap();
        drop(guard);
        assert_eq!(state(&process), 'T', "a clean end continues nothing");

        let mut guard = Guard::start(object.stops_fd().unwrap().as_fd()).unwrap();
        // As if iostrata had been killed: the pipe ends without a message.
        let (_, other) = io::pipe().unwrap();
        drop(std::mem::replace(&mut guard.alive, other));
        wait_for(|| state(&process) != 'T');
    }
}
