//! A rule: what it looks at, and how what it finds becomes drafts.

use super::calls::is_stored;
use super::draft::{Found, worst};
use super::fault::{self, Fault};
use super::synced::{SyncedName, synced_names};
use crate::trace::{Confidence, Draft, FileRow, Finding, Severity, TraceResult};

/// A rule: one file, one name, one page.
pub struct Rule {
    /// Its name, as typed after `--ignore` and `explain`.
    pub id: &'static str,
    /// What it looks for, in one line.
    pub looks_for: &'static str,
    /// What to do, in a few words: the end of a sentence.
    pub in_short: &'static str,
    /// What to do.
    pub(super) advice: &'static str,
    /// What it looks at.
    pub(super) at: Subject,
}

/// What a rule looks at, with the function that does.
pub(super) enum Subject {
    /// Each file that holds bytes.
    Files(fn(&TraceResult, &FileRow) -> Option<Found>),
    /// Each file, also directories, pipes, and the kernel's.
    AllFiles(fn(&TraceResult, &FileRow) -> Option<Found>),
    /// Each name whose files were synced.
    SyncedNames(fn(&TraceResult, &SyncedName<'_>) -> Option<Found>),
    /// The whole run.
    Run(fn(&TraceResult) -> Option<Found>),
    /// The same, where one run may have several.
    Groups(fn(&TraceResult) -> Vec<Found>),
    /// What its figures mean, which costs no time.
    Meaning(fn(&TraceResult) -> Option<Found>),
    /// Files that a crash concerns, told together under a title.
    Crash(&'static str, fn(&TraceResult) -> Vec<Fault<'_>>),
    /// What becomes a draft in a way of its own.
    Drafts(fn(&TraceResult) -> Vec<Draft>),
}

impl Rule {
    /// What it says about a run. Of what costs time, that alone which is worth the reader's.
    pub fn look(&self, run: &TraceResult) -> Vec<Draft> {
        let of_files = |wanted: fn(&FileRow) -> bool,
                        look: fn(&TraceResult, &FileRow) -> Option<Found>| {
            let files = run.files.iter().filter(|file| wanted(file));
            let found = files.filter_map(|file| Some(look(run, file)?.of(file)));
            found.map(|found| found.draft(self, run)).collect()
        };
        let drafts = match self.at {
            Subject::Files(look) => of_files(is_stored, look),
            Subject::AllFiles(look) => of_files(|_| true, look),
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
            Subject::Crash(title, look) => return fault::together(self, title, run, look(run)),
            Subject::Drafts(look) => return look(run),
        };
        worst(run, drafts)
    }

    /// A finding of this rule, of which all else is still to be said.
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
            saving_s: None,
            saving_basis: None,
            advice: self.advice.to_owned(),
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
