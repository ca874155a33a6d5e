//! Parser against cache.

use iostrata_core::bytes::exact;
use iostrata_core::lab::{machine_of, target_of};
use iostrata_core::page_cache::{MATTERS_SHARE, PageCacheResult, ParseLine};

use super::View;
use crate::fields::{Fields, Group, Quantity};
use crate::format::{self, number, rate};
use crate::view::cell::Cell;
use crate::view::lab::view::machines;
use crate::view::page::{Page, Tone};
use crate::view::section::SectionId;
use crate::view::table::{Column, Table};

fn fields<'a>() -> Fields<'a, &'a ParseLine> {
    use Quantity::{MebibytesPerSecond, Microseconds, Percent};
    Fields::<&'a ParseLine>::new()
        .label(Group::Parsing, "parser, size", |line| {
            format!("{} {}", line.parse.as_str(), exact(line.size_bytes))
        })
        .real("", |line| line.cold_s)
        .shown(Group::Parsing, "cold µs", Microseconds)
        .real("", |line| line.cold_reading_share)
        .shown(Group::Parsing, "reading %", Percent)
        .real("", |line| line.warm_s)
        .shown(Group::Parsing, "warm µs", Microseconds)
        .real("", |line| line.warm_reading_share)
        .shown(Group::Parsing, "reading %", Percent)
        .real("", |line| line.saved_share)
        .shown(Group::Parsing, "saved %", Percent)
        .rank(1)
        .real("", |line| line.parser_bytes_per_s)
        .shown(Group::Parsing, "its MiB/s", MebibytesPerSecond)
        .cell(Group::Parsing, "matters MiB/s", |line| {
            Cell::applicable(line.break_even_bytes_per_s, |rate| {
                number(rate / f64::from(1 << 20))
            })
        })
}

pub(super) fn draw(
    page: &mut Page,
    result: &PageCacheResult,
    view: &mut View<'_>,
    targets: &[&str],
) {
    let lines = result.own.parsing.iter();
    let lines: Vec<&ParseLine> = lines
        .filter(|line| targets.contains(&target_of(&line.target)))
        .collect();
    if lines.is_empty() {
        return;
    }
    page.heading(SectionId::Parsing, "reading and parsing");
    let rows = lines.iter().map(|line| format::rows(&line.rows));
    let rows = rows.map(|rows| rows.trim_start_matches("rows ").to_owned());
    let mut columns = vec![Column::label("rows", rows)];
    if targets.len() > 1 {
        columns.push(Column::label(
            "on",
            lines.iter().map(|line| target_of(&line.target)),
        ));
    }
    columns.extend(machines(lines.iter().map(|line| machine_of(&line.target))));
    columns.extend(fields().columns(&[Group::Parsing], &lines));
    let table = Table::new(0, columns).named("parser against cache");
    view.draw(page, "reading and parsing", table);
    page.blank();
    let text = format!(
        "reading %: share of the time to the left of it; saved %: share of the warm time saved by \
         the cache; its MiB/s: throughput of the parser; matters MiB/s: throughput above which a \
         parser of this file gains {} % or more from the cache",
        rate(MATTERS_SHARE * 100.0)
    );
    page.styled(0, &text, Tone::Quiet);
}
