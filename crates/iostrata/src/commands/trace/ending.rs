//! The meaning of signals while a program is observed.

use iostrata_core::noun::counted;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use iostrata_core::gap::{Gap, Missing};
use iostrata_lab::interrupt::{Interrupted, caught, undelivered};
use iostrata_tracer::failure::{self, survive};
use iostrata_tracer::permission::caller;
use iostrata_tracer::signals::{Arrived, Held};
use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::SIGINT;
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::WithOrigin;

use super::attaching::Attachment;
use super::itself;
use crate::error::Failure;
use crate::{signals, ui};

/// Time between checks of what is still running.
pub(super) const PAUSE: Duration = Duration::from_millis(10);

/// How long a program may take to end at Ctrl-C; one that keeps running is named.
const GRACE: Duration = Duration::from_secs(1);

/// How long after that another Ctrl-C ends the observation. A later one is for the program again, as in a shell.
const ONCE_MORE: Duration = Duration::from_secs(10);

/// Signals that come sooner after another belong to it: a process group and its leader were asked, or a key was hit twice.
const SAME: Duration = Duration::from_millis(500);

/// The last signal, the last Ctrl-C that the program got, and when the user was told that it goes on.
#[derive(Debug, Default)]
struct Pressed {
    last: Option<Instant>,
    at: Option<Instant>,
    told: Option<Instant>,
}

/// While the program runs, its signals are its own: the terminal sends Ctrl-C to it as well,
/// and a signal sent only to iostrata is passed on. After the program, for an attached process, and at a second Ctrl-C
/// that the program does not end at, signals end the observation. When that is over, they end iostrata.
#[derive(Debug, Clone)]
pub(super) struct Ending {
    asked: Arc<AtomicBool>,
    /// The program that receives signals; 0 for none.
    program: Arc<AtomicU32>,
    pressed: Arc<Mutex<Pressed>>,
    /// Whether a signal ends this process at once.
    is_over: Arc<AtomicBool>,
    /// Whether signals are also taken that no handler takes.
    is_late: Arc<AtomicBool>,
    /// The error of the signal thread, if it failed.
    failed: Arc<OnceLock<Gap>>,
}

impl Ending {
    /// For a program that iostrata starts; without one, for a process that is still running when the observation ends.
    pub(super) fn install(program: Option<u32>) -> io::Result<Self> {
        let mut signals = SignalsInfo::<WithOrigin>::new(caught()?)?;
        let ending = Self {
            asked: Arc::new(AtomicBool::new(false)),
            program: Arc::new(AtomicU32::new(program.unwrap_or(0))),
            pressed: Arc::default(),
            is_over: Arc::default(),
            is_late: Arc::default(),
            failed: Arc::new(OnceLock::new()),
        };
        let told = ending.clone();
        thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || told.listen(&mut signals))?;
        Ok(ending)
    }

    /// Takes signals as long as this process lives, also after a failure.
    fn listen(&self, signals: &mut SignalsInfo<WithOrigin>) {
        let mut failed = Vec::new();
        loop {
            let closed = survive(Missing::Signal, &mut failed, || {
                failure::stage("signals.begin");
                for arrived in &mut *signals {
                    failure::stage("signals.arrived");
                    self.take(Arrived {
                        signal: arrived.signal,
                        is_sent: arrived.process.is_some(),
                    });
                }
            });
            match failed.pop() {
                Some(gap) => drop(self.failed.set(gap)),
                None if closed.is_some() => return,
                None => {}
            }
        }
    }

    fn take(&self, arrived: Arrived) {
        let to = self.program.load(Ordering::Acquire);
        let mut pressed = self.pressed.lock().unwrap_or_else(PoisonError::into_inner);
        let last = pressed.last.replace(Instant::now());
        if to == 0 {
            let is_another = last.is_none_or(|last| last.elapsed() > SAME);
            if self.is_over.load(Ordering::Acquire) && is_another {
                signals::end(arrived.signal);
            }
            self.asked.store(true, Ordering::Release);
            return;
        }
        if arrived.is_sent {
            // Only iostrata received it. Signals of the kernel come
            // from the terminal, which sent them to the program as well.
            pass_on(to, arrived.signal);
        }
        if arrived.signal == SIGINT {
            match pressed.told {
                Some(told) if told.elapsed() < ONCE_MORE => {
                    self.asked.store(true, Ordering::Release);
                }
                _ => (pressed.at, pressed.told) = (Some(Instant::now()), None),
            }
        }
    }

    /// Tells the user of a program that keeps running after Ctrl-C. Called while it runs.
    pub(super) fn look(&self) {
        let mut pressed = self.pressed.lock().unwrap_or_else(PoisonError::into_inner);
        if pressed.told.is_none() && pressed.at.is_some_and(|at| at.elapsed() >= GRACE) {
            pressed.told = Some(Instant::now());
            ui::say(&format!(
                "the program keeps running after Ctrl-C; once more within {} s ends the observation, not the program",
                ONCE_MORE.as_secs()
            ));
        }
    }

    /// Whether a signal ends this process at once, since nothing is observed or measured.
    pub(super) fn is_over(&self, is_over: bool) {
        self.is_over.store(is_over, Ordering::Release);
    }

    /// What was lost of the signals, if anything.
    pub(super) fn failed(&self) -> Option<Gap> {
        self.failed.get().cloned()
    }

    /// From now on signals end the observation, also while this process looks at a file whose server does not answer.
    pub(super) fn program_has_ended(&self) {
        self.program.store(0, Ordering::Release);
        if !self.is_late.swap(true, Ordering::AcqRel) {
            let late = self.clone();
            // Without that thread such a signal waits.
            drop(undelivered(move |arrived| late.take(arrived)));
        }
    }

    /// Whether the user wants an end: of the observation, or by a Ctrl-C that the program got.
    pub(super) fn is_wanted(&self) -> bool {
        let pressed = self.pressed.lock().unwrap_or_else(PoisonError::into_inner);
        self.is_asked_for() || pressed.at.is_some()
    }

    pub(super) fn is_asked_for(&self) -> bool {
        self.asked.load(Ordering::Acquire)
    }
}

/// Fails if a signal arrived before the program was started.
pub(super) fn unless_arrived(held: Held) -> Result<Held, Failure> {
    let Some(signal) = held.arrived() else {
        return Ok(held);
    };
    // It would end this process at once.
    held.keep();
    Err(Failure::NotBegun(Interrupted { signal }))
}

fn pass_on(pid: u32, signal: i32) {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    if let (Some(pid), Some(signal)) = (pid, Signal::from_named_raw(signal)) {
        // It may just have ended: then there is nobody to signal.
        let _ = kill_process(pid, signal);
    }
}

/// Processes started by the program may outlive it: waits for them too, for a limited time if there is a limit. Returns
/// whether any did.
pub(super) fn wait_for_others<E>(
    ending: &Ending,
    limit: Option<Duration>,
    mut alive: impl FnMut() -> Result<u64, E>,
) -> Result<bool, E> {
    let mut waited = 0_u32;
    let begun = Instant::now();
    loop {
        failure::stage("main.others");
        let alive = alive()?;
        let is_over = limit.is_some_and(|limit| begun.elapsed() >= limit);
        if alive == 0 || is_over || ending.is_asked_for() {
            return Ok(waited > 0);
        }
        waited += 1;
        if waited == 100 {
            let until = match limit {
                Some(limit) => format!("they are ended after {} s", limit.as_secs()),
                None => "Ctrl-C ends the observation".to_owned(),
            };
            ui::say(&format!(
                "the program has ended; still running: {} that it started; {until}",
                counted(alive, "thread")
            ));
        }
        thread::sleep(PAUSE);
    }
}

/// Waits until no requested process is left and none can join, the time is over, or the user has
/// seen enough.
pub(super) fn wait_until_enough<E>(
    target: &Attachment,
    ending: &Ending,
    limit: Option<Duration>,
    mut alive: impl FnMut() -> Result<u64, E>,
) -> Result<(), E> {
    let begun = Instant::now();
    ui::say(&format!(
        "observing {}; Ctrl-C ends the observation",
        target.words()
    ));
    loop {
        failure::stage("main.enough");
        let enough = limit.is_some_and(|limit| begun.elapsed() >= limit);
        if enough || ending.is_asked_for() {
            return Ok(());
        }
        if alive()? == 0 && !target.may_fill() {
            if let Some(removed) = target.removed() {
                ui::say(&format!(
                    "the observation has ended: cgroup {removed} was removed"
                ));
            }
            return Ok(());
        }
        thread::sleep(PAUSE);
    }
}

/// An existing process other than iostrata itself.
pub(super) fn check_adoptable(pid: u32) -> Result<(), Failure> {
    let refuse = |message: String| Err(itself(message));
    if pid == std::process::id() {
        return refuse("cannot observe iostrata itself; name another process with -p".to_owned());
    }
    match std::fs::read_to_string(format!("/proc/{pid}/status")) {
        Err(_) => refuse(format!(
            "no process {pid}; find the PID with ps -e or pgrep"
        )),
        Ok(status) => {
            let group = status.lines().find_map(|line| line.strip_prefix("Tgid:"));
            match group.map(str::trim) {
                Some(group) if group != pid.to_string() => refuse(format!(
                    "{pid} is a thread of process {group}; pass {group} to -p"
                )),
                _ if is_zombie(&status) => refuse(format!(
                    "process {pid} has exited and is a zombie; name a running process"
                )),
                _ => check_permitted(pid),
            }
        }
    }
}

/// Whatever capabilities iostrata's file has: the user must be allowed to trace the process.
fn check_permitted(pid: u32) -> Result<(), Failure> {
    use io::ErrorKind::PermissionDenied;
    match caller::may_trace(pid) {
        Err(error) if error.kind() == PermissionDenied => Err(itself(format!(
            "this user may not observe process {pid}: the kernel does not permit tracing it \
             ({error}); observe a process of your own, or run as root, in a container with \
             CAP_SYS_PTRACE"
        ))),
        // If it has ended meanwhile, the next step reports that.
        _ => Ok(()),
    }
}

/// All its threads have ended: a first thread that has ended may leave others (`proc_pid_status(5)`).
fn is_zombie(status: &str) -> bool {
    let of = |name: &str| status.lines().find_map(|line| line.strip_prefix(name));
    let is = of("State:").is_some_and(|state| state.trim_start().starts_with(['Z', 'X']));
    is && of("Threads:").is_none_or(|threads| threads.trim() == "1")
}
