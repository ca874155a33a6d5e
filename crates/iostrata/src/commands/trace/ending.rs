//! What signals mean while a program is observed.

use iostrata_core::noun::counted;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use iostrata_core::op::Gap;
use iostrata_lab::interrupt::{Interrupted, caught};
use iostrata_tracer::failure::{self, survive};
use iostrata_tracer::permission::caller;
use iostrata_tracer::signals::Held;
use rustix::process::{Pid, Signal, kill_process};
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::WithOrigin;
use signal_hook::iterator::exfiltrator::origin::Origin;

use super::attaching::Attachment;
use crate::error::Failure;
use crate::ui;

/// Between looks at what still runs.
pub(super) const PAUSE: Duration = Duration::from_millis(10);

/// Says whether the observation is to end.
///
/// While the program runs, its signals are its own: the terminal sends Ctrl-C to it as well,
/// and what is sent to iostrata alone is passed on. Afterwards, and for an adopted process,
/// they end the observation.
#[derive(Debug, Clone)]
pub(super) struct Ending {
    asked: Arc<AtomicBool>,
    /// The program that signals go to; 0 for none.
    program: Arc<AtomicU32>,
    /// What the thread that takes signals said when it failed.
    failed: Arc<OnceLock<Gap>>,
}

impl Ending {
    /// For a program that iostrata starts.
    pub(super) fn of_program(pid: u32) -> io::Result<Self> {
        Self::install(pid)
    }

    /// For a process that is still running when the observation ends.
    pub(super) fn of_adopted() -> io::Result<Self> {
        Self::install(0)
    }

    fn install(pid: u32) -> io::Result<Self> {
        let mut signals = SignalsInfo::<WithOrigin>::new(caught()?)?;
        let ending = Self {
            asked: Arc::new(AtomicBool::new(false)),
            program: Arc::new(AtomicU32::new(pid)),
            failed: Arc::new(OnceLock::new()),
        };
        let told = ending.clone();
        thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || told.listen(&mut signals))?;
        Ok(ending)
    }

    /// Takes signals as long as this process lives, also after one of them was too much.
    fn listen(&self, signals: &mut SignalsInfo<WithOrigin>) {
        let mut failed = Vec::new();
        loop {
            let closed = survive("a signal", &mut failed, || {
                failure::stage("signals.begin");
                for arrived in &mut *signals {
                    failure::stage("signals.arrived");
                    self.take(&arrived);
                }
            });
            match failed.pop() {
                Some(gap) => drop(self.failed.set(gap)),
                None if closed.is_some() => return,
                None => {}
            }
        }
    }

    fn take(&self, arrived: &Origin) {
        let to = self.program.load(Ordering::Acquire);
        if to == 0 {
            self.asked.store(true, Ordering::Release);
        } else if arrived.process.is_some() {
            // From a process: only iostrata has got it. The kernel's own come
            // from the terminal, which has sent them to the program as well.
            pass_on(to, arrived.signal);
        }
    }

    /// What of the signals was lost, if anything was.
    pub(super) fn failed(&self) -> Option<Gap> {
        self.failed.get().cloned()
    }

    /// From now on signals mean the observation.
    pub(super) fn program_has_ended(&self) {
        self.program.store(0, Ordering::Release);
    }

    pub(super) fn is_asked_for(&self) -> bool {
        self.asked.load(Ordering::Acquire)
    }
}

/// Fails when a signal has arrived before there was a program that it could be for.
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
        // It may have ended this moment: then there is nobody to tell.
        let _ = kill_process(pid, signal);
    }
}

/// What the program has started may outlive it: waits for it too. Returns whether anything
/// did.
pub(super) fn wait_for_others<E>(
    ending: &Ending,
    mut alive: impl FnMut() -> Result<u64, E>,
) -> Result<bool, E> {
    let mut waited = 0_u32;
    loop {
        failure::stage("main.others");
        let alive = alive()?;
        if alive == 0 || ending.is_asked_for() {
            return Ok(waited > 0);
        }
        waited += 1;
        if waited == 100 {
            ui::say(&format!(
                "the program has ended; still running: {} that it started; \
                 Ctrl-C ends the observation",
                counted(alive, "thread")
            ));
        }
        thread::sleep(PAUSE);
    }
}

/// Until nobody who was asked for is left and nobody can come, the time is over, or the user has
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

/// A process that is there and is not iostrata itself.
pub(super) fn check_adoptable(pid: u32) -> Result<(), Failure> {
    let refuse = |message: String| Err(Failure::Program { message, code: 125 });
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

/// Whatever the program's file permits: the user has to be allowed to trace the process.
fn check_permitted(pid: u32) -> Result<(), Failure> {
    use io::ErrorKind::PermissionDenied;
    match caller::may_trace(pid) {
        Err(error) if error.kind() == PermissionDenied => Err(Failure::Program {
            message: format!(
                "this user may not observe process {pid}: the kernel does not permit tracing it \
                 ({error}); observe a process of your own, or run as root, in a container with \
                 CAP_SYS_PTRACE"
            ),
            code: 125,
        }),
        // One that has ended meanwhile is told by whoever looks for it next.
        _ => Ok(()),
    }
}

/// All its threads have ended: a first thread that has ended may leave others (`proc_pid_status(5)`).
fn is_zombie(status: &str) -> bool {
    let of = |name: &str| status.lines().find_map(|line| line.strip_prefix(name));
    let is = of("State:").is_some_and(|state| state.trim_start().starts_with(['Z', 'X']));
    is && of("Threads:").is_none_or(|threads| threads.trim() == "1")
}
