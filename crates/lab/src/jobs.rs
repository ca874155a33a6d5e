//! All that a workload process can be asked to do.

use crate::atime::ReadLoopJob;
use crate::buffering::{NullJob, ReadJob, StepsJob, WriteJob};
use crate::copy::{CopyJob, YardstickJob};
use crate::engine::{self, ExecJob, Kind};
use crate::page_cache::ReadFileJob;
use crate::replay::ReplayJob;
use crate::sync::{DirectJob, SyncJob};

const ALL: [Kind; 12] = [
    Kind::of::<WriteJob>(),
    Kind::of::<NullJob>(),
    Kind::of::<StepsJob>(),
    Kind::of::<ReadJob>(),
    Kind::of::<ReadFileJob>(),
    Kind::of::<ReadLoopJob>(),
    Kind::of::<CopyJob>(),
    Kind::of::<YardstickJob>(),
    Kind::of::<ExecJob>(),
    Kind::of::<SyncJob>(),
    Kind::of::<DirectJob>(),
    Kind::of::<ReplayJob>(),
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
        let names: BTreeSet<&str> = ALL.iter().map(Kind::name).collect();
        assert_eq!(names.len(), ALL.len());
    }
}
