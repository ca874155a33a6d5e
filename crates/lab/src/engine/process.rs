//! A child process that never outlives its owner.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use iostrata_tracer::kernel::die_with_parent;
use rustix::process::{Pid, Signal, kill_process_group};

use super::EngineError;
use crate::interrupt::{Interrupt, Interrupted};

/// Interval of checks for the end of a process.
const END_CHECK: Duration = Duration::from_millis(2);

/// A child and its descendants, killed and reaped when dropped.
#[derive(Debug)]
pub(crate) struct Process(Child);

impl Process {
    /// Starts `command` in its own process group: Ctrl-C in a terminal reaches only the parent,
    /// which ends the child in order.
    pub(crate) fn start(command: &mut Command) -> io::Result<Self> {
        die_with_parent(command.process_group(0)).spawn().map(Self)
    }

    /// The child, for its id and its pipes.
    pub(crate) fn child(&mut self) -> &mut Child {
        &mut self.0
    }

    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }

    /// Waits for its end, or until `stop` returns true; `None` when it still runs after `longest`.
    pub(crate) fn wait(
        &mut self,
        longest: Duration,
        stop: &dyn Fn() -> bool,
    ) -> Result<Option<ExitStatus>, EngineError> {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.0.try_wait()? {
                return Ok(Some(status));
            }
            if stop() {
                return Err(EngineError::Interrupted);
            }
            if begun.elapsed() > longest {
                return Ok(None);
            }
            thread::sleep(END_CHECK);
        }
    }
}

/// Runs a command to its end. A signal to this process ends it and all of its process group.
pub fn run_to_end(
    command: &mut Command,
    interrupt: &Interrupt,
) -> io::Result<Result<ExitStatus, Interrupted>> {
    let mut process = Process::start(command)?;
    loop {
        if let Err(by) = interrupt.check() {
            return Ok(Err(by));
        }
        if let Some(status) = process.0.try_wait()? {
            return Ok(Ok(status));
        }
        thread::sleep(END_CHECK);
    }
}

impl Drop for Process {
    /// After it was reaped, its id may belong to another process.
    fn drop(&mut self) {
        if let Ok(Some(_)) = self.0.try_wait() {
            return;
        }
        // Fails only for a process that has ended, which the wait reports as well.
        _ = kill_process_group(Pid::from_child(&self.0), Signal::KILL);
        drop(self.0.wait());
    }
}
