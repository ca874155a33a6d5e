//! What the loops took and wrote, and what noatime saves of it.

use iostrata_core::atime::{AtimeResult, Comparison, Loop, LoopRow, Reading, Saving};
use iostrata_core::bytes::grouped;

use crate::format::{NOT_APPLICABLE, NOT_SEEN, number, or_not_seen};
use crate::view::lab::facts::{Unshown, distinct};
use crate::view::page::Page;
use crate::view::table::{Column, Table};

type Numbered<'a> = (usize, &'a LoopRow);

pub(super) fn draw(page: &mut Page, result: &AtimeResult, unshown: &mut Unshown) {
    let rows: Vec<Numbered<'_>> = result.loops().collect();
    let loops = distinct(
        rows.iter()
            .map(|(_, row)| (row.row.case.files, row.row.case.reading)),
    );
    if loops.is_empty() {
        return;
    }
    page.heading(
        "loops",
        "what reading costs: open, read and close of files of 4 KiB in memory",
    );
    for (position, (files, reading)) in loops.into_iter().enumerate() {
        if position > 0 {
            page.blank();
        }
        let of_loop: Vec<Numbered<'_>> = rows
            .iter()
            .filter(|(_, row)| (row.row.case.files, row.row.case.reading) == (files, reading))
            .copied()
            .collect();
        let title = title(files, reading, of_loop[0].1.row.case.reads);
        page.paragraph(2, &title);
        let left_out = table(result, &of_loop).named(title).draw(page);
        unshown.add("the table of loops", left_out);
    }
    page.paragraph(
        2,
        "mean: with the standard deviation; saved: what noatime saves of the time before it, with \
         its 95 % interval; none: the interval holds 0; + sync: median of the reading and the sync \
         after it; sectors: of 512 bytes, written up to the end of the sync",
    );
}

fn title(files: Loop, reading: Reading, reads: u64) -> String {
    let reads = grouped(reads);
    match (files, reading) {
        (Loop::OneFile, _) => format!("one_file: one file, {reads} times"),
        (Loop::ManyFiles, Reading::First) => {
            format!("many_files, first reading: {reads} files, each once, access times due")
        }
        (Loop::ManyFiles, Reading::Second) => {
            "many_files, second reading: the same files once more".to_owned()
        }
    }
}

fn table(result: &AtimeResult, rows: &[Numbered<'_>]) -> Table {
    let cells = |text: &dyn Fn(&LoopRow) -> String| -> Vec<String> {
        rows.iter().map(|(_, row)| text(row)).collect()
    };
    let milliseconds = |seconds: f64| number(seconds * 1e3);
    let spread = |row: &LoopRow| {
        or_not_seen(row.spread, |spread| {
            let (mean, deviation) = (spread.mean_s, spread.standard_deviation_s);
            format!("{} ± {}", milliseconds(mean), milliseconds(deviation))
        })
    };
    let percent = |row: &LoopRow| {
        or_not_seen(row.spread, |spread| {
            number(spread.standard_deviation_percent)
        })
    };
    let with_sync = |row: &LoopRow| {
        or_not_seen(row.with_sync.as_ref(), |timing| {
            milliseconds(timing.median_s)
        })
    };
    let savings = |pick: fn(&Comparison) -> Saving| -> Vec<String> {
        let saving = |(number, _): &Numbered<'_>| {
            let mut known = result.comparisons.iter();
            let own = known.find(|one| one.rows[0] == *number);
            own.map_or_else(|| NOT_APPLICABLE.to_owned(), |one| saved(&pick(one)))
        };
        rows.iter().map(saving).collect()
    };
    let columns = vec![
        Column::row_numbers(rows.iter().map(|(number, _)| *number)),
        Column::label("on", cells(&|row| row.row.target.clone())),
        Column::label(
            "mount",
            cells(&|row| row.row.case.mount.as_str().to_owned()),
        ),
        Column::number("mean ms", cells(&spread)),
        Column::number("± %", cells(&percent)).rank(4),
        Column::number("saved %", savings(|one| one.timing)),
        Column::number("+ sync ms", cells(&with_sync)).rank(2),
        Column::number("saved %", savings(|one| one.with_sync)).rank(3),
        Column::number("sectors", cells(&|row| or_not_seen(row.sectors, grouped))),
    ];
    Table::new(2, columns)
}

/// `3.1 (1.0 to 5.2)`, or that there is no difference.
fn saved(saving: &Saving) -> String {
    let signed = |percent: f64| {
        let sign = if percent < 0.0 { "−" } else { "" };
        format!("{sign}{}", number(percent.abs()))
    };
    let Some((low, high)) = saving.interval() else {
        return NOT_SEEN.to_owned();
    };
    let interval = format!("({} to {})", signed(low), signed(high));
    if saving.differs() == Some(true) {
        format!("{} {interval}", signed(saving.percent))
    } else {
        format!("none {interval}")
    }
}
