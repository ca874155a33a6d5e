//! `lab atime`: the answers, then what updates an access time, then the cost of reading.

use crate::view::section::SectionId;
use iostrata_core::atime::{
    AtimeResult, Comparison, Loop, LoopRow, Mount, Moved, Operation, Reading, Saving, Subject,
    TouchRow,
};
use iostrata_core::bytes::grouped;
use iostrata_core::lab::{Facts, machine_of, target_of};

use super::view::{Unshown, distinct, machines, on};
use super::{Frame, footnotes, made};
use crate::format::{milliseconds, number};
use crate::view::page::Page;
use crate::view::table::{Cell, Column, Rows, Table};

pub(super) fn draw(page: &mut Page, frame: &Frame<'_>, result: &AtimeResult) {
    // Only loops have times and evidence that could be missing.
    let loops = result.loops();
    let loops: Vec<Facts<'_>> = loops.map(|(at, row)| Facts::of(at, &row.row)).collect();
    frame.answers(page);
    let mut unshown = Unshown::default();
    operations(page, result, &mut unshown);
    probes(page, result, &mut unshown);
    costs(page, result, &mut unshown);
    footnotes::draw(page, &loops);
    if result.method.timing_runs.1 > 0 || !loops.is_empty() {
        made::draw(page, frame, &loops, 0, &unshown);
    } else {
        page.blank();
        made::limits(page, frame, &loops, 0, &unshown);
    }
}

/// One line: an operation on file systems that agree about it.
struct Line {
    operation: Operation,
    subject: Subject,
    filesystems: Vec<String>,
    /// In the order of the mount options that are drawn.
    cells: Vec<Cell>,
}

fn operations(page: &mut Page, result: &AtimeResult, unshown: &mut Unshown) {
    let mounts = distinct(result.touches().map(|(_, row)| row.row.case.mount));
    let mounts: Vec<Mount> = Mount::ALL
        .into_iter()
        .filter(|one| mounts.contains(one))
        .collect();
    let lines = lines(result, &mounts);
    if lines.is_empty() {
        return;
    }
    page.heading(SectionId::Operations, "does it update the access time?");
    let all = distinct(result.touches().map(|(_, row)| row.row.target.as_str())).len();
    let on = |line: &Line| {
        if all > 1 && line.filesystems.len() == all {
            "all".to_owned()
        } else {
            line.filesystems.join(", ")
        }
    };
    let rows = Rows::of(&lines)
        .label("operation", |line| line.operation.as_str())
        .label("whose", |line| line.subject.as_str())
        .label("on", on);
    let mounts = mounts.iter().enumerate();
    let rows = mounts.fold(rows, |rows, (index, mount)| {
        rows.text(mount.as_str(), |line| line.cells[index].clone())
    });
    let name = "access time updates, by operation and mount option";
    unshown.draw(page, "the table of operations", rows.table(2).named(name));
    let text = "yes: always; due: only if the access time is not newer than mtime and ctime (or is a \
                day old); no: never";
    page.paragraph(2, text);
}

/// Operations in their order; those of file systems that differ one below the other.
fn lines(result: &AtimeResult, mounts: &[Mount]) -> Vec<Line> {
    let targets = distinct(result.touches().map(|(_, row)| row.row.target.as_str()));
    let mut lines: Vec<Line> = Vec::new();
    for operation in Operation::ALL {
        for walked in [false, true] {
            let mut of_operation: Vec<Line> = Vec::new();
            for target in &targets {
                let Some((subject, cells)) = cells(result, (operation, walked, target), mounts)
                else {
                    continue;
                };
                let same = of_operation
                    .iter_mut()
                    .find(|line| agree(&line.cells, &cells));
                match same {
                    Some(line) => {
                        line.filesystems.push((*target).to_owned());
                        fill_in(&mut line.cells, &cells);
                    }
                    None => of_operation.push(Line {
                        operation,
                        subject,
                        filesystems: vec![(*target).to_owned()],
                        cells,
                    }),
                }
            }
            lines.extend(of_operation);
        }
    }
    lines
}

/// Whether two file systems do not contradict each other: one may be measured under fewer
/// options.
fn agree(ours: &[Cell], theirs: &[Cell]) -> bool {
    let mut pairs = ours.iter().zip(theirs);
    let none = Cell::NotApplicable;
    pairs.all(|(our, their)| our == their || *our == none || *their == none)
}

fn fill_in(ours: &mut [Cell], theirs: &[Cell]) {
    for (our, their) in ours.iter_mut().zip(theirs) {
        if *our == Cell::NotApplicable {
            their.clone_into(our);
        }
    }
}

/// The effect of an operation on a target, by mount option; `None` if it was not run there.
fn cells(
    result: &AtimeResult,
    (operation, walked, target): (Operation, bool, &str),
    mounts: &[Mount],
) -> Option<(Subject, Vec<Cell>)> {
    let of = |mount: Mount| {
        let mut rows = result.touches().map(|(_, row)| row);
        rows.find(|row| {
            let case = &row.row.case;
            (case.operation, case.mount, row.row.target.as_str()) == (operation, mount, target)
        })
    };
    let moved = |row: &TouchRow| {
        if walked {
            row.directory
        } else {
            Some(own(row))
        }
    };
    let found: Vec<Option<Moved>> = mounts.iter().map(|mount| moved(of(*mount)?)).collect();
    let subject = if walked {
        Subject::Directory
    } else {
        operation.subject()
    };
    found.iter().any(Option::is_some).then(|| {
        let words = found.iter();
        let words =
            words.map(|moved| moved.map_or(Cell::NotApplicable, |moved| word(moved).into()));
        (subject, words.collect())
    })
}

fn own(row: &TouchRow) -> Moved {
    Moved {
        due: row.atime_changed,
        fresh: row.atime_changed_when_fresh,
    }
}

fn word(moved: Moved) -> &'static str {
    match (moved.due, moved.fresh) {
        (true, true) => "yes",
        (true, false) => "due",
        (false, false) => "no",
        (false, true) => "only if not due",
    }
}

/// relatime's rule, part by part.
fn probes(page: &mut Page, result: &AtimeResult, unshown: &mut Unshown) {
    let states = distinct(result.own.relatime.iter().map(|probe| probe.probe));
    if states.is_empty() {
        return;
    }
    let title = "relatime: does a read update an access time that is …";
    page.heading(SectionId::Relatime, title);
    let which = |state, moved: bool| {
        let probes = result.own.relatime.iter();
        let names = probes.filter(|one| one.probe == state && one.atime_changed == moved);
        let names = distinct(names.map(|one| on(&one.filesystem, one.machine.as_deref())));
        let names = (!names.is_empty()).then_some(names);
        Cell::applicable(names, |names| names.join(", "))
    };
    let rows = Rows::of(&states)
        .label("", |state| state.as_str())
        .text("moved on", |state| which(*state, true))
        .text("stayed on", |state| which(*state, false));
    let table = rows.table(2);
    let table = table.named("the relatime rule, by state of the access time");
    unshown.draw(page, "the table of the relatime rule", table);
}

type Numbered<'a> = (usize, &'a LoopRow);

/// The times and writes of the loops, and the saving by noatime.
fn costs(page: &mut Page, result: &AtimeResult, unshown: &mut Unshown) {
    let rows: Vec<Numbered<'_>> = result.loops().collect();
    let kind = |(_, row): &Numbered<'_>| (row.row.case.files, row.row.case.reading);
    let loops = distinct(rows.iter().map(kind));
    if loops.is_empty() {
        return;
    }
    let heading = "cost of reading: open, read and close of cached 4 KiB files";
    page.heading(SectionId::Loops, heading);
    for (position, (files, reading)) in loops.into_iter().enumerate() {
        if position > 0 {
            page.blank();
        }
        let mut of_loop = rows.clone();
        of_loop.retain(|row| kind(row) == (files, reading));
        let title = title(files, reading, of_loop[0].1.row.case.reads);
        page.paragraph(2, &title);
        let table = table(result, &of_loop).named(title);
        unshown.draw(page, "the table of loops", table);
    }
    let text = "mean: with the standard deviation; saved: share of the time to the left of it that \
         noatime saves, with its 95 % interval; none: the interval includes 0; + sync: median of \
         the reading and the following sync; sectors: 512-byte sectors written until the end of \
         the sync";
    page.paragraph(2, text);
}

fn title(files: Loop, reading: Reading, reads: u64) -> String {
    let reads = grouped(reads);
    match (files, reading) {
        (Loop::OneFile, _) => format!("one_file: one file, {reads} times"),
        (Loop::ManyFiles, Reading::First) => {
            format!(
                "many_files, first reading: {reads} files, each once, access times due for an \
                     update"
            )
        }
        (Loop::ManyFiles, Reading::Second) => {
            "many_files, second reading: the same files again".to_owned()
        }
    }
}

fn table(result: &AtimeResult, rows: &[Numbered<'_>]) -> Table {
    let saving = |number: usize, pick: fn(&Comparison) -> Saving| {
        let mut known = result.own.comparisons.iter();
        let own = known.find(|one| one.rows[0] == number);
        own.map_or(Cell::NotApplicable, |one| saved(&pick(one)))
    };
    let targets = rows.iter().map(|(_, row)| row.row.target.as_str());
    Rows::of(rows)
        .and([Column::row_numbers(rows.iter().map(|(number, _)| *number))])
        .label("on", |(_, row)| target_of(&row.row.target))
        .and(machines(targets.map(machine_of)))
        .label("mount", |(_, row)| row.row.case.mount.as_str())
        .number("mean ms", |(_, row)| {
            Cell::seen(row.spread, |spread| {
                let (mean, deviation) = (spread.mean_s, spread.standard_deviation_s);
                format!("{} ± {}", milliseconds(mean), milliseconds(deviation))
            })
        })
        .number("± %", |(_, row)| {
            let percent = row.spread.map(|spread| spread.standard_deviation_percent);
            Cell::seen(percent, number)
        })
        .rank(4)
        .number("saved %", |(number, _)| saving(*number, |one| one.timing))
        .number("+ sync ms", |(_, row)| {
            let timing = row.with_sync.as_ref();
            Cell::seen(timing, |timing| milliseconds(timing.median_s))
        })
        .rank(2)
        .number("saved %", |(number, _)| {
            saving(*number, |one| one.with_sync)
        })
        .rank(3)
        .number("sectors", |(_, row)| Cell::seen(row.sectors, grouped))
        .table(2)
}

/// `3.1 (1.0 to 5.2)`, or that there is no difference.
fn saved(saving: &Saving) -> Cell {
    let signed = |percent: f64| {
        let sign = if percent < 0.0 { "−" } else { "" };
        format!("{sign}{}", number(percent.abs()))
    };
    let Some((low, high)) = saving.interval() else {
        return Cell::NotSeen;
    };
    let interval = format!("({} to {})", signed(low), signed(high));
    if saving.differs() == Some(true) {
        format!("{} {interval}", signed(saving.percent)).into()
    } else {
        format!("none {interval}").into()
    }
}

#[cfg(test)]
mod tests;
