//! What a workload process can be asked to do.
//!
//! Paths travel as `OsString`: they are bytes, and need not be UTF-8.

use std::io;

use iostrata_core::timing::Sample;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Failure;

/// Work that a child does, in one step or several.
pub trait Job: Serialize + DeserializeOwned {
    /// How the child knows it.
    const NAME: &'static str;
    /// What a step gives.
    type Report: Serialize + DeserializeOwned + 'static;

    /// Does what is not to be measured.
    fn prepare(self) -> Result<Box<dyn Task<Report = Self::Report>>, Failure>;
}

/// A prepared [`Job`].
pub trait Task {
    /// What a step gives.
    type Report: Serialize;

    /// Does the next step.
    fn go(&mut self) -> Result<Self::Report, Failure>;
}

/// A job as the child meets it: by its name.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    pub(super) name: &'static str,
    pub(super) prepare: fn(Value) -> io::Result<Prepared>,
}

impl Kind {
    /// How the child knows it.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The one of a job.
    pub const fn of<J: Job>() -> Self {
        Self {
            name: J::NAME,
            prepare: |job| {
                let job: J = serde_json::from_value(job)?;
                let task = job.prepare();
                Ok(task.map(|task| Box::new(task) as Box<dyn Steps>))
            },
        }
    }
}

type Prepared = Result<Box<dyn Steps>, Failure>;

/// A [`Task`] whose report is written down.
pub(super) trait Steps {
    /// Does the next step.
    fn step(&mut self) -> io::Result<Result<Value, Failure>>;
}

impl<R: Serialize> Steps for Box<dyn Task<Report = R>> {
    fn step(&mut self) -> io::Result<Result<Value, Failure>> {
        match self.go() {
            Ok(report) => Ok(Ok(serde_json::to_value(report)?)),
            Err(failure) => Ok(Err(failure)),
        }
    }
}

/// Times and faults of the work alone, without its preparation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Work {
    /// `CLOCK_MONOTONIC` and `getrusage(2)` around the work.
    pub sample: Sample,
    /// Minor page faults.
    pub minor_faults: u64,
    /// Major page faults.
    pub major_faults: u64,
}

impl Work {
    /// This work and another after it.
    pub(crate) fn and(&self, other: &Self) -> Self {
        Self {
            sample: Sample {
                real_s: self.sample.real_s + other.sample.real_s,
                user_s: self.sample.user_s + other.sample.user_s,
                system_s: self.sample.system_s + other.sample.system_s,
            },
            minor_faults: self.minor_faults + other.minor_faults,
            major_faults: self.major_faults + other.major_faults,
        }
    }
}
