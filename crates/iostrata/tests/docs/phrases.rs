//! The texts of iostrata are plain English: pages, helps, messages and outputs.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use regex::Regex;

use crate::literals::literals;
use crate::page::{all, root};

/// A phrase to avoid and the better wording, one pair a line.
const PHRASES: &str = include_str!("phrases.txt");

/// Crates whose string literals users can read.
const CRATES: [&str; 5] = ["core", "iostrata", "lab", "report", "tracer"];

/// What is counted in outputs, in the plural.
const NOUNS: &str = "bytes|calls|cases|copies|CPUs|directories|entries|errors|events|experiments|\
                     faults|files|findings|flushes|intervals|lines|lookups|machines|names|nodes|\
                     opens|operations|pages|pairs|paths|processes|programs|queries|reads|records|\
                     requests|rounds|rows|runs|samples|seconds|sectors|stops|syncs|threads|times|\
                     writers|writes";

/// A text and where it is from.
struct Text {
    from: String,
    words: String,
}

/// All white space is one space, so that line breaks do not matter.
fn text(from: impl Into<String>, words: &str) -> Text {
    Text {
        from: from.into(),
        words: words.split_whitespace().collect::<Vec<_>>().join(" "),
    }
}

/// The files below a directory of this repository with this ending.
fn files(directory: &str, ending: &str) -> Vec<PathBuf> {
    let mut left = vec![root().join(directory)];
    let mut found = Vec::new();
    while let Some(directory) = left.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                left.push(path);
            } else if path.to_string_lossy().ends_with(ending) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn name(path: &Path) -> String {
    let below = path.strip_prefix(root()).unwrap();
    below.to_string_lossy().into_owned()
}

fn read(path: &Path) -> Text {
    text(name(path), &std::fs::read_to_string(path).unwrap())
}

/// With its line breaks: what stands in different columns or lines is not one text.
fn lines(path: &Path) -> Text {
    Text {
        from: name(path),
        words: std::fs::read_to_string(path).unwrap(),
    }
}

fn pages() -> Vec<Text> {
    all().iter().map(|page| read(&root().join(page))).collect()
}

fn snapshots() -> Vec<Text> {
    let snapshots = files("crates", ".snap");
    snapshots.iter().map(|path| read(path)).collect()
}

fn messages() -> Vec<Text> {
    let kinds = [".rs", ".json"];
    let sources = CRATES.map(|name| kinds.map(|kind| files(&format!("crates/{name}/src"), kind)));
    let mut messages = Vec::new();
    for source in sources.iter().flatten().flatten() {
        let code = std::fs::read_to_string(source).unwrap();
        for (line, literal) in literals(&code) {
            messages.push(text(format!("{}:{line}", name(source)), &literal));
        }
    }
    for table in ["gaps.txt", "metrics.txt"] {
        let table = root().join("crates/report/src/words").join(table);
        let words = std::fs::read_to_string(&table).unwrap();
        for (line, words) in words.lines().enumerate() {
            messages.push(text(format!("{}:{}", name(&table), line + 1), words));
        }
    }
    messages
}

/// The comments of a source, those in adjacent lines as one text.
fn comments_of(path: &Path) -> Vec<Text> {
    let code = String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned();
    let blocks = match path.extension().and_then(std::ffi::OsStr::to_str) {
        Some("rs") => r"(?m)(?:^\s*//.*\n)+",
        Some("c" | "h") => r"(?s)/\*.*?\*/",
        _ => r"(?m)(?:^\s*#.*\n)+",
    };
    let marks = Regex::new(r"(?m)^\s*(?://[/!]?|/\*|\*|#!?)").unwrap();
    let blocks = Regex::new(blocks).unwrap();
    blocks
        .find_iter(&code)
        .map(|block| {
            let line = code[..block.start()].lines().count() + 1;
            let words = marks.replace_all(block.as_str(), " ");
            text(format!("{}:{line}", name(path)), &words)
        })
        .collect()
}

/// Commit subjects since they have been held to this.
fn subjects() -> Vec<String> {
    let mut git = Command::new("git");
    git.args(["log", "--no-merges", "--format=%s", "a1a9b2858c92..HEAD"]);
    let output = git.current_dir(root()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let subjects = String::from_utf8(output.stdout).unwrap();
    subjects.lines().map(str::to_owned).collect()
}

fn help(arguments: &[String]) -> String {
    let mut iostrata = Command::new(env!("CARGO_BIN_EXE_iostrata"));
    let output = iostrata.args(arguments).arg("--help").output().unwrap();
    assert!(output.status.success(), "{arguments:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The helps of all commands and of theirs.
fn helps() -> Vec<Text> {
    let mut left = vec![Vec::new()];
    let mut helps = Vec::new();
    while let Some(arguments) = left.pop() {
        let says = help(&arguments);
        let commands = says.lines().skip_while(|line| *line != "Commands:");
        for line in commands.skip(1).take_while(|line| !line.is_empty()) {
            let command = line.strip_prefix("  ").and_then(|it| it.split(' ').next());
            let command = command.filter(|it| !it.is_empty() && *it != "help");
            left.extend(command.map(|it| {
                let mut longer: Vec<String> = arguments.clone();
                longer.push(it.to_owned());
                longer
            }));
        }
        helps.push(text(
            format!("iostrata {} --help", arguments.join(" ")),
            &says,
        ));
    }
    helps
}

/// Each phrase as whole words, with the better wording.
static AVOIDED: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let lines = PHRASES.lines().filter(|line| !line.starts_with('#'));
    let pair = |line: &'static str| {
        let (phrase, better) = line.split_once(" | ").unwrap();
        let whole = format!(r"(?i)\b{}\b", regex::escape(phrase));
        (Regex::new(&whole).unwrap(), better)
    };
    lines.map(pair).collect()
});

/// With the word before it, which may show that the number is a name: `row 1`.
static WRONG_PLURAL: LazyLock<Regex> = LazyLock::new(|| {
    let before = r"(?:^|([^\s/×=#–−-]*[^\s\d/×=#–−-]) |[({])";
    Regex::new(&format!(r"(?m){before}1 (?:[a-z_]+ )?(?:{NOUNS})\b")).unwrap()
});

/// Words before a number that is no count.
const NUMBERED: [&str; 10] = [
    "row", "rows", "code", "exit", "signal", "process", "second", "case", "with", "Linux",
];

fn around(words: &str, found: std::ops::Range<usize>) -> &str {
    let begin = words[..found.start].char_indices().rev().nth(30);
    let end = words[found.end..].char_indices().nth(30);
    let begin = begin.map_or(0, |(at, _)| at);
    &words[begin..end.map_or(words.len(), |(at, _)| found.end + at)]
}

fn avoided(texts: &[Text]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for Text { from, words } in texts {
        for (phrase, better) in AVOIDED.iter() {
            for hit in phrase.find_iter(words) {
                let context = around(words, hit.range());
                found.insert(format!("{from}: ...{context}... Better: {better}."));
            }
        }
    }
    found
}

fn wrong_plurals(texts: &[Text]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for Text { from, words } in texts {
        for hit in WRONG_PLURAL.captures_iter(words) {
            let before = hit.get(1).map_or("", |it| it.as_str());
            if !NUMBERED.contains(&before) {
                let context = around(words, hit.get(0).unwrap().range());
                found.insert(format!("{from}: ...{context}..."));
            }
        }
    }
    found
}

#[track_caller]
fn none(found: &BTreeSet<String>) {
    let found: Vec<&str> = found.iter().map(String::as_str).collect();
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

#[test]
fn pages_are_plain() {
    none(&avoided(&pages()));
}

#[test]
fn helps_are_plain() {
    let helps = helps();
    assert!(helps.len() >= 15, "of commands and of theirs");
    none(&avoided(&helps));
}

#[test]
fn messages_are_plain() {
    let messages = messages();
    assert!(messages.len() > 5_000, "{}", messages.len());
    none(&avoided(&messages));
}

#[test]
fn comments_are_plain() {
    let mut sources = files("crates", ".rs");
    for (folder, ending) in [
        ("bpf", ".h"),
        ("bpf", ".c"),
        ("workloads", ".h"),
        ("workloads", ".c"),
        ("scripts", ""),
    ] {
        sources.extend(files(folder, ending));
    }
    let comments: Vec<Text> = sources.iter().flat_map(|path| comments_of(path)).collect();
    assert!(comments.len() > 5_000, "{}", comments.len());
    none(&avoided(&comments));
}

/// `area: verb ...`: what the commit does, as in "if applied, it will ...".
#[test]
fn commit_subjects_are_imperative_and_plain() {
    // A verb that ends with an s ends with another letter too (`pass`, `focus`); a noun in the plural does not.
    let imperative = r"^[a-z][a-z0-9_, -]*: (?:[a-z-]*[^s ]|[a-z-]*(?:ss|us|is))(?: |$)";
    let imperative = Regex::new(imperative).unwrap();
    let other =
        r": (?:an?|the|its?|what|who|where|when|how|each|every|no|none|nothing|one|two|all|some) ";
    let other = Regex::new(other).unwrap();
    let is_imperative = |subject: &str| imperative.is_match(subject) && !other.is_match(subject);
    assert!(is_imperative("crash: explore every point before sampling"));
    assert!(!is_imperative(
        "crash: what may hold anything is in no combination"
    ));
    assert!(!is_imperative("crash: findings have files of their own"));
    assert!(!is_imperative("Explore every point"));
    let subjects = subjects();
    let bad: Vec<&String> = subjects
        .iter()
        .filter(|subject| !is_imperative(subject))
        .collect();
    assert!(bad.is_empty(), "not imperative: {bad:#?}");
    let texts: Vec<Text> = subjects
        .iter()
        .map(|subject| text("commit", subject))
        .collect();
    none(&avoided(&texts));
}

#[test]
fn outputs_are_plain() {
    none(&avoided(&snapshots()));
}

#[test]
fn one_is_singular() {
    let mut outputs = files("crates", ".snap");
    outputs.extend(all().iter().map(|page| root().join(page)));
    let texts: Vec<Text> = outputs.iter().map(|path| lines(path)).collect();
    none(&wrong_plurals(&texts));
}

/// Plurals come from `iostrata_core::noun`, so that none is forgotten.
#[test]
fn plurals_are_made_in_one_place() {
    let by_hand = Regex::new(r#"== 1 \{\s*""\s*\} else \{\s*"(?:s|es)""#).unwrap();
    let sources = CRATES.map(|name| files(&format!("crates/{name}/src"), ".rs"));
    for source in sources.iter().flatten() {
        let code = std::fs::read_to_string(source).unwrap();
        let at = by_hand.find(&code).map(|it| it.start());
        assert_eq!(at, None, "{}: use iostrata_core::noun", name(source));
    }
}

#[test]
fn what_is_avoided_is_found_with_the_better_wording() {
    let said = |words| avoided(&[text("here", words)]).into_iter().next();
    assert_eq!(
        said("then the\n  Program goes on alone").as_deref(),
        Some("here: ...then the Program goes on alone... Better: program keeps running.")
    );
    assert_eq!(said("the program keeps running"), None);
    for wrong in ["1 files", "(1 fsync calls", "in 1 runs", "lost 1 events"] {
        assert_eq!(wrong_plurals(&[text("here", wrong)]).len(), 1, "{wrong}");
    }
    for right in [
        "1 file",
        "11 files",
        "row 1 reads",
        "2.1 runs",
        "0-1 rows",
        "1 of 3 runs",
    ] {
        assert_eq!(wrong_plurals(&[text("here", right)]).len(), 0, "{right}");
    }
}
