//! The machine's memory around the observed runs.

use iostrata_core::buffering::Memory;

use super::view::{Numbered, View, cells, title};
use crate::format::{NOT_SEEN, mebibytes};
use crate::terminal::page::{DIM, GLUE, Page};
use crate::terminal::table::{Column, Table};

/// Draws the largest records of the first target, where the change is large, or
/// all rows.
pub(super) fn draw(page: &mut Page, view: &mut View<'_>) {
    let largest = view.records().into_iter().max();
    let mut drawn = false;
    for target in view.in_full() {
        for records in view.records() {
            let rows = view.rows(|row| {
                row.target() == target
                    && row.records() == records
                    && row.row.memory.is_some()
                    && (view.all_rows || Some(records) == largest)
            });
            if rows.is_empty() {
                continue;
            }
            if drawn {
                page.blank();
            } else {
                page.heading("memory before → after the observed run, MiB");
            }
            drawn = true;
            let left_out = table(&rows, &format!("{} on {target}", title(records))).draw(page);
            view.left_out(target, left_out);
        }
    }
    if drawn {
        legend(page);
    }
}

fn table(rows: &[Numbered<'_>], head: &str) -> Table {
    let change = |pick: fn(&Memory) -> Option<u64>| {
        cells(
            rows,
            |row| row.memory.as_ref(),
            |memory| match (pick(&memory.before), pick(&memory.after)) {
                (Some(before), Some(after)) => {
                    format!("{}{GLUE}→{GLUE}{}", mebibytes(before), mebibytes(after))
                }
                _ => NOT_SEEN.to_owned(),
            },
        )
    };
    let modes = rows.iter().map(|row| row.case().mode.as_str().to_owned());
    Table::new(
        0,
        vec![
            Column::row_numbers(rows.iter().map(|row| row.number)),
            Column::text(head, modes),
            Column::number("Dirty", change(|memory| Some(memory.dirty_bytes))),
            Column::number("Writeback", change(|memory| Some(memory.writeback_bytes))).rank(1),
            Column::number("Cached", change(|memory| Some(memory.cache_bytes))),
            Column::number("Buffers", change(|memory| Some(memory.buffers_bytes))),
            Column::number("of it, device", change(|memory| memory.device_pages_bytes)),
        ],
    )
}

/// `Buffers` counts the page-cache pages of block devices (fs/proc/meminfo.c,
/// `nr_blockdev_pages`); since Linux 2.4 there is no other buffer cache.
fn legend(page: &mut Page) {
    let text = "Cached is the page cache: contents of files, with reclaimable slab as in free -w. \
                Buffers is what is left of the buffer cache: page cache of block devices, where \
                file systems keep their metadata; device is the part that belongs to the device \
                measured here. Dirty bytes wait for the device, Writeback bytes are on their way";
    page.styled(0, text, DIM);
}
