//! Turns a rule's findings into a draft: severity, confidence, and selection.

use super::rule::Rule;
use crate::bytes;
use crate::environment::Backend;
use crate::noun::counted;
use crate::trace::{
    Basis, Cited, Confidence, Draft, FileRow, Finding, Remedy, Severity, TraceResult, worth_s,
};

/// More files than these are counted and not listed: five show what to fix.
pub(super) const LISTED: usize = 5;

/// A rule's finding, about one file or the whole run.
#[derive(Debug, Clone, Default)]
pub(super) struct Found {
    pub(super) title: String,
    pub(super) evidence: Vec<Cited>,
    /// Time spent on it, seconds.
    pub(super) cost_s: f64,
    /// Computed saving of the advice, seconds; `None` when it must be measured.
    pub(super) saving_s: Option<f64>,
    /// The remedy to measure, in the directory of its file.
    pub(super) remedy: Option<Remedy>,
    /// Its severity, if the saving does not determine it.
    pub(super) severity: Option<Severity>,
    /// Whether some of its evidence was not observed.
    pub(super) is_unproven: bool,
    /// The path and directory of its file, if it has one.
    pub(super) file: Option<(String, Vec<u8>)>,
}

impl Found {
    /// The same, about one file.
    pub(super) fn of(self, file: &FileRow) -> Self {
        Self {
            file: Some((file.path.clone(), directory_of(file))),
            ..self
        }
    }

    /// What it is worth: its saving, or its cost while that is not known.
    pub(super) fn weighed_s(&self) -> f64 {
        self.saving_s.unwrap_or(self.cost_s)
    }

    /// The draft, settled by its computed saving or by the measured saving of the remedy.
    pub(super) fn draft(self, rule: &Rule, run: &TraceResult) -> Draft {
        let weighed_s = self.weighed_s();
        let (file, directory) = self.file.unzip();
        Draft {
            finding: Finding {
                severity: self
                    .severity
                    .unwrap_or_else(|| severity(weighed_s, run.wall_s)),
                confidence: confidence(!self.is_unproven, run),
                title: self.title,
                file,
                evidence: self.evidence,
                cost_s: Some(self.cost_s),
                saving_s: self.saving_s,
                saving_basis: self.saving_s.map(|_| Basis::Computed),
                ..rule.finding()
            },
            remedy: self.remedy.zip(directory),
            is_fault: false,
        }
    }
}

/// Half of the run is most of it; a tenth is noticeable.
pub(super) fn severity(saving_s: f64, wall_s: f64) -> Severity {
    if saving_s >= 0.5 * wall_s {
        Severity::High
    } else if saving_s >= 0.1 * wall_s {
        Severity::Medium
    } else {
        Severity::Low
    }
}

/// Lost events may contradict it, and a program that stops at its calls has different times.
fn confidence(is_proven: bool, run: &TraceResult) -> Confidence {
    if is_proven && run.lost_events == 0 && run.backend == Backend::Ebpf {
        Confidence::Certain
    } else {
        Confidence::Likely
    }
}

/// The findings worth the reader's time, most expensive first; beyond a few, the last one states
/// the number of the others.
pub(super) fn worst(run: &TraceResult, mut drafts: Vec<Draft>) -> Vec<Draft> {
    let weight_s = |draft: &Draft| {
        let finding = &draft.finding;
        finding.saving_s.or(finding.cost_s).unwrap_or(0.0)
    };
    drafts.retain(|draft| weight_s(draft) >= worth_s(run.wall_s));
    drafts.sort_by(|one, other| weight_s(other).total_cmp(&weight_s(one)));
    let left_out = drafts.len().saturating_sub(LISTED);
    drafts.truncate(LISTED);
    if let Some(last) = drafts.last_mut() {
        last.finding.evidence.extend(more_files(left_out));
    }
    drafts
}

pub(super) fn more_files(left_out: usize) -> Option<Cited> {
    (left_out > 0).then(|| Cited {
        count: Some(left_out as u64),
        ..said(format!(
            "the same holds for {}",
            counted(left_out as u64, "more file")
        ))
    })
}

/// Evidence as text only.
pub(super) fn said(what: String) -> Cited {
    Cited {
        what,
        call: None,
        path: None,
        count: None,
        at_s: None,
    }
}

/// Evidence about a call on a file.
pub(super) fn cited(what: String, call: &str, file: &FileRow, count: u64) -> Cited {
    Cited {
        call: Some(call.to_owned()),
        path: Some(file.path.clone()),
        count: Some(count),
        ..said(what)
    }
}

fn directory_of(file: &FileRow) -> Vec<u8> {
    let path = file.path_hex.as_deref().and_then(bytes::unhex);
    let mut path = path.unwrap_or_else(|| file.path.clone().into_bytes());
    let end = path.iter().rposition(|&byte| byte == b'/').unwrap_or(0);
    path.truncate(end.max(1));
    path
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{file, rule, run};
    use super::*;

    fn found(file: &FileRow, saving_s: f64) -> Found {
        let found = Found {
            evidence: vec![said("seen".to_owned())],
            cost_s: 1.0,
            saving_s: Some(saving_s),
            ..Found::default()
        };
        found.of(file)
    }

    #[test]
    fn severity_follows_the_share_of_the_run() {
        let (run, file) = (run(vec![]), file("/a"));
        let severity = |saving_s| found(&file, saving_s).draft(&rule(), &run).finding.severity;
        assert_eq!(severity(0.5), Severity::High);
        assert_eq!(severity(0.49), Severity::Medium);
        assert_eq!(severity(0.1), Severity::Medium);
        assert_eq!(severity(0.09), Severity::Low);
    }

    #[test]
    fn losses_and_stopped_programs_make_it_likely() {
        let file = file("/a");
        let sure = |run: &TraceResult| found(&file, 1.0).draft(&rule(), run).finding.confidence;
        let mut seen = run(vec![]);
        assert_eq!(sure(&seen), Confidence::Certain);
        seen.lost_events = 1;
        assert_eq!(sure(&seen), Confidence::Likely);
        seen.lost_events = 0;
        seen.backend = Backend::Ptrace;
        assert_eq!(sure(&seen), Confidence::Likely);
    }

    #[test]
    fn the_dearest_are_told_and_the_rest_is_counted() {
        let (run, file) = (run(vec![]), file("/a"));
        let drafts = (0..9).map(|n| found(&file, f64::from(n) * 0.01).draft(&rule(), &run));
        let told = worst(&run, drafts.collect());
        let savings: Vec<_> = told.iter().map(|draft| draft.finding.saving_s).collect();
        let dearest = [0.08, 0.07, 0.06, 0.05, 0.04];
        assert_eq!(savings, dearest.map(Some));
        let rest = told[4].finding.evidence.last().unwrap();
        assert_eq!(rest.count, Some(3), "one of nine saves nothing");
    }

    #[test]
    fn directories_are_bytes() {
        let mut bytes = file("/data/\u{fffd}/x");
        bytes.path_hex = Some("2f646174612fff2f78".to_owned());
        assert_eq!(directory_of(&bytes), b"/data/\xff");
        assert_eq!(directory_of(&file("/x")), b"/");
    }
}
