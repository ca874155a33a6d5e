//! All that a workload process can be asked to do.

use crate::atime::ReadLoopTask;
use crate::buffering::{NullTask, ReadTask, StepsTask, WriteTask};
use crate::copy::{CopyJob, YardstickTask};
use crate::engine::{self, ExecJob, Kind};
use crate::page_cache::ReadFileTask;
use crate::replay::ReplayTask;
use crate::sync::{DirectTask, SyncTask};

const ALL: [Kind; 12] = [
    Kind::of::<WriteTask>(),
    Kind::of::<NullTask>(),
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

/// The whole life of a workload process; returns its exit code.
///
/// The binary calls this from a hidden subcommand and does nothing else. The
/// process ends with its parent: at the end of its input, or, in the middle of
/// the work, by the signal its parent asked the kernel for.
pub fn child_main() -> i32 {
    engine::child_main(&ALL)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_has_a_name_of_its_own() {
        let names: BTreeSet<&str> = ALL.iter().map(|kind| kind.name).collect();
        assert_eq!(names.len(), ALL.len());
    }
}
