//! Who looks at recovered trees: the built-in checker, or that of the user.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use iostrata_core::crash::Builtin;
use iostrata_lab::crash::block::{BlockError, Checking, Recovered};
use iostrata_lab::crash::{Checker, SharedLog, sandbox};
use iostrata_lab::engine::Launcher;

use super::super::look::{Hashed, locked};
use super::super::{cannot, failure};
use super::block_failure;
use super::run::Run;
use crate::STARTER;
use crate::error::Failure;

/// Who looks at a recovered tree.
enum By {
    Command(Checking),
    Builtin(Box<Mutex<Builtin<Hashed>>>),
}

/// Says of each recovered tree what is broken in it.
pub(super) struct Look {
    by: By,
    log: SharedLog,
    pub(super) kept_in: Option<&'static str>,
}

impl Look {
    /// Started while nothing is mounted, neither of this run nor of another one: the checkers' own mounts would keep it.
    pub(super) fn start(run: &Run<'_>, log: &SharedLog) -> Result<Self, Failure> {
        let Some(command) = run.check else {
            let history = locked(log).history.clone();
            let hashes = SharedLog::clone(log);
            let hashed: Hashed = Box::new(move |contents| locked(&hashes).digest(contents));
            return Ok(Self {
                by: By::Builtin(Box::new(Mutex::new(
                    Builtin::new(&history, hashed).map_err(failure)?,
                ))),
                log: SharedLog::clone(log),
                kept_in: None,
            });
        };
        let launcher = Launcher::this_program(STARTER);
        let sandbox = sandbox(&run.directory, &launcher);
        let sandbox = sandbox.map_err(|error| cannot("make a directory", &error))?;
        let checker = Checker {
            command: command.to_owned(),
            patience: Duration::from_secs_f64(run.options.check_timeout),
            sandbox,
            launcher,
        };
        let limits = (locked(log).tree_bytes(), run.site.interrupt);
        let checking = Checking::start(run.options.jobs(), &checker, &run.directory, limits);
        Ok(Self {
            by: By::Command(checking.map_err(block_failure)?),
            log: SharedLog::clone(log),
            kept_in: Some(sandbox.as_str()),
        })
    }

    pub(super) fn at(
        &self,
        recovered: Recovered<'_>,
        told: usize,
    ) -> Result<Option<String>, Refused> {
        match &self.by {
            By::Builtin(builtin) => {
                let builtin = builtin.lock().unwrap_or_else(PoisonError::into_inner);
                Ok(builtin.check_files(&recovered.observed.files, told))
            }
            By::Command(checking) => {
                let printed = locked(&self.log).printed(told).map_err(failure);
                let said = checking.check(recovered.work, printed.map_err(Refused)?);
                Ok(said?)
            }
        }
    }
}

/// A failure of this command that goes through what the lab does.
pub(super) struct Refused(pub(super) Failure);

impl From<BlockError> for Refused {
    fn from(error: BlockError) -> Self {
        Self(block_failure(error))
    }
}
