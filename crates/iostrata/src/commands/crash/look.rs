//! Looks at crashed trees: by the user's command, or by the built-in rules.

use std::cell::RefCell;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use iostrata_core::crash::{Builtin, Digest, History};
use iostrata_core::record::{Contents, Tree};
use iostrata_lab::crash::{Checker, Log, LogError, Sandbox, Stage};
use iostrata_lab::engine::{Progress as _, Step};

use super::place::Place;
use super::{cannot, failure};
use crate::cli::Crash;
use crate::error::Failure;
use crate::progress::Bar;

/// Hashes contents by the log that has their bytes.
type Hashed<'a> = Box<dyn FnMut(&Contents) -> Result<Digest, LogError> + 'a>;

enum Look<'a> {
    Command {
        checker: Checker,
        stage: Stage,
        printed: PathBuf,
    },
    Builtin(Builtin<Hashed<'a>>),
}

/// Says of each tree what is broken in it.
pub(super) struct Judge<'a> {
    log: &'a RefCell<Log>,
    look: Look<'a>,
    bar: Bar,
    checked: usize,
}

impl<'a> Judge<'a> {
    pub(super) fn new(
        options: &Crash,
        place: &Place,
        history: &History,
        log: &'a RefCell<Log>,
    ) -> Result<Self, Failure> {
        let look = if let Some(command) = &options.check {
            let stage = Stage::in_directory(&place.scratch);
            Look::Command {
                checker: Checker {
                    command: command.clone(),
                    patience: Duration::from_secs_f64(options.check_timeout),
                    sandbox: Sandbox::find(),
                },
                stage: stage.map_err(|error| cannot("make a directory", &error))?,
                printed: place.scratch.join("printed"),
            }
        } else {
            let hashed: Hashed<'a> = Box::new(|contents| log.borrow_mut().digest(contents));
            Look::Builtin(Builtin::new(history, hashed).map_err(failure)?)
        };
        Ok(Self {
            log,
            look,
            bar: Bar::counting("crash", "states"),
            checked: 0,
        })
    }

    /// What the checker is kept in.
    pub(super) fn kept_in(&self) -> Option<&'static str> {
        match &self.look {
            Look::Command { checker, .. } => Some(checker.sandbox.as_str()),
            Look::Builtin(_) => None,
        }
    }

    pub(super) fn check(&mut self, tree: &Tree, told: usize) -> Result<Option<String>, LogError> {
        self.log.borrow().check_interrupt()?;
        self.checked += 1;
        self.bar.step(&Step {
            done: self.checked,
            total: 0,
            label: "checking what a crash could leave",
        });
        match &mut self.look {
            Look::Builtin(builtin) => builtin.check(tree, told),
            Look::Command {
                checker,
                stage,
                printed,
            } => {
                let mut log = self.log.borrow_mut();
                let stdout = log.printed(told)?;
                fs::write(&printed, stdout).map_err(io_failed)?;
                let crashed = stage.clean().map_err(io_failed)?;
                log.build(tree, crashed)?;
                checker.check(crashed, printed).map_err(io_failed)
            }
        }
    }

    /// Nothing is checked after this.
    pub(super) fn finish(mut self) {
        self.bar.finished();
    }
}

fn io_failed(error: io::Error) -> LogError {
    LogError::Read(error.into())
}
