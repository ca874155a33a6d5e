//! Signals that stay pending until their recipient is ready.
#![expect(
    unsafe_code,
    reason = "masks of signals are wrapped by no library that is used here"
)]

use std::fs::File;
use std::io::{self, Read as _};
use std::mem::MaybeUninit;
use std::os::fd::{FromRawFd as _, OwnedFd};
use std::ptr;

/// Signals that request an action, or the end, of a process.
const ASKING: [libc::c_int; 6] = [
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGTERM,
    libc::SIGUSR1,
    libc::SIGUSR2,
];

/// While this value lives, these signals stay pending: for this thread, and for threads that it
/// starts.
#[derive(Debug)]
pub struct Held {
    before: Mask,
}

/// Signals that a thread has blocked.
#[derive(Clone, Copy)]
pub struct Mask(libc::sigset_t);

impl std::fmt::Debug for Mask {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Mask")
    }
}

impl Mask {
    /// The mask of this thread.
    pub fn own() -> io::Result<Self> {
        block(&empty())
    }

    /// Makes it the mask of this thread. May be called between fork and exec.
    pub(crate) fn take(self) -> io::Result<()> {
        // SAFETY: the mask is a set, and the old one is not requested.
        let outcome =
            unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.0, ptr::null_mut()) };
        if outcome == 0 {
            Ok(())
        } else {
            Err(io::Error::from_raw_os_error(outcome))
        }
    }
}

impl Held {
    /// Starts blocking. Call it before there are other threads, which would receive the signals.
    pub fn begin() -> io::Result<Self> {
        block(&asking()).map(|before| Self { before })
    }

    /// Of every signal that a thread can block: the kernel gives them to other threads.
    pub(crate) fn all() -> io::Result<Self> {
        let mut set = empty();
        // SAFETY: fills the whole set.
        unsafe { libc::sigfillset(&raw mut set) };
        block(&set).map(|before| Self { before })
    }

    /// The previous mask, which started programs get.
    pub fn before(&self) -> Mask {
        self.before
    }

    /// Keeps them pending forever: this process ends.
    pub fn keep(self) {
        std::mem::forget(self);
    }

    /// Becomes readable when a signal arrives that is not ignored; the signal stays pending.
    pub fn descriptor(&self) -> io::Result<OwnedFd> {
        let mut set = empty();
        for signal in ASKING.into_iter().filter(|signal| !is_ignored(*signal)) {
            // SAFETY: the set was filled above and the signal exists.
            unsafe { libc::sigaddset(&raw mut set, signal) };
        }
        arrivals(&set)
    }

    /// A signal that has arrived meanwhile and was not ignored.
    pub fn arrived(&self) -> Option<i32> {
        pending()
    }
}

/// A signal that stays pending and is not ignored: blocked ones are kept even if ignored (`sig_ignored`, kernel/signal.c).
pub(crate) fn pending() -> Option<i32> {
    let mut pending = MaybeUninit::uninit();
    // SAFETY: fills the whole set; it fails for a bad address only.
    unsafe { libc::sigpending(pending.as_mut_ptr()) };
    // SAFETY: it was filled above.
    let pending = unsafe { pending.assume_init() };
    ASKING.into_iter().find(|signal| {
        // SAFETY: the set was filled by the kernel, and the signal exists.
        let is_pending = unsafe { libc::sigismember(&raw const pending, *signal) };
        is_pending == 1 && !is_ignored(*signal)
    })
}

/// Signals that no handler has taken yet. The kernel gives a signal of the process to its first thread, also while that
/// sleeps uninterruptibly and runs no handler (`complete_signal`, kernel/signal.c); meanwhile it is read here.
#[derive(Debug)]
pub struct Undelivered(File);

/// A signal, and whether a process has sent it; others are of the kernel.
#[derive(Debug, Clone, Copy)]
pub struct Arrived {
    pub signal: i32,
    pub is_sent: bool,
}

impl Undelivered {
    pub fn of(signals: &[i32]) -> io::Result<Self> {
        let mut set = empty();
        for signal in signals {
            // SAFETY: the set was filled above; an unknown signal is refused.
            unsafe { libc::sigaddset(&raw mut set, *signal) };
        }
        arrivals(&set).map(|descriptor| Self(File::from(descriptor)))
    }

    /// Returns the next one.
    pub fn wait(&mut self) -> io::Result<Arrived> {
        // `struct signalfd_siginfo` (include/uapi/linux/signalfd.h): ssi_signo, ssi_errno, ssi_code.
        let mut said = [0; 128];
        self.0.read_exact(&mut said)?;
        let field =
            |at: usize| i32::from_ne_bytes([said[at], said[at + 1], said[at + 2], said[at + 3]]);
        Ok(Arrived {
            signal: field(0),
            is_sent: field(8) <= libc::SI_USER,
        })
    }
}

/// A descriptor that reports these signals.
pub(crate) fn arrivals(signals: &libc::sigset_t) -> io::Result<OwnedFd> {
    // SAFETY: the set is live; -1 requests a new descriptor.
    let fd = unsafe { libc::signalfd(-1, signals, libc::SFD_CLOEXEC) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor was just created and nothing else uses it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn is_ignored(signal: libc::c_int) -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: a query only; the kernel fills the action.
    let asked = unsafe { libc::sigaction(signal, ptr::null(), action.as_mut_ptr()) };
    if asked != 0 {
        return false;
    }
    // SAFETY: the call has succeeded and filled it.
    let action = unsafe { action.assume_init() };
    action.sa_sigaction == libc::SIG_IGN
}

impl Drop for Held {
    fn drop(&mut self) {
        // It was the mask of this thread, so the kernel accepts it again.
        drop(self.before.take());
    }
}

/// All of the signals.
pub(crate) fn asking() -> libc::sigset_t {
    let mut set = empty();
    for signal in ASKING {
        // SAFETY: the set was filled above and the signal exists.
        unsafe { libc::sigaddset(&raw mut set, signal) };
    }
    set
}

fn empty() -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: fills the whole set.
    unsafe { libc::sigemptyset(set.as_mut_ptr()) };
    // SAFETY: it was filled above.
    unsafe { set.assume_init() }
}

/// Blocks signals; returns the previous mask.
pub(crate) fn block(signals: &libc::sigset_t) -> io::Result<Mask> {
    let mut before = MaybeUninit::uninit();
    // SAFETY: both are sets; the kernel fills the second.
    let outcome = unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, signals, before.as_mut_ptr()) };
    if outcome != 0 {
        return Err(io::Error::from_raw_os_error(outcome));
    }
    // SAFETY: the call has succeeded and filled it.
    Ok(Mask(unsafe { before.assume_init() }))
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread::{self, JoinHandle};

    use rustix::process::Signal;

    use super::*;

    /// A thread that sends signals to the one that started it, until [`Storm::end`].
    pub(crate) struct Storm {
        ends: Arc<AtomicBool>,
        sender: JoinHandle<u32>,
    }

    impl Storm {
        pub(crate) fn begin() -> Self {
            extern "C" fn nothing(_signal: libc::c_int) {}
            let handler: extern "C" fn(libc::c_int) = nothing;
            // SAFETY: the handler does nothing, and interrupted calls go on.
            unsafe { libc::signal(libc::SIGURG, handler as *const () as libc::sighandler_t) };
            let (process, thread) = (rustix::process::getpid(), rustix::thread::gettid());
            let (process, thread) = (process.as_raw_pid(), thread.as_raw_pid());
            let ends = Arc::new(AtomicBool::new(false));
            let is_over = ends.clone();
            let sender = thread::spawn(move || {
                let mut sent = 0;
                while !is_over.load(Ordering::Relaxed) {
                    // SAFETY: the thread is of this process and waits for this one.
                    unsafe { libc::syscall(libc::SYS_tgkill, process, thread, libc::SIGURG) };
                    sent += 1;
                }
                sent
            });
            Self { ends, sender }
        }

        /// Returns the number of signals sent.
        pub(crate) fn end(self) -> u32 {
            self.ends.store(true, Ordering::Relaxed);
            self.sender.join().unwrap()
        }
    }

    /// A separate thread has its own mask, and receives the signals sent to it alone.
    #[test]
    fn what_arrives_meanwhile_waits() {
        let thread = thread::spawn(|| {
            let before = asking();
            let held = Held::begin().unwrap();
            assert_eq!(held.arrived(), None);
            // SAFETY: sends a signal to this thread, which has it blocked.
            unsafe { libc::raise(libc::SIGUSR1) };
            let arrived = held.arrived();
            // It would end this process, so it is fetched first.
            let mut taken = 0;
            // SAFETY: fetches a pending signal, and fills one int.
            unsafe { libc::sigwait(&raw const before, &raw mut taken) };
            (arrived, taken, held.arrived())
        });
        let number = Signal::USR1.as_raw();
        assert_eq!(thread.join().unwrap(), (Some(number), number, None));
    }
}
