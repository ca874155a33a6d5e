//! Fields of the rows of `lab buffering`.

use iostrata_core::buffering::{BufferingRow, Memory, MemoryChange, PerWrite};
use iostrata_core::bytes::grouped;
use iostrata_core::evidence::CallCounts;

use super::by_cause;
use crate::fields::{Fields, Group, Quantity, columns};
use crate::view::cell::Cell;
use crate::view::page::GLUE;

pub(crate) fn rows<'a>() -> Fields<'a, &'a BufferingRow> {
    let memory = columns!(Fields::<&'a MemoryChange>::new(); [memory()]: before after;);
    columns!(Fields::<&'a BufferingRow>::new(); [per_write()]: per_write;)
        .words(Group::Times, "system calls", |row| {
            Cell::seen(row.row.evidence.syscalls.as_ref(), calls)
        })
        .within("memory_", memory, |row| row.memory.as_ref())
}

fn per_write<'a>() -> Fields<'a, &'a PerWrite> {
    use Quantity::{Figure, Microseconds, Rate, Times};
    let before = Fields::<&'a PerWrite>::new()
        .real("real_s", |each| each.real_s)
        .shown(Group::Cost, "real µs", Microseconds)
        .real("writes_per_s", |each| each.writes_per_s)
        .shown(Group::Times, "writes/s", Figure)
        .rank(2)
        .real("bytes_per_syscall", |each| each.bytes_per_syscall)
        .shown(Group::Times, "B/call", Rate)
        .rank(3)
        .real("dirtied_pages", |each| each.dirtied_pages)
        .shown(Group::Counts, "pages", Rate)
        .rank(2);
    by_cause(
        before,
        [
            |each| each.data,
            |each| each.journal,
            |each| each.commit,
            |each| each.metadata,
            |each| each.unknown,
            |each| each.flushes,
        ],
    )
    .real("device_bytes", |each| each.device_bytes)
    .shown(Group::Shared, "device B", Figure)
    .rank(3)
    .real("amplification", |each| each.amplification)
    .shown(Group::Shared, "bytes ×", Times)
    .real("unpaid_bytes", |each| each.unpaid_bytes)
    .shown(Group::Unpaid, "later B", Figure)
    .rank(1)
}

/// `2,000 write, fsync`: calls that move bytes first; equal counts are said once.
fn calls(seen: &CallCounts) -> String {
    let moving = seen.iter().filter(|(_, call)| call.bytes > 0);
    let others = seen.iter().filter(|(_, call)| call.bytes == 0);
    let mut last_count = None;
    let mut texts = Vec::new();
    for (name, call) in moving.chain(others) {
        let count = match last_count {
            Some(last) if last == call.count => String::new(),
            _ => format!("{}{GLUE}", grouped(call.count)),
        };
        let failed = match call.errors {
            0 => String::new(),
            errors => format!(" ({} failed)", grouped(errors)),
        };
        texts.push(format!("{count}{name}{failed}"));
        last_count = Some(call.count);
    }
    if texts.is_empty() {
        "none".to_owned()
    } else {
        texts.join(", ")
    }
}

fn memory<'a>() -> Fields<'a, &'a Memory> {
    columns!(
        Fields::<&'a Memory>::new();
        count: dirty_bytes writeback_bytes buffers_bytes cache_bytes device_pages_bytes;
    )
}
