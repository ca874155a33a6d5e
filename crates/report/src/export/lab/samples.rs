//! Times: summaries, and every single sample.

use iostrata_core::atime::AtimeRow;
use iostrata_core::lab::{Experiment, LabResult};
use iostrata_core::timing::Timing;

use super::super::column::Columns;
use super::super::evidence::timing;
use super::super::table::Table;
use super::{LabRow, Numbered, Whole, case, rows};

/// The times of one thing that was timed.
#[derive(Debug, Clone)]
struct Timed<'a> {
    result: u64,
    /// `None` for yardsticks, which belong to no row.
    row: Option<LabRow<'a>>,
    /// What was timed: `run` is the row's own time.
    part: &'static str,
    /// Which read of a series, from 1.
    read: Option<u64>,
    /// What a yardstick measured, where, and how many bytes.
    yardstick: Option<Yardstick<'a>>,
    timing: &'a Timing,
}

#[derive(Debug, Clone)]
struct Yardstick<'a> {
    measure: iostrata_core::copy::Measure,
    target: Option<&'a str>,
    bytes: u64,
}

/// One row for each thing that was timed.
pub(super) fn timings<'a>(results: &'a Numbered<'a>) -> Table<'a> {
    let columns = Columns::<Timed<'a>>::new()
        .within("", whose(), |timed| Some(timed.clone()))
        .within("", timing(), |timed| Some(timed.timing));
    Table::new("timings", columns, all(results))
}

/// One row for each run of each thing that was timed, in the order of the runs.
pub(super) fn samples<'a>(results: &'a Numbered<'a>) -> Table<'a> {
    type Sample<'a> = (Timed<'a>, u64, f64);
    let columns = Columns::<Sample<'a>>::new()
        .within("", whose(), |sample| Some(sample.0.clone()))
        .count("sample", |sample| sample.1)
        .real("real_s", |sample| sample.2);
    let samples = all(results).flat_map(|timed| {
        let samples = timed.timing.samples_s.iter().zip(1..);
        samples
            .map(move |(real_s, place)| (timed.clone(), place, *real_s))
            .collect::<Vec<_>>()
    });
    Table::new("samples", columns, samples)
}

fn whose<'a>() -> Columns<'a, Timed<'a>> {
    Columns::<Timed<'a>>::new()
        // Yardsticks have no row, and yet a result.
        .count("result", |timed| timed.result)
        .within("", case(), |timed| timed.row.clone())
        .maybe_text("part", |timed| Some(timed.part))
        .count("read", |timed| timed.read)
        .named("yardstick", |timed| Some(timed.yardstick.as_ref()?.measure))
        .maybe_text("yardstick_target", |timed| timed.yardstick.as_ref()?.target)
        .count("yardstick_bytes", |timed| {
            Some(timed.yardstick.as_ref()?.bytes)
        })
}

fn all<'a>(results: &'a Numbered<'a>) -> impl Iterator<Item = Timed<'a>> + 'a {
    results.iter().flat_map(|(number, result)| {
        let rows = rows(*number, result)
            .into_iter()
            .flat_map(|row| of_row(&row));
        rows.chain(yardsticks(*number, result))
    })
}

fn of_row<'a>(row: &LabRow<'a>) -> Vec<Timed<'a>> {
    let part = |part, read, timing| Timed {
        result: row.result,
        row: Some(row.clone()),
        part,
        read,
        yardstick: None,
        timing,
    };
    let mut parts = Vec::new();
    let mut push = |name, timing: Option<_>| {
        parts.extend(timing.map(|timing| part(name, None, timing)));
    };
    push("run", row.timing);
    match row.whole {
        Whole::PageCache(whole) => {
            push("reading", whole.reading.as_ref());
            push("parsing", whole.parsing.as_ref());
            push("memory_copy", whole.memory_copy.as_ref());
            for read in &whole.series {
                parts.push(part("series", Some(u64::from(read.number)), &read.timing));
            }
        }
        Whole::Atime(AtimeRow::Loop(cost)) => push("with_sync", cost.with_sync.as_ref()),
        _ => {}
    }
    parts
}

fn yardsticks(result: u64, lab: &LabResult) -> impl Iterator<Item = Timed<'_>> {
    let copies = lab.experiments.iter().filter_map(|one| match one {
        Experiment::Copy(copy) => Some(&copy.yardsticks),
        _ => None,
    });
    copies.flatten().map(move |yardstick| Timed {
        result,
        row: None,
        part: "yardstick",
        read: None,
        yardstick: Some(Yardstick {
            measure: yardstick.measure,
            target: yardstick.target.as_deref(),
            bytes: yardstick.size_bytes,
        }),
        timing: &yardstick.timing,
    })
}
