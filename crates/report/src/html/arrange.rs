//! The blocks of a result in the order of a page: problems before the figures, and tables of one
//! kind merged.

use super::charts::OVER_TIME;
use super::fold::Kind;
use crate::view::page::{Block, Level, Page, Tone};

/// The part whose many tables become one with a line before each of them.
const JOINED: &str = "every-call";

/// The blocks as a page shows them. `has_time` says whether a chart stands in [`OVER_TIME`].
pub(super) fn arranged(kind: Kind, page: Page, has_time: bool) -> Vec<Block> {
    match kind {
        Kind::Trace => findings_first(page.into_blocks(), has_time),
        Kind::Lab => place_last(joined(page.into_blocks())),
        Kind::Doctor | Kind::Cache | Kind::Crash | Kind::Comparison => page.into_blocks(),
    }
}

fn anchor(block: &Block) -> Option<&'static str> {
    match block {
        Block::Heading {
            level: Level::Part,
            anchor,
            ..
        } => Some(anchor.unwrap_or("part")),
        _ => None,
    }
}

/// A trace: its title, its findings, the chart over time, then the other parts; environment comes
/// last.
fn findings_first(blocks: Vec<Block>, has_time: bool) -> Vec<Block> {
    let mut findings = Vec::new();
    let mut others = Vec::new();
    let mut is_finding = false;
    for block in blocks {
        if let Some(name) = anchor(&block) {
            is_finding = name == "findings";
        }
        if is_finding {
            findings.push(block);
        } else {
            others.push(block);
        }
    }
    let parts = others.iter().position(|block| anchor(block).is_some());
    let rest = others.split_off(parts.unwrap_or(others.len()));
    others.append(&mut findings);
    if has_time {
        others.push(part(OVER_TIME, "over time"));
    }
    others.extend(rest);
    place_last(others)
}

/// Below each title: where it ran comes after the other parts, warnings stay above them.
fn place_last(blocks: Vec<Block>) -> Vec<Block> {
    let mut arranged = Vec::new();
    let mut place = Vec::new();
    let mut is_place = false;
    for block in blocks {
        if matches!(block, Block::Title { .. }) {
            end_with(&mut arranged, &mut place);
            is_place = true;
        } else if anchor(&block).is_some() {
            is_place = false;
        }
        match &block {
            Block::Entry(_) => {}
            Block::Text { tone, .. } if *tone != Tone::Warning => {}
            _ => {
                arranged.push(block);
                continue;
            }
        }
        if is_place {
            place.push(block);
        } else {
            arranged.push(block);
        }
    }
    end_with(&mut arranged, &mut place);
    arranged
}

/// Adds the part of where it ran.
fn end_with(arranged: &mut Vec<Block>, place: &mut Vec<Block>) {
    if place.is_empty() {
        return;
    }
    arranged.push(part("machine", "where it ran"));
    arranged.append(place);
}

fn part(anchor: &'static str, text: &str) -> Block {
    Block::Heading {
        level: Level::Part,
        anchor: Some(anchor),
        text: text.to_owned(),
        spoken: false,
    }
}

/// Tables of [`JOINED`] with the same heads as one; the line before each becomes a title in it.
fn joined(blocks: Vec<Block>) -> Vec<Block> {
    let mut arranged: Vec<Block> = Vec::new();
    let mut is_joined = false;
    let mut label: Option<String> = None;
    for block in blocks {
        if let Some(name) = anchor(&block) {
            is_joined = name == JOINED;
        }
        match block {
            Block::Blank if is_joined => {}
            Block::Text { text, .. } if is_joined => {
                arranged.extend(label.replace(text).map(plain));
            }
            Block::Table(mut table) if is_joined => {
                let name = label.take().unwrap_or_else(|| table.name.clone());
                match arranged.last_mut() {
                    Some(Block::Table(whole)) if whole.heads().eq(table.heads()) => {
                        whole.title(whole.rows(), name);
                        whole.append(table);
                    }
                    _ => {
                        table.title(0, name);
                        table.name.clear();
                        arranged.push(Block::Table(table));
                    }
                }
            }
            other => {
                arranged.extend(label.take().map(plain));
                arranged.push(other);
            }
        }
    }
    arranged.extend(label.take().map(plain));
    arranged
}

fn plain(text: String) -> Block {
    Block::Text {
        indent: 0,
        tone: Tone::Quiet,
        text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::table::{Column, Table};

    fn heads(blocks: &[Block]) -> Vec<&str> {
        blocks.iter().filter_map(anchor).collect()
    }

    #[test]
    fn findings_come_before_bytes_and_the_machine_last() {
        let mut page = Page::endless();
        page.title("trace", "tar", Vec::new());
        page.paragraph(0, "in /srv on ext4");
        page.part("bytes", "bytes");
        page.heading("findings", "all findings: 0");
        page.heading("files", "all files: 0");
        let blocks = arranged(Kind::Trace, page, true);
        let expected = ["findings", "over-time", "bytes", "files", "machine"];
        assert_eq!(heads(&blocks), expected);
        assert!(
            matches!(blocks.last(), Some(Block::Text { text, .. }) if text == "in /srv on ext4")
        );
    }

    #[test]
    fn tables_of_calls_are_one() {
        let mut page = Page::endless();
        page.heading("every-call", "system calls of each copy");
        for (name, calls) in [
            ("1 cp", vec!["read", "write"]),
            ("2 splice", vec!["splice"]),
        ] {
            page.blank();
            page.paragraph(0, name);
            let table = Table::new(
                2,
                vec![
                    Column::label("call", calls.clone()),
                    Column::number("calls", calls.iter().map(|_| "1")),
                ],
            );
            table.draw(&mut page);
        }
        page.paragraph(0, "times are from the observed run");
        let blocks = arranged(Kind::Lab, page, false);
        let tables: Vec<&Table> = blocks
            .iter()
            .filter_map(|block| match block {
                Block::Table(table) => Some(table),
                _ => None,
            })
            .collect();
        assert_eq!(tables.len(), 1);
        assert_eq!(tables[0].rows(), 3);
        let titles: Vec<(usize, &str)> = tables[0]
            .titles
            .iter()
            .map(|(row, names)| (*row, names[0].as_str()))
            .collect();
        assert_eq!(titles, [(0, "1 cp"), (2, "2 splice")]);
        assert!(matches!(blocks.last(), Some(Block::Text { .. })));
    }
}
