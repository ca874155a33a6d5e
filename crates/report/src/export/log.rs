//! Tables of operation logs. They do not contain the payload itself.

use iostrata_core::bytes::hex_unless_text;
use iostrata_core::gap::Gap;
use iostrata_core::op::FileId;
use iostrata_core::record::{Begin, Change, End, Operation};

use super::table::Table;
use crate::fields::Fields;

/// A recording of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// Its begin.
    pub begin: Begin,
    /// Its end; `None` when it was cut off.
    pub end: Option<End>,
    /// Its gaps, and why.
    pub missing: Vec<Gap>,
}

/// An operation with the log's information about its file and its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Logged {
    /// Number of the input file, from 1.
    pub result: u64,
    /// Number of the recording in it, from 1.
    pub recording: u64,
    /// The operation.
    pub operation: Operation,
    /// Path of its name, or of its node.
    pub path: Option<Vec<u8>>,
    /// The second path: a new name, or the target of a symbolic link.
    pub other_path: Option<Vec<u8>>,
    /// BLAKE3 hash of its payload in hexadecimal; `None` without payload, and when a part was
    /// not captured.
    pub payload_blake3: Option<String>,
}

/// Every recording. `logs` are numbered results.
pub fn recordings<'a>(logs: &'a [(u64, Vec<Recorded>)]) -> Table<'a> {
    type Row<'a> = (u64, u64, &'a Recorded);
    let end = Fields::<&'a End>::new()
        .count("operations", |end| end.operations)
        .count("stops", |end| end.stops);
    let columns = Fields::<Row<'a>>::new()
        .count("result", |row| row.0)
        .count("recording", |row| row.1)
        .made_text("command", |row| {
            let words = row.2.begin.command.iter();
            let words: Vec<_> = words.map(|word| String::from_utf8_lossy(word)).collect();
            serde_json::to_string(&words).ok()
        })
        .made_text("directory", |row| Some(lossy(&row.2.begin.directory)))
        .made_text("directory_hex", |row| {
            hex_unless_text(&row.2.begin.directory)
        })
        .count("started_ns", |row| row.2.begin.started_ns)
        .within("", end, |row| row.2.end.as_ref())
        .flag("complete", |row| row.2.missing.is_empty());
    let rows = logs.iter().flat_map(|(result, recordings)| {
        let recordings = recordings.iter().zip(1..);
        recordings.map(|(recording, number)| (*result, number, recording))
    });
    Table::new("recordings", columns, rows)
}

/// Every operation. Memory does not grow with their number.
pub fn operations<'a>(rows: Box<dyn Iterator<Item = Logged> + 'a>) -> Table<'a> {
    let columns = Fields::<Logged>::new()
        .count("result", |row| row.result)
        .count("recording", |row| row.recording)
        .count("operation", |row| row.operation.id)
        .count("process", |row| u64::from(row.operation.process))
        .count("thread", |row| u64::from(row.operation.thread))
        .count("started_ns", |row| row.operation.started_ns)
        .count("took_ns", |row| row.operation.took_ns)
        .made_text("call", |row| Some(row.operation.call.to_string()))
        .count("returned", |row| row.operation.outcome.ok())
        .signed("errno", |row| row.operation.outcome.err().map(i64::from))
        .text("change", |row| row.operation.change.kind())
        .made_text("device", |row| {
            let (major, minor) = FileId::device_numbers(row.operation.change.node()?.device);
            Some(format!("{major}:{minor}"))
        })
        .count("inode", |row| Some(row.operation.change.node()?.inode))
        .count("generation", |row| {
            Some(u64::from(row.operation.change.node()?.generation))
        })
        .made_text("path", |row| row.path.as_deref().map(lossy))
        .made_text("path_hex", |row| hex_unless_text(row.path.as_ref()?))
        .made_text("other_path", |row| row.other_path.as_deref().map(lossy))
        .made_text("other_path_hex", |row| {
            hex_unless_text(row.other_path.as_ref()?)
        })
        .count("offset_bytes", |row| row.operation.change.offset())
        .count("length_bytes", |row| row.operation.change.bytes())
        .count("payload_unknown_bytes", |row| {
            Some(row.operation.change.payload()?.unknown_bytes())
        })
        .made_text("payload_blake3", |row| row.payload_blake3.clone())
        .maybe_text("durability", |row| match row.operation.change {
            Change::Synced { scope, .. } => Some(scope.as_str()),
            _ => None,
        })
        .flag("created", |row| match row.operation.change {
            Change::Opened { ref created, .. } => Some(created.is_some()),
            _ => None,
        })
        .flag("truncated", |row| match row.operation.change {
            Change::Opened { truncated, .. } => Some(truncated),
            _ => None,
        })
        .count("descriptor", |row| match row.operation.change {
            Change::Printed { descriptor, .. } => Some(u64::from(descriptor)),
            _ => None,
        })
        .count("flags", |row| match row.operation.change {
            Change::Opened { flags, .. }
            | Change::Described { flags, .. }
            | Change::Wrote { flags, .. }
            | Change::Read { flags, .. }
            | Change::MappedToRead { flags, .. }
            | Change::Renamed { flags, .. } => Some(u64::from(flags)),
            _ => None,
        })
        .count("description", |row| {
            Some(row.operation.change.description()?.0)
        })
        .maybe_text("attribute", |row| match &row.operation.change {
            Change::Changed { attribute, .. } => Some(attribute.as_str()),
            Change::Before { was, .. } => Some(was.as_str()),
            _ => None,
        })
        .maybe_text("node_kind", |row| match row.operation.change {
            Change::Found { kind, .. } | Change::Made { kind, .. } => Some(kind.as_str()),
            _ => None,
        });
    Table::new("operations", columns, rows)
}

/// Invalid bytes are replaced; the hexadecimal column has them.
fn lossy(path: impl AsRef<[u8]>) -> String {
    String::from_utf8_lossy(path.as_ref()).into_owned()
}
