//! The contents below one title, and links to its rows.

use std::collections::BTreeSet;

use super::markup::Markup;
use crate::format::{self, row_runs};

#[derive(Debug, Clone, Default)]
pub(super) struct Scope {
    /// Its name on the page; begins the names of what it holds.
    pub(super) name: String,
    /// Numbers of the rows that the page has of it.
    pub(super) linked: BTreeSet<usize>,
}

impl Scope {
    /// Prefix of the ids of its rows: `sync-row-`.
    pub(super) fn row_prefix(&self) -> String {
        format!("{}-row-", self.name)
    }

    /// Adds ` [rows 1–3, 7]`, with links to those that the page has. The script marks all that
    /// the links of one list name.
    pub(super) fn cite(&self, markup: &mut Markup, rows: &[usize]) {
        if rows.is_empty() {
            return;
        }
        let noun = if rows.len() == 1 { "row" } else { "rows" };
        markup.text(&format!(" [{noun} "));
        markup.open("span", &[("class", "rows")]);
        for (position, (first, last)) in row_runs(rows).into_iter().enumerate() {
            if position > 0 {
                markup.text(", ");
            }
            let text = format::run(first, last);
            if self.linked.contains(&first) {
                let link = format!("#{}{first}", self.row_prefix());
                let (first, last) = (first.to_string(), last.to_string());
                let attributes = [
                    ("href", link.as_str()),
                    ("data-first", &first),
                    ("data-last", &last),
                ];
                markup.element("a", &attributes, &text);
            } else {
                markup.text(&text);
            }
        }
        markup.close("span");
        markup.text("]");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_the_page_lacks_are_named_without_a_link() {
        let scope = Scope {
            name: "sync".to_owned(),
            linked: [1, 2, 3].into(),
        };
        let mut markup = Markup::default();
        scope.cite(&mut markup, &[]);
        scope.cite(&mut markup, &[9]);
        scope.cite(&mut markup, &[1, 2, 3, 7]);
        let drawn = markup.finish().replace('\n', "");
        let link = "<a href=\"#sync-row-1\" data-first=\"1\" data-last=\"3\">1–3</a>";
        assert_eq!(
            drawn,
            format!(
                " [row <span class=\"rows\">9</span>] [rows <span class=\"rows\">{link}, 7</span>]"
            )
        );
    }
}
