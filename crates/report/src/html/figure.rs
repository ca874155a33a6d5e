//! A chart on the page: its title, its words, its drawings, and the way to its figures.

use super::charts::Chart;
use super::markup::Markup;
use super::outline::Outline;
use super::table::{self, Names, Room};

/// The table of a chart has a row for each of its marks.
const ROOM: Room = Room {
    rows: 2_500,
    bytes: 400_000,
};

/// Adds the chart under a name. `values` is the name of the table that has its figures, where it
/// does not bring its own.
pub(super) fn draw(
    markup: &mut Markup,
    outline: &mut Outline,
    name: &str,
    (chart, values): (&Chart, Option<&str>),
) {
    let figure = format!("figure-{name}");
    let caption = format!("{figure}-caption");
    let own = [("class", "chart"), ("id", figure.as_str())];
    let data = chart
        .data
        .iter()
        .map(|(name, value)| (*name, value.as_str()));
    let attributes: Vec<_> = own.into_iter().chain(data).collect();
    markup.open("figure", &attributes);
    markup.open("figcaption", &[("id", &caption)]);
    markup.element("strong", &[], &chart.title);
    markup.open("p", &[]);
    markup.text(&chart.summary);
    if let Some(values) = values.filter(|_| chart.tables.is_empty()) {
        markup.text(" ");
        let link = format!("#{values}");
        markup.element("a", &[("href", &link)], "The figures are in the table");
        markup.text(".");
    }
    markup.close("p");
    markup.close("figcaption");
    let attributes = [
        ("class", "drawing"),
        ("role", "img"),
        ("aria-labelledby", &caption),
    ];
    markup.open("div", &attributes);
    markup.append(&chart.drawing);
    markup.close("div");
    if !chart.tables.is_empty() {
        markup.open("details", &[]);
        markup.element("summary", &[], "the figures as a table");
        for table in &chart.tables {
            let id = outline.name(&format!("{name}-table"));
            let names = Names {
                id: &id,
                rows: &format!("{id}-row-"),
                repeats: false,
                caption: if table.name.is_empty() {
                    &chart.title
                } else {
                    &table.name
                },
            };
            table::draw(markup, outline, table, &names, ROOM);
        }
        markup.close("details");
    }
    markup.close("figure");
    markup.line();
}
