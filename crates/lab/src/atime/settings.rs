//! The cases to measure, and how thoroughly.

use iostrata_core::atime::{Loop, Mount, Operation};

use crate::engine::StoppingRule;
use crate::experiment::chosen_or;
use crate::session::Effort;
use crate::target::Target;

/// Bytes of each file, as in the article.
pub(super) const FILE_BYTES: usize = 4096;

/// Reads of the article's loop.
const ONE_FILE_READS: u64 = 10_000;

/// Files of the other loop; fewer where time is short.
const MANY_FILES: u64 = 5_000;
const QUICK_FILES: u64 = 2_000;

/// Bytes on a target for each file of a loop: its block, its inode and its directory entry, with
/// room to spare.
const BYTES_PER_FILE: u64 = 3 * FILE_BYTES as u64;

pub(super) const NEEDED_BYTES: u64 = MANY_FILES * BYTES_PER_FILE;

/// What the user chose; empty lists mean the defaults.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    pub operations: Vec<Operation>,
    pub loops: Vec<Loop>,
    pub mounts: Vec<Mount>,
    pub effort: Effort,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Operations, in the order of the table.
    pub operations: Vec<Operation>,
    pub loops: Vec<Loop>,
    pub mounts: Vec<Mount>,
    /// The only target whose loops are timed, if it is measured; `None` for all.
    pub(super) timed_target: Option<&'static str>,
    /// Files of the loop over many.
    pub(super) many_files: u64,
    pub(super) stopping: StoppingRule,
}

impl Selection {
    /// The user's choice: operations alone mean no loops, and the other way round.
    pub fn plan(&self) -> Plan {
        let (operations, loops) = if self.operations.is_empty() && self.loops.is_empty() {
            (&Operation::ALL[..], &Loop::ALL[..])
        } else {
            (&self.operations[..], &self.loops[..])
        };
        let quick = self.effort == Effort::Quick;
        Plan {
            operations: in_order(&Operation::ALL, operations),
            loops: in_order(&Loop::ALL, loops),
            mounts: in_order(&Mount::ALL, chosen_or(&self.mounts, &Mount::ALL)),
            timed_target: (quick && self.loops.is_empty()).then_some("ext4"),
            many_files: if quick { QUICK_FILES } else { MANY_FILES },
            stopping: stopping(self.effort),
        }
    }
}

/// The chosen ones of `all`, each once.
fn in_order<T: Copy + PartialEq>(all: &[T], chosen: &[T]) -> Vec<T> {
    all.iter()
        .filter(|one| chosen.contains(one))
        .copied()
        .collect()
}

/// The stopping rule of a loop: the article's hundred runs if thorough. Each takes some hundredths
/// of a second.
fn stopping(effort: Effort) -> StoppingRule {
    let (min_runs, max_runs, budget_s) = match effort {
        Effort::Quick => (5, 5, 2.0),
        Effort::Normal => (5, 6, 20.0),
        Effort::Thorough => (100, 100, 300.0),
    };
    StoppingRule {
        min_runs,
        max_runs,
        target_width: 0.02,
        budget_s,
    }
}

impl Plan {
    /// Number of files that a loop reads, and of its reads.
    pub(super) fn size_of(&self, files: Loop) -> (u64, u64) {
        match files {
            Loop::OneFile => (1, ONE_FILE_READS),
            Loop::ManyFiles => (self.many_files, self.many_files),
        }
    }

    /// Whether relatime's rule of a day was chosen, and ext4 can be mounted.
    pub(super) fn has_rule_of_a_day(&self, targets: &[Target]) -> bool {
        let ext4 = |target: &Target| target.image && target.storage.filesystem == "ext4";
        self.mounts.contains(&Mount::Relatime)
            && self.operations.contains(&Operation::Read)
            && targets.iter().any(ext4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn naming_operations_leaves_the_loops_out() {
        let operations = vec![Operation::Read, Operation::Stat, Operation::Read];
        let chosen = Selection {
            operations,
            ..Selection::default()
        }
        .plan();
        assert_eq!(chosen.operations, [Operation::Stat, Operation::Read]);
        assert!(chosen.loops.is_empty());
        assert_eq!(chosen.mounts, Mount::ALL);
        let loops = vec![Loop::OneFile];
        let chosen = Selection {
            loops,
            ..Selection::default()
        }
        .plan();
        assert!(chosen.operations.is_empty());
        assert_eq!(chosen.loops, [Loop::OneFile]);
        let all = Selection::default().plan();
        assert_eq!((all.operations.len(), all.loops.len()), (22, 2));
    }

    #[test]
    fn quick_times_one_file_system() {
        let effort = Effort::Quick;
        let quick = Selection {
            effort,
            ..Selection::default()
        };
        assert_eq!(quick.plan().timed_target, Some("ext4"));
        assert_eq!(Selection::default().plan().timed_target, None);
    }
}
