//! Whether each operation updates an access time, and relatime's rule.

use iostrata_core::atime::{AtimeResult, Mount, Moved, Operation, Subject, TouchRow};

use crate::view::cell::Cell;
use crate::view::lab::view::{Unshown, distinct, on};
use crate::view::page::Page;
use crate::view::section::SectionId;
use crate::view::table::{Column, Table};

/// One line: an operation on file systems that agree about it.
struct Line {
    operation: Operation,
    subject: Subject,
    filesystems: Vec<String>,
    /// In the order of the mount options that are drawn.
    cells: Vec<Cell>,
}

pub(super) fn draw(page: &mut Page, result: &AtimeResult, unshown: &mut Unshown) {
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
    let mut columns = vec![
        Column::label(
            "operation",
            lines.iter().map(|line| line.operation.as_str()),
        ),
        Column::label("whose", lines.iter().map(|line| line.subject.as_str())),
        Column::label("on", lines.iter().map(on)),
    ];
    for (index, mount) in mounts.iter().enumerate() {
        let cells = lines.iter().map(|line| line.cells[index].clone());
        columns.push(Column::text(mount.as_str(), cells));
    }
    let table = Table::new(2, columns).named("access time updates, by operation and mount option");
    unshown.draw(page, "the table of operations", table);
    page.paragraph(
        2,
        "yes: always; due: only if the access time is not newer than mtime and ctime (or is a day \
         old); no: never",
    );
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
pub(super) fn probes(page: &mut Page, result: &AtimeResult, unshown: &mut Unshown) {
    let states = distinct(result.own.relatime.iter().map(|probe| probe.probe));
    if states.is_empty() {
        return;
    }
    page.heading(
        SectionId::Relatime,
        "relatime: does a read update an access time that is …",
    );
    let which = |moved: bool| {
        states.iter().map(move |state| {
            let probes = result.own.relatime.iter();
            let names = probes.filter(|one| one.probe == *state && one.atime_changed == moved);
            let names = distinct(names.map(|one| on(&one.filesystem, one.machine.as_deref())));
            Cell::applicable((!names.is_empty()).then_some(names), |names| {
                names.join(", ")
            })
        })
    };
    let columns = vec![
        Column::label("", states.iter().map(|state| state.as_str())),
        Column::text("moved on", which(true)),
        Column::text("stayed on", which(false)),
    ];
    let table = Table::new(2, columns).named("the relatime rule, by state of the access time");
    unshown.draw(page, "the table of the relatime rule", table);
}
