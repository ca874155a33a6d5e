//! The times and writes of the loops, and the saving by noatime.

use iostrata_core::atime::{AtimeResult, Comparison, Loop, LoopRow, Reading, Saving};
use iostrata_core::bytes::grouped;
use iostrata_core::lab::{machine_of, target_of};

use crate::format::{milliseconds, number};
use crate::view::cell::Cell;
use crate::view::lab::view::{Unshown, distinct, machines};
use crate::view::page::Page;
use crate::view::section::SectionId;
use crate::view::table::{Column, Table};

type Numbered<'a> = (usize, &'a LoopRow);

pub(super) fn draw(page: &mut Page, result: &AtimeResult, unshown: &mut Unshown) {
    let rows: Vec<Numbered<'_>> = result.loops().collect();
    let kind = |(_, row): &Numbered<'_>| (row.row.case.files, row.row.case.reading);
    let loops = distinct(rows.iter().map(kind));
    if loops.is_empty() {
        return;
    }
    page.heading(
        SectionId::Loops,
        "cost of reading: open, read and close of cached 4 KiB files",
    );
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
    page.paragraph(
        2,
        "mean: with the standard deviation; saved: share of the time to the left of it that \
         noatime saves, with its 95 % interval; none: the interval includes 0; + sync: median of \
         the reading and the following sync; sectors: 512-byte sectors written until the end of \
         the sync",
    );
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
    let each = || rows.iter().map(|(_, row)| row);
    let means = each().map(|row| {
        Cell::seen(row.spread, |spread| {
            let (mean, deviation) = (spread.mean_s, spread.standard_deviation_s);
            format!("{} ± {}", milliseconds(mean), milliseconds(deviation))
        })
    });
    let percents = each().map(|row| {
        let percent = row.spread.map(|spread| spread.standard_deviation_percent);
        Cell::seen(percent, number)
    });
    let with_sync = each().map(|row| {
        let timing = row.with_sync.as_ref();
        Cell::seen(timing, |timing| milliseconds(timing.median_s))
    });
    let savings = |pick: fn(&Comparison) -> Saving| {
        let cells = rows.iter().map(move |(number, _)| {
            let mut known = result.own.comparisons.iter();
            let own = known.find(|one| one.rows[0] == *number);
            own.map_or(Cell::NotApplicable, |one| saved(&pick(one)))
        });
        Column::number("saved %", cells)
    };
    let mut columns = vec![
        Column::row_numbers(rows.iter().map(|(number, _)| *number)),
        Column::label("on", each().map(|row| target_of(&row.row.target))),
    ];
    columns.extend(machines(each().map(|row| machine_of(&row.row.target))));
    columns.extend([
        Column::label("mount", each().map(|row| row.row.case.mount.as_str())),
        Column::number("mean ms", means),
        Column::number("± %", percents).rank(4),
        savings(|one| one.timing),
        Column::number("+ sync ms", with_sync).rank(2),
        savings(|one| one.with_sync).rank(3),
        Column::number(
            "sectors",
            each().map(|row| Cell::seen(row.sectors, grouped)),
        ),
    ]);
    Table::new(2, columns)
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
