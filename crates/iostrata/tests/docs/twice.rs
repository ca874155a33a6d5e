//! No paragraph or item stands twice in a page, not in slightly different words either, as a careless
//! merge leaves them.

use std::collections::BTreeSet;

use crate::page::{Page, all};

/// Two paragraphs are one when they share this part of all their words. Different paragraphs of these
/// pages share at most 0.37, a paragraph and its rewording at least 0.48.
const SAME: f64 = 0.42;

/// A paragraph with fewer words is too short to judge.
const LEAST_WORDS: usize = 12;

/// The different words of four letters or more that a paragraph or item has.
struct Paragraph {
    line: usize,
    words: BTreeSet<String>,
}

impl Paragraph {
    fn resembles(&self, other: &Self) -> bool {
        let [shared, all] = [
            self.words.intersection(&other.words).count(),
            self.words.union(&other.words).count(),
        ];
        #[expect(clippy::cast_precision_loss, reason = "counts of words in a paragraph")]
        let share = shared as f64 / all as f64;
        share > SAME
    }
}

/// Without code and tables, whose rows resemble each other.
fn paragraphs(page: &Page) -> Vec<Paragraph> {
    let mut found: Vec<Paragraph> = Vec::new();
    let mut is_open = false;
    for (line, text) in page.lines.iter().enumerate() {
        let is_code = page.blocks.iter().any(|block| block.lines.contains(&line));
        let text = text.trim_start();
        if is_code || text.is_empty() || text.starts_with(['#', '|']) {
            is_open = false;
            continue;
        }
        if !is_open || text.starts_with("- ") {
            let words = BTreeSet::new();
            found.push(Paragraph { line, words });
            is_open = true;
        }
        let words = text.split(|it: char| !it.is_alphanumeric() && it != '_');
        let words = words.filter(|word| word.len() > 3).map(str::to_lowercase);
        if let Some(last) = found.last_mut() {
            last.words.extend(words);
        }
    }
    found.retain(|it| it.words.len() >= LEAST_WORDS);
    found
}

fn twice(page: &Page) -> Vec<String> {
    let paragraphs = paragraphs(page);
    let mut found = Vec::new();
    for (at, first) in paragraphs.iter().enumerate() {
        for second in &paragraphs[at + 1..] {
            if first.resembles(second) {
                found.push(format!(
                    "{} and {}",
                    page.at(first.line),
                    page.at(second.line)
                ));
            }
        }
    }
    found
}

#[test]
fn no_paragraph_stands_twice() {
    let pages: Vec<Page> = all().iter().map(|path| Page::read(path)).collect();
    let paragraphs: usize = pages.iter().map(|page| paragraphs(page).len()).sum();
    assert!(paragraphs > 700, "{paragraphs} were read");
    let found: Vec<String> = pages.iter().flat_map(twice).collect();
    assert!(found.is_empty(), "say it once:\n{}", found.join("\n"));
}

#[test]
fn a_reworded_paragraph_is_found() {
    let old = "- **A selection is applied before anything is drawn**: filtered, drawn together by path, \
               directory or extension, sorted; views take the rows that come out of it. The sentence, \
               the strata and the findings are always of the whole run.";
    let new = "- **A selection is applied before anything is drawn**: rows are filtered, grouped by \
               path, directory or extension, and sorted; views take the resulting rows. The sentence, \
               the strata and the findings always cover the whole run.";
    let other = "- **A saving is bounded in one place**, by the wall time, and by the longest chain of \
                 consecutive threads that the program had, whatever the findings promise.";
    let page = |text: &str| Page::parse("p.md".as_ref(), text);
    let merged = page(&format!("# Title\n\n{old}\n{other}\n{new}\n"));
    assert_eq!(twice(&merged), ["p.md:3 and p.md:5"]);
    assert!(twice(&page(&format!("{old}\n\n{other}\n"))).is_empty());
}
