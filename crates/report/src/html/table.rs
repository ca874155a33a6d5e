//! Tables, with all their columns, and as many rows as a page can carry.

use super::markup::Markup;
use super::outline::Outline;
use crate::format::{counted, seconds};
use crate::view::table::{Cell, Column, Kind, Table};

/// Longer texts are wrapped.
const ONE_LINE: usize = 28;

/// Rows that paper has of a closed table; the style sheet says the same.
const ON_PAPER: usize = 12;

/// So much of a table a page has room for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room {
    pub(super) rows: usize,
    /// Bytes of all cells.
    pub(super) bytes: usize,
}

pub(super) struct Names<'a> {
    pub(super) id: &'a str,
    /// Prefix of a row's number.
    pub(super) rows: &'a str,
    pub(super) caption: &'a str,
    /// The caption is the heading above: for screen readers only.
    pub(super) repeats: bool,
}

/// Adds a table. The names of its rows are claimed from the outline.
pub(super) fn draw(
    markup: &mut Markup,
    outline: &mut Outline,
    table: &Table,
    names: &Names<'_>,
    room: Room,
) {
    let shown = shown(table, room);
    let caption = format!("{}-caption", names.id);
    markup.open("div", &[("class", "table")]);
    let attributes = [
        ("class", "scroll"),
        ("role", "group"),
        ("tabindex", "0"),
        ("aria-labelledby", &caption),
    ];
    markup.open("div", &attributes);
    markup.open("table", &[("id", names.id)]);
    let mut attributes = vec![("id", caption.as_str())];
    if names.repeats {
        attributes.push(("class", "repeated"));
    }
    markup.element("caption", &attributes, names.caption);
    head(markup, table);
    let label = table.columns.iter().position(is_label);
    markup.open("tbody", &[]);
    for row in 0..shown {
        titles(markup, table, row);
        open_row(markup, outline, table, names, row);
        for (index, column) in table.columns.iter().enumerate() {
            cell(markup, column, row, Some(index) == label);
        }
        markup.end("tr");
    }
    markup.close("tbody");
    markup.close("table");
    markup.close("div");
    let rest = table.rows() - shown;
    if table.rows() == 0 {
        markup.element("p", &[("class", "quiet")], "none");
    }
    if rest > 0 {
        let rest = counted(rest, "more row");
        let text = format!("and {rest}; the saved result has all");
        markup.element("p", &[("class", "rest")], &text);
    }
    if shown > ON_PAPER {
        let text = format!("the first {ON_PAPER} of {}", counted(table.rows(), "row"));
        markup.element("p", &[("class", "cut-on-paper")], &text);
    }
    markup.end("div");
}

/// Rows that there is room for.
pub(super) fn shown(table: &Table, room: Room) -> usize {
    let mut left = room.bytes;
    let fits = |row: &usize| {
        let cells = table
            .columns
            .iter()
            .map(|column| column.cells[*row].as_str().len());
        let titles = table.titles.get(row).into_iter().flatten().map(String::len);
        let size = cells.chain(titles).sum();
        left.checked_sub(size).map(|rest| left = rest).is_some()
    };
    let rows = 0..table.rows().min(room.rows);
    rows.take_while(fits).count()
}

fn is_label(column: &Column) -> bool {
    matches!(column.kind, Kind::Label | Kind::Path)
}

fn head(markup: &mut Markup, table: &Table) {
    markup.open("thead", &[]);
    markup.open("tr", &[]);
    for column in &table.columns {
        let text = match column.kind {
            Kind::RowNumber => "row",
            _ => &column.head,
        };
        if text.is_empty() {
            markup.element("td", &[], "");
            continue;
        }
        let class = match column.kind {
            Kind::RowNumber => "n row",
            Kind::Label | Kind::Path => "label",
            Kind::Number => "n",
            Kind::Text => "",
        };
        let attributes = [("scope", "col"), ("class", class)];
        let given = if class.is_empty() { 1 } else { 2 };
        markup.element("th", &attributes[..given], text);
    }
    markup.close("tr");
    markup.end("thead");
}

/// Lines of their own, which begin a group of rows.
fn titles(markup: &mut Markup, table: &Table, row: usize) {
    let Some(titles) = table.titles.get(&row) else {
        return;
    };
    if row > 0 {
        markup.close("tbody");
        markup.open("tbody", &[]);
    }
    let columns = table.columns.len().to_string();
    for title in titles {
        markup.open("tr", &[("class", "group")]);
        markup.element("th", &[("scope", "rowgroup"), ("colspan", &columns)], title);
        markup.end("tr");
    }
}

/// The first row of a number can be linked to. A row that is of a time says from when to when it
/// was: a script shows those of a chosen one.
fn open_row(
    markup: &mut Markup,
    outline: &mut Outline,
    table: &Table,
    names: &Names<'_>,
    row: usize,
) {
    let numbers = table.columns.first();
    let number = numbers
        .filter(|column| column.kind == Kind::RowNumber)
        .map(|column| format!("{}{}", names.rows, column.cells[row]))
        .filter(|id| outline.claim(id));
    let span = table.spans.get(row).copied().flatten();
    let span = span.map(|(from_s, to_s)| (seconds(from_s), seconds(to_s)));
    let mut attributes = Vec::new();
    if let Some(id) = &number {
        attributes.push(("id", id.as_str()));
    }
    if let Some((from_s, to_s)) = &span {
        attributes.push(("data-from", from_s.as_str()));
        attributes.push(("data-to", to_s));
    }
    markup.open("tr", &attributes);
}

fn cell(markup: &mut Markup, column: &Column, row: usize, names_row: bool) {
    let text = column.cells[row].as_str();
    let is_none = !matches!(column.cells[row], Cell::Is(_));
    let class = match column.kind {
        Kind::RowNumber => "n row",
        Kind::Number if is_none => "n none",
        Kind::Number => "n",
        _ if is_none => "none",
        Kind::Path => "path",
        Kind::Label | Kind::Text if text.len() > ONE_LINE => "long",
        Kind::Label | Kind::Text => "",
    };
    let mut attributes = Vec::new();
    if names_row {
        attributes.push(("scope", "row"));
    }
    if !class.is_empty() {
        attributes.push(("class", class));
    }
    let element = if names_row { "th" } else { "td" };
    markup.open(element, &attributes);
    if column.kind == Kind::Path {
        markup.path(text);
    } else {
        markup.text(text);
    }
    markup.close(element);
}
