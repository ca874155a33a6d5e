//! Tables of the files of a trace, of the calls on them, and of their resident pages.

use iostrata_core::cache::ResidencyMap;
use iostrata_core::trace::{FileCall, FileRow, Site};

use super::{Numbered, placed};
use crate::export::table::Table;
use crate::fields::trace::{call, shape};
use crate::fields::{Fields, json_name};

/// A call on a file: number of the result, number of the file, the file, the call.
type CallOf<'a> = (u64, u64, &'a FileRow, &'a FileCall);

fn calls_of<'a>(results: &'a Numbered<'a>) -> impl Iterator<Item = CallOf<'a>> + 'a {
    let files = placed(results, |result| &result.files);
    files.flat_map(|(number, place, file)| {
        let calls = file.calls.iter();
        calls.map(move |call| (number, place, file, call))
    })
}

fn keys<'a>() -> Fields<'a, CallOf<'a>> {
    Fields::<CallOf<'a>>::new()
        .field("result", |row| row.0)
        .field("file", |row| row.1)
        .field("path", |row| &row.2.path)
}

pub(super) fn file_calls<'a>(results: &'a Numbered<'a>) -> Table<'a> {
    let columns = keys()
        .within("", call(), |row| Some(&row.3.row))
        .field("is_source", |row| row.3.is_source)
        .within("", shape(), |row| row.3.shape.as_deref());
    Table::new("file_calls", columns, calls_of(results))
}

/// Number of transfers by the power of two of their bytes; empty buckets are left out.
pub(super) fn transfer_sizes<'a>(results: &'a Numbered<'a>) -> Table<'a> {
    type Size<'a> = (CallOf<'a>, u32, u64);
    let columns = Fields::<Size<'a>>::new()
        .within("", keys(), |row| Some(row.0))
        .field("name", |row| &row.0.3.row.name)
        .field("is_source", |row| row.0.3.is_source)
        .field("at_least_bytes", |row| 1_u64.checked_shl(row.1))
        .field("count", |row| row.2);
    let rows = calls_of(results).flat_map(|call| {
        let sizes = call.3.shape.iter().flat_map(|shape| &shape.sizes).zip(0..);
        let sizes = sizes.filter(|(count, _)| **count > 0);
        sizes.map(move |(count, power)| (call, power, *count))
    });
    Table::new("transfer_sizes", columns, rows)
}

pub(super) fn sites<'a>(results: &'a Numbered<'a>) -> Table<'a> {
    type SiteOf<'a> = (CallOf<'a>, u64, &'a Site);
    let columns = Fields::<SiteOf<'a>>::new()
        .within("", keys(), |row| Some(row.0))
        .field("name", |row| &row.0.3.row.name)
        .field("site", |row| row.1)
        .field("share", |row| row.2.share)
        .field("samples", |row| row.2.samples)
        .field("stack", |row| json_name(&row.2.stack))
        .field("why_not", |row| row.2.why_not.as_deref());
    let rows = calls_of(results).flat_map(|call| {
        let sites = call.3.sites.iter().zip(1..);
        sites.map(move |(site, place)| (call, place, site))
    });
    Table::new("sites", columns, rows)
}

/// A range of a map: result, file, its map, and the range's index.
type Range<'a> = (u64, u64, &'a FileRow, &'a ResidencyMap, usize);

pub(super) fn residency<'a>(results: &'a Numbered<'a>) -> Table<'a> {
    let known = |bytes: Option<&Vec<u64>>, range: usize| bytes?.get(range).copied();
    let columns = Fields::<Range<'a>>::new()
        .field("result", |row| row.0)
        .field("file", |row| row.1)
        .field("path", |row| &row.2.path)
        .field("start_bytes", |row| row.3.range_bytes * row.4 as u64)
        .field("range_bytes", |row| row.3.range_bytes)
        .field("resident_bytes", move |row| {
            known(Some(&row.3.resident_bytes), row.4)
        })
        .field("dirty_bytes", move |row| {
            known(row.3.dirty_bytes.as_ref(), row.4)
        })
        .field("writeback_bytes", move |row| {
            known(row.3.writeback_bytes.as_ref(), row.4)
        });
    let files = placed(results, |result| &result.files);
    let rows = files.flat_map(|(number, place, file)| {
        let map = file.residency.as_ref().into_iter();
        map.flat_map(move |map| {
            let ranges = 0..map.resident_bytes.len();
            ranges.map(move |range| (number, place, file, map, range))
        })
    });
    Table::new("residency", columns, rows)
}
