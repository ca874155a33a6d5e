//! A run that a signal ends, or that ends by itself, and whether it may end so.

use std::fs;
use std::io::Read as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::sync::{Arc, Mutex};
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::seeded::Seeded;
use crate::trials::{Failure, Fault, holds};

/// Longer than anything takes here, on a busy machine too.
const LONGEST: Duration = Duration::from_mins(1);

/// Most resident memory of any process of iostrata.
const MOST_KIB: u64 = 1 << 20;

/// Half of the kills are those that nobody can catch.
pub(crate) fn any_signal(seeded: &mut Seeded) -> Signal {
    let others = [
        Signal::TERM,
        Signal::INT,
        Signal::HUP,
        Signal::QUIT,
        Signal::USR1,
    ];
    if seeded.is_rare(2) {
        Signal::KILL
    } else {
        *seeded.one_of(&others)
    }
}

/// How a run ended.
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) said: String,
    /// What was sent, and whether it would have been a surprise.
    sent: Option<(Signal, bool)>,
    resident_kib: u64,
}

/// A run, killed when a trial leaves it.
pub(crate) struct Run {
    child: Child,
    said: Arc<Mutex<Vec<u8>>>,
    sent: Option<(Signal, bool)>,
    resident_kib: u64,
}

impl Run {
    /// Starts it. What it says goes through a pipe: a file could have its limit.
    pub(crate) fn start(mut command: Command) -> Self {
        let (mut reads, says) = std::io::pipe().unwrap();
        command.stdout(says.try_clone().unwrap()).stderr(says);
        let child = command.spawn().unwrap();
        // Its copies of the pipe's end.
        drop(command);
        let said = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&said);
        spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(had @ 1..) = reads.read(&mut bytes) {
                kept.lock().unwrap().extend(&bytes[..had]);
            }
        });
        Self {
            child,
            said,
            sent: None,
            resident_kib: 0,
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits, or less if it ends before.
    pub(crate) fn goes_on_for(&mut self, time: Duration) -> bool {
        let begun = Instant::now();
        while begun.elapsed() < time {
            if self.child.try_wait().unwrap().is_some() {
                return false;
            }
            let left = time.saturating_sub(begun.elapsed());
            sleep(left.min(Duration::from_millis(1)));
        }
        true
    }

    /// Sends a signal, if it still runs.
    pub(crate) fn send(&mut self, signal: Signal) {
        let is_caught = catches(self.pid(), signal);
        if kill_process(Pid::from_child(&self.child), signal).is_ok() {
            self.sent = Some((signal, is_caught));
        }
    }

    /// Waits for its end.
    pub(crate) fn end(mut self) -> Result<Ended, Failure> {
        let begun = Instant::now();
        loop {
            self.resident_kib = self.resident_kib.max(most_resident_kib(self.pid()));
            if let Some(status) = self.child.try_wait().unwrap() {
                return Ok(Ended {
                    status,
                    said: self.said(),
                    sent: self.sent,
                    resident_kib: self.resident_kib,
                });
            }
            holds(begun.elapsed() < LONGEST, Fault::Other, || {
                format!("it hangs: {}", self.said())
            })?;
            sleep(Duration::from_millis(2));
        }
    }
}

impl Run {
    /// All of it, unless a process that it has left keeps writing.
    fn said(&self) -> String {
        let begun = Instant::now();
        while Arc::strong_count(&self.said) > 1 && begun.elapsed() < Duration::from_secs(2) {
            sleep(Duration::from_millis(1));
        }
        String::from_utf8_lossy(&self.said.lock().unwrap()).into_owned()
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl Ended {
    pub(crate) fn is_success(&self) -> bool {
        self.status.success()
    }

    /// Whether it was ended as nothing can prevent.
    pub(crate) fn was_killed(&self) -> bool {
        matches!(self.sent, Some((Signal::KILL, _)))
    }

    /// Says in a few words how it ended; fails when it may not end so.
    pub(crate) fn judge(&self) -> Result<&'static str, Failure> {
        self.check_words()?;
        let code = self.status.code();
        match self.sent {
            None if code == Some(0) => Ok("not reached"),
            Some(_) if code == Some(0) => Ok("ended well"),
            Some((Signal::KILL, _)) if self.status.signal() == Some(9) => Ok("killed"),
            Some((signal, _)) if code == Some(128 + signal.as_raw()) => {
                holds(self.said.contains("interrupted by"), Fault::Code, || {
                    format!("it did not say why: {}", self.said)
                })?;
                Ok("interrupted")
            }
            // The first milliseconds, which are the loader's and the arguments'.
            Some((signal, false)) if self.status.signal() == Some(signal.as_raw()) => {
                Ok("before it caught signals")
            }
            sent => Err(Failure::new(
                Fault::Code,
                format!("{:?} after {sent:?}: {}", self.status, self.said),
            )),
        }
    }

    /// No panic, no control characters, no gigabyte.
    pub(crate) fn check_words(&self) -> Result<(), Failure> {
        let is_bug = ["panicked at", "bug in iostrata"]
            .iter()
            .any(|word| self.said.contains(word));
        holds(!is_bug, Fault::Other, || self.said.clone())?;
        let control = self.said.chars().find(|it| it.is_control() && *it != '\n');
        holds(control.is_none(), Fault::Other, || {
            format!("{control:?} in {:?}", self.said)
        })?;
        holds(self.resident_kib < MOST_KIB, Fault::Other, || {
            format!("{} KiB resident: {}", self.resident_kib, self.said)
        })
    }
}

/// Whether a process catches a signal or has it wait (`proc_pid_status(5)`).
fn catches(pid: u32, signal: Signal) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let mask = |name: &str| {
        let mask = status.lines().find_map(|line| line.strip_prefix(name));
        let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
        mask.unwrap_or_default()
    };
    // The C library blocks all that can be blocked while it starts a thread or a process
    // (pthread_create, posix_spawn), whether or not the signal is caught afterwards.
    let of_the_library = !(1 << (Signal::KILL.as_raw() - 1) | 1 << (Signal::STOP.as_raw() - 1));
    let blocked = Some(mask("SigBlk:")).filter(|blocked| *blocked != of_the_library);
    (mask("SigCgt:") | blocked.unwrap_or_default()) >> (signal.as_raw() - 1) & 1 == 1
}

/// The most that any process of iostrata had: of this one and what it has started.
fn most_resident_kib(pid: u32) -> u64 {
    let exe = fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
    if exe != Path::new(env!("CARGO_BIN_EXE_iostrata")) {
        return 0;
    }
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
    let children = children.unwrap_or_default();
    let children = children.split(' ').filter_map(|pid| pid.parse().ok());
    let own = resident_kib(pid).unwrap_or_default();
    children.map(most_resident_kib).fold(own, u64::max)
}

fn resident_kib(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}
