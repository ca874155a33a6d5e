//! Orderly end on every catchable signal that would end the process.
//!
//! The signal handler only sets a flag and kills the child processes being waited for; the waiting
//! code then calls [`Interrupt::check`] and returns its error, so that `Drop` removes scratch
//! directories and mounts. A second signal during that cleanup has no effect: it cannot cut the
//! removal short. Only SIGKILL can, and the next run removes what it leaves.

use std::fmt;
use std::fs;
use std::io;
use std::process::Child;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use rustix::io::retry_on_intr;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid,
};
use signal_hook::consts::{
    SIGALRM, SIGHUP, SIGINT, SIGIO, SIGPROF, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGVTALRM, SIGXCPU,
};
use signal_hook::iterator::Signals;
use signal_hook::low_level::signal_name;

/// Signals that end a process unless caught (signal(7)), except those of its own faults, SIGPIPE
/// and SIGXFSZ, which are errors of a write.
const ENDING: [i32; 11] = [
    SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGIO, SIGXCPU,
];

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("interrupted by {}", SignalName(*.signal))]
pub struct Interrupted {
    /// Number of the first signal that arrived.
    pub signal: i32,
}

impl Interrupted {
    /// `SIGINT`.
    pub fn name(self) -> String {
        SignalName(self.signal).to_string()
    }
}

struct SignalName(i32);

impl fmt::Display for SignalName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match signal_name(self.0) {
            Some(name) => f.write_str(name),
            None => write!(f, "signal {}", self.0),
        }
    }
}

/// Reports whether an end was requested. Clones share one state.
#[derive(Debug, Clone, Default)]
pub struct Interrupt {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    /// 0 until a signal arrives.
    signal: AtomicI32,
    /// Children that have not been reaped, so that their ids are still valid.
    children: Mutex<Vec<Pid>>,
}

impl Interrupt {
    /// A value that no signal sets.
    pub fn never() -> Self {
        Self::default()
    }

    /// Catches the signals of [`caught`] for the rest of the process. Starts a thread: create a
    /// private mount namespace before.
    pub fn install() -> io::Result<Self> {
        let mut signals = Signals::new(caught()?)?;
        let interrupt = Self::default();
        let shared = Arc::clone(&interrupt.shared);
        thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || {
                for signal in signals.forever() {
                    shared.end(signal);
                }
            })?;
        Ok(interrupt)
    }

    /// Fails once a signal has arrived. Call it between runs.
    pub fn check(&self) -> Result<(), Interrupted> {
        match self.shared.signal.load(Ordering::SeqCst) {
            0 => Ok(()),
            signal => Err(Interrupted { signal }),
        }
    }

    /// Forgets the signal that has arrived: it was for something that has ended. The next one counts as the first.
    pub fn answered(&self) {
        self.shared.signal.store(0, Ordering::SeqCst);
    }

    /// Kills `child` when a signal arrives, or now if one has.
    ///
    /// The whole process group is killed if the child leads one (`CommandExt::process_group(0)`),
    /// which also keeps a terminal's Ctrl-C from reaching the child first. The guard must end
    /// before the child is reaped, because its id may then belong to another process:
    /// [`Watched::wait_exit`] does that.
    pub fn watch(&self, child: &Child) -> Watched<'_> {
        let pid = Pid::from_child(child);
        let mut children = self.shared.children();
        children.push(pid);
        // A signal between the spawn and the push found an empty list.
        if self.check().is_err() {
            kill(pid);
        }
        drop(children);
        Watched {
            shared: &self.shared,
            pid,
        }
    }
}

impl Shared {
    fn end(&self, signal: i32) {
        // The first signal is the reason; later ones change nothing.
        _ = self
            .signal
            .compare_exchange(0, signal, Ordering::SeqCst, Ordering::SeqCst);
        for &pid in self.children().iter() {
            kill(pid);
        }
    }

    fn children(&self) -> MutexGuard<'_, Vec<Pid>> {
        // A list of numbers is consistent at every step, even after a panic.
        self.children.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A child that dies with the first signal, as long as this lives.
#[derive(Debug)]
#[must_use = "the child is watched only as long as the guard lives"]
pub struct Watched<'i> {
    shared: &'i Shared,
    pid: Pid,
}

impl Watched<'_> {
    /// Waits until the child has ended, without reaping it (`wait`, `wait4` do).
    pub fn wait_exit(self) -> io::Result<()> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        retry_on_intr(|| waitid(WaitId::Pid(self.pid), options))?;
        Ok(())
    }
}

impl Drop for Watched<'_> {
    fn drop(&mut self) {
        self.shared.children().retain(|&pid| pid != self.pid);
    }
}

fn kill(pid: Pid) {
    // The child is not reaped, so neither id can belong to another process. A failure means that it
    // has ended already.
    if kill_process_group(pid, Signal::KILL).is_err() {
        _ = kill_process(pid, Signal::KILL);
    }
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
    use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
    use std::process::Command;

    fn sleeper() -> Child {
        Command::new("sleep")
            .arg("600")
            .process_group(0)
            .spawn()
            .unwrap()
    }

    #[test]
    fn a_signal_ends_the_watched_child_and_is_remembered() {
        let interrupt = Interrupt::never();
        let mut child = sleeper();
        let watched = interrupt.watch(&child);
        assert_eq!(interrupt.check(), Ok(()));
        interrupt.shared.end(SIGTERM);
        interrupt.shared.end(SIGINT);
        watched.wait_exit().unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(9));
        let interrupted = interrupt.check().unwrap_err();
        assert_eq!(interrupted.to_string(), "interrupted by SIGTERM");
        assert!(interrupt.shared.children().is_empty());
    }

    #[test]
    fn a_signal_that_was_answered_is_forgotten_by_all() {
        let interrupt = Interrupt::never();
        let other = interrupt.clone();
        interrupt.shared.end(SIGINT);
        other.answered();
        assert_eq!(interrupt.check(), Ok(()));
        interrupt.shared.end(SIGTERM);
        assert_eq!(other.check().unwrap_err().signal, SIGTERM);
    }

    #[test]
    fn a_child_watched_after_the_signal_ends_too() {
        let interrupt = Interrupt::never();
        interrupt.shared.end(SIGHUP);
        let mut child = sleeper();
        interrupt.watch(&child).wait_exit().unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(9));
    }

    #[test]
    fn a_child_outside_its_own_group_is_killed_alone() {
        let interrupt = Interrupt::never();
        let mut child = Command::new("sleep").arg("600").spawn().unwrap();
        let watched = interrupt.watch(&child);
        interrupt.shared.end(SIGINT);
        watched.wait_exit().unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(9));
    }
}
