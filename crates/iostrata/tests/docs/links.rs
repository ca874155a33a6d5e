//! Links between pages lead somewhere.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

use crate::page::{Page, all, root};

static LINK: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\]\(([^()\s]+)\)").unwrap());

static CODE: LazyLock<Regex> = LazyLock::new(|| Regex::new("`[^`]*`").unwrap());

/// The lines outside of blocks of code.
fn text(page: &Page) -> impl Iterator<Item = (usize, &String)> {
    let is_code = |at: &usize| page.blocks.iter().any(|block| block.lines.contains(at));
    let lines = page.lines.iter().enumerate();
    lines.filter(move |(at, _)| !is_code(at))
}

/// The anchors of a page's headings, made as GitHub does.
pub(crate) fn anchors(page: &Page) -> BTreeSet<String> {
    let headings = text(page).filter(|(_, line)| line.starts_with('#'));
    let headings = headings.map(|(_, line)| anchor(line.trim_start_matches('#').trim()));
    headings.collect()
}

/// A heading's anchor: lower case, without punctuation, hyphens for spaces.
pub(crate) fn anchor(heading: &str) -> String {
    let kept = heading.to_lowercase();
    let kept = kept
        .chars()
        .filter(|it| it.is_alphanumeric() || " -_".contains(*it));
    kept.collect::<String>().replace(' ', "-")
}

/// `docs/guide/../trace.md` is `docs/trace.md`.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        if part == Component::ParentDir {
            normal.pop();
        } else {
            normal.push(part);
        }
    }
    normal
}

#[test]
fn links_between_pages_resolve() {
    let mut dead = Vec::new();
    let mut found = 0;
    for path in all() {
        let page = Page::read(&path);
        for (at, line) in text(&page) {
            let line = CODE.replace_all(line, "");
            for link in LINK.captures_iter(&line) {
                let target = &link[1];
                if target.starts_with("https://") || target.starts_with("http://") {
                    continue;
                }
                found += 1;
                if !resolves(&path, target) {
                    dead.push(format!("{}: {target}", page.at(at)));
                }
            }
        }
    }
    assert!(dead.is_empty(), "dead links:\n{}", dead.join("\n"));
    assert!(found > 50, "only {found} links were found");
}

fn resolves(from: &Path, target: &str) -> bool {
    let (file, wanted) = target.split_once('#').unwrap_or((target, ""));
    let path = match file {
        "" => from.to_owned(),
        file => normal(&from.parent().unwrap_or(Path::new("")).join(file)),
    };
    if !root().join(&path).exists() {
        return false;
    }
    wanted.is_empty() || anchors(&Page::read(&path)).contains(wanted)
}

#[test]
fn dead_links_are_found() {
    let readme = Path::new("README.md");
    assert!(resolves(readme, "docs/glossary.md#device-flush"));
    assert!(resolves(
        Path::new("docs/guide/README.md"),
        "../../README.md"
    ));
    assert!(!resolves(readme, "docs/glossary.md#no-such-word"));
    assert!(!resolves(readme, "docs/none.md"));
}

#[test]
fn anchors_are_those_of_github() {
    assert_eq!(
        anchor("Is my database slow because of fsync?"),
        "is-my-database-slow-because-of-fsync"
    );
    assert_eq!(anchor("What-if"), "what-if");
    assert_eq!(anchor("`cache show`, cold & warm"), "cache-show-cold--warm");
}
