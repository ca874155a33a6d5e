//! The terms of docs/glossary.md: one heading each, followed by the output's names for it.

use std::sync::LazyLock;

const GLOSSARY: &str = include_str!("../../docs/glossary.md");

/// Prefix of the line with the names that tables and sentences use for a term.
const IN_OUTPUT: &str = "In output: ";

struct Entry {
    /// The heading as written; also its anchor in the page.
    id: String,
    heading: &'static str,
    /// Its other names in the output, in lower case.
    aliases: Vec<String>,
    text: &'static str,
}

static ENTRIES: LazyLock<Vec<Entry>> = LazyLock::new(|| {
    let sections = GLOSSARY.split("\n### ").skip(1);
    let entries = sections.filter_map(|section| {
        let (heading, rest) = section.split_once('\n')?;
        // The last entry before the next part of the page ends with that part's heading.
        let text = rest.split("\n## ").next().unwrap_or(rest).trim();
        Some(Entry {
            id: id(heading),
            heading,
            aliases: aliases(text),
            text,
        })
    });
    entries.collect()
});

/// Lower case and hyphens for spaces, as in anchors of headings.
fn id(heading: &str) -> String {
    heading.to_lowercase().replace(' ', "-")
}

/// Between backticks in the first line, if that lists names.
fn aliases(text: &str) -> Vec<String> {
    let line = text.lines().next().unwrap_or_default();
    let names = line.strip_prefix(IN_OUTPUT).unwrap_or_default();
    let names = names.split('`').skip(1).step_by(2);
    names.map(str::to_lowercase).collect()
}

/// The names of all terms, each once, in alphabetical order.
pub(super) fn ids() -> Vec<&'static str> {
    let mut ids: Vec<&str> = ENTRIES.iter().map(|entry| entry.id.as_str()).collect();
    ids.sort_unstable();
    ids
}

/// The entry for a term or for one of its names; `None` if there is none.
pub(super) fn explained(term: &str) -> Option<String> {
    let of_that_name = ENTRIES.iter().find(|entry| entry.id == term);
    let called_so = |entry: &&Entry| entry.aliases.iter().any(|alias| alias == term);
    let found: Vec<&Entry> = match of_that_name {
        Some(entry) => vec![entry],
        None => ENTRIES.iter().filter(called_so).collect(),
    };
    let texts = found.iter();
    let texts: Vec<String> = texts
        .map(|entry| format!("# {}\n\n{}\n", entry.heading, entry.text))
        .collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_term_is_explained_by_its_entry() {
        let fua = "# FUA\n\nForced unit access: a mark on one write that it is complete only on \
                   the medium.\n";
        assert_eq!(explained("fua").unwrap(), fua);
        let sample = explained("sample").unwrap();
        assert!(sample.contains("What one timed run took"), "{sample}");
        assert!(sample.contains("one stack that was taken"), "{sample}");
        // The last of its part of the page.
        assert!(explained("device").unwrap().ends_with("through flushes.\n"));
        assert_eq!(explained("FUA"), None);
        assert_eq!(explained(""), None);
    }

    #[test]
    fn what_the_output_calls_it_is_explained_too() {
        assert_eq!(explained("flushes"), explained("device-flush"));
        assert_eq!(explained("p99"), explained("p50"));
        // A heading of its own comes before another entry's name for something.
        let flush = explained("flush").unwrap();
        assert!(flush.starts_with("# Flush\n"), "{flush}");
    }

    #[test]
    fn every_heading_has_an_id_of_its_own() {
        assert!(ENTRIES.len() > 100);
        let ids = ids();
        assert!(ids.windows(2).all(|pair| pair[0] != pair[1]));
        assert!(ids.iter().all(|id| !id.contains(char::is_whitespace)));
    }
}
