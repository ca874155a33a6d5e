//! `lab page-cache`: what could not be had, the answers, the tables they rest on, how they
//! were made and what is missing.

use crate::view::section::SectionId;
use iostrata_core::bytes::exact;
use iostrata_core::lab::{machine_of, target_of};
use iostrata_core::page_cache::{
    MATTERS_SHARE, PageCacheResult, PageCacheRow, Parse, ParseLine, Reader, SeriesRead,
};

use super::view::{self, distinct, ends, machines, medians, spread_head};
use super::{Extent, Frame, Named, notes};
use crate::fields::{Fields, Group, Quantity, lab};
use crate::format::{self, mebibytes, microseconds, number, rate};
use crate::view::page::{Page, Tone};
use crate::view::table::{Cell, Column, Rows, Table};

type View<'a> = view::View<'a, PageCacheRow>;
type Numbered<'a> = view::Numbered<'a, PageCacheRow>;

pub(super) fn draw<'a>(
    page: &mut Page,
    frame: &Frame<'a>,
    result: &'a PageCacheResult,
    extent: Extent,
) {
    let mut view = View::of(&frame.rows, &result.rows, lab::page_cache(), extent);
    // The first file system is the one that was asked for first, also where it is an image.
    let mut targets = distinct(view.all().iter().map(|row| row.facts.target));
    if !extent.all_rows() {
        targets.truncate(1);
    }
    let shown = view.which(|row| targets.contains(&row.facts.target));
    view.show(&shown);
    unlike(page, &view);
    frame.answers(page);
    rows(page, &mut view, &targets);
    series(page, &mut view);
    parsing(page, result, &mut view, &targets);
    notes(page, &view);
    frame.made(page, &view);
}

/// Where the reasons stand.
const REASONS: usize = 16;

/// Rows that are not in the requested state: shown first.
fn unlike(page: &mut Page, view: &View<'_>) {
    let groups = distinct(view.all().iter().filter_map(not_as_asked));
    if !groups.is_empty() {
        page.blank();
    }
    for group in groups {
        let (asked, found, why) = group;
        page.entry(format!("  not {asked}"), Tone::Warning, REASONS, why);
        let rows = view.which(|row| not_as_asked(row) == Some(group));
        let rows: Vec<usize> = rows.iter().map(|row| row.facts.number).collect();
        let what = if rows.len() == 1 {
            "the row is"
        } else {
            "the rows are"
        };
        let rows = format::rows(&rows);
        page.more(REASONS, &format!("{what} reported as {found} [{rows}]"));
    }
}

/// The requested state, the one found, and why.
fn not_as_asked<'a>(row: &Numbered<'a>) -> Option<(&'static str, &'static str, &'a str)> {
    let why = row.row.not_as_asked.as_deref()?;
    let (asked, found) = (row.row.asked_state, row.row.row.case.state);
    Some((asked.as_str(), found.as_str(), why))
}

/// Every row of a target: a table of times and of what the cache and the device did for each
/// size, and one of where the time went.
fn rows(page: &mut Page, view: &mut View<'_>, targets: &[&str]) {
    page.part(SectionId::Rows, "every row");
    for target in targets {
        let of_target =
            view.which(|row| row.facts.target == *target && row.row.row.case.parse == Parse::None);
        if of_target.is_empty() {
            continue;
        }
        if targets.len() > 1 {
            page.section(&format!("on {target}"));
        }
        for size in distinct(of_target.iter().map(Numbered::title)) {
            let rows = of_target.iter().copied();
            let rows: Vec<Numbered<'_>> = rows.filter(|row| row.title() == size).collect();
            page.blank();
            let times = medians(
                "real µs",
                rows.iter().map(|row| row.facts.timing),
                microseconds,
            );
            let table = view.table(&size, &rows, times, &[Group::Times]);
            let table = table.named(format!("times, {size} on {target}"));
            view.draw(page, &format!("the rows of {target}"), table);
            let name = format!("time breakdown, {size} on {target}");
            let spent = view.counts("breakdown, µs", &rows).named(name);
            view.draw_below(page, &format!("the times of {target}"), spent);
        }
        latencies(page, view, &of_target);
        legend(page, view);
    }
}

fn legend(page: &mut Page, view: &View<'_>) {
    let text = "cached %: pages of the file in the cache before and after (cachestat); device: \
                read requests and their bytes; waited, ahead: pages that a read waited for, and \
                pages brought in by read-ahead; copy and faults are estimates: the time to copy \
                as many bytes in memory, and the row's minor faults at the cost of one in a new \
                buffer of this size; blocked and on CPU are from the observed run";
    view.legend(page, &[text]);
}

fn latencies<'a>(page: &mut Page, view: &mut View<'a>, rows: &[Numbered<'a>]) {
    let mut rows = rows.to_vec();
    rows.retain(|row| {
        row.row.row.case.reader == Reader::PreadRandom && row.row.latency_s.is_some()
    });
    if rows.is_empty() {
        return;
    }
    page.heading(SectionId::RandomReads, "random 4 KiB reads, one at a time");
    let of = Column::label("of", rows.iter().map(Numbered::title));
    let table = view.table("µs", &rows, [of], &[Group::Latencies]);
    let table = table.named("latencies of random reads");
    view.draw(page, "the random reads", table);
}

/// The same file read again: the first read, the second, and so on.
fn series(page: &mut Page, view: &mut View<'_>) {
    let rows = view.shown();
    let reads: Vec<(&Numbered<'_>, &SeriesRead)> = rows
        .iter()
        .flat_map(|row| row.row.series.iter().map(move |read| (row, read)))
        .collect();
    if reads.is_empty() {
        return;
    }
    let title = "the same file read repeatedly, with nothing done between the reads";
    page.heading(SectionId::Again, title);
    let asked = |row: &Numbered<'_>| format!("{} {}", row.row.row.case.state.as_str(), row.title());
    let numbers = reads.iter().map(|(row, _)| row.facts.number.to_string());
    let asked = reads.iter().map(|(row, _)| asked(row));
    let spread = spread_head(reads.iter().map(|(_, read)| Some(&read.timing)));
    let rows = Rows::of(&reads)
        .and([Column::label("row", numbers).once()])
        .and([Column::label("state, size", asked).once()])
        .label("read", |(_, read)| read.number.to_string())
        .number("real µs", |(_, read)| microseconds(read.timing.median_s))
        .text(&spread, |(_, read)| ends(&read.timing, microseconds))
        .rank(1)
        .number("from storage MiB", |(_, read)| {
            Cell::seen(read.storage_read_bytes, mebibytes)
        })
        .number("resident before MiB", |(_, read)| {
            mebibytes(read.resident_before_bytes)
        })
        .number("after MiB", |(_, read)| {
            mebibytes(read.resident_after_bytes)
        });
    let table = rows.table(0).named("the individual reads");
    view.draw(page, "the individual reads", table);
}

fn parsing(page: &mut Page, result: &PageCacheResult, view: &mut View<'_>, targets: &[&str]) {
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
        let on = lines.iter().map(|line| target_of(&line.target));
        columns.push(Column::label("on", on));
    }
    columns.extend(machines(lines.iter().map(|line| machine_of(&line.target))));
    columns.extend(parsing_fields().columns(&[Group::Parsing], &lines));
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

fn parsing_fields<'a>() -> Fields<'a, &'a ParseLine> {
    use Quantity::{MebibytesPerSecond, Microseconds, Percent};
    Fields::<&'a ParseLine>::new()
        .label(Group::Parsing, "parser, size", |line| {
            format!("{} {}", line.parse.as_str(), exact(line.size_bytes))
        })
        .figure(Group::Parsing, "cold µs", Microseconds, |line| line.cold_s)
        .figure(Group::Parsing, "reading %", Percent, |line| {
            line.cold_reading_share
        })
        .figure(Group::Parsing, "warm µs", Microseconds, |line| line.warm_s)
        .figure(Group::Parsing, "reading %", Percent, |line| {
            line.warm_reading_share
        })
        .figure(Group::Parsing, "saved %", Percent, |line| line.saved_share)
        .rank(1)
        .figure(Group::Parsing, "its MiB/s", MebibytesPerSecond, |line| {
            line.parser_bytes_per_s
        })
        .cell(Group::Parsing, "matters MiB/s", |line| {
            Cell::applicable(line.break_even_bytes_per_s, |rate| {
                number(rate / f64::from(1 << 20))
            })
        })
}

impl Named for PageCacheRow {
    /// `cold read`, `warm read, json`.
    fn name(&self) -> String {
        let case = &self.row.case;
        let (state, reader) = (case.state.as_str(), case.reader.as_str());
        match case.parse {
            Parse::None => format!("{state} {reader}"),
            parse => format!("{state} {reader}, {}", parse.as_str()),
        }
    }

    fn title(&self) -> String {
        exact(self.row.case.size_bytes)
    }
}

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod tests;
