//! Fields of a comparison's rows: rows and experiments of a lab, files and counts.

use iostrata_core::bytes::{grouped, short};
use iostrata_core::compare::{
    ChangedFile, Count, FileWork, Measure, Row, Sides, TimeRatio, Verdict, Whole,
};
use iostrata_core::trace::Bounds;

use super::{Fields, Group, Quantity};
use crate::compared::{busy, factor, interval, is_telling, ratio, seconds, verdict, visible};
use crate::format::{between, rate, size, time};
use crate::view::table::Cell;

pub(crate) const DETECTABLE: &str = "detectable";

/// An estimate or its interval, if they are meaningful.
fn told(
    time: Option<&TimeRatio>,
    by: Option<Verdict>,
    text: impl Fn(&TimeRatio) -> String,
) -> Cell {
    Cell::applicable(time.filter(|time| is_telling(time, by)), text)
}

pub(crate) fn row<'a>() -> Fields<'a, &'a Row> {
    let base = |row: &&'a Row| seconds(row, row.median_s.base);
    let new = |row: &&'a Row| seconds(row, row.median_s.new);
    Fields::<&'a Row>::new()
        .cell(Group::Page, "base", base)
        .rank(1)
        .cell(Group::Comment, "before", base)
        .cell(Group::Page, "new", new)
        .rank(1)
        .cell(Group::Comment, "after", new)
        .cell(Group::Both, "ratio", |row| {
            told(row.time.as_ref(), row.verdict, |time| factor(time.ratio))
        })
        .cell(Group::Both, "interval", |row| {
            told(row.time.as_ref(), row.verdict, interval)
        })
        .cell(Group::Page, DETECTABLE, |row| {
            Cell::applicable(row.time.as_ref(), visible)
        })
        .rank(2)
        .words(Group::Both, "verdict", |row| verdict(row.verdict).into())
}

pub(crate) fn whole<'a>() -> Fields<'a, &'a Whole> {
    let rounds = |one: &&Whole| Cell::applicable(one.time.as_ref(), |time| time.rounds.to_string());
    Fields::<&'a Whole>::new()
        .label(Group::Both, "experiment", |one| one.id.as_str())
        .figure(Group::Page, "timed rows", Quantity::Number, |one| {
            one.timed as u64
        })
        .rank(3)
        .cell(Group::Rounds, "rounds", rounds)
        .rank(3)
        .cell(Group::Pairs, "pairs", rounds)
        .rank(3)
        .cell(Group::Both, "ratio", |one| {
            told(one.time.as_ref(), one.verdict, |time| factor(time.ratio))
        })
        .cell(Group::Both, "interval", |one| {
            told(one.time.as_ref(), one.verdict, interval)
        })
        .cell(Group::Both, DETECTABLE, |one| {
            Cell::applicable(one.time.as_ref(), visible)
        })
        .rank(1)
        .cell(Group::Page, "others' CPUs", |one| busy(one.others_cpus))
        .rank(2)
        .words(Group::Both, "verdict", |one| verdict(one.verdict).into())
}

pub(crate) fn strata<'a>() -> Fields<'a, &'a Measure> {
    let side = |one: &Measure, side: Option<Bounds>| {
        let text = if one.is_bytes { size } else { grouped };
        Cell::seen(side, |Bounds { at_least, at_most }| {
            between(at_least, at_most, text)
        })
    };
    Fields::<&'a Measure>::new()
        .words(Group::Both, "whole run", |one| one.what.as_str().into())
        .cell(Group::Both, "base", move |one| side(one, one.sides.base))
        .cell(Group::Both, "new", move |one| side(one, one.sides.new))
        .cell(Group::Both, "ratio", |one| {
            if one.sides.base == one.sides.new && one.ratio.is_some() {
                return "same".into();
            }
            Cell::applicable(one.ratio, ratio)
        })
}

pub(crate) fn changed<'a>() -> Fields<'a, &'a ChangedFile> {
    Fields::<&'a ChangedFile>::new()
        .cell(Group::Both, "time", |file| {
            both(file.work, |work| time(work.time_s))
        })
        .cell(Group::Both, "calls", |file| {
            both(file.work, |work| grouped(work.calls))
        })
        .rank(3)
        .cell(Group::Both, "read", |file| {
            both(file.work, |work| short(work.read_bytes))
        })
        .rank(2)
        .cell(Group::Both, "written", |file| {
            both(file.work, |work| short(work.written_bytes))
        })
        .cell(Group::Both, "syncs", |file| {
            both(file.work, |work| grouped(work.syncs))
        })
        .rank(1)
}

/// `602 → 4`; one figure if both sides read alike. A run that did not use the file has a dash.
fn both(work: Sides<Option<FileWork>>, text: impl Fn(FileWork) -> String) -> Cell {
    let side = |work: Option<FileWork>| Cell::applicable(work, &text);
    let (base, new) = (side(work.base), side(work.new));
    if base == new {
        return base;
    }
    format!("{base} → {new}").into()
}

pub(crate) fn counts<'a>() -> Fields<'a, &'a Count> {
    Fields::<&'a Count>::new()
        .label(Group::Both, "count", |one| one.what.as_str())
        .label(Group::OfFile, "  count", |one| format!("  {}", one.what))
        .cell(Group::Sides, "base", |one| rate(one.sides.base).into())
        .cell(Group::Sides, "new", |one| rate(one.sides.new).into())
}
