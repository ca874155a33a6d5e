//! Damaged operation logs: each is read to its end, within its limits.
#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "test helpers")]

use std::io::Cursor;

use iostrata_core::op::FileId;
use iostrata_core::record::{
    Change, Entry, Exceeded, FileKind, Limits, Name, Paths, Payload, Piece, Place, ReadError,
    Reader, Refused, Tree,
};

mod mutation;
#[path = "mutation/operations.rs"]
mod operations;

use mutation::{Step, changed, inputs, limited, steps};
use operations::operations;

/// The head of a frame, and the position of its checksums (`record/frame.rs`).
const PREFIX: usize = 20;
const HEAD: usize = 24;

const LIMITS: Limits = Limits {
    expanded_bytes: 64 << 20,
    memory_bytes: 128 << 20,
};

/// Small, so that thousands of logs can reach them.
const LOW: Limits = Limits {
    expanded_bytes: 2 << 20,
    memory_bytes: 4 << 20,
};

/// Reads everything, as the exports and `rebuild` do.
fn read_all(log: &[u8], limits: Limits) -> Result<u64, String> {
    let mut reader = Reader::within(Cursor::new(log), limits).map_err(|e| e.to_string())?;
    let (mut tree, mut paths) = (Some(Tree::within(limits)), Paths::default());
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
        limits
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

/// Corrects the checksums after a change, so that the data behind them is read.
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
    assert!(read_all(golden, LOW).unwrap() > 0);
    limited("a_log_that_was_changed_is_read_to_an_end", |watch| {
        inputs(|random| {
            let log = changed(golden, &steps(random));
            let log = if random.below(2) == 0 {
                summed(log)
            } else {
                log
            };
            // Whether it could be read does not matter.
            watch.input(|| read_all(&log, LOW)).ok();
        });
    });
}

/// The frames of a log: kind, and uncompressed body.
fn frames(log: &[u8]) -> Vec<(u32, Vec<u8>)> {
    let word = |at: usize| u32::from_le_bytes(log[at..at + 4].try_into().unwrap());
    let mut frames = Vec::new();
    let mut at = PREFIX;
    while at < log.len() {
        let (kind, stored, bytes) = (word(at), word(at + 4) as usize, word(at + 8) as usize);
        at += HEAD;
        let body = &log[at..at + stored];
        frames.push((
            kind,
            if stored == bytes {
                body.to_vec()
            } else {
                zstd::bulk::decompress(body, bytes).unwrap()
            },
        ));
        at += stored;
    }
    frames
}

/// The log of these frames, with correct checksums.
fn framed(frames: &[(u32, Vec<u8>)]) -> Vec<u8> {
    let mut log = b"iostrata record\n\x02\0\0\0".to_vec();
    for (kind, body) in frames {
        let length = u32::try_from(body.len()).unwrap().to_le_bytes();
        let mut head = [&kind.to_le_bytes()[..], &length, &length].concat();
        head.extend(&blake3::hash(body).as_bytes()[..8]);
        let sum = blake3::hash(&head);
        head.extend(&sum.as_bytes()[..4]);
        log.extend(head);
        log.extend(body);
    }
    log
}

/// Changes inside checksums and compression.
fn changed_inside(frames: &[(u32, Vec<u8>)], which: usize, steps: &[Step]) -> Vec<u8> {
    let mut frames = frames.to_vec();
    frames[which].1 = changed(&frames[which].1, steps);
    framed(&frames)
}

#[test]
fn a_frame_that_was_changed_is_read_to_an_end() {
    let golden = frames(include_bytes!("golden/operations-2.log"));
    assert!(read_all(&framed(&golden), LOW).unwrap() > 0);
    limited("a_frame_that_was_changed_is_read_to_an_end", |watch| {
        inputs(|random| {
            let which = random.below(golden.len());
            let log = changed_inside(&golden, which, &steps(random));
            watch.input(|| read_all(&log, LOW)).ok();
        });
    });
}

#[test]
fn operations_that_nobody_has_made_are_read_to_an_end() {
    limited(
        "operations_that_nobody_has_made_are_read_to_an_end",
        |watch| {
            inputs(|random| {
                let log = operations::write(Vec::new(), &operations::chunk(), operations(random));
                watch.input(|| read_all(&log, LOW)).ok();
            });
        },
    );
}

const FILE: FileId = FileId {
    device: 1,
    inode: 2,
    generation: 0,
};
const ROOT: FileId = FileId { inode: 1, ..FILE };

fn log(changes: impl IntoIterator<Item = Change>) -> Vec<u8> {
    operations::write(Vec::new(), &vec![7; 60_000], changes)
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
            kind: FileKind::Regular,
            place: Place::Name(Name::new(ROOT, vec![b'x'; 7 << 20])),
            mode: None,
            size_bytes: 0,
            contents: None,
        });
        let log = log(changes);
        assert!(log.len() < 500_000, "{}", log.len());
        let error = read_all(&log, LIMITS).unwrap_err();
        assert!(error.contains("more than the limit"), "{error}");
    });
}
