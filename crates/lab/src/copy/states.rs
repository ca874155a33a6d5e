//! Whether the sources were in the states of the rows' names.

use iostrata_core::bytes::grouped;
use iostrata_core::cache::{Process, named};
use iostrata_core::copy::{Case, Source};

use crate::engine::Residency;

/// Whether the source was in the case's state, over all runs of a row.
#[derive(Debug, Clone, Default)]
pub(super) struct States {
    runs: u64,
    /// Runs before which the source was in another state.
    other: u64,
    /// Maximum number of pages that stayed, or were missing.
    pages: u64,
    mapped_by: Vec<Process>,
    unknown: bool,
}

impl States {
    pub(super) fn add(&mut self, case: &Case, seen: Option<&Residency>) {
        self.runs += 1;
        let Some(seen) = seen else {
            self.unknown = true;
            return;
        };
        let wrong_pages = match case.source {
            Source::Cold => seen.resident_pages,
            Source::Warm => seen.pages.saturating_sub(seen.resident_pages),
        };
        self.other += u64::from(wrong_pages > 0);
        self.pages = self.pages.max(wrong_pages);
        for process in &seen.mapped_by {
            if !self.mapped_by.iter().any(|known| known.pid == process.pid) {
                self.mapped_by.push(process.clone());
            }
        }
    }

    pub(super) fn notes(&self, case: &Case) -> Vec<String> {
        let mut notes = Vec::new();
        if self.unknown {
            notes.push(format!(
                "asked for a {} source; the kernel did not report its state",
                case.source.as_str()
            ));
        }
        if self.other > 0 {
            let (what, verb) = match case.source {
                Source::Cold => ("cold", "stayed resident"),
                Source::Warm => ("warm", "were not resident"),
            };
            let mappers = if self.mapped_by.is_empty() {
                String::new()
            } else {
                format!(", mapped by {}", named(&self.mapped_by))
            };
            notes.push(format!(
                "not {what}: before {} of {} runs up to {} pages of the source {verb}{mappers}",
                self.other,
                self.runs,
                grouped(self.pages)
            ));
        }
        notes
    }
}

#[cfg(test)]
mod tests {
    use iostrata_core::copy::{CopyMethod, Destination};

    use super::*;

    fn case(source: Source) -> Case {
        Case {
            method: CopyMethod::Sendfile,
            buffer_bytes: None,
            source,
            durable: false,
            size_bytes: 4096,
            destination: Destination::Fresh,
        }
    }

    fn seen(resident_pages: u64) -> Residency {
        Residency {
            pages: 2000,
            resident_pages,
            ..Residency::default()
        }
    }

    #[test]
    fn a_source_in_the_named_state_needs_no_note() {
        let mut states = States::default();
        states.add(&case(Source::Cold), Some(&seen(0)));
        assert!(states.notes(&case(Source::Cold)).is_empty());
        let mut states = States::default();
        states.add(&case(Source::Warm), Some(&seen(2000)));
        assert!(states.notes(&case(Source::Warm)).is_empty());
    }

    #[test]
    fn another_state_is_told_with_its_pages_and_mappers() {
        let mut states = States::default();
        states.add(&case(Source::Cold), Some(&seen(0)));
        let mapped = Residency {
            mapped_by: vec![Process {
                pid: 4211,
                command: "python3".to_owned(),
                mapped_bytes: None,
                locked_bytes: None,
            }],
            ..seen(1234)
        };
        states.add(&case(Source::Cold), Some(&mapped));
        assert_eq!(
            states.notes(&case(Source::Cold)),
            [
                "not cold: before 1 of 2 runs up to 1,234 pages of the source stayed resident, \
                 mapped by process 4211 (python3)"
            ]
        );
        let mut states = States::default();
        states.add(&case(Source::Warm), Some(&seen(1999)));
        assert!(states.notes(&case(Source::Warm))[0].starts_with("not warm: before 1 of 1 runs"));
        states.add(&case(Source::Warm), None);
        assert!(states.notes(&case(Source::Warm))[0].contains("did not report"));
    }
}
