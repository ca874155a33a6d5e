//! What the rows of a comparison have: rows and experiments of a lab, calls, files and counts.

use iostrata_core::compare::{Calls, Change, Count, Files, Row, Whole};

use super::{Fields, Group, Quantity};
use crate::compared::{busy, count, factor, interval, row_name, seconds, visible};
use crate::view::cell::Cell;

/// What is to be said of a time that may be judged.
fn judged(time: Option<&Change>, text: impl Fn(&Change) -> String) -> Cell {
    Cell::applicable(time, text)
}

pub(crate) fn row<'a>() -> Fields<'a, &'a Row> {
    let ratio = |row: &&Row| judged(row.time.as_ref(), |time| factor(time.ratio));
    Fields::<&'a Row>::new()
        .label(Group::Both, "row", |row| row_name(row))
        .cell(Group::Both, "base", |row| seconds(row, row.median_s.base))
        .rank(1)
        .cell(Group::Both, "new", |row| seconds(row, row.median_s.new))
        .rank(1)
        .cell(Group::Page, "times", ratio)
        .cell(Group::Comment, "times as long", ratio)
        .cell(Group::Both, "interval", |row| {
            judged(row.time.as_ref(), interval)
        })
        .cell(Group::Both, "visible from", |row| {
            judged(row.time.as_ref(), visible)
        })
        .rank(2)
        .words(Group::Both, "", |row| row.judgement.as_str().into())
}

pub(crate) fn whole<'a>() -> Fields<'a, &'a Whole> {
    let rounds = |one: &&Whole| judged(one.time.as_ref(), |time| time.rounds.to_string());
    Fields::<&'a Whole>::new()
        .label(Group::Page, "experiment", |one| one.id.as_str())
        .count("", |one| one.timed as u64)
        .shown(Group::Page, "timed rows", Quantity::Number)
        .rank(3)
        .cell(Group::Rounds, "rounds", rounds)
        .rank(3)
        .cell(Group::Pairs, "pairs", rounds)
        .rank(3)
        .cell(Group::Page, "times as long", |one| {
            judged(one.time.as_ref(), |time| factor(time.ratio))
        })
        .cell(Group::Page, "interval", |one| {
            judged(one.time.as_ref(), interval)
        })
        .cell(Group::Page, "visible from", |one| {
            judged(one.time.as_ref(), visible)
        })
        .rank(1)
        .cell(Group::Page, "others' CPUs", |one| busy(one.others_cpus))
        .rank(2)
        .words(Group::Page, "", |one| one.judgement.as_str().into())
}

pub(crate) fn calls<'a>() -> Fields<'a, &'a Calls> {
    use Quantity::{Count, Time};
    Fields::<&'a Calls>::new()
        .label(Group::Page, "call", |call| call.name.as_str())
        .count("", |call| call.sides.base.count)
        .shown(Group::Page, "calls, base", Count)
        .count("", |call| call.sides.new.count)
        .shown(Group::Page, "new", Count)
        .count("", |call| call.sides.base.bytes)
        .shown(Group::Page, "bytes, base", Count)
        .rank(1)
        .count("", |call| call.sides.new.bytes)
        .shown(Group::Page, "new", Count)
        .rank(1)
        .real("", |call| call.sides.base.time_s)
        .shown(Group::Page, "time, base", Time)
        .real("", |call| call.sides.new.time_s)
        .shown(Group::Page, "new", Time)
}

pub(crate) fn files<'a>() -> Fields<'a, &'a Files> {
    Fields::<&'a Files>::new()
        .real("", |file| file.time_s.base)
        .shown(Group::Page, "time, base", Quantity::Time)
        .real("", |file| file.time_s.new)
        .shown(Group::Page, "new", Quantity::Time)
}

/// Of counts what they are, and both sides.
pub(crate) fn counts<'a>() -> Fields<'a, &'a Count> {
    Fields::<&'a Count>::new()
        .label(Group::Both, "count", |one| one.what.as_str())
        .label(Group::OfFile, "  count", |one| format!("  {}", one.what))
        .cell(Group::Sides, "base", |one| count(one.sides.base).into())
        .cell(Group::Sides, "new", |one| count(one.sides.new).into())
}
