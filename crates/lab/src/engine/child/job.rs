//! The jobs of a workload process.
//!
//! Paths are sent as `OsString`: they are bytes, and need not be UTF-8.

use std::io;

use iostrata_core::timing::Sample;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Failure;

/// Work that a child does for its parent, in one step or several.
pub trait Job: Serialize + DeserializeOwned {
    /// The name by which the child finds it.
    const NAME: &'static str;
    type Report: Serialize + DeserializeOwned;
}

/// The child's side of a job, after preparation.
pub(crate) trait Task: Sized + 'static {
    type Job: Job;

    /// Prepares, which is not measured.
    fn prepare(job: Self::Job) -> Result<Self, Failure>;

    fn go(&mut self) -> Result<<Self::Job as Job>::Report, Failure>;
}

/// A task as the child finds it: under its job's name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    pub(super) prepare: fn(Value) -> io::Result<Prepared>,
}

type Prepared = Result<Box<dyn Steps>, Failure>;

impl Kind {
    pub(crate) const fn of<T: Task>() -> Self {
        Self {
            name: T::Job::NAME,
            prepare: |job| {
                let task = T::prepare(serde_json::from_value(job)?);
                Ok(task.map(|task| Box::new(task) as Box<dyn Steps>))
            },
        }
    }
}

/// A [`Task`] whose reports are serialised.
pub(super) trait Steps {
    fn step(&mut self) -> io::Result<Result<Value, Failure>>;
}

impl<T: Task> Steps for T {
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
    pub minor_faults: u64,
    pub major_faults: u64,
}

impl Work {
    /// The sum of this work and another after it.
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
