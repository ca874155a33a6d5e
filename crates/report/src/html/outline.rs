//! Headings, and the names that links lead to.

use std::collections::HashSet;

use super::markup::Markup;

/// The elements of headings, the highest first.
pub(super) const HEADINGS: [&str; 6] = ["h1", "h2", "h3", "h4", "h5", "h6"];

#[derive(Debug)]
struct Entry {
    /// Id of the heading's element in [`HEADINGS`].
    level: usize,
    id: String,
    text: String,
}

/// The headings of a page so far, and all names given on it.
#[derive(Debug, Default)]
pub(super) struct Outline {
    entries: Vec<Entry>,
    names: HashSet<String>,
}

impl Outline {
    /// Whether nothing on the page has the name; from now on something has.
    pub(super) fn claim(&mut self, name: &str) -> bool {
        self.names.insert(name.to_owned())
    }

    /// A name that nothing else on the page has: `wanted`, or `wanted-2` and so on.
    pub(super) fn name(&mut self, wanted: &str) -> String {
        let mut name = wanted.to_owned();
        let mut number = 1;
        while !self.claim(&name) {
            number += 1;
            name = format!("{wanted}-{number}");
        }
        name
    }

    pub(super) fn add(&mut self, level: usize, id: &str, text: &str) {
        self.entries.push(Entry {
            level,
            id: id.to_owned(),
            text: text.to_owned(),
        });
    }

    /// The table of contents; nothing where there is little to choose from.
    pub(super) fn draw(&self, markup: &mut Markup) {
        if self.entries.len() < 2 {
            return;
        }
        markup.open("nav", &[("aria-label", "On this page")]);
        list(markup, &self.entries);
        markup.end("nav");
    }
}

/// The entries of the first one's level, each with the deeper ones that follow it.
fn list(markup: &mut Markup, entries: &[Entry]) {
    let Some(first) = entries.first() else {
        return;
    };
    markup.open("ul", &[]);
    let mut rest = entries;
    while let Some((entry, after)) = rest.split_first() {
        let deeper = after.iter().take_while(|below| below.level > first.level);
        let (below, next) = after.split_at(deeper.count());
        markup.open("li", &[]);
        let link = format!("#{}", entry.id);
        markup.element("a", &[("href", &link)], &entry.text);
        list(markup, below);
        markup.end("li");
        rest = next;
    }
    markup.close("ul");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_given_once() {
        let mut outline = Outline::default();
        let names = ["a", "a", "a-2", "a"].map(|name| outline.name(name));
        assert_eq!(names, ["a", "a-2", "a-2-2", "a-3"]);
        assert!(!outline.claim("a-3"));
    }

    #[test]
    fn contents_are_nested_as_the_headings_are() {
        let mut outline = Outline::default();
        outline.add(1, "one", "1");
        let mut markup = Markup::default();
        outline.draw(&mut markup);
        for (level, id) in [(2, "one-a"), (2, "one-b"), (1, "two"), (3, "two-a")] {
            outline.add(level, id, "<");
        }
        outline.draw(&mut markup);
        let text = markup.finish().replace('\n', "");
        assert_eq!(
            text,
            "<nav aria-label=\"On this page\"><ul><li><a href=\"#one\">1</a><ul>\
             <li><a href=\"#one-a\">&lt;</a></li><li><a href=\"#one-b\">&lt;</a></li></ul></li>\
             <li><a href=\"#two\">&lt;</a><ul><li><a href=\"#two-a\">&lt;</a></li></ul></li>\
             </ul></nav>"
        );
    }
}
