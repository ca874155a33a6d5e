//! The machine's memory around the observed runs.

use iostrata_core::buffering::{Memory, Mode};

use super::view::{Numbered, View, cells, modes, title};
use crate::format::{NOT_SEEN, mebibytes};
use crate::view::page::{GLUE, Page, Tone};
use crate::view::table::{Column, Table};

/// The modes shown of every file system: what is left to write-back, and what is not.
const CONTRAST: [Mode; 2] = [Mode::Buffered, Mode::Fsync];

/// Draws the largest records, where the change is large, or all rows.
pub(super) fn draw(page: &mut Page, view: &mut View<'_>) {
    let records = if view.extent.all_rows() {
        view.records()
    } else {
        view.records().into_iter().max().into_iter().collect()
    };
    let modes = contrasted(view);
    let mut drawn = false;
    for records in records {
        let mut rows = Vec::new();
        for mode in &modes {
            for target in view.rows.targets() {
                rows.extend(view.rows.which(|row| {
                    row.case().mode == *mode
                        && row.target() == target
                        && row.records() == records
                        && row.row.memory.is_some()
                }));
            }
        }
        if rows.is_empty() {
            continue;
        }
        if drawn {
            page.blank();
        } else {
            page.heading("memory", "memory before → after the observed run, MiB");
        }
        drawn = true;
        let left_out = table(&rows, &title(records))
            .named(format!("memory, {}", title(records)))
            .draw(page);
        view.left_out("the memory", left_out);
    }
    if drawn {
        legend(page);
    }
}

fn contrasted(view: &View<'_>) -> Vec<Mode> {
    let mut modes = view.modes();
    let has_contrast = modes.iter().any(|mode| CONTRAST.contains(mode));
    if !view.extent.all_rows() && view.rows.targets().len() > 1 && has_contrast {
        modes.retain(|mode| CONTRAST.contains(mode));
    }
    modes
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
    Table::new(
        0,
        vec![
            Column::row_numbers(rows.iter().map(|row| row.number)),
            Column::label(head, modes(rows)).once(),
            Column::label("on", rows.iter().map(|row| row.target().to_owned())),
            Column::number("Dirty", change(|memory| Some(memory.dirty_bytes))),
            Column::number("Writeback", change(|memory| Some(memory.writeback_bytes))).rank(1),
            Column::number("Cached", change(|memory| Some(memory.cache_bytes))),
            Column::number("Buffers", change(|memory| Some(memory.buffers_bytes))),
            Column::number("device pages", change(|memory| memory.device_pages_bytes)),
        ],
    )
}

/// `Buffers` counts the page-cache pages of block devices (`nr_blockdev_pages` in
/// block/bdev.c); there is no other buffer cache since Linux 2.4. ext4 reads and
/// writes its metadata there; xfs has buffers of its own (`fs/xfs/xfs_buf.c`), and
/// btrfs the pages of an inode of its own (`btree_inode`, fs/btrfs/disk-io.c).
fn legend(page: &mut Page) {
    let text = "Cached is the page cache: contents of files, with reclaimable slab as in free\u{a0}-w. \
                Buffers is what is left of the buffer cache: pages of block devices, where ext4 keeps \
                its metadata (xfs and btrfs have caches of their own); device pages are those of the \
                device measured in the row. Dirty bytes wait for the device, Writeback bytes are on \
                their way";
    page.blank();
    page.styled(0, text, Tone::Quiet);
}
