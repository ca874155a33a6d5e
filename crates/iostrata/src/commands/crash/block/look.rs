//! Who looks at recovered trees: the built-in checker, or that of the user.

use std::sync::{Mutex, PoisonError};

use iostrata_core::crash::{Builtin, FormatRow, Sandbox};
use iostrata_lab::crash::SharedLog;
use iostrata_lab::crash::block::{BlockError, Checking, Recovered};

use super::super::checks::Checks;
use super::super::failure;
use super::super::look::{Hashed, checker, locked, rules};
use super::block_failure;
use super::run::Run;
use crate::error::Failure;

/// Says of each recovered tree what is broken in it.
pub(super) struct Look {
    rules: Option<Mutex<Builtin<Hashed>>>,
    command: Option<Checking>,
    log: SharedLog,
    pub(super) kept_in: Option<Sandbox>,
    /// Files that the built-in rules do not know.
    pub(super) formats: Vec<FormatRow>,
}

impl Look {
    /// Started while nothing is mounted, neither of this run nor of another one: the checkers' own mounts would keep it.
    pub(super) fn start(run: &Run<'_>, log: &SharedLog) -> Result<Self, Failure> {
        let command = run.check.map(str::to_owned);
        let checks = Checks::find(run.options, command, &run.directory, log)?;
        let mut kept_in = None;
        let mut start = |command: &String| {
            let (checker, sandbox) = checker(run.options, &checks, command, &run.directory)?;
            kept_in = Some(sandbox);
            let limits = (locked(log).tree_bytes(), run.site.interrupt);
            let checking = Checking::start(run.options.jobs(), &checker, &run.directory, limits);
            checking.map_err(block_failure)
        };
        Ok(Self {
            rules: rules(&checks, log)?.map(Mutex::new),
            command: checks.command.as_ref().map(&mut start).transpose()?,
            log: SharedLog::clone(log),
            kept_in,
            formats: checks.formats,
        })
    }

    pub(super) fn at(
        &self,
        recovered: Recovered<'_>,
        told: usize,
    ) -> Result<Option<String>, Refused> {
        if let Some(rules) = &self.rules {
            let rules = rules.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(broken) = rules.check_files(&recovered.observed.files, told) {
                return Ok(Some(broken));
            }
        }
        let Some(checking) = &self.command else {
            return Ok(None);
        };
        let printed = locked(&self.log).printed(told).map_err(failure);
        let said = checking.check(recovered.work, printed.map_err(Refused)?);
        Ok(said?)
    }
}

/// A failure of this command that goes through what the lab does.
pub(super) struct Refused(pub(super) Failure);

impl From<BlockError> for Refused {
    fn from(error: BlockError) -> Self {
        Self(block_failure(error))
    }
}
