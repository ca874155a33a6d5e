//! The limits of this machine, with which the rows are compared.

use iostrata_core::bytes::exact;
use iostrata_core::copy::{CopyResult, Yardstick};
use iostrata_core::lab::target_of;

use crate::format::{milliseconds, number};
use crate::view::cell::Cell;
use crate::view::lab::view::{machines, spread_head};
use crate::view::page::Page;
use crate::view::section::SectionId;
use crate::view::table::{Column, Table};

pub(super) fn draw(page: &mut Page, result: &CopyResult) {
    let yardsticks = &result.own.yardsticks;
    if yardsticks.is_empty() {
        return;
    }
    page.heading(SectionId::Limits, "limits, measured between the copies");
    let each = || yardsticks.iter();
    let sized = |one: &Yardstick| (one.size_bytes > 0).then_some(one.size_bytes);
    let head = spread_head(each().map(|one| Some(&one.timing)));
    let spreads = each().map(|one| {
        let (low_s, high_s) = (one.timing.low_s, one.timing.high_s);
        format!("{}–{}", milliseconds(low_s), milliseconds(high_s))
    });
    let rates = each()
        .map(|one| Cell::applicable(one.bytes_per_s, |rate| number(rate / f64::from(1 << 20))));
    let mut columns = vec![
        Column::label("step", each().map(|one| one.measure.as_str())),
        Column::label(
            "on",
            each().map(|one| {
                Cell::applicable(one.target.as_deref(), |name| target_of(name).to_owned())
            }),
        ),
        Column::label("of", each().map(|one| Cell::applicable(sized(one), exact))),
        Column::number(
            "real ms",
            each().map(|one| milliseconds(one.timing.median_s)),
        ),
        Column::text(&head, spreads),
        Column::number("MiB/s", rates),
    ];
    if let Some(machines) = machines(each().map(|one| one.machine.as_deref())) {
        columns.insert(1, machines);
    }
    Table::new(0, columns)
        .named("the machine's limits")
        .draw(page);
}
