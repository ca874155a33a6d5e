//! Real I/O: the experiments, the engine that times and observes them, and the
//! directories and file systems they may write to.
//!
//! Every experiment does its work in a child process ([`engine`]), so that timing and evidence come
//! from the same code, and only below a scratch directory.
#![forbid(unsafe_code)]

pub mod atime;
pub mod buffering;
mod caveats;
pub mod copy;
pub mod crash;
pub mod device;
pub mod engine;
pub mod error;
pub mod experiment;
pub mod interrupt;
pub mod page_cache;
pub mod place;
pub mod rebuild;
mod refused;
pub mod replay;
pub mod scratch;
pub mod session;
pub mod sync;
pub mod target;
mod tool;

use crate::atime::ReadLoopTask;
use crate::buffering::{ReadTask, StepsTask, WriteTask};
use crate::copy::{CopyJob, YardstickTask};
use crate::engine::{ExecJob, Kind};
use crate::page_cache::ReadFileTask;
use crate::replay::ReplayTask;
use crate::sync::{DirectTask, SyncTask};

/// All jobs of a workload process.
const TASKS: [Kind; 11] = [
    Kind::of::<WriteTask>(),
    Kind::of::<StepsTask>(),
    Kind::of::<ReadTask>(),
    Kind::of::<ReadFileTask>(),
    Kind::of::<ReadLoopTask>(),
    Kind::of::<CopyJob>(),
    Kind::of::<YardstickTask>(),
    Kind::of::<ExecJob>(),
    Kind::of::<SyncTask>(),
    Kind::of::<DirectTask>(),
    Kind::of::<ReplayTask>(),
];

/// The main function of a workload process; returns its exit code.
///
/// The binary calls this from a hidden subcommand and does nothing else. The process ends with its
/// parent: at the end of its input or, during work, by the signal that it requested for its
/// parent's death.
pub fn child_main() -> i32 {
    engine::child_main(&TASKS)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_has_a_name_of_its_own() {
        let names: BTreeSet<&str> = TASKS.iter().map(|kind| kind.name).collect();
        assert_eq!(names.len(), TASKS.len());
    }
}
