//! Tables of operation logs. They do not contain the payload itself.

use iostrata_core::bytes::hex_unless_text;
use iostrata_core::gap::Gap;
use iostrata_core::op::FileId;
use iostrata_core::record::{Begin, Change, End, Operation};

use super::table::Table;
use crate::fields::Fields;
use crate::json::visible;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    pub begin: Begin,
    /// Its end; `None` when it was cut off.
    pub end: Option<End>,
    pub missing: Vec<Gap>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Logged {
    /// Number of the input file, from 1.
    pub result: u64,
    /// Number of the recording in it, from 1.
    pub recording: u64,
    pub operation: Operation,
    /// Path of its name, or of its node.
    pub path: Option<Vec<u8>>,
    /// The second path: a new name, or the target of a symbolic link.
    pub other_path: Option<Vec<u8>>,
    /// BLAKE3 hash of its payload in hexadecimal; `None` without payload, and when a part was
    /// not captured.
    pub payload_blake3: Option<String>,
}

pub fn recordings<'a>(logs: &'a [(u64, Vec<Recorded>)]) -> Table<'a> {
    type Row<'a> = (u64, u64, &'a Recorded);
    let end = Fields::<&'a End>::new()
        .field("operations", |end| end.operations)
        .field("stops", |end| end.stops);
    let columns = Fields::<Row<'a>>::new()
        .field("result", |row| row.0)
        .field("recording", |row| row.1)
        .field("command", |row| {
            let words = row.2.begin.command.iter();
            let words: Vec<_> = words.map(|word| String::from_utf8_lossy(word)).collect();
            visible(&words).ok()
        })
        .field("directory", |row| lossy(&row.2.begin.directory))
        .field("directory_hex", |row| {
            hex_unless_text(&row.2.begin.directory)
        })
        .field("started_ns", |row| row.2.begin.started_ns)
        .within("", end, |row| row.2.end.as_ref())
        .field("complete", |row| row.2.missing.is_empty());
    let rows = logs.iter().flat_map(|(result, recordings)| {
        let recordings = recordings.iter().zip(1..);
        recordings.map(|(recording, number)| (*result, number, recording))
    });
    Table::new("recordings", columns, rows)
}

/// Every operation. Memory does not grow with their number.
pub fn operations<'a>(rows: Box<dyn Iterator<Item = Logged> + 'a>) -> Table<'a> {
    let columns = Fields::<Logged>::new()
        .field("result", |row| row.result)
        .field("recording", |row| row.recording)
        .field("operation", |row| row.operation.id)
        .field("process", |row| row.operation.process)
        .field("thread", |row| row.operation.thread)
        .field("started_ns", |row| row.operation.started_ns)
        .field("took_ns", |row| row.operation.took_ns)
        .field("call", |row| row.operation.call.to_string())
        .field("returned", |row| row.operation.outcome.ok())
        .field("errno", |row| row.operation.outcome.err())
        .field("change", |row| row.operation.change.kind())
        .field("device", |row| {
            let (major, minor) = FileId::device_numbers(row.operation.change.node()?.device);
            Some(format!("{major}:{minor}"))
        })
        .field("inode", |row| Some(row.operation.change.node()?.inode))
        .field("generation", |row| {
            Some(row.operation.change.node()?.generation)
        })
        .field("path", |row| row.path.as_deref().map(lossy))
        .field("path_hex", |row| hex_unless_text(row.path.as_ref()?))
        .field("other_path", |row| row.other_path.as_deref().map(lossy))
        .field("other_path_hex", |row| {
            hex_unless_text(row.other_path.as_ref()?)
        })
        .field("offset_bytes", |row| row.operation.change.offset())
        .field("length_bytes", |row| row.operation.change.bytes())
        .field("payload_unknown_bytes", |row| {
            Some(row.operation.change.payload()?.unknown_bytes())
        })
        .field("payload_blake3", |row| row.payload_blake3.clone())
        .field("durability", |row| match row.operation.change {
            Change::Synced { scope, .. } => Some(scope.as_str()),
            _ => None,
        })
        .field("created", |row| match row.operation.change {
            Change::Opened { ref created, .. } => Some(created.is_some()),
            _ => None,
        })
        .field("truncated", |row| match row.operation.change {
            Change::Opened { truncated, .. } => Some(truncated),
            _ => None,
        })
        .field("descriptor", |row| match row.operation.change {
            Change::Printed { descriptor, .. } => Some(descriptor),
            _ => None,
        })
        .field("flags", |row| match row.operation.change {
            Change::Opened { flags, .. }
            | Change::Described { flags, .. }
            | Change::Wrote { flags, .. }
            | Change::Read { flags, .. }
            | Change::MappedToRead { flags, .. }
            | Change::Renamed { flags, .. } => Some(flags),
            _ => None,
        })
        .field("description", |row| {
            Some(row.operation.change.description()?.0)
        })
        .field("attribute", |row| match &row.operation.change {
            Change::Changed { attribute, .. } => Some(attribute.as_str()),
            Change::Before { was, .. } => Some(was.as_str()),
            _ => None,
        })
        .field("node_kind", |row| match row.operation.change {
            Change::Found { kind, .. } | Change::Made { kind, .. } => Some(kind.as_str()),
            _ => None,
        });
    Table::new("operations", columns, rows)
}

/// Invalid bytes are replaced; the hexadecimal column has them.
fn lossy(path: impl AsRef<[u8]>) -> String {
    String::from_utf8_lossy(path.as_ref()).into_owned()
}
