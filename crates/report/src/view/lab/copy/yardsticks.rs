//! What this machine does at best, beside which the rows are set.

use iostrata_core::bytes::exact;
use iostrata_core::copy::{CopyResult, Yardstick};
use iostrata_core::timing::Timing;

use super::rows::milliseconds;
use crate::format::{NOT_APPLICABLE, number};
use crate::view::page::Page;
use crate::view::table::{Column, Table};

pub(super) fn draw(page: &mut Page, result: &CopyResult) {
    let yardsticks = &result.yardsticks;
    if yardsticks.is_empty() {
        return;
    }
    page.heading("limits", "limits, measured between the copies");
    let column = |text: &dyn Fn(&Yardstick) -> String| {
        let cells: Vec<String> = yardsticks.iter().map(text).collect();
        cells
    };
    let or_none = |text: Option<String>| text.unwrap_or_else(|| NOT_APPLICABLE.to_owned());
    let columns = vec![
        Column::label("step", column(&|one| one.measure.as_str().to_owned())),
        Column::label("on", column(&|one| or_none(one.target.clone()))),
        Column::label(
            "of",
            column(&|one| or_none((one.size_bytes > 0).then(|| exact(one.size_bytes)))),
        ),
        Column::number("real ms", column(&|one| milliseconds(one.timing.median_s))),
        Column::text(
            "95 %",
            column(&|one| {
                let Timing { low_s, high_s, .. } = one.timing;
                format!("{}–{}", milliseconds(low_s), milliseconds(high_s))
            }),
        ),
        Column::number(
            "MiB/s",
            column(&|one| {
                let rate = one.bytes_per_s;
                or_none(rate.map(|bytes_per_s| number(bytes_per_s / f64::from(1 << 20))))
            }),
        ),
    ];
    Table::new(0, columns)
        .named("what the machine does at best")
        .draw(page);
}
