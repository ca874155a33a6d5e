//! The cases to measure, and how thoroughly.

use iostrata_core::buffering::{Case, Mode};
use iostrata_core::distinct;

use crate::error::LabError;
use crate::experiment::{chosen_or, refuse_no_bytes, with_structures};
use crate::session::Effort;

/// The article's record sizes, bytes.
const SIZES: [u64; 2] = [1, 100_000];

/// Fewest records of a case without a given count: a rate needs several.
const FEWEST_RECORDS: u64 = 20;

/// Bytes per record of the timelines: two records fit the user-space buffer and
/// the third makes it overflow, and the file is too large to be stored inline.
pub(super) const TIMELINE_SIZE_BYTES: u64 = 3000;

pub(super) const TIMELINE_RECORDS: u64 = 4;

/// What the user chose; empty lists and `None` mean the defaults of the effort.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    pub modes: Vec<Mode>,
    /// Bytes per record.
    pub sizes_bytes: Vec<u64>,
    /// Records per case.
    pub count: Option<u64>,
    pub effort: Effort,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// By size and within a size by mode.
    pub cases: Vec<Case>,
}

impl Selection {
    /// The cases; a usage error for combinations that cannot be written.
    pub fn plan(&self) -> Result<Plan, LabError> {
        if self.count == Some(0) {
            return Err(LabError::usage(
                "--count 0 leaves nothing to measure; give 1 or more records",
            ));
        }
        let mut cases = Vec::new();
        for &size_bytes in chosen_or(&self.sizes_bytes, &SIZES) {
            refuse_no_bytes(&[size_bytes], "writes nothing")?;
            let count = self
                .count
                .unwrap_or_else(|| records(self.effort, size_bytes));
            if size_bytes
                .checked_mul(count)
                .is_none_or(|bytes| i64::try_from(bytes).is_err())
            {
                return Err(LabError::usage(format!(
                    "{count} records of {size_bytes} bytes do not fit in a file; give a smaller \
                     --count or --size"
                )));
            }
            let modes = chosen_or(&self.modes, &Mode::ALL).iter();
            cases.extend(modes.map(|&mode| Case {
                mode,
                size_bytes,
                count,
            }));
        }
        Ok(Plan {
            cases: distinct(cases),
        })
    }
}

/// Records of a size without a given count.
fn records(effort: Effort, size_bytes: u64) -> u64 {
    let (most, bytes) = match effort {
        Effort::Quick => (200, 2_000_000),
        Effort::Normal => (1000, 10_000_000),
        Effort::Thorough => return 10_000,
    };
    (bytes / size_bytes).clamp(FEWEST_RECORDS, most)
}

/// Records of the run that measures the loop itself.
pub(super) fn null_records(effort: Effort) -> u64 {
    match effort {
        Effort::Quick => 200_000,
        Effort::Normal | Effort::Thorough => 1_000_000,
    }
}

/// Bytes that must be free on each target: the largest file and a fifth more for
/// the file system's own structures.
pub(super) fn needed_bytes(cases: &[Case]) -> u64 {
    let files = cases
        .iter()
        .map(|case| case.size_bytes.saturating_mul(case.count));
    let timeline = TIMELINE_RECORDS * TIMELINE_SIZE_BYTES;
    with_structures(files.fold(timeline, u64::max))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(effort: Effort) -> Vec<(u64, u64)> {
        let sizes_bytes = vec![1, 10_000, 100_000, 10_000_000];
        let modes = vec![Mode::Flush];
        let selection = Selection {
            modes,
            sizes_bytes,
            effort,
            ..Selection::default()
        };
        selection
            .plan()
            .unwrap()
            .cases
            .iter()
            .map(|case| (case.size_bytes, case.count))
            .collect()
    }

    #[test]
    fn larger_records_are_fewer() {
        let normal = [(1, 1000), (10_000, 1000), (100_000, 100), (10_000_000, 20)];
        assert_eq!(counts(Effort::Normal), normal);
        assert_eq!(
            counts(Effort::Quick),
            [(1, 200), (10_000, 200), (100_000, 20), (10_000_000, 20)]
        );
        assert!(
            counts(Effort::Thorough)
                .iter()
                .all(|(_, count)| *count == 10_000)
        );
    }

    #[test]
    fn the_default_is_every_mode_at_the_articles_sizes() {
        let cases = Selection::default().plan().unwrap().cases;
        assert_eq!(cases.len(), 20);
        assert_eq!(
            cases[0],
            Case {
                mode: Mode::Buffered,
                size_bytes: 1,
                count: 1000
            }
        );
        assert_eq!(cases[10].size_bytes, 100_000);
    }

    #[test]
    fn a_case_named_twice_is_measured_once() {
        let selection = Selection {
            sizes_bytes: vec![7, 7],
            ..Selection::default()
        };
        assert_eq!(selection.plan().unwrap().cases.len(), 10);
    }

    #[test]
    fn nonsense_is_a_usage_error() {
        for selection in [
            Selection {
                count: Some(0),
                ..Selection::default()
            },
            Selection {
                sizes_bytes: vec![0],
                ..Selection::default()
            },
            Selection {
                sizes_bytes: vec![u64::MAX],
                ..Selection::default()
            },
            Selection {
                sizes_bytes: vec![1 << 40],
                count: Some(1 << 40),
                ..Selection::default()
            },
        ] {
            let refused = selection.plan().unwrap_err();
            assert!(matches!(refused, LabError::Usage(_)), "{selection:?}");
        }
    }

    #[test]
    fn space_is_for_the_largest_case_and_a_fifth_more() {
        let case = |size_bytes, count| Case {
            mode: Mode::Flush,
            size_bytes,
            count,
        };
        assert_eq!(
            needed_bytes(&[case(1, 2000), case(100_000, 200)]),
            24_000_000
        );
    }
}
