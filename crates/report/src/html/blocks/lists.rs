//! Lists: entries with what stands below them, and bullets.

use super::{Body, FINDINGS, class, entries};
use crate::format::counted;
use crate::html::Markup;
use crate::html::scope::Scope;
use crate::view::page::{Block, Entry};

/// The list that is open, and how deep.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum List {
    None,
    /// `ul`.
    Bullets,
    /// `dl`, and in it a `div` with leads.
    Leads,
    /// And a `dd`.
    Texts,
    /// And in that a `ul`.
    BulletsOfEntry,
}

impl Body<'_> {
    pub(super) fn entry(&mut self, entry: &Entry, after: &[Block]) {
        if !self.has_room(entry.text.open()) {
            return;
        }
        self.part.entries += 1;
        if self.part.has_findings && self.part.entries == FINDINGS + 1 {
            self.end_list();
            let more = counted(1 + entries(after), "more finding");
            self.markup.open("details", &[("class", "more")]);
            self.markup.element("summary", &[], &more);
            self.markup.line();
        }
        match self.list {
            List::None | List::Bullets => {
                self.end_list();
                self.markup.open("dl", &[]);
                self.markup.open("div", &[]);
            }
            List::Leads => {}
            List::Texts | List::BulletsOfEntry => {
                self.end_entry();
                self.markup.open("div", &[]);
            }
        }
        let attributes: &[_] = match class(entry.tone) {
            "" => &[],
            class => &[("class", class)],
        };
        self.markup.open("dt", attributes);
        self.markup.name(entry.lead.open().trim());
        self.markup.close("dt");
        self.list = List::Leads;
        if entry.text.is_empty() {
            return;
        }
        self.markup.open("dd", &[]);
        self.markup.open("p", &[]);
        if let Some(bar) = &entry.bar {
            let attributes = [("class", "bar"), ("aria-hidden", "true")];
            self.markup.element("span", &attributes, bar);
            self.markup.text(" ");
        }
        self.markup.prose(entry.text.open());
        self.markup.close("p");
        self.list = List::Texts;
    }

    /// Below an entry that had no room there is none either.
    pub(super) fn more(&mut self, text: &str, rows: &[usize]) {
        let class = text.starts_with('→').then_some(("class", "advice"));
        self.beneath(text, class.as_slice(), |markup, scope| {
            markup.prose(text);
            scope.cite(markup, rows);
        });
    }

    /// A line for a shell, to be copied as it is.
    pub(super) fn command(&mut self, line: &str) {
        self.beneath(line, &[], |markup, _| markup.element("code", &[], line));
    }

    /// A paragraph about the last entry.
    fn beneath(
        &mut self,
        text: &str,
        attributes: &[(&'static str, &str)],
        fill: impl FnOnce(&mut Markup, &Scope),
    ) {
        if self.is_full() {
            return;
        }
        self.part.bytes += text.len();
        match self.list {
            List::Leads => self.markup.open("dd", &[]),
            List::BulletsOfEntry => self.end_bullets(),
            List::None | List::Bullets | List::Texts => {}
        }
        if matches!(self.list, List::Leads | List::BulletsOfEntry) {
            self.list = List::Texts;
        }
        self.markup.open("p", attributes);
        fill(self.markup, &self.scope);
        self.markup.close("p");
    }

    pub(super) fn bullet(&mut self, text: &str) {
        match self.list {
            List::Texts | List::BulletsOfEntry => {
                if self.is_full() {
                    return;
                }
                self.part.bytes += text.len();
                if self.list == List::Texts {
                    if self.part.has_findings {
                        self.markup.open("details", &[("class", "evidence")]);
                        self.markup.element("summary", &[], "evidence");
                    }
                    self.markup.open("ul", &[]);
                    self.list = List::BulletsOfEntry;
                }
            }
            List::None | List::Bullets | List::Leads => {
                if !self.has_room(text) {
                    return;
                }
                if self.list != List::Bullets {
                    self.end_list();
                    self.markup.open("ul", &[]);
                    self.list = List::Bullets;
                }
            }
        }
        self.markup.open("li", &[]);
        self.markup.prose(text);
        self.markup.end("li");
    }

    fn end_bullets(&mut self) {
        self.markup.close("ul");
        if self.part.has_findings {
            self.markup.close("details");
        }
    }

    fn end_entry(&mut self) {
        if self.list == List::BulletsOfEntry {
            self.end_bullets();
        }
        if matches!(self.list, List::BulletsOfEntry | List::Texts) {
            self.markup.close("dd");
        }
        self.markup.end("div");
    }

    pub(super) fn end_list(&mut self) {
        match self.list {
            List::None => {}
            List::Bullets => self.markup.close("ul"),
            List::Leads | List::Texts | List::BulletsOfEntry => {
                self.end_entry();
                self.markup.close("dl");
            }
        }
        self.list = List::None;
    }
}
