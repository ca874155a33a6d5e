//! Two processes instead of one: the one that the user sees, and the one that traces.
#![expect(
    unsafe_code,
    reason = "fork is wrapped by no library that is used here"
)]

use std::io::{self, PipeReader, PipeWriter, Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::ptr;

use rustix::event::{PollFd, PollFlags, poll};

use crate::signals::{arrivals, asking, block};

/// Which of the two this is.
#[derive(Debug)]
pub enum Side {
    /// The one that was there before and that the user sees; the other is done, or has said
    /// that it has no more to show. All that is left is to exit.
    Front(Answer),
    /// The one that traces.
    Behind(Behind),
}

/// What the process in front knows of the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// The code to exit with.
    Code(u8),
    /// It was ended by this signal. The kernel has ended the program that it traced.
    Killed(i32),
}

/// The way back to the process in front.
#[derive(Debug)]
pub struct Behind {
    front: i32,
    answer: PipeWriter,
}

impl Behind {
    /// Ends the process in front with this code, while this one goes on.
    pub fn release(mut self, code: u8) {
        // It fails when the process in front was killed: then nobody waits for the code.
        drop(self.answer.write_all(&[code]));
    }

    /// Whether the process in front was killed. Nobody waits for what this one shows.
    pub fn is_alone(&self) -> bool {
        // SAFETY: makes a system call that cannot fail.
        unsafe { libc::getppid() != self.front }
    }
}

/// Splits this process. To be called while it has one thread and has not yet begun anything.
///
/// The process in front passes signals on that were sent to it alone, and waits. When it is
/// killed the one behind goes on, and with it the program that it traces.
pub fn split() -> io::Result<Side> {
    let (ends, answer) = io::pipe()?;
    // SAFETY: makes a system call that cannot fail.
    let front = unsafe { libc::getpid() };
    let signals = asking();
    let before = block(&signals)?;
    // SAFETY: the process has one thread, so the child is a whole one.
    match unsafe { libc::fork() } {
        -1 => {
            let error = io::Error::last_os_error();
            before.take()?;
            Err(error)
        }
        0 => {
            before.take()?;
            drop(ends);
            Ok(Side::Behind(Behind { front, answer }))
        }
        behind => {
            drop(answer);
            wait_in_front(behind, ends, &signals).map(Side::Front)
        }
    }
}

fn wait_in_front(
    behind: libc::pid_t,
    mut ends: PipeReader,
    signals: &libc::sigset_t,
) -> io::Result<Answer> {
    let arrive = arrivals(signals)?;
    loop {
        let mut wanted = [
            PollFd::new(&ends, PollFlags::IN),
            PollFd::new(&arrive, PollFlags::IN),
        ];
        rustix::io::retry_on_intr(|| poll(&mut wanted, None))?;
        let [answered, arrived] = wanted.map(|fd| !fd.revents().is_empty());
        if arrived {
            pass_on(&arrive, behind)?;
        }
        if answered {
            let mut code = [0; 1];
            return match ends.read(&mut code)? {
                0 => code_of(behind),
                _ => Ok(Answer::Code(code[0])),
            };
        }
    }
}

/// Signals from a process reached this one alone. Those from the terminal have reached the
/// other as well (`si_code`, sigaction(2)).
fn pass_on(arrive: &OwnedFd, behind: libc::pid_t) -> io::Result<()> {
    let mut bytes = [0; size_of::<libc::signalfd_siginfo>()];
    rustix::io::read(arrive.as_fd(), &mut bytes)?;
    // SAFETY: the kernel fills a whole structure of integers, which any bytes make.
    let info: libc::signalfd_siginfo = unsafe { ptr::read_unaligned(bytes.as_ptr().cast()) };
    if info.ssi_code <= libc::SI_USER {
        let signal = i32::try_from(info.ssi_signo).unwrap_or(0);
        // SAFETY: sends a signal to a child that was not waited for, so the number is its.
        unsafe { libc::kill(behind, signal) };
    }
    Ok(())
}

/// How a process ended that did not say a code.
fn code_of(behind: libc::pid_t) -> io::Result<Answer> {
    let mut status = 0;
    // SAFETY: the kernel writes one int to `status`.
    while unsafe { libc::waitpid(behind, &raw mut status, 0) } < 0 {
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    if libc::WIFEXITED(status) {
        let code = u8::try_from(libc::WEXITSTATUS(status)).unwrap_or(125);
        Ok(Answer::Code(code))
    } else {
        Ok(Answer::Killed(libc::WTERMSIG(status)))
    }
}
