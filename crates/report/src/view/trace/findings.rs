//! Findings: one entry per rule in the summary, one per finding in full.

use std::collections::{HashMap, HashSet};

use iostrata_core::bytes;
use iostrata_core::noun;
use iostrata_core::trace::{Basis, Cited, Confidence, Finding, Severity};

use super::View;
use super::names::shortened;
use crate::format::{counted, time};
use crate::view::page::{Page, SEPARATOR, Tone};
use crate::view::section::SectionId;
use crate::words::{self, Words};
use iostrata_core::gap::Missing;

/// Text column of a finding: after the longest severity.
const COLUMN: usize = 10;

/// The findings of one rule at one severity, in the summary's order.
struct Group<'a> {
    first: &'a Finding,
    others: usize,
}

pub(super) fn worst(page: &mut Page, view: &View<'_>, most: usize) {
    let groups = grouped(&view.result.findings);
    page.blank();
    if groups.is_empty() {
        let text = match not_given(view) {
            Some(why) => format!("findings: none, {why}"),
            None => "findings: none".to_owned(),
        };
        page.paragraph(0, &text);
        return;
    }
    page.styled(0, "findings", Tone::Strong);
    let first = groups.iter().take(most).map(|group| group.first);
    let names = Names::of(page, view, first);
    let mut given = HashSet::new();
    let mut proven = HashSet::new();
    for group in groups.iter().take(most) {
        let finding = group.first;
        head(page, finding, &names, group.others);
        page.more(COLUMN, &sentence(finding));
        let advice = if given.insert(&finding.advice) {
            &finding.advice
        } else {
            "as above"
        };
        page.more(COLUMN, &format!("→ {advice}"));
        let command = finding.crash_command.as_deref();
        if let Some(command) = command.filter(|command| proven.insert(*command)) {
            proof(page, command);
        }
    }
    let shown = groups.iter().take(most);
    let shown: usize = shown.map(|group| 1 + group.others).sum();
    let hidden = view.result.findings.len() - shown;
    if hidden > 0 {
        let hidden = counted(hidden, "more finding");
        let text = format!("and {hidden}; --findings shows all, with evidence");
        page.paragraph(2, &text);
    }
}

pub(super) fn all(page: &mut Page, view: &View<'_>) {
    let count = match not_given(view) {
        Some(why) => format!("none, {why}"),
        None => bytes::grouped(view.result.findings.len() as u64),
    };
    page.heading(SectionId::Findings, &format!("all findings: {count}"));
    let names = Names::of(page, view, view.result.findings.iter());
    for finding in &view.result.findings {
        page.blank();
        head(page, finding, &names, 0);
        page.more(COLUMN, &sentence(finding));
        page.more(COLUMN, &format!("→ {}", finding.advice));
        match (&finding.crash_command, &finding.no_crash_command_because) {
            (Some(command), _) => proof(page, command),
            (None, Some(why)) => page.more(COLUMN, &format!("no crash command: {why}")),
            (None, None) => {}
        }
        for cited in &finding.evidence {
            page.bullet(COLUMN, &citation(view, cited));
        }
    }
    if !view.result.findings.is_empty() {
        page.blank();
        page.paragraph(0, "`iostrata explain RULE` prints the page of a rule");
    }
}

/// The command that shows what a crash leaves.
fn proof(page: &mut Page, command: &str) {
    page.more(COLUMN, "to see it, restore the files and run:");
    page.command(command);
}

/// Why the rules did not judge the run, if so.
fn not_given(view: &View<'_>) -> Option<Words> {
    let mut missing = view.result.missing.iter();
    let gap = missing.find(|gap| gap.what == Missing::Findings);
    gap.map(|gap| words::reason(&gap.why))
}

fn grouped(findings: &[Finding]) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for finding in findings {
        let alike = |group: &&mut Group<'_>| {
            (&group.first.rule, group.first.severity) == (&finding.rule, finding.severity)
        };
        match groups.iter_mut().find(alike) {
            Some(group) => group.others += 1,
            None => groups.push(Group {
                first: finding,
                others: 0,
            }),
        }
    }
    groups
}

/// Labels for the files of findings: different files have different labels.
struct Names<'a>(HashMap<&'a str, String>);

impl<'a> Names<'a> {
    fn of(page: &Page, view: &View<'a>, findings: impl Iterator<Item = &'a Finding>) -> Self {
        let mut known = HashSet::new();
        let paths = findings.filter_map(|finding| finding.file.as_deref());
        let paths: Vec<&str> = paths.filter(|path| known.insert(*path)).collect();
        let shown: Vec<&str> = paths.iter().map(|path| view.path(path)).collect();
        // The rest of the line for the rule's name and the other labels.
        let names = shortened(&shown, &vec![page.width() / 2; shown.len()]);
        Self(paths.into_iter().zip(names).collect())
    }
}

fn head(page: &mut Page, finding: &Finding, names: &Names<'_>, others: usize) {
    let (severity, style) = severity(finding.severity);
    let mut words = vec![finding.rule.clone()];
    if finding.confidence == Confidence::Likely {
        words.push("likely".to_owned());
    }
    let name = finding.file.as_deref().and_then(|file| names.0.get(file));
    words.extend(name.cloned());
    if others > 0 {
        let more = match &finding.file {
            Some(_) => format!("and {}", counted(others, "more file")),
            None => format!("and {} more", bytes::grouped(others as u64)),
        };
        words.push(more);
    }
    let text = words.join(SEPARATOR);
    page.entry(format!("  {severity}"), style, COLUMN, &text);
}

/// The word for a severity and its emphasis.
pub(crate) fn severity(severity: Severity) -> (&'static str, Tone) {
    match severity {
        Severity::High => ("high", Tone::Bad),
        Severity::Medium => ("medium", Tone::Warning),
        Severity::Low => ("low", Tone::Plain),
        Severity::Info => ("info", Tone::Quiet),
    }
}

/// The title, the cost, the saving and its source.
fn sentence(finding: &Finding) -> String {
    let mut words = vec![finding.title.clone()];
    words.extend(finding.cost_s.map(|cost| match finding.cost_threads {
        Some(threads) => {
            let threads = noun::counted(threads, "thread");
            format!("cost {} over {threads}", time(cost))
        }
        None => format!("cost {}", time(cost)),
    }));
    words.extend(finding.saving_s.map(|saving| {
        let (bound, basis) = match finding.saving_basis {
            Some(Basis::Measured) => ("about ", ", measured here"),
            Some(Basis::Computed) => ("at most ", ", computed"),
            None => ("", ""),
        };
        format!("would save {bound}{}{basis}", time(saving))
    }));
    let alone = finding.cost_s.zip(finding.alone_s);
    if alone.is_some_and(|(cost, alone)| alone < cost / 2.0) {
        words.push("other threads went on meanwhile".to_owned());
    }
    words.join(SEPARATOR)
}

fn citation(view: &View<'_>, cited: &Cited) -> String {
    let mut words = vec![cited.what.clone()];
    let call = cited.call.as_ref();
    words.extend(call.map(|call| match cited.count {
        Some(count) => format!("{call} × {}", bytes::grouped(count)),
        None => call.clone(),
    }));
    let path = cited.path.as_ref();
    words.extend(path.map(|path| view.path(path).to_owned()));
    words.extend(cited.at_s.map(|at| format!("at {}", time(at))));
    words.join(SEPARATOR)
}
