//! Looks at crashed trees: by the user's command, or by the built-in rules.

use std::path::Path;
use std::sync::{MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use iostrata_core::crash::{Builtin, Coverage, Digest, Seen, Stopped};
use iostrata_core::record::Contents;
use iostrata_lab::crash::{Checker, Log, LogError, SharedLog, Workers, sandbox};
use iostrata_lab::engine::{Launcher, Progress as _, Step};
use iostrata_lab::interrupt::Interrupt;

use super::{cannot, failure};
use crate::STARTER;
use crate::cli::Crash;
use crate::error::Failure;
use crate::progress::Bar;

/// Hashes contents by the log that has their bytes.
pub(super) type Hashed = Box<dyn FnMut(&Contents) -> Result<Digest, LogError> + Send>;

enum Look {
    Command {
        workers: Workers,
        kept_in: &'static str,
    },
    Builtin(Builtin<Hashed>),
}

/// Says of each tree what is broken in it.
pub(super) struct Judge {
    log: SharedLog,
    look: Look,
    bar: Bar,
    doing: String,
    begun: Instant,
    /// States of the models before this one.
    before: u64,
}

impl Judge {
    pub(super) fn new(
        options: &Crash,
        command: Option<String>,
        scratch: &Path,
        log: &SharedLog,
        interrupt: &Interrupt,
    ) -> Result<Self, Failure> {
        let look = if let Some(command) = command {
            let bytes = locked(log).tree_bytes();
            let launcher = Launcher::this_program(STARTER);
            let sandbox = sandbox(scratch, &launcher);
            let sandbox = sandbox.map_err(|error| cannot("make a directory", &error))?;
            let checker = Checker {
                command,
                patience: Duration::from_secs_f64(options.check_timeout),
                sandbox,
                launcher,
            };
            let count = options.jobs();
            let workers = Workers::start(count, &checker, scratch, log, (bytes, interrupt));
            Look::Command {
                workers: workers.map_err(|error| cannot("start the checkers", &error))?,
                kept_in: sandbox.as_str(),
            }
        } else {
            let history = locked(log).history.clone();
            let hashes = SharedLog::clone(log);
            let hashed: Hashed = Box::new(move |contents| locked(&hashes).digest(contents));
            Look::Builtin(Builtin::new(&history, hashed).map_err(failure)?)
        };
        Ok(Self {
            log: SharedLog::clone(log),
            look,
            bar: Bar::counting("crash", "states"),
            doing: String::new(),
            begun: Instant::now(),
            before: 0,
        })
    }

    /// How many trees are looked at side by side: enough that no worker waits for another one's.
    pub(super) fn beside(&self, options: &Crash) -> usize {
        match &self.look {
            Look::Command { .. } => 4 * options.jobs(),
            Look::Builtin(_) => 1,
        }
    }

    /// What the checker is kept in.
    pub(super) fn kept_in(&self) -> Option<&'static str> {
        match &self.look {
            Look::Command { kept_in, .. } => Some(kept_in),
            Look::Builtin(_) => None,
        }
    }

    /// What is done from now on, after so many states in all.
    pub(super) fn begin(&mut self, doing: &str, states: u64) {
        doing.clone_into(&mut self.doing);
        self.begun = Instant::now();
        self.before = states;
    }

    pub(super) fn check(
        &mut self,
        seen: &[Seen],
        coverage: &Coverage,
    ) -> Result<Vec<Option<String>>, Stopped<LogError>> {
        locked(&self.log).check_interrupt()?;
        let done = self.before + coverage.states;
        self.bar.step(&Step {
            done: usize::try_from(done).unwrap_or(usize::MAX),
            total: 0,
            label: &format!("{}{}", self.doing, pace(coverage, self.begun.elapsed())),
        });
        match &mut self.look {
            Look::Builtin(builtin) => {
                let said = seen.iter().map(|(tree, told)| builtin.check(tree, *told));
                Ok(said.collect::<Result<_, _>>()?)
            }
            Look::Command { workers, .. } => workers.check(seen),
        }
    }

    /// Nothing is checked after this.
    pub(super) fn finish(mut self) {
        self.bar.finished();
    }
}

/// The log, for a moment. A thread that panicked with it has changed nothing that another one relies on.
pub(super) fn locked(log: &SharedLog) -> MutexGuard<'_, Log> {
    log.lock().unwrap_or_else(PoisonError::into_inner)
}

/// `: 430 states/s, about 20 s left`, by the points that are behind.
fn pace(coverage: &Coverage, elapsed: Duration) -> String {
    let elapsed_s = elapsed.as_secs_f64();
    if coverage.points == 0 || elapsed_s < 0.5 {
        return String::new();
    }
    let each_s = coverage.states as f64 / elapsed_s;
    let left_s = elapsed_s / coverage.points as f64 * coverage.not_tried as f64;
    format!(": {each_s:.0} states/s, about {left_s:.0} s left")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pace_is_of_points_and_states() {
        let coverage = Coverage {
            states: 800,
            points: 10,
            not_tried: 30,
            ..Coverage::default()
        };
        let after = pace(&coverage, Duration::from_secs(2));
        assert_eq!(after, ": 400 states/s, about 6 s left");
        assert_eq!(pace(&coverage, Duration::from_millis(10)), "");
    }
}
