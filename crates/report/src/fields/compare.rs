//! What the rows of a comparison have: rows and experiments of a lab, calls, files and counts.

use iostrata_core::compare::{Calls, Change, Count, Files, Row, Whole};

use super::{Fields, Quantity};
use crate::compared::{busy, count, factor, interval, row_name, seconds, visible};
use crate::view::cell::Cell;

/// In a page and in a comment.
pub(crate) const BOTH: &str = "both";
/// In a page alone.
pub(crate) const PAGE: &str = "page";
/// In a comment alone.
pub(crate) const COMMENT: &str = "comment";
/// Rounds are those of one pair of results, or pairs.
pub(crate) const ROUNDS: &str = "rounds";
pub(crate) const PAIRS: &str = "pairs";
/// Counts below the path of their file.
pub(crate) const OF_FILE: &str = "of a file";
/// Both sides of a count.
pub(crate) const SIDES: &str = "sides";

/// What is to be said of a time that may be judged.
fn judged(time: Option<&Change>, text: impl Fn(&Change) -> String) -> Cell {
    Cell::applicable(time, text)
}

pub(crate) fn row<'a>() -> Fields<'a, &'a Row> {
    let ratio = |row: &&Row| judged(row.time.as_ref(), |time| factor(time.ratio));
    Fields::<&'a Row>::new()
        .label(BOTH, "row", |row| row_name(row))
        .cell(BOTH, "base", |row| seconds(row, row.median_s.base))
        .rank(1)
        .cell(BOTH, "new", |row| seconds(row, row.median_s.new))
        .rank(1)
        .cell(PAGE, "times", ratio)
        .cell(COMMENT, "times as long", ratio)
        .cell(BOTH, "interval", |row| judged(row.time.as_ref(), interval))
        .cell(BOTH, "visible from", |row| {
            judged(row.time.as_ref(), visible)
        })
        .rank(2)
        .words(BOTH, "", |row| row.judgement.as_str().into())
}

pub(crate) fn whole<'a>() -> Fields<'a, &'a Whole> {
    let rounds = |one: &&Whole| judged(one.time.as_ref(), |time| time.rounds.to_string());
    Fields::<&'a Whole>::new()
        .label(PAGE, "experiment", |one| one.id.as_str())
        .count("", |one| one.timed as u64)
        .shown(PAGE, "timed rows", Quantity::Number)
        .rank(3)
        .cell(ROUNDS, "rounds", rounds)
        .rank(3)
        .cell(PAIRS, "pairs", rounds)
        .rank(3)
        .cell(PAGE, "times as long", |one| {
            judged(one.time.as_ref(), |time| factor(time.ratio))
        })
        .cell(PAGE, "interval", |one| judged(one.time.as_ref(), interval))
        .cell(PAGE, "visible from", |one| {
            judged(one.time.as_ref(), visible)
        })
        .rank(1)
        .cell(PAGE, "others' CPUs", |one| busy(one.others_cpus))
        .rank(2)
        .words(PAGE, "", |one| one.judgement.as_str().into())
}

pub(crate) fn calls<'a>() -> Fields<'a, &'a Calls> {
    use Quantity::{Count, Time};
    Fields::<&'a Calls>::new()
        .label(PAGE, "call", |call| call.name.as_str())
        .count("", |call| call.sides.base.count)
        .shown(PAGE, "calls, base", Count)
        .count("", |call| call.sides.new.count)
        .shown(PAGE, "new", Count)
        .count("", |call| call.sides.base.bytes)
        .shown(PAGE, "bytes, base", Count)
        .rank(1)
        .count("", |call| call.sides.new.bytes)
        .shown(PAGE, "new", Count)
        .rank(1)
        .real("", |call| call.sides.base.time_s)
        .shown(PAGE, "time, base", Time)
        .real("", |call| call.sides.new.time_s)
        .shown(PAGE, "new", Time)
}

pub(crate) fn files<'a>() -> Fields<'a, &'a Files> {
    Fields::<&'a Files>::new()
        .real("", |file| file.time_s.base)
        .shown(PAGE, "time, base", Quantity::Time)
        .real("", |file| file.time_s.new)
        .shown(PAGE, "new", Quantity::Time)
}

/// Of counts what they are, and both sides.
pub(crate) fn counts<'a>() -> Fields<'a, &'a Count> {
    Fields::<&'a Count>::new()
        .label(BOTH, "count", |one| one.what.as_str())
        .label(OF_FILE, "  count", |one| format!("  {}", one.what))
        .cell(SIDES, "base", |one| count(one.sides.base).into())
        .cell(SIDES, "new", |one| count(one.sides.new).into())
}
