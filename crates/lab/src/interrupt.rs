//! Orderly end on every catchable signal that would end the process.
//!
//! The signal handler only sets a flag; waiting code calls [`Interrupt::check`] from time to time and returns its
//! error, so that `Drop` ends child processes and removes scratch directories and mounts. A second signal during
//! that cleanup has no effect: it cannot cut the removal short. Only SIGKILL can, and the next run removes what it
//! leaves.

use std::fs;
use std::io;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;

use iostrata_tracer::permission::caller::keep_only;
use iostrata_tracer::signals::{Arrived, Undelivered};
use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::CapabilitySet;
use signal_hook::consts::{
    SIGALRM, SIGHUP, SIGINT, SIGIO, SIGPROF, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGVTALRM, SIGXCPU,
};
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::WithOrigin;
use signal_hook::low_level::signal_name;

/// Signals that end a process unless caught (signal(7)), except those of its own faults, SIGPIPE
/// and SIGXFSZ, which are errors of a write.
const ENDING: [i32; 11] = [
    SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGIO, SIGXCPU,
];

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("interrupted by {}", self.name())]
pub struct Interrupted {
    /// Number of the first signal that arrived.
    pub signal: i32,
}

impl Interrupted {
    /// `SIGINT`.
    pub fn name(self) -> String {
        signal_name(self.signal).map_or_else(|| format!("signal {}", self.signal), str::to_owned)
    }
}

/// Reports whether an end was requested. Clones share one state.
#[derive(Debug, Clone, Default)]
pub struct Interrupt {
    /// 0 until a signal arrives; with [`SENT`] if a process has sent it.
    signal: Arc<AtomicI32>,
}

/// No signal has this bit.
const SENT: i32 = 1 << 8;

impl Interrupt {
    /// A value that no signal sets.
    pub fn never() -> Self {
        Self::default()
    }

    /// Catches the signals of [`caught`] for the rest of the process, and calls `first` at the first of them, and at the
    /// first after [`answered`](Self::answered). Starts threads: create a private mount namespace before.
    pub fn install(first: impl Fn(&Self) + Send + Sync + 'static) -> io::Result<Self> {
        let mut signals = SignalsInfo::<WithOrigin>::new(caught()?)?;
        let interrupt = Self::default();
        let shared = interrupt.clone();
        let take = Arc::new(move |arrived| {
            if shared.end(arrived) {
                first(&shared);
            }
        });
        let late = Arc::clone(&take);
        lowered("signals", move || {
            signals.forever().for_each(|origin| {
                take(Arrived {
                    signal: origin.signal,
                    is_sent: origin.process.is_some(),
                });
            });
        })?;
        undelivered(move |arrived| late(arrived))?;
        Ok(interrupt)
    }

    /// Fails once a signal has arrived. Call it between runs.
    pub fn check(&self) -> Result<(), Interrupted> {
        match self.signal.load(Ordering::SeqCst) {
            0 => Ok(()),
            signal => Err(Interrupted {
                signal: signal & !SENT,
            }),
        }
    }

    /// Sends the signal that has arrived to a process, unless that has it, too: what the keyboard sends goes to all
    /// processes in front of it.
    pub fn pass_on(&self, to: Pid) {
        if !self.is_for_all()
            && let Err(by) = self.check()
            && let Some(signal) = Signal::from_named_raw(by.signal)
        {
            // It may have ended.
            _ = kill_process(to, signal);
        }
    }

    fn is_for_all(&self) -> bool {
        [SIGINT, SIGQUIT].contains(&self.signal.load(Ordering::SeqCst))
    }

    /// Forgets the signal that has arrived: it was for something that has ended. The next one counts as the first.
    pub fn answered(&self) {
        self.signal.store(0, Ordering::SeqCst);
    }

    /// The first signal is the reason, and gives true; later ones change nothing.
    fn end(&self, arrived: Arrived) -> bool {
        let sent = if arrived.is_sent { SENT } else { 0 };
        let set = |before| (before == 0).then_some(arrived.signal | sent);
        self.signal
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, set)
            .is_ok()
    }
}

/// Passes on signals that no handler takes, as the first thread sleeps uninterruptibly. Starts a thread.
pub fn undelivered(take: impl Fn(Arrived) + Send + 'static) -> io::Result<()> {
    let mut signals = Undelivered::of(&caught()?)?;
    lowered("late signals", move || {
        while let Ok(arrived) = signals.wait() {
            take(arrived);
        }
    })
}

/// Starts a thread and waits until it has no privileges: it needs none, and `serve` is to have none. Where a filter
/// forbids this, `serve` says so.
fn lowered(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let lowered = Arc::new(Barrier::new(2));
    let has_lowered = Arc::clone(&lowered);
    thread::Builder::new()
        .name(name.to_owned())
        .spawn(move || {
            drop(keep_only(CapabilitySet::empty()));
            has_lowered.wait();
            work();
        })?;
    lowered.wait();
    Ok(())
}

/// The signals that request an end. One that was ignored when the process started stays ignored, as
/// `nohup(1)` and shells without job control require.
pub fn caught() -> io::Result<Vec<i32>> {
    let ignored = ignored_signals()?;
    let is_ignored = |signal: &i32| ignored & (1 << (signal - 1)) != 0;
    let caught = ENDING.into_iter().filter(|signal| !is_ignored(signal));
    Ok(caught.collect())
}

/// Bit N-1 for signal N, from `SigIgn` of `/proc/self/status`, `proc_pid_status(5)`.
fn ignored_signals() -> io::Result<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .ok_or_else(|| io::Error::other("/proc/self/status has no readable SigIgn"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(signal: i32) -> Arrived {
        Arrived {
            signal,
            is_sent: true,
        }
    }

    #[test]
    fn what_the_keyboard_sends_is_for_all() {
        for (signal, is_sent, is_for_all) in [
            (SIGINT, false, true),
            (SIGINT, true, false),
            (SIGTERM, false, false),
        ] {
            let interrupt = Interrupt::never();
            assert!(interrupt.end(Arrived { signal, is_sent }));
            assert_eq!(interrupt.is_for_all(), is_for_all);
            assert_eq!(interrupt.check().unwrap_err().signal, signal);
        }
    }

    #[test]
    fn the_first_signal_is_remembered() {
        let interrupt = Interrupt::never();
        assert_eq!(interrupt.check(), Ok(()));
        assert!(interrupt.end(sent(SIGTERM)));
        assert!(!interrupt.end(sent(SIGINT)));
        let interrupted = interrupt.check().unwrap_err();
        assert_eq!(interrupted.to_string(), "interrupted by SIGTERM");
    }

    #[test]
    fn a_signal_that_was_answered_is_forgotten_by_all() {
        let interrupt = Interrupt::never();
        let other = interrupt.clone();
        assert!(interrupt.end(sent(SIGINT)));
        other.answered();
        assert_eq!(interrupt.check(), Ok(()));
        assert!(interrupt.end(sent(SIGTERM)));
        assert_eq!(other.check().unwrap_err().signal, SIGTERM);
    }
}
