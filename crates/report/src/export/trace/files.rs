//! Tables of the files of a trace, and of the calls on them.

use iostrata_core::trace::{
    FileCall, FileHistory, FileRow, Happened, Moved, Shape, Site, Synced, TraceResult,
};

use super::super::column::{Columns, json_name};
use super::super::evidence::evidence;
use super::super::table::Table;
use super::{Numbered, call, listed};

/// One row for each file, most time first.
pub(super) fn files<'a>(results: &'a Numbered<'a>) -> Table<'a> {
    let columns = Columns::<&'a FileRow>::new()
        .text("path", |file| &file.path)
        .maybe_text("path_hex", |file| file.path_hex.as_deref())
        .maybe_text("renamed_to", |file| file.renamed_to.as_deref())
        .named("kind", |file| Some(file.kind))
        .text("device", |file| &file.device)
        .count("inode", |file| file.inode)
        .count("generation", |file| u64::from(file.generation))
        .text("filesystem", |file| &file.filesystem)
        .count("size_before_bytes", |file| file.size_before_bytes)
        .count("opens", |file| file.opens)
        .within("reads_", moved(), |file| Some(&file.reads))
        .within("writes_", moved(), |file| Some(&file.writes))
        .within("syncs_", synced(), |file| Some(&file.syncs))
        .count("dirty_at_exit_bytes", |file| file.dirty_at_exit_bytes)
        .within("", evidence(), |file| Some(&file.evidence))
        .within("history_", history(), |file| file.history.as_deref());
    listed("files", "file", results, columns, |result| &result.files)
}

fn moved<'a>() -> Columns<'a, &'a Moved> {
    Columns::<&'a Moved>::new()
        .count("count", |moved| moved.count)
        .count("bytes", |moved| moved.bytes)
        .real("time_s", |moved| moved.time_s)
}

fn synced<'a>() -> Columns<'a, &'a Synced> {
    Columns::<&'a Synced>::new()
        .count("count", |synced| synced.count)
        .real("time_s", |synced| synced.time_s)
}

fn history<'a>() -> Columns<'a, &'a FileHistory> {
    let mut columns = Columns::<&'a FileHistory>::new()
        .flag("created", |history| history.created)
        .count("opened_to_write", |history| history.opened_to_write)
        .count("writes", |history| history.writes)
        .count("written_bytes", |history| history.written_bytes)
        .count("appends", |history| history.appends)
        .flag("allocated", |history| history.allocated)
        .count("written_by", |history| history.written_by.map(u64::from))
        .count("synced_by", |history| history.synced_by.map(u64::from))
        .count("data_syncs", |history| history.data_syncs)
        .count("writes_after_failed_sync", |history| {
            history.writes_after_failed_sync
        })
        .count("first_written_ns", |history| history.first_written_ns)
        .count("overwritten_bytes", |history| history.overwritten_bytes)
        .flag("name_acknowledged", |history| history.name_acknowledged)
        .flag("name_journalled", |history| history.name_journalled)
        .count("removed_by", |history| history.removed_by.map(u64::from))
        .flag("removal_unsynced", |history| history.removal_unsynced)
        .count("unsynced_bytes", |history| history.unsynced_bytes)
        .flag("synchronous", |history| history.synchronous)
        .flag("mapping_synced", |history| history.mapping_synced)
        .named("renamed_over", |history| history.renamed_over)
        .named("name_unsynced", |history| history.name_unsynced)
        .flag("synced_since_named", |history| history.synced_since_named)
        .flag("unlinked", |history| history.unlinked)
        .flag("uncertain", |history| history.uncertain);
    for (prefix, part) in HAPPENED {
        columns = columns.within(prefix, happened(), move |history| part(history));
    }
    columns
}

/// One kind of occurrence.
type Part = fn(&FileHistory) -> Option<&Happened>;

const HAPPENED: [(&str, Part); 16] = [
    ("overwritten_", |history| Some(&history.overwritten)),
    ("acknowledged_", |history| Some(&history.acknowledged)),
    ("removed_", |history| Some(&history.removed)),
    ("emptied_", |history| Some(&history.emptied)),
    ("rewritten_", |history| Some(&history.rewritten)),
    ("syncs_", |history| Some(&history.syncs)),
    ("syncs_of_nothing_", |history| {
        Some(&history.syncs_of_nothing)
    }),
    ("steady_syncs_", |history| Some(&history.steady_syncs)),
    ("growing_syncs_", |history| Some(&history.growing_syncs)),
    ("failed_syncs_", |history| Some(&history.failed_syncs)),
    ("syncs_after_failed_sync_", |history| {
        Some(&history.syncs_after_failed_sync)
    }),
    ("hints_", |history| Some(&history.hints)),
    ("closed_unsynced_", |history| Some(&history.closed_unsynced)),
    ("mapped_to_write_", |history| Some(&history.mapped_to_write)),
    ("renamed_unsynced_", |history| {
        Some(&history.renamed_unsynced)
    }),
    ("took_removed_name_", |history| {
        Some(&history.took_removed_name)
    }),
];

/// How often and how long; the single moments stay in the JSON.
fn happened<'a>() -> Columns<'a, &'a Happened> {
    Columns::<&'a Happened>::new()
        .count("count", |happened| happened.count)
        .count("took_ns", |happened| happened.took_ns)
}

/// A call on a file: number of the result, that of the file, the file, the call.
type CallOf<'a> = (u64, u64, &'a FileRow, &'a FileCall);

fn calls_of<'a>(results: &'a Numbered<'a>) -> impl Iterator<Item = CallOf<'a>> + 'a {
    results.iter().flat_map(|(number, result)| {
        let files = of_run(result);
        files.flat_map(move |(file, place)| {
            let calls = file.calls.iter();
            calls.map(move |call| (*number, place, file, call))
        })
    })
}

fn of_run(result: &TraceResult) -> impl Iterator<Item = (&FileRow, u64)> {
    result.files.iter().zip(1..)
}

/// What names a call on a file.
fn keys<'a>() -> Columns<'a, CallOf<'a>> {
    Columns::<CallOf<'a>>::new()
        .count("result", |row| row.0)
        .count("file", |row| row.1)
        .text("path", |row| &row.2.path)
}

/// One row for each call on each file.
pub(super) fn file_calls<'a>(results: &'a Numbered<'a>) -> Table<'a> {
    let columns = keys()
        .within("", call(), |row| Some(&row.3.row))
        .flag("is_source", |row| row.3.is_source)
        .within("", shape(), |row| row.3.shape.as_ref());
    Table::new("file_calls", columns, calls_of(results))
}

fn shape<'a>() -> Columns<'a, &'a Shape> {
    Columns::<&'a Shape>::new()
        .count("pairs", |shape| shape.pairs)
        .count("sequential", |shape| shape.sequential)
        .count("backward", |shape| shape.backward)
        .count("empty", |shape| shape.empty)
        .count("furthest_bytes", |shape| shape.furthest_bytes)
}

/// Transfers by the power of two of their bytes; those without any are left out.
pub(super) fn transfer_sizes<'a>(results: &'a Numbered<'a>) -> Table<'a> {
    type Size<'a> = (CallOf<'a>, u32, u64);
    let columns = Columns::<Size<'a>>::new()
        .within("", keys(), |row| Some(row.0))
        .text("name", |row| &row.0.3.row.name)
        .flag("is_source", |row| row.0.3.is_source)
        .count("at_least_bytes", |row| 1_u64.checked_shl(row.1))
        .count("count", |row| row.2);
    let rows = calls_of(results).flat_map(|call| {
        let sizes = call.3.shape.iter().flat_map(|shape| &shape.sizes).zip(0..);
        let sizes = sizes.filter(|(count, _)| **count > 0);
        sizes.map(move |(count, power)| (call, power, *count))
    });
    Table::new("transfer_sizes", columns, rows)
}

/// Where in the program the calls came from.
pub(super) fn sites<'a>(results: &'a Numbered<'a>) -> Table<'a> {
    type SiteOf<'a> = (CallOf<'a>, u64, &'a Site);
    let columns = Columns::<SiteOf<'a>>::new()
        .within("", keys(), |row| Some(row.0))
        .text("name", |row| &row.0.3.row.name)
        .count("site", |row| row.1)
        .real("share", |row| row.2.share)
        .count("samples", |row| row.2.samples)
        .made_text("stack", |row| json_name(&row.2.stack))
        .maybe_text("why_not", |row| row.2.why_not.as_deref());
    let rows = calls_of(results).flat_map(|call| {
        let sites = call.3.sites.iter().zip(1..);
        sites.map(move |(site, place)| (call, place, site))
    });
    Table::new("sites", columns, rows)
}
