//! The cases to measure, and how thoroughly.

use std::time::Duration;

use iostrata_core::page_cache::{Case, Parse, Reader, State};

use super::content::{Content, SMALLEST_JSON_BYTES};
use iostrata_core::distinct;

use crate::error::LabError;
use crate::experiment::{chosen_or, refuse_no_bytes, refuse_too_large, with_structures};
use crate::session::Effort;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// Size of the article's JSON file.
const JSON_BYTES: u64 = 145 * KIB;

/// Smaller files are read neither at random nor into a used buffer unless the user chooses it: they
/// have one page to choose from, and one fault.
const LARGE_FROM_BYTES: u64 = MIB;

/// Copying less than this in memory takes less time than the clock's resolution.
const COPY_FROM_BYTES: u64 = 64 * KIB;

/// What the user chose; empty lists mean the defaults of the effort.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    pub states: Vec<State>,
    pub readers: Vec<Reader>,
    pub parses: Vec<Parse>,
    pub sizes_bytes: Vec<u64>,
    /// Pause between two reads, which are then shown one by one.
    pub sleep: Option<Duration>,
    pub effort: Effort,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Cases, by parser and size.
    pub cases: Vec<Case>,
    /// Consecutive reads of the same file in a run of reader `read`.
    pub reads: u32,
    /// Maximum number of reads in a run of `pread_random`.
    pub random_reads: u64,
    pub sleep: Option<Duration>,
}

impl Selection {
    /// The possible cases; impossible combinations are left out unless the user chose nothing else.
    pub fn plan(&self) -> Result<Plan, LabError> {
        refuse_no_bytes(&self.sizes_bytes, "has nothing to read")?;
        refuse_too_large(&self.sizes_bytes)?;
        let wanted = if self.is_default() {
            usual_cases(self.effort)
        } else {
            self.product()
        };
        let possible = wanted.iter().filter(|case| case.impossible().is_none());
        let cases = distinct(possible.copied());
        let small = |case: &&Case| {
            Content::of(case.parse) == Content::Json && case.size_bytes < SMALLEST_JSON_BYTES
        };
        if let Some(case) = cases.iter().find(small) {
            return Err(LabError::usage(format!(
                "--size {} is too small for a JSON file; give {SMALLEST_JSON_BYTES} bytes or more",
                case.size_bytes
            )));
        }
        if cases.is_empty() {
            let why = wanted
                .first()
                .and_then(Case::impossible)
                .unwrap_or("no case");
            return Err(LabError::usage(format!(
                "nothing to measure: {why}; choose other states, readers or parsers"
            )));
        }
        let (reads, random_reads) = match self.effort {
            Effort::Quick => (3, 1024),
            Effort::Normal => (4, 4096),
            Effort::Thorough => (10, 65536),
        };
        Ok(Plan {
            cases,
            reads,
            random_reads,
            sleep: self.sleep,
        })
    }

    fn is_default(&self) -> bool {
        self.states.is_empty()
            && self.readers.is_empty()
            && self.parses.is_empty()
            && self.sizes_bytes.is_empty()
    }

    /// All combinations of the user's choices; other dimensions have their defaults.
    fn product(&self) -> Vec<Case> {
        let mut cases = Vec::new();
        for &parse in chosen_or(&self.parses, &[Parse::None]) {
            let (states, readers, sizes) = usual(parse, self.effort);
            let readers = chosen_or(&self.readers, &readers);
            for &size_bytes in chosen_or(&self.sizes_bytes, &sizes) {
                for &state in chosen_or(&self.states, &states) {
                    cases.extend(readers.iter().map(|&reader| Case {
                        state,
                        reader,
                        size_bytes,
                        parse,
                    }));
                }
            }
        }
        cases
    }
}

/// States, readers and sizes of a parser when the user names none.
fn usual(parse: Parse, effort: Effort) -> (Vec<State>, Vec<Reader>, Vec<u64>) {
    if parse == Parse::None {
        let sizes = article_sizes(effort).to_vec();
        return (State::ASKED.to_vec(), Reader::ALL.to_vec(), sizes);
    }
    let sizes = match effort {
        Effort::Quick => vec![JSON_BYTES],
        Effort::Normal | Effort::Thorough => vec![JSON_BYTES, 16 * MIB],
    };
    (vec![State::Cold, State::Warm], vec![Reader::Read], sizes)
}

/// The article's sizes; the largest one is smaller in a quick run.
fn article_sizes(effort: Effort) -> [u64; 3] {
    match effort {
        Effort::Quick => [KIB, MIB, 32 * MIB],
        Effort::Normal | Effort::Thorough => [KIB, MIB, GIB],
    }
}

/// The sizes between them, which show where the cache stops mattering.
fn sizes_between(effort: Effort) -> &'static [u64] {
    match effort {
        Effort::Quick => &[64 * KIB, 4 * MIB],
        Effort::Normal => &[64 * KIB, 16 * MIB, 128 * MIB],
        Effort::Thorough => &[
            16 * KIB,
            64 * KIB,
            256 * KIB,
            4 * MIB,
            16 * MIB,
            64 * MIB,
            256 * MIB,
        ],
    }
}

/// Everything at the article's sizes, cold and warm `read` at those between, and every parser on
/// the article's JSON.
fn usual_cases(effort: Effort) -> Vec<Case> {
    let case = |state, reader, size_bytes, parse| Case {
        state,
        reader,
        size_bytes,
        parse,
    };
    let mut cases = Vec::new();
    for size in article_sizes(effort) {
        for state in State::ASKED {
            let readers = Reader::ALL.into_iter().filter(|reader| {
                size >= LARGE_FROM_BYTES
                    || !matches!(reader, Reader::PreadRandom | Reader::ReadReused)
            });
            cases.extend(readers.map(|reader| case(state, reader, size, Parse::None)));
        }
    }
    for &size in sizes_between(effort) {
        for state in [State::Cold, State::Warm] {
            cases.push(case(state, Reader::Read, size, Parse::None));
        }
    }
    cases.sort_by_key(|case| (case.size_bytes, case.state, case.reader));
    for parse in Parse::ALL.into_iter().filter(|parse| *parse != Parse::None) {
        let (states, _, sizes) = usual(parse, effort);
        for size in sizes {
            for &state in &states {
                cases.push(case(state, Reader::Read, size, parse));
            }
        }
    }
    cases
}

/// Bytes that must be free on each target: every file once and a fifth more for the
/// file system's own structures.
pub(super) fn needed_bytes(cases: &[Case]) -> u64 {
    let sizes = files(cases).into_iter().map(|(size_bytes, _)| size_bytes);
    with_structures(sizes.fold(0, u64::saturating_add))
}

/// The files of the cases, each once.
pub(super) fn files(cases: &[Case]) -> Vec<(u64, Content)> {
    let files = cases
        .iter()
        .map(|case| (case.size_bytes, Content::of(case.parse)));
    distinct(files)
}

/// Whether a run of the case copies memory as well, for the limit.
pub(super) fn copies(case: &Case) -> bool {
    (case.state, case.reader, case.parse) == (State::Warm, Reader::ReadReused, Parse::None)
        && case.size_bytes >= COPY_FROM_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(selection: &Selection) -> Plan {
        selection.plan().unwrap()
    }

    #[test]
    fn the_default_has_the_articles_sizes_and_its_json() {
        let cases = plan(&Selection::default()).cases;
        for size in [KIB, MIB, GIB] {
            for state in State::ASKED {
                let here = |case: &&Case| (case.size_bytes, case.state) == (size, state);
                assert!(cases.iter().filter(here).count() >= 1, "{size} {state:?}");
            }
        }
        for parse in Parse::ALL.into_iter().skip(1) {
            let states: Vec<State> = cases
                .iter()
                .filter(|case| (case.parse, case.size_bytes) == (parse, 145 * KIB))
                .map(|case| case.state)
                .collect();
            assert_eq!(states, [State::Cold, State::Warm]);
        }
        assert!(cases.iter().all(|case| case.impossible().is_none()));
        let largest = |effort| {
            let cases = plan(&Selection {
                effort,
                ..Selection::default()
            })
            .cases;
            cases.iter().map(|case| case.size_bytes).max()
        };
        assert_eq!(largest(Effort::Quick), Some(32 * MIB));
        assert_eq!(largest(Effort::Thorough), Some(GIB));
    }

    #[test]
    fn what_is_named_is_combined() {
        let cases = plan(&Selection {
            states: vec![State::Cold, State::Direct],
            readers: vec![Reader::Read, Reader::Mmap],
            sizes_bytes: vec![8192, 8192],
            ..Selection::default()
        })
        .cases;
        let seen: Vec<(State, Reader)> =
            cases.iter().map(|case| (case.state, case.reader)).collect();
        assert_eq!(
            seen,
            [
                (State::Cold, Reader::Read),
                (State::Cold, Reader::Mmap),
                (State::Direct, Reader::Read)
            ]
        );
        let parsers = plan(&Selection {
            parses: vec![Parse::Json],
            effort: Effort::Quick,
            ..Selection::default()
        });
        assert_eq!(parsers.cases.len(), 2);
        assert_eq!(parsers.cases[0].size_bytes, 145 * KIB);
    }

    #[test]
    fn nonsense_is_a_usage_error() {
        for selection in [
            Selection {
                sizes_bytes: vec![0],
                ..Selection::default()
            },
            Selection {
                sizes_bytes: vec![u64::MAX],
                ..Selection::default()
            },
            Selection {
                states: vec![State::Direct],
                readers: vec![Reader::Mmap],
                ..Selection::default()
            },
            Selection {
                parses: vec![Parse::Json],
                sizes_bytes: vec![1],
                ..Selection::default()
            },
        ] {
            let error = selection.plan().unwrap_err();
            assert!(matches!(error, LabError::Usage(_)), "{selection:?}");
        }
    }

    #[test]
    fn space_is_for_every_file_once() {
        let case = |state, size_bytes, parse| Case {
            state,
            reader: Reader::Read,
            size_bytes,
            parse,
        };
        let cases = [
            case(State::Cold, 1000, Parse::None),
            case(State::Warm, 1000, Parse::None),
            case(State::Cold, 1000, Parse::Json),
            case(State::Cold, 1000, Parse::Lines),
            case(State::Cold, 3000, Parse::None),
        ];
        assert_eq!(needed_bytes(&cases), 6000);
    }
}
