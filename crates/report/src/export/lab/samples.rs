//! Times: summaries, and every single sample.

use iostrata_core::atime::AtimeRow;
use iostrata_core::copy;
use iostrata_core::lab::{Experiment, target_of};
use iostrata_core::timing::Timing;

use super::super::table::Table;
use super::{LabRow, Numbered, case, rows};
use crate::fields::evidence::timing;
use crate::fields::{Fields, json_name};

#[derive(Clone)]
struct Timed<'a> {
    result: u64,
    /// `None` for yardsticks, which belong to no row.
    row: Option<LabRow<'a>>,
    /// The timed step: `run` is the row's own time.
    part: &'static str,
    /// Which read of a series, from 1.
    read: Option<u64>,
    yardstick: Option<&'a copy::Yardstick>,
    timing: &'a Timing,
}

pub(super) fn timings<'a>(results: &'a Numbered<'a>) -> Table<'a> {
    let columns = Fields::<Timed<'a>>::new()
        .within("", whose(), |timed| Some(timed.clone()))
        .within("", timing(), |timed| Some(timed.timing));
    Table::new("timings", columns, all(results))
}

/// One row for each run of each thing that was timed, in the order of the runs.
pub(super) fn samples<'a>(results: &'a Numbered<'a>) -> Table<'a> {
    type Sample<'a> = (Timed<'a>, u64, f64);
    let columns = Fields::<Sample<'a>>::new()
        .within("", whose(), |sample| Some(sample.0.clone()))
        .field("sample", |sample| sample.1)
        .field("real_s", |sample| sample.2);
    let samples = all(results).flat_map(|timed| {
        let samples = timed.timing.samples_s.iter().zip(1..);
        samples
            .map(move |(real_s, place)| (timed.clone(), place, *real_s))
            .collect::<Vec<_>>()
    });
    Table::new("samples", columns, samples)
}

fn whose<'a>() -> Fields<'a, Timed<'a>> {
    Fields::<Timed<'a>>::new()
        // Yardsticks have no row, and yet a result.
        .field("result", |timed| timed.result)
        .within("", case(), |timed| timed.row.clone())
        .field("part", |timed| Some(timed.part))
        .field("read", |timed| timed.read)
        .field("yardstick", |timed| json_name(&timed.yardstick?.measure))
        .field("yardstick_target", |timed| {
            timed.yardstick?.target.as_deref().map(target_of)
        })
        .field("yardstick_machine", |timed| {
            timed.yardstick?.machine.as_deref()
        })
        .field("yardstick_bytes", |timed| Some(timed.yardstick?.size_bytes))
}

/// First the rows of each result, then its yardsticks.
fn all<'a>(results: &'a Numbered<'a>) -> impl Iterator<Item = Timed<'a>> + 'a {
    results.iter().flat_map(|(number, result)| {
        let experiments = || result.experiments.iter();
        let rows = experiments().flat_map(|experiment| of_rows(*number, experiment));
        rows.chain(experiments().flat_map(|experiment| yardsticks(*number, experiment)))
    })
}

fn of_rows(result: u64, experiment: &Experiment) -> Vec<Timed<'_>> {
    let mut timed = Vec::new();
    for (index, row) in rows(result, experiment).into_iter().enumerate() {
        let mut push = |part, read, timing: Option<_>| {
            timed.extend(timing.map(|timing| Timed {
                result,
                row: Some(row.clone()),
                part,
                read,
                yardstick: None,
                timing,
            }));
        };
        push("run", None, row.facts.timing);
        match experiment {
            Experiment::PageCache(whole) => {
                let whole = &whole.rows[index];
                push("reading", None, whole.reading.as_ref());
                push("parsing", None, whole.parsing.as_ref());
                push("memory_copy", None, whole.memory_copy.as_ref());
                for read in &whole.series {
                    push("series", Some(u64::from(read.number)), Some(&read.timing));
                }
            }
            Experiment::Atime(whole) => {
                if let AtimeRow::Loop(cost) = &whole.rows[index] {
                    push("with_sync", None, cost.with_sync.as_ref());
                }
            }
            _ => {}
        }
    }
    timed
}

fn yardsticks(result: u64, experiment: &Experiment) -> impl Iterator<Item = Timed<'_>> {
    let yardsticks = match experiment {
        Experiment::Copy(copy) => copy.own.yardsticks.as_slice(),
        _ => &[],
    };
    yardsticks.iter().map(move |yardstick| Timed {
        result,
        row: None,
        part: "yardstick",
        read: None,
        yardstick: Some(yardstick),
        timing: &yardstick.timing,
    })
}
