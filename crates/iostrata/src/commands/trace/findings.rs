//! Findings, and what the improvement would save.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::time::Duration;

use iostrata_core::gap::{Gap, Missing, NotSaved, Reason};
use iostrata_core::rules::{self, Bound};
use iostrata_core::trace::{Cited, Draft, TraceResult, worth_s};
use iostrata_lab::engine::Launcher;
use iostrata_lab::replay::{Programs, QUICK, THOROUGH, Wanted, replay};

use crate::cli::Savings;
use crate::ui;
use crate::{GUARD, WORKLOAD};

/// With this number of files, the summary alone takes as long as the user should have to wait.
const MANY_FILES: usize = 1000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Measuring {
    /// They are computed only.
    No,
    /// Measured within the time that nobody notices.
    Quick,
    /// Measured, as requested.
    Thorough,
}

impl Measuring {
    pub(super) fn of(savings: &Savings) -> Self {
        match (savings.no_measure, savings.measure) {
            (true, _) => Self::No,
            (false, true) => Self::Thorough,
            (false, false) => Self::Quick,
        }
    }

    fn limit(self, result: &TraceResult) -> Duration {
        match self {
            Self::Thorough => THOROUGH,
            Self::Quick if result.files.len() < MANY_FILES => QUICK,
            Self::Quick | Self::No => Duration::ZERO,
        }
    }
}

/// Lets the rules look at the run, and measures the savings they promise by doing the same
/// work both ways, unless they are to stay `computed`. `stop` ends the measuring alone.
pub(super) fn find(
    result: &mut TraceResult,
    ignored: &[String],
    measuring: Measuring,
    stop: &dyn Fn() -> bool,
) {
    let drafts = rules::look(result, ignored);
    let wall_s = result.wall_s;
    // A cost below the least saving is not worth measuring.
    let is_worth = |draft: &Draft| {
        draft.is_fault
            || draft
                .finding
                .cost_s
                .is_none_or(|cost| cost >= worth_s(wall_s))
    };
    let mut drafts: Vec<Draft> = drafts.into_iter().filter(is_worth).collect();
    let bound = Bound::of(result);
    let directories: Vec<(usize, PathBuf)> = drafts
        .iter()
        .enumerate()
        .filter_map(|(number, draft)| {
            let (_, directory) = draft
                .remedy
                .as_ref()
                .filter(|_| measuring != Measuring::No && !bound.is_hidden(&draft.finding))?;
            Some((number, PathBuf::from(OsStr::from_bytes(directory))))
        })
        .collect();
    let wanted: Vec<Wanted<'_>> = directories
        .iter()
        .filter_map(|(number, directory)| {
            Some(Wanted {
                remedy: drafts[*number].remedy.as_ref()?.0,
                directory,
                device: device_of(result, &drafts[*number]),
            })
        })
        .collect();
    let limit = measuring.limit(result);
    let programs = Programs {
        work: &Launcher::this_program(WORKLOAD),
        guard: Some(&Launcher::this_program(GUARD)),
    };
    let replays = replay(&wanted, limit, programs, stop);
    for leftover in &replays.leftovers {
        ui::say(&format!("warning: {leftover}"));
    }
    let mut measured: Vec<_> = drafts.iter().map(|_| None).collect();
    for ((number, _), outcome) in directories.iter().zip(replays.measured) {
        match outcome {
            Ok(measurement) => {
                drafts[*number].finding.evidence.push(Cited {
                    what: measurement.to_string(),
                    call: None,
                    path: None,
                    count: None,
                    at_s: None,
                });
                measured[*number] = Some(measurement.replayed);
            }
            Err(why) => {
                let rule = drafts[*number].finding.rule.clone();
                let more_time = why.wants_time() && measuring == Measuring::Quick;
                let why = Reason::NotSaved(NotSaved {
                    why: why.to_string(),
                    thorough_s: more_time.then_some(THOROUGH.as_secs()),
                });
                result.missing.push(Gap::new(Missing::Saving { rule }, why));
            }
        }
    }
    let settled = drafts.into_iter().zip(measured);
    let bound = Bound::of(result);
    let settled = settled.filter_map(|(draft, measured)| rules::settle(draft, measured, &bound));
    let findings: Vec<_> = settled.collect();
    result.findings = findings;
    rules::sort(&mut result.findings);
    let home = std::env::var("HOME").ok();
    rules::prove(result, home.as_deref());
}

/// The file system of the finding's file: measured elsewhere, a saving means
/// nothing.
fn device_of(result: &TraceResult, draft: &Draft) -> Option<u32> {
    let path = draft.finding.file.as_deref()?;
    let file = result.files.iter().find(|file| file.path == path)?;
    Some(file.id()?.device)
}
