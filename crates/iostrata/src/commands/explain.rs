//! `iostrata explain`: the page of an experiment or a rule, as it stands in docs/.

use std::fmt::Write as _;

use clap::ValueEnum as _;
use iostrata_core::rules;

use crate::cli::{ExperimentName, Explain};
use crate::error::Failure;
use crate::ui;

/// Name and text of pages of rules.
macro_rules! pages {
    ($($id:literal),* $(,)?) => {
        &[$(($id, include_str!(concat!("../../../../docs/rules/", $id, ".md")))),*]
    };
}

/// Every page in docs/rules.
const RULES: &[(&str, &str)] = pages![
    "cache-thrash",
    "close-without-sync",
    "cold-start",
    "copy-loop",
    "direct-io-small",
    "directory-not-synced",
    "directory-reread",
    "end-of-file-polling",
    "failed-lookups",
    "fdatasync-suffices",
    "fsync-of-nothing",
    "fsync-per-record",
    "ignored-fsync-error",
    "journal-amplification",
    "lost-events",
    "many-tiny-files",
    "mapped-file-faults",
    "mapped-not-synced",
    "medium-transfers",
    "open-close-churn",
    "preallocate-log",
    "prefetch-wasted",
    "queue-depth-one",
    "re-read",
    "read-before-write",
    "rename-without-fsync",
    "rewritten-range",
    "seek-per-transfer",
    "small-pipe-transfers",
    "small-reads",
    "small-synchronous-writes",
    "small-writes",
    "sync-everything",
    "sync-range-is-not-durable",
    "temp-file-churn",
    "truncate-then-write",
    "unlink-before-durable",
    "unpaid-at-exit",
    "uring-single-operations",
    "waits-for-lock",
    "write-amplification",
];

/// What can be explained: experiments first, then rules.
pub(crate) fn ids() -> impl Iterator<Item = &'static str> {
    let experiments = ExperimentName::value_variants().iter();
    let experiments = experiments.map(|name| name.as_str());
    experiments.chain(RULES.iter().map(|(id, _)| *id))
}

/// Prints the page, or the list of them.
pub(crate) fn run(options: &Explain) -> Result<(), Failure> {
    match &options.id {
        Some(id) => ui::print(page(id)?),
        None => ui::print(&list()),
    }
}

fn page(id: &str) -> Result<&'static str, Failure> {
    let experiments = ExperimentName::value_variants().iter();
    let experiments = experiments.map(|name| (name.as_str(), name.page()));
    let mut pages = experiments.chain(RULES.iter().copied());
    let found = pages.find(|(known, _)| *known == id);
    found.map(|(_, page)| page).ok_or_else(|| {
        Failure::Usage(format!(
            "there is no page {id}; `iostrata explain` lists them"
        ))
    })
}

fn list() -> String {
    let mut text = "experiments\n".to_owned();
    for name in ExperimentName::value_variants() {
        let help = name.to_possible_value();
        let help = help.as_ref().and_then(|value| value.get_help());
        let question = help.map(ToString::to_string).unwrap_or_default();
        line(&mut text, name.as_str(), &question);
    }
    if !RULES.is_empty() {
        text.push_str("\nrules\n");
    }
    for (id, _) in RULES {
        let rule = rules::ALL.iter().find(|rule| rule.id == *id);
        line(&mut text, id, rule.map_or("", |rule| rule.looks_for));
    }
    text
}

fn line(text: &mut String, id: &str, about: &str) {
    let width = ids().map(str::len).max().unwrap_or(0);
    let line = format!("  {id:width$}  {about}");
    // Writing to a String cannot fail.
    _ = writeln!(text, "{}", line.trim_end());
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
        let pages: BTreeSet<String> = RULES.iter().map(|(id, _)| (*id).to_owned()).collect();
        assert_eq!(pages, files, "the list in {}", file!());
        let rules: BTreeSet<String> = rules::ALL.iter().map(|rule| rule.id.to_owned()).collect();
        assert_eq!(pages, rules);
    }
}
