//! Two processes instead of one: the one that the user sees (in front), and the one that traces.
#![expect(
    unsafe_code,
    reason = "fork is wrapped by no library that is used here"
)]

use std::io::{self, PipeReader, PipeWriter, Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::ptr;

use rustix::event::{PollFd, PollFlags, poll};

use crate::signals::{arrivals, asking, block};

/// Which of the two this process is.
#[derive(Debug)]
pub enum Side {
    /// The original process, which the user sees; the other has finished, or has reported that it
    /// has nothing more to show. It only has to exit.
    Front(Answer),
    /// The one that traces.
    Behind(Behind),
}

/// What the process in front knows about the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    Code(u8),
    /// This signal ended it. The kernel has killed the program that it traced.
    Killed(i32),
}

/// The connection to the process in front.
#[derive(Debug)]
pub struct Behind {
    front: i32,
    answer: PipeWriter,
}

impl Behind {
    /// Ends the process in front with this code, while this one keeps running.
    pub fn release(mut self, code: u8) {
        // It fails when the process in front was killed: then nothing waits for the code.
        drop(self.answer.write_all(&[code]));
    }

    /// Whether the process in front was killed. Then nothing waits for this one's output.
    pub fn is_alone(&self) -> bool {
        // SAFETY: makes a system call that cannot fail.
        unsafe { libc::getppid() != self.front }
    }
}

/// Splits this process. Call it while the process has one thread and has done nothing yet.
///
/// The process in front forwards signals that were sent to it alone, and waits. When it is killed,
/// the other keeps running, and so does the program that it traces.
pub fn split() -> io::Result<Side> {
    let (ends, answer) = io::pipe()?;
    // SAFETY: makes a system call that cannot fail.
    let front = unsafe { libc::getpid() };
    let signals = asking();
    let before = block(&signals)?;
    // SAFETY: the process has one thread, so the child is complete.
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

/// Signals from a process reached only this one. Signals from the terminal have also reached the
/// other (`si_code`, sigaction(2)).
fn pass_on(arrive: &OwnedFd, behind: libc::pid_t) -> io::Result<()> {
    let mut bytes = [0; size_of::<libc::signalfd_siginfo>()];
    rustix::io::read(arrive.as_fd(), &mut bytes)?;
    // SAFETY: the kernel fills a whole structure of integers, for which any bytes are valid.
    let info: libc::signalfd_siginfo = unsafe { ptr::read_unaligned(bytes.as_ptr().cast()) };
    if info.ssi_code <= libc::SI_USER {
        let signal = i32::try_from(info.ssi_signo).unwrap_or(0);
        // SAFETY: sends a signal to a child that was not reaped, so the id is still its own.
        unsafe { libc::kill(behind, signal) };
    }
    Ok(())
}

/// How a process ended that reported no code.
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
