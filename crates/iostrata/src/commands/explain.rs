//! `iostrata explain`: the page of an experiment, a rule or a kind of crash finding, or the glossary's entry
//! for a term, from docs/.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Command, ValueEnum as _};
use iostrata_core::crash::FaultKind;
use iostrata_core::rules;
use iostrata_core::suggest::nearest;
use iostrata_report::terminal;

use super::glossary;
use crate::cli::{ExperimentName, Explain};
use crate::error::Failure;

use crate::ui::{self, Canvas};

/// Name and text of pages of rules.
macro_rules! pages {
    ($($id:literal),* $(,)?) => {
        &[$(($id, include_str!(concat!("../../docs/rules/", $id, ".md")))),*]
    };
}

/// The kinds of findings of `crash`, whose pages are in docs/rules too.
const KINDS: &[(&str, &str)] = pages!["lost-after-ack", "ordering", "atomicity", "prefix"];

const RULES: &[(&str, &str)] = pages! {
    "acknowledged-not-synced", "cache-thrash", "close-without-sync", "cold-start", "copy-loop",
    "direct-io-small", "directory-not-synced", "directory-reread", "end-of-file-polling",
    "failed-lookups", "fdatasync-suffices", "fsync-of-nothing", "fsync-per-record",
    "ignored-fsync-error", "journal-amplification", "lost-events", "many-tiny-files",
    "mapped-file-faults", "mapped-not-synced", "medium-transfers", "open-close-churn",
    "overwritten-in-place", "preallocate-log", "prefetch-wasted", "queue-depth-one", "re-read",
    "read-before-write", "rename-without-fsync", "rewritten-range", "seek-per-transfer",
    "small-pipe-transfers", "small-reads", "small-synchronous-writes", "small-writes",
    "sync-everything", "sync-range-is-not-durable", "temp-file-churn", "truncate-then-write",
    "unlink-before-durable", "unpaid-at-exit", "uring-single-operations", "waits-for-lock",
    "write-amplification",
};

/// All names: experiments first, then rules, then kinds of crash findings, then terms.
fn ids() -> impl Iterator<Item = &'static str> {
    let pages: Vec<&str> = pages().map(|(id, _)| id).collect();
    let terms = glossary::ids();
    let terms: Vec<&str> = terms.into_iter().filter(|id| !pages.contains(id)).collect();
    pages.into_iter().chain(terms)
}

/// Name and text of every page.
fn pages() -> impl Iterator<Item = (&'static str, &'static str)> {
    let experiments = ExperimentName::value_variants().iter();
    let experiments = experiments.map(|name| (name.as_str(), name.page()));
    experiments.chain(RULES.iter().chain(KINDS).copied())
}

/// Columns without a terminal: as wide as a manual page.
const PIPED: usize = 80;

pub(crate) fn run(options: &Explain) -> Result<(), Failure> {
    let text = match &options.id {
        Some(id) => explanation(&id.to_lowercase())?,
        None => list(),
    };
    let (width, colour) = (Canvas::Output.width_or(PIPED), Canvas::Output.colour());
    ui::page(&terminal::document(&text, width, colour))
}

/// Accepts any name, so that [`run`] can suggest what was probably meant, and
/// tells shells the possible names.
#[derive(Debug, Clone)]
pub(crate) struct Ids;

impl TypedValueParser for Ids {
    type Value = String;

    fn parse_ref(
        &self,
        command: &Command,
        argument: Option<&Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(ids().map(PossibleValue::new)))
    }
}

/// The page of that name, and its entry in the glossary.
fn explanation(id: &str) -> Result<String, Failure> {
    let page = pages().find(|(known, _)| *known == id);
    let page = page.map(|(_, page)| page.to_owned());
    let parts: Vec<String> = page.into_iter().chain(glossary::explained(id)).collect();
    if parts.is_empty() {
        let remedy = nearest(id, ids()).map_or_else(
            || "`iostrata explain` lists them".to_owned(),
            |known| format!("did you mean {known}?"),
        );
        return Err(Failure::Usage(format!("no page named {id}; {remedy}")));
    }
    Ok(parts.join("\n"))
}

/// Every name with its subject, as a page.
fn list() -> String {
    let row = |id: &str, about: &str| format!("| {id} | {about} |\n");
    let mut text = row("experiment", "asks") + "|---|---|\n";
    for name in ExperimentName::value_variants() {
        let help = name.to_possible_value();
        let help = help.as_ref().and_then(|value| value.get_help());
        text += &row(
            name.as_str(),
            &help.map(ToString::to_string).unwrap_or_default(),
        );
    }
    text += "\n";
    text += &(row("rule", "looks for") + "|---|---|\n");
    for (id, _) in RULES {
        let rule = rules::ALL.iter().find(|rule| rule.id == *id);
        text += &row(id, rule.map_or("", |rule| rule.looks_for));
    }
    text += "\n";
    text += &(row("crash finding", "a crash leaves") + "|---|---|\n");
    for kind in FaultKind::ALL {
        text += &row(kind.as_str(), kind.leaves());
    }
    text + "\n**terms**\n\n" + &glossary::ids().join(", ") + "\n"
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    #[test]
    fn every_page_in_the_directory_can_be_explained_and_every_rule_has_one() {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/rules");
        let files = std::fs::read_dir(directory).into_iter().flatten();
        let files: BTreeSet<String> = files
            .map(|file| file.unwrap().path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
            .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
            .collect();
        let names = |pages: &[(&str, &str)]| -> BTreeSet<String> {
            pages.iter().map(|(id, _)| (*id).to_owned()).collect()
        };
        let (of_rules, of_kinds) = (names(RULES), names(KINDS));
        let pages: BTreeSet<String> = of_rules.union(&of_kinds).cloned().collect();
        assert_eq!(pages, files, "the lists in {}", file!());
        let rules: BTreeSet<String> = rules::ALL.iter().map(|rule| rule.id.to_owned()).collect();
        assert_eq!(of_rules, rules);
        let kinds = FaultKind::ALL.iter().map(|kind| kind.as_str().to_owned());
        assert_eq!(of_kinds, kinds.collect());
    }

    /// Markdown without its marks and the targets of its links.
    fn unmarked(markdown: &str) -> String {
        let mut parts = markdown.split("](");
        let first = parts.next().unwrap_or_default().to_owned();
        let text = parts.fold(first, |text, part| {
            let (link, rest) = part.split_once(')').unwrap_or(("", part));
            let link = if link.contains("://") {
                format!(" ({link})")
            } else {
                String::new()
            };
            text + &link + rest
        });
        let text = text.replace(['*', '`', '[', ']'], "");
        text.replace(['|', '#', '<', '>', '\\'], " ")
    }

    #[test]
    fn no_word_of_any_page_is_cut_at_any_width() {
        let explained = glossary::ids().into_iter().filter_map(glossary::explained);
        let explained = explained.map(|text| ("glossary", &*text.leak()));
        let list: &str = list().leak();
        let all: Vec<(&str, &str)> = pages().chain([("list", list)]).chain(explained).collect();
        for (id, page) in all {
            let known = unmarked(page);
            let known: BTreeSet<&str> = known.split_whitespace().collect();
            for width in [60, 80, 100, 160] {
                let text = terminal::document(page, width, false);
                for line in text.lines() {
                    assert!(line.chars().count() <= width, "{id} at {width}: {line}");
                    assert!(!line.contains("**") && !line.contains('`'), "{id}: {line}");
                    assert!(!line.contains("]("), "{id}: {line}");
                }
                let text = unmarked(&text);
                for word in text.split_whitespace() {
                    let head = word.strip_suffix(':').unwrap_or(word);
                    let is_known = known.contains(word) || known.contains(head);
                    assert!(is_known, "{id} at {width}: {word}");
                }
            }
        }
    }
}
