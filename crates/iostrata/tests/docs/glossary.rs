//! Every word at the head of a table has an entry in the glossary.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use regex::Regex;

use crate::links::anchor;
use crate::page::{Page, root};

/// Heads that mean what the words mean in any text.
const PLAIN: &[&str] = &[
    "",
    "  count",
    "%",
    "10 × 1 KiB, close",
    "3 writes, flush",
    "Command",
    "IOPS",
    "MiB",
    "MiB/s",
    "Wall time [ms]",
    "after",
    "before",
    "being written",
    "by",
    "bytes",
    "bytes/s",
    "calls, and the milliseconds spent in them",
    "check: this device",
    "cost",
    "count",
    "device",
    "end",
    "error",
    "errors",
    "errors/s",
    "failed lookups",
    "file",
    "files",
    "from s",
    "from to",
    "in all",
    "in calls %",
    "longer than",
    "mean ms",
    "measured/s",
    "method",
    "mount",
    "moved on",
    "name",
    "of",
    "of which",
    "opens",
    "operation",
    "parent",
    "parser, size",
    "process",
    "ratio",
    "runtime",
    "size",
    "start",
    "state",
    "state, size",
    "stayed on",
    "thread",
    "time",
    "timed rows",
    "times",
    "times as long",
    "to s",
    "up to",
    "way",
    "what",
    "whole run",
    "writes",
    "writes by",
    "writes/s",
    "written",
];

/// Words of the output, apart from heads that stand in the source as they are.
const ALSO: &[&str] = &[
    "amplification",
    "blocked",
    "commit",
    "dirty",
    "events lost",
    "flushes",
    "journal",
    "metadata",
    "missed",
    "n/a",
    "neither",
    "not measured",
    "on CPU",
    "others",
    "prefetched",
    "resident",
    "syncs",
    "at exit",
    "besides",
    "wall",
    "would save",
];

/// Id and text of each entry, and the id that each word of the output leads to.
struct Glossary {
    entries: BTreeMap<String, String>,
    words: BTreeMap<String, String>,
}

fn glossary() -> Glossary {
    let page = Page::read(Path::new("docs/glossary.md"));
    let text = page.lines.join("\n");
    let mut glossary = Glossary {
        entries: BTreeMap::new(),
        words: BTreeMap::new(),
    };
    for section in text.split("\n### ").skip(1) {
        let (heading, body) = section.split_once('\n').unwrap();
        let body = body.split("\n## ").next().unwrap().trim();
        let id = anchor(heading);
        let twice = glossary.entries.insert(id.clone(), body.to_owned());
        assert_eq!(twice, None, "{heading} has two entries");
        glossary.words.insert(heading.to_lowercase(), id.clone());
        let also = body.lines().next().unwrap_or_default();
        let also = also.strip_prefix("In output: ").unwrap_or_default();
        for word in also.split('`').skip(1).step_by(2) {
            let word = word.to_owned();
            glossary.words.entry(word).or_insert_with(|| id.clone());
        }
    }
    glossary
}

/// Heads of tables as they stand in the source of the renderers.
fn heads() -> BTreeMap<String, PathBuf> {
    // A column that is made, also by its rows, a field that is shown, `.shown(Group::Times, "95 %", ...)`,
    // or one of several columns that are made alike.
    let made = r#"Column::\w+\(\s*"([^"]*)""#;
    let by_rows = r#"\.(?:label|text|number)\(\s*"([^"]*)",\s*(?:move )?\|"#;
    let shown = r#"\.(?:shown|shown_as|figure|cell|words|label)\(\s*Group::\w+,\s*"([^"]*)""#;
    let alike = r#"\b(?:medians|cpu|change|figures)\(\s*"([^"]*)""#;
    let head = Regex::new(&format!("{made}|{by_rows}|{shown}|{alike}")).unwrap();
    let mut heads = BTreeMap::new();
    let mut directories = vec![root().join("crates/report/src")];
    while let Some(directory) = directories.pop() {
        for entry in directory.read_dir().unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                let source = text.split("#[cfg(test)]").next().unwrap();
                for found in head.captures_iter(source) {
                    let found = (1..5).find_map(|group| found.get(group)).unwrap();
                    heads.insert(found.as_str().to_owned(), path.clone());
                }
            }
        }
    }
    heads
}

#[test]
fn words_of_the_output_have_an_entry() {
    let glossary = glossary();
    let heads = heads();
    assert!(heads.len() > 150, "only {} heads were found", heads.len());
    let plain: BTreeSet<&str> = PLAIN.iter().copied().collect();
    // `syncs/s` and `real µs` are known as such; of others the unit is left out.
    let has = |word: &str| {
        let stem = word
            .trim_end_matches(" µs")
            .trim_end_matches(" ms")
            .trim_end_matches(" s");
        [word, stem].iter().any(|word| {
            glossary.words.contains_key(&word.to_lowercase()) || glossary.words.contains_key(*word)
        })
    };
    let unknown = heads
        .iter()
        .filter(|(head, _)| !plain.contains(head.as_str()) && !has(head));
    let unknown: Vec<_> = unknown.collect();
    assert!(
        unknown.is_empty(),
        "no entry in docs/glossary.md: {unknown:#?}"
    );
    for word in ALSO {
        assert!(has(word), "no entry in docs/glossary.md: {word}");
    }
}

#[test]
fn an_entry_explains() {
    for (id, text) in glossary().entries {
        let words = text.split_whitespace().count();
        assert!(words >= 4, "{id}: {text:?}");
        assert!(text.ends_with('.'), "{id}: {text:?}");
    }
}
