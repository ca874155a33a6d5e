//! What the language runtimes found here buffer.

use iostrata_core::buffering::{RuntimeBuffer, RuntimeCall};
use iostrata_core::bytes::grouped;

use super::view::View;
use crate::format::NOT_SEEN;
use crate::view::page::{GLUE, Page, Tone};
use crate::view::table::{Column, Table};

pub(super) fn draw(page: &mut Page, view: &mut View<'_>) {
    let runtimes = &view.result.runtimes;
    if runtimes.is_empty() {
        return;
    }
    page.heading(
        "runtimes",
        "what the runtimes here hand to the kernel, and when",
    );
    let text = |pick: fn(&RuntimeBuffer) -> String| runtimes.iter().map(pick);
    let table = Table::new(
        0,
        vec![
            Column::text(
                "runtime",
                text(|row| format!("{} {}", row.runtime, row.version)),
            ),
            Column::text("writes by", text(|row| row.api.clone())),
            Column::number("buffer B", text(buffer)),
            Column::text("3 writes, flush", text(|row| calls(&row.three_writes))),
            Column::text("10 × 1 KiB, close", text(|row| calls(&row.ten_kib))),
        ],
    );
    let left_out = table.named("buffers of the runtimes").draw(page);
    view.left_out("the runtimes", left_out);
    for runtime in runtimes {
        if let Some(note) = &runtime.note {
            page.styled(
                2,
                &format!("{}, {}: {note}", runtime.runtime, runtime.api),
                Tone::Quiet,
            );
        }
    }
}

fn buffer(runtime: &RuntimeBuffer) -> String {
    match (runtime.buffered, runtime.buffer_bytes) {
        (_, Some(bytes)) => grouped(bytes),
        (Some(false), None) => "none".to_owned(),
        (_, None) => NOT_SEEN.to_owned(),
    }
}

/// `2 × write 4096, write 2048`.
fn calls(calls: &[RuntimeCall]) -> String {
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
        return NOT_SEEN.to_owned();
    }
    let texts: Vec<String> = runs
        .into_iter()
        .map(|(count, text)| match count {
            1 => text,
            _ => format!("{count}{GLUE}×{GLUE}{text}"),
        })
        .collect();
    texts.join(", ")
}
