//! Parser against cache.

use iostrata_core::bytes::exact;
use iostrata_core::page_cache::{MATTERS_SHARE, ParseLine};

use super::view::View;
use crate::format::{self, NOT_APPLICABLE, microseconds, number, rate};
use crate::view::page::{Page, Tone};
use crate::view::table::{Column, Table};

pub(super) fn draw(page: &mut Page, view: &mut View<'_>) {
    let targets = view.targets();
    let lines: Vec<&ParseLine> = view
        .result
        .parsing
        .iter()
        .filter(|line| targets.contains(&line.target.as_str()))
        .collect();
    if lines.is_empty() {
        return;
    }
    page.heading("parsing", "reading and parsing");
    let text = |pick: &dyn Fn(&ParseLine) -> String| -> Vec<String> {
        lines.iter().map(|line| pick(line)).collect()
    };
    let several = targets.len() > 1;
    let mut columns = vec![Column::label(
        "rows",
        text(&|line| {
            let rows = format::rows(&line.rows);
            rows.trim_start_matches("rows ").to_owned()
        }),
    )];
    if several {
        columns.push(Column::label("on", text(&|line| line.target.clone())));
    }
    columns.extend([
        Column::label(
            "parser, size",
            text(&|line| format!("{} {}", line.parse.as_str(), exact(line.size_bytes))),
        ),
        Column::number("cold µs", text(&|line| microseconds(line.cold_s))),
        Column::number(
            "reading %",
            text(&|line| number(line.cold_reading_share * 100.0)),
        ),
        Column::number("warm µs", text(&|line| microseconds(line.warm_s))),
        Column::number(
            "reading %",
            text(&|line| number(line.warm_reading_share * 100.0)),
        ),
        Column::number("saved %", text(&|line| number(line.saved_share * 100.0))).rank(1),
        Column::number(
            "its MB/s",
            text(&|line| number(line.parser_bytes_per_s / 1e6)),
        ),
        Column::number(
            "matters MB/s",
            text(&|line| {
                let rate = line.break_even_bytes_per_s;
                rate.map_or_else(|| NOT_APPLICABLE.to_owned(), |rate| number(rate / 1e6))
            }),
        ),
    ]);
    let table = Table::new(0, columns).named("parser against cache");
    let left_out = table.draw(page);
    view.unshown.add("reading and parsing", left_out);
    page.blank();
    let text = format!(
        "reading %: of the time left of it; saved %: what the cache saves of the warm time; \
         its MB/s: throughput of the parser; matters MB/s: throughput from which on a parser of \
         this file gains {} % or more from the cache",
        rate(MATTERS_SHARE * 100.0)
    );
    page.styled(0, &text, Tone::Quiet);
}
