//! The sections of a result in the order of a page: problems before the figures, and tables of one
//! kind merged.

use super::Drawn;
use crate::view::page::Section;
use crate::view::page::{Block, Page, Tone};
use crate::view::section::SectionId;

/// The blocks as a page shows them. `has_time` says whether a chart stands in the part over time.
pub(super) fn arranged(result: Drawn<'_>, page: Page, has_time: bool) -> Vec<Block> {
    let sections = page.into_sections();
    let sections = match result {
        Drawn::Trace(_) => findings_first(sections, has_time),
        Drawn::Lab(_) => machine_last(sections.into_iter().map(joined)),
        Drawn::Doctor(_) | Drawn::Cache(_) | Drawn::Crash(_) | Drawn::Comparison(_) => sections,
    };
    let blocks = sections.into_iter().flat_map(|section| section.blocks);
    blocks.collect()
}

/// A trace: its title, its findings, the chart over time, then the other parts; environment comes
/// last.
fn findings_first(sections: Vec<Section>, has_time: bool) -> Vec<Section> {
    let is_finding = |section: &Section| section.id == SectionId::Findings;
    let (findings, mut all): (Vec<_>, Vec<_>) = sections.into_iter().partition(is_finding);
    let first = all.iter().position(|section| section.id.is_part());
    let parts = all.split_off(first.unwrap_or(all.len()));
    all.extend(findings);
    all.extend(has_time.then(|| headed(SectionId::OverTime, "over time", Vec::new())));
    all.extend(parts);
    machine_last(all.into_iter())
}

/// Below each title: where it ran comes after the other parts, warnings stay above them.
fn machine_last(sections: impl Iterator<Item = Section>) -> Vec<Section> {
    let mut arranged = Vec::new();
    let mut machine = None;
    for section in sections {
        match section.id {
            SectionId::Machine => {
                machine = Some(headed(section.id, "where it ran", section.blocks));
                continue;
            }
            SectionId::Title => arranged.extend(machine.take()),
            _ => {}
        }
        arranged.push(section);
    }
    arranged.extend(machine);
    arranged
}

fn headed(id: SectionId, text: &str, blocks: Vec<Block>) -> Section {
    let mut all = vec![Block::part(id, text, false)];
    all.extend(blocks);
    Section { id, blocks: all }
}

/// Tables of every call with the same heads as one; the line before each becomes a title in it.
fn joined(section: Section) -> Section {
    if section.id != SectionId::EveryCall {
        return section;
    }
    let mut arranged: Vec<Block> = Vec::new();
    let mut label: Option<String> = None;
    for block in section.blocks {
        match block {
            Block::Blank => {}
            Block::Text { text, .. } => {
                arranged.extend(label.replace(text).map(plain));
            }
            Block::Table(mut table) => {
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
    Section {
        id: section.id,
        blocks: arranged,
    }
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
    use crate::view::trace::fixture::empty;

    fn heads(blocks: &[Block]) -> Vec<String> {
        let heads = blocks.iter().filter_map(|block| match block {
            Block::Heading { id, .. } => id.map(SectionId::name),
            _ => None,
        });
        heads.collect()
    }

    #[test]
    fn findings_come_before_bytes_and_the_machine_last() {
        let mut page = Page::endless();
        page.title("trace", "tar", Vec::new());
        page.machine();
        page.paragraph(0, "in /srv on ext4");
        page.part(SectionId::Bytes, "bytes");
        page.heading(SectionId::Findings, "all findings: 0");
        page.heading(SectionId::Files, "all files: 0");
        let blocks = arranged(Drawn::Trace(&empty()), page, true);
        let expected = ["findings", "over-time", "bytes", "files", "machine"];
        assert_eq!(heads(&blocks), expected);
        assert!(
            matches!(blocks.last(), Some(Block::Text { text, .. }) if text == "in /srv on ext4")
        );
    }

    #[test]
    fn tables_of_calls_are_one() {
        let mut page = Page::endless();
        page.heading(SectionId::EveryCall, "system calls of each copy");
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
        let saved = include_str!("../../tests/saved/lab.json");
        let lab = serde_json::from_str(saved).unwrap();
        let blocks = arranged(Drawn::Lab(&lab), page, false);
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
