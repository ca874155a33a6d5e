//! The position of resident pages in their files at the end.

use iostrata_core::cache::ResidencyMap;
use iostrata_core::trace::FileRow;

use super::Numbered;
use crate::export::table::Table;
use crate::fields::Fields;

/// A range of a map: result, file, its map, and the range's index.
type Range<'a> = (u64, u64, &'a FileRow, &'a ResidencyMap, usize);

/// One row for each range of each map.
pub(super) fn residency<'a>(results: &'a Numbered<'a>) -> Table<'a> {
    let known = |bytes: Option<&Vec<u64>>, range: usize| bytes?.get(range).copied();
    let columns = Fields::<Range<'a>>::new()
        .count("result", |row| row.0)
        .count("file", |row| row.1)
        .text("path", |row| &row.2.path)
        .count("start_bytes", |row| row.3.range_bytes * row.4 as u64)
        .count("range_bytes", |row| row.3.range_bytes)
        .count("resident_bytes", move |row| {
            known(Some(&row.3.resident_bytes), row.4)
        })
        .count("dirty_bytes", move |row| {
            known(row.3.dirty_bytes.as_ref(), row.4)
        })
        .count("writeback_bytes", move |row| {
            known(row.3.writeback_bytes.as_ref(), row.4)
        });
    let rows = results.iter().flat_map(|(number, result)| {
        let files = result.files.iter().zip(1..);
        files.flat_map(move |(file, place)| {
            let map = file.residency.as_ref().into_iter();
            map.flat_map(move |map| {
                let ranges = 0..map.resident_bytes.len();
                ranges.map(move |range| (*number, place, file, map, range))
            })
        })
    });
    Table::new("residency", columns, rows)
}
