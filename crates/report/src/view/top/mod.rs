//! One interval of `iostrata top`.

mod devices;
mod rows;
mod syncs;

use iostrata_core::bytes;
use iostrata_core::environment::{Backend, TRACEPOINTS};
use iostrata_core::noun::counted;
use iostrata_core::top::{By, Interval};

use super::page::{Page, SEPARATOR, Tone};
use super::place::unusual;
use super::table::Table;
use super::unseen::{self, Line};
use crate::format::{number, size};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    Rows(By),
    /// The calls of the only process, by their purpose.
    Calls,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    pub by: By,
    /// Whether it is the first that is shown: it says what is not seen in any of them.
    pub is_first: bool,
    /// Colour, which only repeats what the text says.
    pub colour: bool,
}

/// The part of an interval above the rows of a screen.
pub(crate) fn above(page: &mut Page, interval: &Interval, level: Level) {
    head(page, interval);
    if level != Level::Rows(By::Device) && interval.backend != Backend::None {
        devices::draw(page, interval);
    }
}

fn table(interval: &Interval, level: Level) -> Table {
    match level {
        Level::Rows(by) => rows::table(interval, by),
        Level::Calls => rows::calls(interval),
    }
}

pub(crate) fn count(interval: &Interval, level: Level) -> usize {
    table(interval, level).rows()
}

pub(crate) fn rows(page: &mut Page, interval: &Interval, level: Level) {
    let table = table(interval, level);
    if table.rows() == 0 {
        page.paragraph(0, rows::no_rows(interval, level));
    } else {
        table.draw(page);
    }
}

/// The part below them.
pub(crate) fn below(page: &mut Page, interval: &Interval, level: Level) {
    if level == Level::Rows(By::Device) {
        devices::latency(page, interval);
    }
    syncs::draw(page, interval, syncs::MOST_ON_A_SCREEN);
    if interval.lost_events > 0 {
        gaps(page, interval);
    }
}

/// Shows an interval of which the rows have been chosen.
pub(crate) fn show(page: &mut Page, interval: &Interval, style: Style) {
    head(page, interval);
    if style.by == By::Device || interval.backend != Backend::None {
        devices::draw(page, interval);
    }
    if style.by == By::Device {
        devices::latency(page, interval);
    }
    rows::draw(page, interval, style.by);
    syncs::draw(page, interval, syncs::MOST);
    if style.is_first || interval.lost_events > 0 {
        gaps(page, interval);
    }
    if style.is_first && !interval.ways.is_empty() {
        page.blank();
        page.paragraph(0, &ways(interval));
    }
    page.blank();
}

/// `observed by tracepoints`, and what of it by something else.
fn ways(interval: &Interval) -> String {
    let mut facts = vec![format!("observed by {TRACEPOINTS}")];
    facts.extend(unusual(&interval.ways));
    facts.join(SEPARATOR)
}

fn gaps(page: &mut Page, interval: &Interval) {
    let gaps = interval.missing.iter();
    let gaps: Vec<Line> = gaps.map(Line::of).collect();
    unseen::draw(page, &gaps);
}

fn head(page: &mut Page, interval: &Interval) {
    page.styled(0, &heading(interval), Tone::Strong);
    if let Some(line) = page_cache(interval) {
        page.paragraph(0, &line);
    }
}

/// Hits and misses, and how much is dirty.
fn page_cache(interval: &Interval) -> Option<String> {
    let mut facts = Vec::new();
    if let Some(cache) = &interval.totals.cache {
        facts.push(format!(
            "{} pages/s looked up, {} missed/s",
            number(interval.per_second(cache.lookups_pages)),
            number(interval.per_second(cache.missed_pages))
        ));
        let dirtied = size(interval.bytes_per_second(cache.dirtied_bytes));
        facts.push(format!("{dirtied}/s dirtied"));
    }
    if let Some(dirty) = &interval.totals.dirty {
        facts.push(format!("{} dirty now", size(dirty.waiting_bytes)));
        if dirty.writeback_bytes > 0 {
            facts.push(format!("{} in writeback", size(dirty.writeback_bytes)));
        }
    }
    (!facts.is_empty()).then(|| format!("page cache: {}", facts.join(SEPARATOR)))
}

fn heading(interval: &Interval) -> String {
    let mut facts = vec![
        time_of_day(interval.started_ns),
        format!("{} s", number(interval.interval_s)),
    ];
    if let Some(calls) = &interval.totals.calls {
        let rate = |count| number(interval.per_second(count));
        facts.push(format!("{} calls/s", rate(calls.count())));
        facts.push(format!("{} syncs/s", rate(calls.syncs.stats.count)));
    }
    let share = interval.share(interval.own.cpu_s) * 100.0;
    let (share, peak) = (number(share), size(interval.own.peak_resident_bytes));
    facts.push(format!(
        "iostrata itself {share}\u{a0}% of a CPU, {peak} at most"
    ));
    facts.push(format!("{} lost", counted(interval.lost_events, "event")));
    facts.join(SEPARATOR)
}

/// In UTC.
fn time_of_day(since_1970_ns: u64) -> String {
    const DAY: u64 = 24 * 60 * 60;
    let seconds = since_1970_ns / 1_000_000_000 % DAY;
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
    format!("{hours:02}:{minutes:02}:{:02} UTC", seconds % 60)
}

/// A size each second; nothing is a dash, so that what there is stands out.
fn size_rate(interval: &Interval, count_bytes: u64) -> String {
    match interval.bytes_per_second(count_bytes) {
        0 if count_bytes == 0 => "-".to_owned(),
        rate => bytes::short(rate),
    }
}

/// A count each second.
fn count_rate(interval: &Interval, count: u64) -> String {
    match count {
        0 => "-".to_owned(),
        count => number(interval.per_second(count)),
    }
}

#[cfg(test)]
mod tests;
