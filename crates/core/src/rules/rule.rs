//! A rule: its subject, and how its findings become drafts.

use super::calls::is_stored;
use super::draft::{Found, worst};
use super::fault::{self, Fault};
use super::synced::{SyncedName, synced_names};
use crate::trace::{Confidence, Draft, FileRow, Finding, Severity, TraceResult, worth_s};

/// A rule: one file, one name, one page.
pub struct Rule {
    /// Its name, as typed after `--ignore` and `explain`.
    pub id: &'static str,
    /// What it looks for, in one line.
    pub looks_for: &'static str,
    /// The remedy in a few words, as the end of a sentence.
    pub in_short: &'static str,
    pub(super) advice: &'static str,
    pub(super) at: Subject,
}

/// The subject of a rule, with its function.
pub(super) enum Subject {
    /// Each file with contents.
    Files(fn(&TraceResult, &FileRow) -> Option<Found>),
    /// Each file, including directories, pipes, and kernel files.
    AllFiles(fn(&TraceResult, &FileRow) -> Option<Found>),
    /// Each name whose files were synced.
    SyncedNames(fn(&TraceResult, &SyncedName<'_>) -> Option<Found>),
    Run(fn(&TraceResult) -> Option<Found>),
    /// The same, with several findings per run.
    Groups(fn(&TraceResult) -> Vec<Found>),
    /// The meaning of a run's figures, which costs no time.
    Meaning(fn(&TraceResult) -> Option<Found>),
    /// Files affected by a crash, reported together under a title.
    Crash(&'static str, fn(&TraceResult) -> Vec<Fault<'_>>),
    /// Anything else, with its own function for drafts.
    Drafts(fn(&TraceResult) -> Vec<Draft>),
}

/// The files of a run that have contents.
pub(super) fn stored(run: &TraceResult) -> Vec<&FileRow> {
    run.files.iter().filter(|file| is_stored(file)).collect()
}

impl Rule {
    /// Its findings about a run. Findings that cost time are included only if they are worth the
    /// reader's.
    pub fn look(&self, run: &TraceResult) -> Vec<Draft> {
        self.look_among(run, &stored(run))
    }

    /// The same, with those files of the run that have contents: all rules ask for them.
    pub(super) fn look_among(&self, run: &TraceResult, stored: &[&FileRow]) -> Vec<Draft> {
        let drafts = match self.at {
            Subject::Files(look) => self.of_files(run, stored.iter().copied(), look),
            Subject::AllFiles(look) => self.of_files(run, &run.files, look),
            Subject::SyncedNames(look) => {
                let names = synced_names(run);
                let found = names
                    .iter()
                    .filter_map(|name| Some(look(run, name)?.of(name.file)));
                found.map(|found| found.draft(self, run)).collect()
            }
            Subject::Run(look) => look(run)
                .into_iter()
                .map(|found| found.draft(self, run))
                .collect(),
            Subject::Groups(look) => look(run)
                .into_iter()
                .map(|found| found.draft(self, run))
                .collect(),
            Subject::Meaning(look) => {
                return look(run)
                    .map(|found| self.meaning(found, run))
                    .into_iter()
                    .collect();
            }
            Subject::Crash(title, look) => return fault::together(self, |_| title, run, look(run)),
            Subject::Drafts(look) => return look(run),
        };
        worst(run, drafts)
    }

    fn of_files<'a>(
        &self,
        run: &TraceResult,
        files: impl IntoIterator<Item = &'a FileRow>,
        look: fn(&TraceResult, &FileRow) -> Option<Found>,
    ) -> Vec<Draft> {
        let found = files.into_iter().filter_map(|file| {
            let found = look(run, file)?;
            // `worst` would drop it: most of what 10,000 files give.
            (found.weighed_s() >= worth_s(run.wall_s)).then(|| found.of(file).draft(self, run))
        });
        found.collect()
    }

    /// An empty finding of this rule.
    pub(super) fn finding(&self) -> Finding {
        Finding {
            rule: self.id.to_owned(),
            severity: Severity::Info,
            confidence: Confidence::Likely,
            title: String::new(),
            file: None,
            evidence: Vec::new(),
            cost_s: None,
            cost_threads: None,
            alone_s: None,
            saving_s: None,
            saving_basis: None,
            advice: self.advice.to_owned(),
            crash_command: None,
            no_crash_command_because: None,
        }
    }

    fn meaning(&self, found: Found, run: &TraceResult) -> Draft {
        let mut draft = found.draft(self, run);
        draft.finding.cost_s = None;
        draft.finding.severity = Severity::Info;
        draft.is_fault = true;
        draft
    }
}
