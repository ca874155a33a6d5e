//! Paths in a narrow column: they lose their middle, and different ones stay different.

use std::collections::{HashMap, HashSet};

use textwrap::core::display_width;

use crate::format::{first, last, printable};

const CUT: char = '…';

/// Text of at most `columns`: a longer one loses its middle, cut at slashes if they are near.
pub(super) fn middle(text: &str, columns: usize) -> String {
    let safe = printable(text);
    if display_width(&safe) <= columns {
        return safe;
    }
    let room = columns.saturating_sub(1);
    let head = first(&safe, room / 3);
    let head = &head[..head.rfind('/').map_or(0, |slash| slash + 1)];
    let tail = last(&safe, room - display_width(head));
    // A whole name is easier to read than a little more of the one before it.
    let slash = tail.find('/').filter(|slash| *slash <= tail.len() / 2);
    format!("{head}{CUT}{}", &tail[slash.unwrap_or(0)..])
}

/// Each of several different texts in at most this many columns; never two alike.
pub(crate) fn shortened(texts: &[&str], columns: &[usize]) -> Vec<String> {
    let each = texts.iter().zip(columns);
    let mut short: Vec<String> = each.map(|(text, columns)| middle(text, *columns)).collect();
    for alike in alike(&short) {
        let whole: Vec<String> = alike.iter().map(|at| printable(texts[*at])).collect();
        let common = common(&whole);
        for (at, whole) in alike.into_iter().zip(&whole) {
            short[at] = around(whole, common, columns[at]);
        }
    }
    let mut taken: HashSet<String> = HashSet::new();
    for (at, text) in texts.iter().enumerate() {
        let mut number = 2;
        while !taken.insert(short[at].clone()) {
            let mark = format!("~{number}");
            short[at] = middle(text, columns[at].saturating_sub(mark.len())) + &mark;
            number += 1;
        }
    }
    short
}

/// Positions of equal texts, if there are several.
fn alike(texts: &[String]) -> Vec<Vec<usize>> {
    let mut by_text: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, text) in texts.iter().enumerate() {
        by_text.entry(text).or_default().push(at);
    }
    by_text
        .into_values()
        .filter(|alike| alike.len() > 1)
        .collect()
}

/// Length in bytes of the common prefix, in whole characters.
fn common(texts: &[String]) -> usize {
    let Some((one, others)) = texts.split_first() else {
        return 0;
    };
    let same = |(position, char): &(usize, char)| {
        let mut others = others.iter();
        others.all(|other| {
            other
                .get(*position..)
                .is_some_and(|rest| rest.starts_with(*char))
        })
    };
    let last = one.char_indices().take_while(same).last();
    last.map_or(0, |(position, char)| position + char.len_utf8())
}

/// The part after `common` bytes, from the preceding slash on if that is near, and the end.
fn around(text: &str, common: usize, columns: usize) -> String {
    if display_width(text) <= columns {
        return text.to_owned();
    }
    let room = columns.saturating_sub(2);
    let begin = text[..common]
        .rfind('/')
        .filter(|slash| common - slash < room / 4);
    let differs = first(&text[begin.unwrap_or(common)..], room / 2);
    let end = begin.unwrap_or(common) + differs.len();
    let tail = last(&text[end..], room - display_width(differs));
    if end + tail.len() == text.len() {
        return format!("{CUT}{differs}{tail}");
    }
    format!("{CUT}{differs}{CUT}{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_paths_lose_their_middle() {
        for (text, columns, expected) in [
            ("a/b.db", 6, "a/b.db"),
            (
                "/usr/share/doc/libfoo/changelog.gz",
                25,
                "/usr/…/changelog.gz",
            ),
            (
                "/usr/share/doc/libfoo/changelog.gz",
                30,
                "/usr/…/doc/libfoo/changelog.gz",
            ),
            ("name-without-any-end.db", 12, "…-any-end.db"),
            ("\u{1b}/x", 9, "\\u{1b}/x"),
            ("漢漢漢漢", 5, "…漢漢"),
        ] {
            assert_eq!(middle(text, columns), expected);
        }
    }

    #[test]
    fn different_paths_never_print_alike() {
        let paths = [
            "/usr/share/doc/liba/changelog.gz",
            "/usr/share/doc/libb/changelog.gz",
            "/usr/share/man/libb/changelog.gz",
        ];
        assert_eq!(
            shortened(&paths, &[20; 3]),
            [
                "…/doc/liba…ngelog.gz",
                "…/doc/libb…ngelog.gz",
                "…/man/libb…ngelog.gz"
            ]
        );
        // For any names, and any width.
        let names: Vec<String> = (0..300)
            .map(|number| {
                format!(
                    "/srv/{}/{:03}/data-{}.bin",
                    number % 7,
                    number,
                    "x".repeat(40)
                )
            })
            .collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        for columns in [1, 8, 12, 20, 40, 60, usize::MAX / 2] {
            let short = shortened(&names, &vec![columns; names.len()]);
            let different: HashSet<&String> = short.iter().collect();
            assert_eq!(different.len(), names.len(), "{columns}");
        }
    }

    #[test]
    fn what_is_escaped_alike_is_numbered() {
        assert_eq!(
            shortened(&["a\u{1b}", "a\\u{1b}"], &[60; 2]),
            ["a\\u{1b}", "a\\u{1b}~2"]
        );
    }

    #[test]
    fn there_is_room_for_what_is_shown() {
        let names: Vec<String> = (0..30)
            .map(|number| format!("/a/{number}/{}", "漢".repeat(30)))
            .collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        for columns in [16, 20, 41] {
            for text in shortened(&names, &vec![columns; names.len()]) {
                assert!(display_width(&text) <= columns, "{text}");
            }
        }
    }
}
