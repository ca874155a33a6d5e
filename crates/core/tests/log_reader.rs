//! Operation logs that somebody has changed: each is read to an end, within its limits.
#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "test helpers")]

use std::io::Cursor;

use iostrata_core::op::FileId;
use iostrata_core::record::{
    Begin, Change, Check, Completeness, End, Entry, Exceeded, Kind, Limits, Name, Operation, Paths,
    Payload, Piece, Place, ReadError, Reader, Refused, Tree, Writer,
};
use proptest::prelude::*;

mod mutation;

use mutation::{changed, inputs, limited, steps};

/// The head of a frame, and where the sums are in it (`record/frame.rs`).
const PREFIX: usize = 20;
const HEAD: usize = 24;

const LIMITS: Limits = Limits {
    expanded_bytes: 64 << 20,
    memory_bytes: 128 << 20,
};

/// Reads all that there is, as the exports and `rebuild` do.
fn read_all(log: &[u8]) -> Result<u64, String> {
    let mut reader = Reader::within(Cursor::new(log), LIMITS).map_err(|e| e.to_string())?;
    let (mut tree, mut paths) = (Some(Tree::within(LIMITS)), Paths::default());
    let mut operations = 0;
    while let Some(entry) = reader.next_entry().map_err(|e| e.to_string())? {
        let Entry::Operation(operation) = entry else {
            continue;
        };
        operations += 1;
        let path = paths.of(&operation);
        let lengths = path.map_or(0, |path| path.len());
        let other = paths.other(&operation).map_or(0, |path| path.len());
        reader
            .expand((lengths + other) as u64)
            .map_err(|e| e.to_string())?;
        LIMITS
            .check_memory(paths.memory_bytes())
            .map_err(|e| e.to_string())?;
        if let Some(payload) = operation.change.payload() {
            reader.payload_blake3(payload).map_err(|e| e.to_string())?;
        }
        if tree
            .as_mut()
            .is_some_and(|tree| tree.apply(&operation).is_err())
        {
            tree = None;
        }
    }
    reader.completeness();
    Ok(operations)
}

/// Puts the sums right that a change has made wrong, so that what is behind them is read.
fn summed(mut log: Vec<u8>) -> Vec<u8> {
    let mut at = PREFIX;
    while let Some(head) = log.get(at..at + HEAD) {
        let stored = u32::from_le_bytes(head[4..8].try_into().unwrap()) as usize;
        let begin = at + HEAD;
        let end = begin.saturating_add(stored).min(log.len());
        let sum = blake3::hash(&log[begin..end]);
        log[at + 12..at + 20].copy_from_slice(&sum.as_bytes()[..8]);
        let sum = blake3::hash(&log[at..at + 20]);
        log[at + 20..at + 24].copy_from_slice(&sum.as_bytes()[..4]);
        at = end;
    }
    log
}

#[test]
fn a_log_that_was_changed_is_read_to_an_end() {
    let golden = include_bytes!("golden/operations-2.log");
    assert!(read_all(golden).unwrap() > 0);
    limited("a_log_that_was_changed_is_read_to_an_end", |watch| {
        proptest!(inputs(), |(steps in steps(), sums in any::<bool>())| {
            let log = changed(golden, &steps);
            let log = if sums { summed(log) } else { log };
            // Whether it could be read is not the matter.
            watch.input(|| read_all(&log)).ok();
        });
    });
}

const FILE: FileId = FileId {
    device: 1,
    inode: 2,
    generation: 0,
};
const ROOT: FileId = FileId { inode: 1, ..FILE };

fn log(changes: impl IntoIterator<Item = Change>) -> Vec<u8> {
    let begin = Begin {
        command: vec![],
        directory: vec![],
        started_ns: 0,
        reads: false,
    };
    let mut log = Writer::new(Vec::new(), &begin).unwrap();
    log.store(&vec![7; 60_000], &mut Payload::default())
        .unwrap();
    for change in changes {
        let mut operation = Operation {
            id: 0,
            process: 1,
            thread: 1,
            started_ns: 0,
            took_ns: 0,
            call: "call".into(),
            outcome: Ok(0),
            change,
        };
        log.operation(&mut operation).unwrap();
    }
    let end = End {
        operations: 0,
        stops: 0,
        completeness: Completeness::Complete,
        check: Check::Skipped {
            because: String::new(),
        },
    };
    log.finish(end).unwrap()
}

fn wrote(offset: u64, pieces: usize, bytes: u32) -> Change {
    let stored = Piece::Stored {
        chunk: 0,
        at: 0,
        bytes,
    };
    Change::Wrote {
        node: FILE,
        description: None,
        offset,
        flags: 0,
        payload: Payload {
            pieces: vec![stored; pieces],
        },
    }
}

#[test]
fn payload_that_is_referred_to_without_end_is_not_read() {
    limited(
        "payload_that_is_referred_to_without_end_is_not_read",
        |_| {
            let log = log(vec![wrote(0, 1_000_000, 60_000)]);
            assert!(log.len() < 10_000, "{}", log.len());
            let mut reader = Reader::within(Cursor::new(&log), LIMITS).unwrap();
            let payload = loop {
                if let Some(Entry::Operation(operation)) = reader.next_entry().unwrap() {
                    break operation.change.payload().unwrap().clone();
                }
            };
            let error = reader.payload_blake3(&payload).unwrap_err();
            assert!(matches!(
                error,
                ReadError::TooMuch(Exceeded::Expanded { limit_bytes }) if limit_bytes == 64 << 20
            ));
            let error = reader.payload_bytes(&payload).unwrap_err();
            assert!(matches!(error, ReadError::TooMuch(_)));
        },
    );
}

#[test]
fn a_tree_has_an_end() {
    limited("a_tree_has_an_end", |_| {
        let changes = (0..40).map(|step| wrote(step * 1_000_000, 60_000, 1));
        let log = log(changes);
        assert!(log.len() < 30_000, "{}", log.len());
        let mut reader = Reader::new(Cursor::new(&log)).unwrap();
        let mut tree = Tree::within(LIMITS);
        let refused = loop {
            if let Some(Entry::Operation(operation)) = reader.next_entry().unwrap()
                && let Err(refused) = tree.apply(&operation)
            {
                break refused;
            }
        };
        assert!(matches!(
            refused,
            Refused::Exceeded(Exceeded::Memory { .. })
        ));
    });
}

#[test]
fn what_is_overwritten_is_not_counted() {
    let limits = Limits {
        memory_bytes: 1 << 20,
        ..LIMITS
    };
    let log = log((0..20_000).map(|step| wrote(step % 10, 1, 1)));
    let mut reader = Reader::within(Cursor::new(&log), limits).unwrap();
    let mut tree = Tree::within(limits);
    while let Some(entry) = reader.next_entry().unwrap() {
        if let Entry::Operation(operation) = entry {
            tree.apply(&operation).unwrap();
        }
    }
    assert_eq!(tree.misfits().0, 1, "the file was not found before");
}

#[test]
fn names_have_an_end() {
    limited("names_have_an_end", |_| {
        let changes = (0..30).map(|inode| Change::Found {
            node: FileId {
                inode: inode + 3,
                ..FILE
            },
            kind: Kind::Regular,
            place: Place::Name(Name::new(ROOT, vec![b'x'; 7 << 20])),
            mode: None,
            size_bytes: 0,
            contents: None,
        });
        let log = log(changes);
        assert!(log.len() < 500_000, "{}", log.len());
        let error = read_all(&log).unwrap_err();
        assert!(error.contains("which is the limit"), "{error}");
    });
}
