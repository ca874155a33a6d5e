//! A rule: its subject, and how its findings become drafts.

use super::calls::is_stored;
use super::draft::{Found, worst};
use super::fault::{self, Fault, Habits, lasting};
use super::synced::{SyncedName, synced_names};
use crate::trace::{
    Confidence, Draft, FileHistory, FileRow, Finding, Severity, TraceResult, worth_s,
};

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
    /// The same, with each file judged by itself.
    CrashOf(&'static str, FaultOf),
    /// Anything else, with its own function for drafts.
    Drafts(fn(&TraceResult) -> Vec<Draft>),
}

type FaultOf = for<'a> fn(&Habits<'a>, &'a FileRow, &FileHistory) -> Option<Fault<'a>>;

/// What many rules ask of a run.
pub(super) struct Asked<'a> {
    /// The files that have contents.
    stored: Vec<&'a FileRow>,
    habits: Habits<'a>,
}

impl<'a> Asked<'a> {
    pub(super) fn of(run: &'a TraceResult) -> Self {
        Self {
            stored: run.files.iter().filter(|file| is_stored(file)).collect(),
            habits: Habits::of(run),
        }
    }
}

impl Rule {
    /// Its findings about a run. Findings that cost time are included only if they are worth the
    /// reader's.
    pub fn look(&self, run: &TraceResult) -> Vec<Draft> {
        self.look_among(run, &Asked::of(run))
    }

    /// The same, with what all rules ask, worked out once.
    pub(super) fn look_among<'a>(&self, run: &'a TraceResult, asked: &Asked<'a>) -> Vec<Draft> {
        let found: Vec<Found> = match self.at {
            Subject::Files(look) => of_files(run, asked.stored.iter().copied(), look),
            Subject::AllFiles(look) => of_files(run, &run.files, look),
            Subject::SyncedNames(look) => {
                let names = synced_names(run);
                let found = |name: &SyncedName<'_>| Some(look(run, name)?.of(name.file));
                names.iter().filter_map(found).collect()
            }
            Subject::Run(look) => look(run).into_iter().collect(),
            Subject::Groups(look) => look(run),
            Subject::Meaning(look) => {
                let found = look(run).into_iter();
                return found.map(|found| self.meaning(found, run)).collect();
            }
            Subject::Crash(title, look) => return fault::together(self, |_| title, run, look(run)),
            Subject::CrashOf(title, look) => {
                let habits = &asked.habits;
                let faults = lasting(run).filter_map(|(file, history)| look(habits, file, history));
                return fault::together(self, |_| title, run, faults.collect());
            }
            Subject::Drafts(look) => return look(run),
        };
        let drafts = found.into_iter().map(|found| found.draft(self, run));
        worst(run, drafts.collect())
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

fn of_files<'a>(
    run: &TraceResult,
    files: impl IntoIterator<Item = &'a FileRow>,
    look: fn(&TraceResult, &FileRow) -> Option<Found>,
) -> Vec<Found> {
    let found = files.into_iter().filter_map(|file| {
        let found = look(run, file)?;
        // `worst` would drop it: most of what 10,000 files give.
        (found.weighed_s() >= worth_s(run.wall_s)).then(|| found.of(file))
    });
    found.collect()
}
