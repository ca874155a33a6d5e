//! Looks at crashed trees: by the user's command, or by the built-in rules.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::{MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use std::{env, fs};

use iostrata_core::crash::{Builtin, Coverage, Digest, FormatRow, Sandbox, Seen, Stopped};
use iostrata_core::record::Contents;
use iostrata_lab::crash::{Changed, Checker, Log, LogError, Manner, SharedLog, Workers, sandbox};
use iostrata_lab::engine::{Launcher, Progress as _, Step};

use super::cannot;
use super::checks::Checks;
use crate::STARTER;
use crate::cli::Crash;
use crate::error::Failure;
use crate::progress::Bar;

/// Hashes contents by the log that has their bytes.
pub(super) type Hashed = Box<dyn FnMut(&Contents) -> Result<Digest, LogError> + Send>;

/// Says of each tree what is broken in it.
pub(super) struct Judge {
    log: SharedLog,
    rules: Option<Builtin<Hashed>>,
    /// A command, and what it is kept in.
    command: Option<(Workers, Sandbox)>,
    bar: Bar,
    doing: String,
    begun: Instant,
    /// When nothing more is looked at.
    pub(super) until: Option<Instant>,
    /// States of the models before this one.
    before: u64,
}

/// The built-in rules, which hash contents by the log.
pub(super) fn rules(checks: &Checks, log: &SharedLog) -> Result<Option<Builtin<Hashed>>, Failure> {
    if !checks.has_rules {
        return Ok(None);
    }
    let history = locked(log).history.clone();
    let hashes = SharedLog::clone(log);
    let hashed: Hashed = Box::new(move |contents| locked(&hashes).digest(contents));
    let known = checks.formats.iter().filter(|row| row.checked);
    let known: Vec<FormatRow> = known.cloned().collect();
    Ok(Some(Builtin::new(&history, hashed, &known)?))
}

/// How a command is run, and what it is kept in.
pub(super) fn checker(
    options: &Crash,
    checks: &Checks,
    command: &str,
    scratch: &Path,
) -> Result<(Checker, Sandbox), Failure> {
    let launcher = Launcher::this_program(STARTER);
    let sandbox = sandbox(scratch, &launcher);
    let sandbox = sandbox.map_err(cannot("make a directory"))?;
    let asked = options.check_user.is_some() || options.check_suid;
    if asked && sandbox != Sandbox::Room {
        let option = if options.check_suid {
            "--check-suid"
        } else {
            "--check-user"
        };
        return Err(Failure::Usage(format!(
            "{option} needs users of the checker's own, which only root may make; leave it out, or run as root"
        )));
    }
    let owner = || {
        let directory = options.dir.as_ref().or(options.from.as_ref())?;
        let found = fs::metadata(directory).ok()?;
        Some((found.uid(), found.gid()))
    };
    let user = options.check_user.or_else(owner);
    let mut sees = Vec::new();
    for path in &options.check_sees {
        let found = fs::canonicalize(path);
        sees.push(found.map_err(|error| {
            Failure::Usage(format!(
                "--check-sees {}: {error}; name a file or directory that exists",
                path.display()
            ))
        })?);
    }
    sees.extend(env::current_dir().into_iter().chain(env::current_exe()));
    sees.extend(checks.lists.iter().cloned());
    let checker = Checker {
        command: command.to_owned(),
        manner: match (options.check.as_deref(), &options.check_server) {
            _ if checks.tells => Manner::Tells,
            (Some(own), _) if own == command => Manner::Starts,
            (_, Some(_)) => Manner::Stays,
            // By name, or of a file whose format has one.
            _ => Manner::Own,
        },
        patience: Duration::from_secs_f64(options.check_timeout),
        sandbox,
        user: user.unwrap_or((0, 0)),
        gains: options.check_suid,
        sees,
        pass_env: options.pass_env.clone(),
        notes_changes: checks.notes_changes,
        launcher,
    };
    Ok((checker, sandbox))
}

impl Judge {
    pub(super) fn new(
        options: &Crash,
        checks: &Checks,
        scratch: &Path,
        log: &SharedLog,
    ) -> Result<Self, Failure> {
        let start = |command: &String| -> Result<_, Failure> {
            let (checker, kept_in) = checker(options, checks, command, scratch)?;
            let (bytes, interrupt) = {
                let log = locked(log);
                (log.tree_bytes(), log.interrupt().clone())
            };
            let with = (bytes, &interrupt);
            let workers = Workers::start(options.jobs(), &checker, scratch, log, with);
            let workers = workers.map_err(cannot("start the checkers"))?;
            Ok((workers, kept_in))
        };
        Ok(Self {
            log: SharedLog::clone(log),
            rules: rules(checks, log)?,
            command: checks.command.as_ref().map(start).transpose()?,
            bar: Bar::counting("crash", "states"),
            doing: String::new(),
            begun: Instant::now(),
            until: None,
            before: 0,
        })
    }

    /// How many trees are looked at side by side: enough that no worker waits for another one's.
    pub(super) fn beside(&self, options: &Crash) -> usize {
        match &self.command {
            Some(_) => 4 * options.jobs(),
            None => 1,
        }
    }

    /// What the checker is kept in.
    pub(super) fn kept_in(&self) -> Option<Sandbox> {
        self.command.as_ref().map(|(_, kept_in)| *kept_in)
    }

    /// The states that the checker accepted and changed, where they are noted.
    pub(super) fn changed(&self) -> Changed {
        let workers = self.command.as_ref().map(|(workers, _)| workers);
        workers.map(Workers::changed).unwrap_or_default()
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
        if self.until.is_some_and(|until| Instant::now() >= until) {
            return Err(LogError::TimeOver.into());
        }
        let done = self.before + coverage.states;
        self.bar.step(&Step {
            done: usize::try_from(done).unwrap_or(usize::MAX),
            total: 0,
            label: &format!("{}{}", self.doing, pace(coverage, self.begun.elapsed())),
        });
        let mut said = vec![None; seen.len()];
        if let Some(rules) = &mut self.rules {
            for ((tree, told), said) in seen.iter().zip(&mut said) {
                *said = rules.check(tree, *told)?;
            }
        }
        let Some((workers, _)) = self.command.as_ref().filter(|_| !seen.is_empty()) else {
            return Ok(said);
        };
        // What one of them refuses is broken.
        let numbers = said.iter().enumerate().filter(|(_, said)| said.is_none());
        let numbers: Vec<usize> = numbers.map(|(number, _)| number).collect();
        let rest: Vec<Seen> = numbers.iter().map(|number| seen[*number].clone()).collect();
        match workers.check(&rest) {
            Ok(rest) => {
                for (number, one) in numbers.into_iter().zip(rest) {
                    said[number] = one;
                }
                Ok(said)
            }
            Err(Stopped { said: rest, by }) => {
                let rest = rest.into_iter().map(|(at, one)| (numbers[at], one));
                let broken = said
                    .into_iter()
                    .enumerate()
                    .filter(|(_, one)| one.is_some());
                let said = rest.chain(broken).collect();
                Err(Stopped { said, by })
            }
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

/// `: 430 states/s, each point covered in about 20 s`, by the points that are behind.
fn pace(coverage: &Coverage, elapsed: Duration) -> String {
    let elapsed_s = elapsed.as_secs_f64();
    if coverage.points == 0 || elapsed_s < 0.5 {
        return String::new();
    }
    let each_s = coverage.states as f64 / elapsed_s;
    if coverage.not_tried == 0 {
        return format!(": {each_s:.0} states/s, each point covered");
    }
    let left_s = elapsed_s / coverage.points as f64 * coverage.not_tried as f64;
    format!(": {each_s:.0} states/s, each point covered in about {left_s:.0} s")
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
        assert_eq!(after, ": 400 states/s, each point covered in about 6 s");
        let covered = Coverage {
            not_tried: 0,
            ..coverage
        };
        let after = pace(&covered, Duration::from_secs(2));
        assert_eq!(after, ": 400 states/s, each point covered");
        assert_eq!(pace(&coverage, Duration::from_millis(10)), "");
    }
}
