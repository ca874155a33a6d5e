//! The cases to measure, and how thoroughly.

use std::time::Duration;

use iostrata_core::distinct;
use iostrata_core::gap::Reason;
use iostrata_core::sync::{Case, DEVICES, Device, Figures, SyncCall, Write};
use rustix::fs::{FallocateFlags, fallocate};

use super::observed::Stretches;
use super::writer::Limit;
use crate::error::LabError;
use crate::experiment::{chosen_or, refuse_no_bytes, with_structures};
use crate::session::{Effort, RunFile};
use crate::target::Target;

/// Writers of the group-commit rows.
const WRITERS: [u64; 3] = [2, 4, 8];

/// With more threads than this, the scheduler is measured.
const MOST_WRITERS: u64 = 1024;

/// Minimum number of syncs for which each writer's file has room, and that a timing run makes.
const FEWEST_SYNCS: u64 = 64;
pub(super) const FEWEST_TIMED_SYNCS: u64 = 20;

/// What the user chose; empty lists mean the defaults.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    pub calls: Vec<SyncCall>,
    pub writes: Vec<Write>,
    /// Bytes per write.
    pub sizes_bytes: Vec<u64>,
    pub writers: Vec<u64>,
    /// Devices for which the rates are projected.
    pub devices: Vec<Figures>,
    pub effort: Effort,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Cases, the article's first.
    pub cases: Vec<Case>,
    pub devices: Vec<Figures>,
    pub effort: Effort,
}

impl Selection {
    /// The cases. When the user chose a call, a way of writing or a number of writers, all
    /// combinations of the choices, with the article's case for the rest; otherwise the defaults of
    /// the effort.
    pub fn plan(&self) -> Result<Plan, LabError> {
        self.refuse_nonsense()?;
        let article = Case::ARTICLE;
        let usual = self.calls.is_empty() && self.writes.is_empty() && self.writers.is_empty();
        let kinds = if usual {
            usual_kinds(self.effort)
        } else {
            let (call, write, writers) = ([article.call], [article.write], [article.writers]);
            let mut kinds = Vec::new();
            for &call in chosen_or(&self.calls, &call) {
                for &write in chosen_or(&self.writes, &write) {
                    let writers = chosen_or(&self.writers, &writers).iter();
                    kinds.extend(writers.map(|&count| (call, write, count)));
                }
            }
            kinds
        };
        let article_size = [article.size_bytes];
        let sizes = chosen_or(&self.sizes_bytes, &article_size);
        let cases = sizes.iter().flat_map(|&size_bytes| {
            kinds.iter().map(move |&(call, write, writers)| Case {
                call,
                write,
                size_bytes,
                writers,
            })
        });
        let usual_devices: Vec<Figures> = DEVICES.iter().map(Device::figures).collect();
        Ok(Plan {
            cases: distinct(cases),
            devices: chosen_or(&self.devices, &usual_devices).to_vec(),
            effort: self.effort,
        })
    }

    fn refuse_nonsense(&self) -> Result<(), LabError> {
        refuse_no_bytes(&self.sizes_bytes, "writes nothing")?;
        // The files have room for some syncs of each writer.
        let most = |size: &u64| {
            let bytes = size.checked_mul(FEWEST_SYNCS * MOST_WRITERS);
            bytes.is_none_or(|bytes| i64::try_from(bytes).is_err())
        };
        if let Some(size) = self.sizes_bytes.iter().find(|size| most(size)) {
            return Err(LabError::usage(format!(
                "{size} bytes per write are too large for a file; give a smaller --size"
            )));
        }
        if self.writers.contains(&0) {
            return Err(LabError::usage(
                "--writers 0 leaves nothing to measure; give 1 or more",
            ));
        }
        if let Some(count) = self.writers.iter().find(|count| **count > MOST_WRITERS) {
            return Err(LabError::usage(format!(
                "--writers {count} would measure the scheduler; give at most {MOST_WRITERS}"
            )));
        }
        Ok(())
    }
}

/// The article's case first: its series is shown.
fn usual_kinds(effort: Effort) -> Vec<(SyncCall, Write, u64)> {
    use SyncCall::{Fdatasync, Fsync, ODsync, OSync, Sync, Syncfs};
    use Write::{Append, Overwrite};
    match effort {
        Effort::Quick => vec![
            (Fsync, Append, 1),
            (Fsync, Overwrite, 1),
            (Fsync, Write::Preallocated, 1),
            (Fdatasync, Overwrite, 1),
            (Fsync, Append, 8),
        ],
        Effort::Normal => {
            let mut kinds = every(&[Fsync, Fdatasync, ODsync]);
            kinds.extend([OSync, Sync, Syncfs].map(|call| (call, Append, 1)));
            kinds.extend(WRITERS.map(|writers| (Fsync, Append, writers)));
            kinds
        }
        Effort::Thorough => {
            let mut kinds = every(&SyncCall::ALL);
            kinds.extend(WRITERS.map(|writers| (Fsync, Append, writers)));
            kinds
        }
    }
}

fn every(calls: &[SyncCall]) -> Vec<(SyncCall, Write, u64)> {
    let each = |&call: &SyncCall| Write::ALL.map(|write| (call, write, 1));
    calls.iter().flat_map(each).collect()
}

/// The intended length of a timing run. The first hundreds of syncs of an SSD take up to a fifth
/// less time than later ones (`benches/sync.rs`), so a shorter run would give a rate that does not
/// last.
pub(super) fn run_length(effort: Effort) -> Duration {
    Duration::from_millis(match effort {
        Effort::Quick => 75,
        Effort::Normal => 250,
        Effort::Thorough => 1000,
    })
}

/// Whether the first case of a target is shown second by second: quick runs do so only for the
/// first target.
pub(super) fn shows(effort: Effort, first: bool) -> bool {
    first || effort != Effort::Quick
}

/// The stretches of the observed run: some seconds if it is shown; otherwise until there are enough
/// syncs for counts per sync, or the time is up.
pub(super) fn stretches(effort: Effort, case: &Case, shown: bool) -> Stretches {
    let (seconds, syncs, longest_ms) = match effort {
        Effort::Quick => (3, 200_u64, 500),
        Effort::Normal => (6, 1000, 3000),
        Effort::Thorough => (10, 5000, 10_000),
    };
    if shown {
        return Stretches {
            count: seconds,
            limit: Limit::time(Duration::from_secs(1)),
        };
    }
    Stretches {
        count: 1,
        limit: Limit {
            syncs: syncs.div_ceil(case.writers.max(1)),
            ..Limit::time(Duration::from_millis(longest_ms))
        },
    }
}

/// Direct writes of each kind that calibrate a target.
pub(super) fn direct_writes(effort: Effort) -> u64 {
    match effort {
        Effort::Quick => 100,
        Effort::Normal | Effort::Thorough => 1000,
    }
}

/// Bytes of one writer's file.
pub(super) fn file_bytes(effort: Effort, case: &Case) -> u64 {
    let all: u64 = match effort {
        Effort::Quick => 64 << 20,
        Effort::Normal | Effort::Thorough => 256 << 20,
    };
    (all / case.writers.max(1)).max(case.size_bytes.saturating_mul(FEWEST_SYNCS))
}

/// Bytes that must be free on each target: the largest files of a case and a fifth
/// more for the file system's own structures.
pub(super) fn needed_bytes(effort: Effort, cases: &[Case]) -> u64 {
    let files = |case: &Case| file_bytes(effort, case).saturating_mul(case.writers);
    with_structures(cases.iter().map(files).max().unwrap_or(0))
}

/// Why a target does not support preallocated files; `None` when it does.
pub(super) fn no_preallocation(target: &Target) -> Result<Option<Reason>, LabError> {
    let file = RunFile::new(&target.dir, "preallocated");
    let io = |error| LabError::at("create", file.path(), error);
    let made = std::fs::File::create_new(file.path()).map_err(io)?;
    let refused = fallocate(&made, FallocateFlags::empty(), 0, 4096).err();
    file.remove()?;
    let why = |errno| Reason::FallocateFailed(std::io::Error::from(errno).to_string());
    Ok(refused.map(why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_articles_case_leads_every_effort() {
        for (effort, count) in [
            (Effort::Quick, 5),
            (Effort::Normal, 15),
            (Effort::Thorough, 21),
        ] {
            let selection = Selection {
                effort,
                ..Selection::default()
            };
            let cases = selection.plan().unwrap().cases;
            assert_eq!(cases[0], Case::ARTICLE);
            assert_eq!(cases.len(), count);
        }
    }

    #[test]
    fn what_is_chosen_is_combined() {
        let selection = Selection {
            calls: vec![SyncCall::Fdatasync, SyncCall::ODsync],
            writes: vec![Write::Overwrite],
            sizes_bytes: vec![4096, 4096],
            writers: vec![1, 2, 2],
            ..Selection::default()
        };
        let cases = selection.plan().unwrap().cases;
        assert_eq!(cases.len(), 4, "each once: {cases:?}");
        assert!(cases.iter().all(|case| case.write == Write::Overwrite));
        let only = Selection {
            writers: vec![3],
            ..Selection::default()
        };
        let expected = Case {
            writers: 3,
            ..Case::ARTICLE
        };
        assert_eq!(only.plan().unwrap().cases, [expected]);
        let sized = Selection {
            sizes_bytes: vec![4096],
            ..Selection::default()
        };
        assert_eq!(
            sized.plan().unwrap().cases.len(),
            15,
            "a size chooses no case"
        );
    }

    #[test]
    fn nonsense_is_a_usage_error() {
        for selection in [
            Selection {
                writers: vec![0],
                ..Selection::default()
            },
            Selection {
                writers: vec![1, 100_000],
                ..Selection::default()
            },
            Selection {
                sizes_bytes: vec![0],
                ..Selection::default()
            },
            Selection {
                sizes_bytes: vec![1 << 50],
                ..Selection::default()
            },
        ] {
            let refused = selection.plan().unwrap_err();
            assert!(matches!(refused, LabError::Usage(_)), "{selection:?}");
        }
    }

    #[test]
    fn every_writer_has_room_for_some_syncs() {
        let case = |size_bytes, writers| Case {
            size_bytes,
            writers,
            ..Case::ARTICLE
        };
        assert_eq!(file_bytes(Effort::Normal, &case(1024, 4)), 64 << 20);
        assert_eq!(file_bytes(Effort::Quick, &case(8 << 20, 8)), 512 << 20);
        let needed = needed_bytes(Effort::Quick, &[case(8 << 20, 8), case(1024, 1)]);
        assert_eq!(needed, (4 << 30) + (4 << 30) / 5);
    }
}
