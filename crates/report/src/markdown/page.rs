//! Any page as Markdown: headings, paragraphs, and tables for what a terminal aligns.

use super::text::{code, prose, table_of, table_rows};
use crate::format::join;
use crate::view::page::{Answered, Block, Entry, Level, Page, Tone};
use crate::view::table::Table;

/// Renders all blocks. Related lines become rows of one table.
pub(super) fn draw(page: Page) -> String {
    let sections = page.into_sections().into_iter();
    let mut blocks: Vec<Block> = sections.flat_map(|section| section.blocks).collect();
    // A terminal shows this before the title; here it is below.
    let title = blocks
        .iter()
        .position(|block| matches!(block, Block::Title { .. }));
    if let Some(title) = title {
        blocks[..=title].rotate_right(1);
    }
    let mut drawn = Drawn::default();
    for block in blocks {
        drawn.add(block);
    }
    drawn.end_rows();
    drawn.parts.join("\n\n") + "\n"
}

#[derive(Default)]
struct Drawn {
    parts: Vec<String>,
    /// The kind of lines that the next line may continue.
    rows: Rows,
}

#[derive(Default)]
enum Rows {
    #[default]
    None,
    /// A lead, and the lines next to it.
    Entries(Vec<(String, Vec<String>)>),
    /// A question and its answer.
    Answers(Vec<[String; 2]>),
    Bullets(Vec<String>),
}

impl Drawn {
    fn add(&mut self, block: Block) {
        match block {
            Block::Blank | Block::Drawing(_) => {}
            // A part that needs only an empty line.
            Block::Heading { spoken: false, .. } => self.end_rows(),
            Block::Title {
                anchor,
                name,
                facts,
            } => {
                self.part(match anchor {
                    // A command line.
                    "trace" => format!("### iostrata trace: {}", code(&name)),
                    _ => format!("### {}", prose(&name)),
                });
                if !facts.is_empty() {
                    self.part(join(facts.iter().map(|fact| prose(fact)), " · "));
                }
            }
            Block::Heading { level, text, .. } => self.part(match level {
                Level::Part => format!("#### {}", prose(&text)),
                Level::Section => format!("##### {}", prose(&text)),
            }),
            Block::Text { tone, text, .. } => self.part(match tone {
                Tone::Strong | Tone::Warning => format!("**{}**", prose(text.trim())),
                _ => prose(text.trim()),
            }),
            Block::Entry(entry) => self.entry(&entry),
            Block::Answered(answered) => self.answer(&answered),
            Block::More { text, .. } => self.more(prose(&text)),
            Block::Command(line) => self.more(code(&line)),
            Block::Bullet { text, .. } => self.bullet(prose(text.trim())),
            Block::Table(table) => self.table(table),
        }
    }

    fn part(&mut self, text: String) {
        self.end_rows();
        self.parts.push(text);
    }

    fn end_rows(&mut self) {
        self.parts.extend(match std::mem::take(&mut self.rows) {
            Rows::None => None,
            Rows::Entries(rows) => {
                let rows = rows.into_iter();
                let rows = rows.map(|(lead, lines)| [lead, lines.join("<br>")]);
                Some(table_of(["", ""], rows))
            }
            Rows::Answers(rows) => Some(table_of(["question", "answer"], rows)),
            Rows::Bullets(items) => Some(join(items.iter().map(|item| format!("- {item}")), "\n")),
        });
    }

    fn entry(&mut self, entry: &Entry) {
        let text = (!entry.text.is_empty()).then(|| prose(entry.text.open()));
        let row = (prose(entry.lead.open().trim()), text.into_iter().collect());
        if let Rows::Entries(rows) = &mut self.rows {
            rows.push(row);
            return;
        }
        self.end_rows();
        self.rows = Rows::Entries(vec![row]);
    }

    fn answer(&mut self, answered: &Answered) {
        let sentences = answered.sentences().map(|text| prose(text));
        let row = [prose(&answered.question), join(sentences, " ")];
        if let Rows::Answers(rows) = &mut self.rows {
            rows.push(row);
            return;
        }
        self.end_rows();
        self.rows = Rows::Answers(vec![row]);
    }

    /// Continues the last entry.
    fn more(&mut self, line: String) {
        let last = match &mut self.rows {
            Rows::Entries(rows) => rows.last_mut(),
            _ => None,
        };
        match last {
            Some((_, lines)) => lines.push(line),
            None => self.part(line),
        }
    }

    fn bullet(&mut self, line: String) {
        match &mut self.rows {
            Rows::Entries(_) => self.more(line),
            Rows::Bullets(items) => items.push(line),
            Rows::None | Rows::Answers(_) => {
                self.end_rows();
                self.rows = Rows::Bullets(vec![line]);
            }
        }
    }

    /// A separate table for the rows below each title.
    fn table(&mut self, mut table: Table) {
        let titles = std::mem::take(&mut table.titles);
        let mut begins: Vec<usize> = titles.keys().copied().collect();
        begins.insert(0, 0);
        begins.dedup();
        begins.push(table.rows());
        for range in begins.windows(2) {
            for title in titles.get(&range[0]).into_iter().flatten() {
                self.part(format!("**{}**", prose(title)));
            }
            if range[0] < range[1] {
                self.part(table_rows(&table.columns, range[0]..range[1]));
            }
        }
    }
}
