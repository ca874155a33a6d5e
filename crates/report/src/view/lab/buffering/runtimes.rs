//! The buffering of the language runtimes found here.

use iostrata_core::buffering::{BufferingResult, RuntimeBuffer, RuntimeCall};
use iostrata_core::bytes::grouped;

use super::View;
use crate::view::cell::Cell;
use crate::view::lab::view::machines;
use crate::view::page::{GLUE, Page, Tone};
use crate::view::section::SectionId;
use crate::view::table::{Column, Table};

pub(super) fn draw(page: &mut Page, result: &BufferingResult, view: &mut View<'_>) {
    let runtimes = &result.own.runtimes;
    if runtimes.is_empty() {
        return;
    }
    page.heading(
        SectionId::Runtimes,
        "what the installed runtimes pass to the kernel, and when",
    );
    let names = runtimes
        .iter()
        .map(|row| format!("{} {}", row.runtime, row.version));
    let mut columns = vec![Column::text("runtime", names)];
    columns.extend(machines(runtimes.iter().map(|row| row.machine.as_deref())));
    columns.extend([
        Column::text("writes by", runtimes.iter().map(|row| row.api.as_str())),
        Column::number("buffer B", runtimes.iter().map(buffer)),
        Column::text(
            "3 writes, flush",
            runtimes.iter().map(|row| calls(&row.three_writes)),
        ),
        Column::text(
            "10 × 1 KiB, close",
            runtimes.iter().map(|row| calls(&row.ten_kib)),
        ),
    ]);
    let table = Table::new(0, columns);
    view.draw(page, "the runtimes", table.named("buffers of the runtimes"));
    for runtime in runtimes {
        if let Some(note) = &runtime.note {
            let text = format!("{}, {}: {note}", runtime.runtime, runtime.api);
            page.styled(2, &text, Tone::Quiet);
        }
    }
}

fn buffer(runtime: &RuntimeBuffer) -> Cell {
    match (runtime.buffered, runtime.buffer_bytes) {
        (Some(false), None) => "none".into(),
        (_, bytes) => Cell::seen(bytes, grouped),
    }
}

/// `2 × write 4096, write 2048`.
fn calls(calls: &[RuntimeCall]) -> Cell {
    let mut runs: Vec<(usize, String)> = Vec::new();
    for call in calls {
        let text = call.to_string();
        // A short call stays on one line.
        let text = match text.len() {
            ..=20 => text.replace(' ', GLUE),
            _ => text,
        };
        match runs.last_mut() {
            Some((count, last)) if *last == text => *count += 1,
            _ => runs.push((1, text)),
        }
    }
    if runs.is_empty() {
        return Cell::NotSeen;
    }
    let texts: Vec<String> = runs
        .into_iter()
        .map(|(count, text)| match count {
            1 => text,
            _ => format!("{count}{GLUE}×{GLUE}{text}"),
        })
        .collect();
    texts.join(", ").into()
}
