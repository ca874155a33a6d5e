//! The machine's memory around the observed runs.

use iostrata_core::buffering::{Memory, Mode};

use super::{Numbered, View, order};
use crate::format::mebibytes;
use crate::view::cell::Cell;
use crate::view::lab::view::{distinct, names_on};
use crate::view::page::{GLUE, Page, Tone};
use crate::view::section::SectionId;
use crate::view::table::{Column, Table};

/// The modes shown of every file system: what is left to write-back, and what is not.
const CONTRAST: [Mode; 2] = [Mode::Buffered, Mode::Fsync];

/// Draws the largest records, where the change is large, or all rows.
pub(super) fn draw(page: &mut Page, view: &mut View<'_>) {
    let size = |row: &Numbered<'_>| (row.row.row.case.size_bytes, row.row.row.case.count);
    let mut sizes = distinct(view.all().iter().map(size));
    if !view.extent.all_rows() {
        sizes = sizes.into_iter().max().into_iter().collect();
    }
    let targets = view.targets();
    let mut measured = view.which(|row| row.row.memory.is_some());
    let is_contrast = |row: &Numbered<'_>| CONTRAST.contains(&row.row.row.case.mode);
    let has_contrast = view.all().iter().any(is_contrast);
    if !view.extent.all_rows() && targets.len() > 1 && has_contrast {
        measured.retain(is_contrast);
    }
    let place = |row: &Numbered<'_>| targets.iter().position(|target| *target == row.target());
    measured.sort_by_key(|row| (order(row.row), place(row)));
    let mut drawn = false;
    for wanted in sizes {
        let rows = measured.iter().copied();
        let rows: Vec<Numbered<'_>> = rows.filter(|row| size(row) == wanted).collect();
        let Some(title) = rows.first().map(Numbered::title) else {
            continue;
        };
        if drawn {
            page.blank();
        } else {
            page.heading(
                SectionId::Memory,
                "memory before → after the observed run, MiB",
            );
        }
        drawn = true;
        let table = table(&rows, &title).named(format!("memory, {title}"));
        view.draw(page, "the memory", table);
    }
    if drawn {
        legend(page);
    }
}

fn table(rows: &[Numbered<'_>], head: &str) -> Table {
    let change = |head: &str, pick: fn(&Memory) -> Option<u64>| {
        let sides = rows.iter().map(|row| {
            let memory = row.row.memory.as_ref()?;
            Some((pick(&memory.before)?, pick(&memory.after)?))
        });
        let cells = sides.map(|sides| {
            Cell::seen(sides, |(before, after)| {
                format!("{}{GLUE}→{GLUE}{}", mebibytes(before), mebibytes(after))
            })
        });
        Column::number(head, cells)
    };
    let mut columns = names_on(head, rows);
    columns.extend([
        change("Dirty", |memory| Some(memory.dirty_bytes)),
        change("Writeback", |memory| Some(memory.writeback_bytes)).rank(1),
        change("Cached", |memory| Some(memory.cache_bytes)),
        change("Buffers", |memory| Some(memory.buffers_bytes)),
        change("device pages", |memory| memory.device_pages_bytes),
    ]);
    Table::new(0, columns)
}

/// `Buffers` counts the page-cache pages of block devices (`nr_blockdev_pages` in
/// block/bdev.c); there is no other buffer cache since Linux 2.4. ext4 reads and
/// writes its metadata there; xfs has buffers of its own (`fs/xfs/xfs_buf.c`), and
/// btrfs the pages of an inode of its own (`btree_inode`, fs/btrfs/disk-io.c).
fn legend(page: &mut Page) {
    let text = "Cached is the page cache: contents of files, with reclaimable slab as in \
                free\u{a0}-w. Buffers is what is left of the buffer cache: pages of block \
                devices, where ext4 keeps its metadata (xfs and btrfs have caches of their own); \
                device pages are those of the device measured in the row. Dirty bytes wait for \
                write-back, Writeback bytes are being written";
    page.blank();
    page.styled(0, text, Tone::Quiet);
}
