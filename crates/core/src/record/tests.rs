//! Written logs can be read; damaged ones are refused with the position of the damage.

use std::borrow::Cow;
use std::io::Cursor;

use proptest::prelude::*;

use super::frame::Kind as Frame;
use super::*;
use crate::gap::{Gap, Missing, Reason};
use crate::op::FileId;

const FILE: FileId = FileId {
    device: 0x80_0001,
    inode: 4_711,
    generation: 9,
};

/// Written when the format got its version; must stay readable as long as the version is.
const GOLDEN: &[u8] = include_bytes!("../../tests/golden/operations-2.log");

fn begin() -> Begin {
    Begin {
        command: vec![b"app".to_vec(), b"--x\xff".to_vec()],
        directory: b"/data".to_vec(),
        started_ns: 1_000,
        reads: true,
    }
}

fn unseen_write() -> Gap {
    let what = Missing::Calls {
        count: 1,
        name: "write".to_owned(),
    };
    Gap::new(what, Reason::RingUnseen)
}

fn end(gaps: Vec<Gap>) -> End {
    End {
        operations: 0,
        stops: 3,
        completeness: Completeness::from_gaps(gaps),
        check: Check::Compared {
            nodes: 3,
            differing: 0,
            skipped: 1,
        },
    }
}

fn operation(call: &'static str, outcome: Result<u64, i32>, change: Change) -> Operation {
    Operation {
        id: 0,
        process: 7,
        thread: 8,
        started_ns: 2_000,
        took_ns: 30,
        call: Cow::Borrowed(call),
        outcome,
        change,
    }
}

const DIRECTORY: FileId = FileId { inode: 2, ..FILE };
const THROUGH: Description = Description(12);

fn named(name: &[u8]) -> Name {
    Name::new(DIRECTORY, name)
}

/// One of each kind of change of names and nodes.
fn changes_of_names() -> Vec<Change> {
    vec![
        Change::Described {
            node: FILE,
            description: THROUGH,
            flags: 0o2001,
        },
        Change::Opened {
            node: FILE,
            description: THROUGH,
            flags: 0o1102,
            created: Some(Place::Name(named(b"\xe4"))),
            mode: Some(0o640),
            truncated: false,
        },
        Change::Made {
            node: FILE,
            kind: FileKind::Symlink,
            name: named(b"link"),
            mode: None,
            device_number: 0,
            target: b"../x".to_vec(),
        },
        Change::Renamed {
            node: FILE,
            from: named(b"a"),
            to: named(b"b"),
            other: Some(DIRECTORY),
            flags: 2,
        },
        Change::Linked {
            node: FILE,
            name: named(b"c"),
        },
        Change::Unlinked {
            node: FILE,
            name: named(b"c"),
            directory: false,
        },
        Change::Attempted {
            paths: vec![b"../a".to_vec(), b"/b".to_vec()],
        },
        Change::Closed {
            node: FILE,
            description: THROUGH,
        },
    ]
}

/// One of each kind of change of contents and attributes, without payload.
fn changes_of_files() -> Vec<Change> {
    let changed = |attribute| Change::Changed {
        node: FILE,
        attribute,
    };
    let synced = |node, scope| Change::Synced {
        node,
        description: node.map(|_| THROUGH),
        scope,
    };
    vec![
        Change::Resized {
            node: FILE,
            description: None,
            bytes: 1 << 40,
        },
        Change::Allocated {
            node: FILE,
            description: Some(THROUGH),
            mode: 3,
            offset: 4_096,
            bytes: 8_192,
        },
        Change::Deduplicated {
            node: FILE,
            offset: 4_096,
            source: DIRECTORY,
            source_offset: 0,
            bytes: 4_096,
        },
        changed(Attribute::Mode { mode: 0o4755 }),
        changed(Attribute::Owner {
            user: Some(0),
            group: None,
        }),
        changed(Attribute::Times {
            accessed: Time::Now,
            modified: Time::At {
                seconds: -1,
                nanoseconds: 999_999_999,
            },
        }),
        changed(Attribute::Extended {
            name: b"user.x".to_vec(),
            value: Some(b"\0\xff".to_vec()),
            flags: 1,
        }),
        changed(Attribute::Flags { flags: 0x20 }),
        changed(Attribute::ExtendedFlags { flags: 8 }),
        synced(None, Durability::Everything),
        synced(
            Some(FILE),
            Durability::Range {
                offset: 1,
                bytes: 2,
            },
        ),
        synced(Some(DIRECTORY), Durability::File),
        Change::Mapped {
            node: FILE,
            offset: 0,
            bytes: 4_096,
        },
        Change::Read {
            node: FILE,
            description: Some(THROUGH),
            offset: 3,
            bytes: 4,
            flags: 0x8,
        },
    ]
}

const OPERATIONS: usize = 8 + 14 + 5;

/// A short log with every kind of entry, and its contents.
fn sample() -> (Vec<u8>, Vec<Operation>) {
    let mut log = Writer::new(Vec::new(), &begin()).unwrap();
    let plain = [changes_of_names(), changes_of_files()].concat();
    let mut operations: Vec<Operation> = plain
        .into_iter()
        .map(|change| operation("call", Ok(0), change))
        .collect();
    let mut payload = Payload::default();
    log.store(b"hello", &mut payload).unwrap();
    payload.push(Piece::Unknown { bytes: 7 });
    let mut contents = Payload::default();
    log.store(&[b'z'; 4_096], &mut contents).unwrap();
    let with_payload = [
        Change::Wrote {
            node: FILE,
            description: Some(THROUGH),
            offset: 5,
            flags: 0x10,
            payload,
        },
        Change::Stored {
            node: FILE,
            offset: 0,
            payload: contents.clone(),
        },
        Change::Cloned {
            node: FILE,
            description: None,
            offset: 0,
            source: DIRECTORY,
            source_offset: 4_096,
            payload: contents.clone(),
        },
        Change::Found {
            node: FILE,
            kind: FileKind::Regular,
            place: Place::Name(named(b"old")),
            mode: Some(0o600),
            size_bytes: 4_096,
            contents: Some(contents),
        },
        Change::Printed {
            descriptor: 1,
            payload: Payload::default(),
        },
    ];
    operations.extend(with_payload.map(|change| operation("call", Err(28), change)));
    for one in &mut operations {
        log.operation(one).unwrap();
    }
    (log.finish(end(vec![unseen_write()])).unwrap(), operations)
}

fn read_all(log: &[u8]) -> Result<(Vec<Entry>, Completeness), ReadError> {
    let mut reader = Reader::new(Cursor::new(log))?;
    let mut entries = Vec::new();
    while let Some(entry) = reader.next_entry()? {
        if let Entry::Operation(operation) = &entry
            && let Change::Wrote { payload, .. } = &operation.change
        {
            reader.payload_bytes(payload)?;
        }
        entries.push(entry);
    }
    Ok((entries, reader.completeness()))
}

fn check_sample(log: &[u8], operations: &[Operation]) {
    let (entries, completeness) = read_all(log).unwrap();
    let because = vec![unseen_write()];
    assert_eq!(completeness, Completeness::Incomplete { because });
    assert_eq!(entries[0], Entry::Begin(begin()));
    let read: Vec<&Operation> = entries
        .iter()
        .filter_map(|entry| match entry {
            Entry::Operation(operation) => Some(operation),
            _ => None,
        })
        .collect();
    assert_eq!(read.len(), OPERATIONS);
    assert_eq!(read, operations.iter().collect::<Vec<_>>());
    let Some(Entry::End(end)) = entries.last() else {
        panic!("no end");
    };
    assert_eq!((end.operations, end.stops), (OPERATIONS as u64, 3));
}

#[test]
fn what_was_written_is_read() {
    let (log, operations) = sample();
    check_sample(&log, &operations);
}

/// Kinds that were added after the first ones, which keep their numbers.
#[test]
fn kinds_that_were_added_come_back() {
    let mut log = Writer::new(Vec::new(), &begin()).unwrap();
    let mut payload = Payload::default();
    log.store(b"data", &mut payload).unwrap();
    let was = |was| Change::Before { node: FILE, was };
    let number = Attribute::Mode { mode: 0o600 };
    let mut written = [
        was(Was::Bytes { offset: 9, payload }),
        was(Was::Attribute(number)),
        was(Was::Target(b"../x".to_vec())),
        was(Was::DeviceNumber(0x103)),
        was(Was::Listed),
        Change::MappedToRead {
            node: FILE,
            offset: 4_096,
            bytes: 10,
            protection: 1,
            flags: 2,
        },
        Change::Touched {
            node: FILE,
            offset: 4_096,
            bytes: 8_192,
        },
    ]
    .map(|change| operation("before", Ok(0), change));
    for one in &mut written {
        log.operation(one).unwrap();
    }
    let log = log.finish(end(Vec::new())).unwrap();
    let read = read_all(&log).unwrap().0;
    let expected = written.map(Entry::Operation);
    assert_eq!(read[1..=expected.len()], expected);
    let kinds = expected.iter().map(|entry| match entry {
        Entry::Operation(one) => one.change.kind(),
        _ => "",
    });
    let kinds: Vec<&str> = kinds.collect();
    assert_eq!(kinds[4..], ["before", "mapped_to_read", "touched"]);
}

#[test]
fn a_log_that_was_written_long_ago_is_read() {
    check_sample(GOLDEN, &sample().1);
}

#[test]
#[ignore = "writes the log that the other tests read; only for a new version"]
fn write_the_golden_log() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/operations-2.log");
    std::fs::write(path, sample().0).unwrap();
}

#[test]
fn payload_comes_back_with_zeros_for_what_was_not_captured() {
    let mut reader = Reader::new(Cursor::new(GOLDEN)).unwrap();
    let mut found = Vec::new();
    while let Some(entry) = reader.next_entry().unwrap() {
        if let Entry::Operation(operation) = entry
            && let Change::Wrote { payload, .. } = operation.change
        {
            assert_eq!((payload.bytes(), payload.unknown_bytes()), (12, 7));
            found = reader.payload_bytes(&payload).unwrap();
        }
    }
    assert_eq!(found, b"hello\0\0\0\0\0\0\0");
}

/// A log with one write for each of `writes`.
fn log_of(writes: &[Vec<u8>]) -> Vec<u8> {
    let mut log = Writer::new(Vec::new(), &begin()).unwrap();
    for bytes in writes {
        let mut payload = Payload::default();
        log.store(bytes, &mut payload).unwrap();
        let change = Change::Wrote {
            node: FILE,
            description: None,
            offset: 0,
            flags: 0,
            payload,
        };
        log.operation(&mut operation("write", Ok(bytes.len() as u64), change))
            .unwrap();
    }
    log.finish(end(Vec::new())).unwrap()
}

fn payloads_of(log: &[u8]) -> Vec<Vec<u8>> {
    let mut reader = Reader::new(Cursor::new(log)).unwrap();
    let mut all = Vec::new();
    while let Some(entry) = reader.next_entry().unwrap() {
        if let Entry::Operation(Operation {
            change: Change::Wrote { payload, .. },
            ..
        }) = entry
        {
            all.push(reader.payload_bytes(&payload).unwrap());
        }
    }
    assert_eq!(reader.completeness(), Completeness::Complete);
    all
}

/// Bytes that zstd cannot compress.
fn noise(bytes: usize, seed: u64) -> Vec<u8> {
    let mut output = vec![0; bytes];
    blake3::Hasher::new()
        .update(&seed.to_le_bytes())
        .finalize_xof()
        .fill(&mut output);
    output
}

#[test]
fn a_block_is_stored_once_also_in_another_chunk() {
    let block = noise(64 << 10, 1);
    let mut writes = vec![block.clone()];
    writes.extend((2..34).map(|seed| noise(64 << 10, seed)));
    writes.extend((0..100).map(|_| block.clone()));
    let log = log_of(&writes);
    let once = 33 << 16;
    assert!(
        (once..once + 16_384).contains(&log.len()),
        "{} bytes",
        log.len()
    );
    assert_eq!(payloads_of(&log), writes);
}

#[test]
fn a_million_bytes_one_by_one_are_short() {
    let mut log = Writer::new(Vec::new(), &begin()).unwrap();
    for offset in 0..100_000 {
        let mut payload = Payload::default();
        log.store(b"x", &mut payload).unwrap();
        let change = Change::Wrote {
            node: FILE,
            description: None,
            offset,
            flags: 0,
            payload,
        };
        log.operation(&mut operation("write", Ok(1), change))
            .unwrap();
    }
    let log = log.finish(end(Vec::new())).unwrap();
    assert!(log.len() < 100_000 * 16, "{} bytes", log.len());
    assert_eq!(payloads_of(&log).concat(), vec![b'x'; 100_000]);
}

#[test]
fn every_changed_byte_is_noticed_where_it_is() {
    for at in 0..GOLDEN.len() {
        for bit in [0x01, 0x80] {
            let mut log = GOLDEN.to_vec();
            log[at] ^= bit;
            let error = read_all(&log).expect_err("a changed byte");
            match error {
                ReadError::NotALog => assert!(at < 16),
                ReadError::Version { .. } => assert!((16..20).contains(&at)),
                ReadError::Corrupt { offset, .. } => {
                    assert!(offset <= at as u64 && at >= 20, "{offset} for {at}");
                }
                other => panic!("byte {at}: {other}"),
            }
        }
    }
}

#[test]
fn a_truncated_log_gives_what_is_whole_and_says_so() {
    let whole = read_all(GOLDEN).unwrap().0;
    for bytes in 1..GOLDEN.len() {
        let mut reader = match Reader::new(Cursor::new(&GOLDEN[..bytes])) {
            Ok(reader) => reader,
            Err(error) => {
                assert!(bytes < 20 && matches!(error, ReadError::Truncated { .. }));
                continue;
            }
        };
        let mut had = 0;
        loop {
            match reader.next_entry() {
                Ok(Some(entry)) => assert_eq!(entry, whole[had]),
                Ok(None) => {
                    assert_eq!(reader.position().offset, bytes as u64);
                    break;
                }
                Err(ReadError::Truncated { offset }) => {
                    assert!(offset < bytes as u64);
                    break;
                }
                Err(other) => panic!("cut at {bytes}: {other}"),
            }
            had += 1;
        }
        assert!(had < whole.len());
        assert_ne!(reader.completeness(), Completeness::Complete);
    }
}

#[test]
fn other_files_and_other_versions_are_told_apart() {
    assert!(matches!(read_all(b""), Err(ReadError::NotALog)));
    assert!(matches!(read_all(b"{\"schema\""), Err(ReadError::NotALog)));
    let of_version = |version| {
        let mut other = GOLDEN.to_vec();
        other[16] = version;
        read_all(&other).unwrap_err().to_string()
    };
    assert_eq!(
        of_version(3),
        "operation log version 3: this iostrata reads version 2"
    );
}

#[test]
fn a_recording_is_appended_behind_a_cut_one() {
    let mut reader = Reader::new(Cursor::new(&GOLDEN[..GOLDEN.len() - 1])).unwrap();
    while let Ok(Some(_)) = reader.next_entry() {}
    let position = reader.position();
    assert_eq!(position.operations, OPERATIONS as u64);

    let mut file = GOLDEN[..usize::try_from(position.offset).unwrap()].to_vec();
    let mut log = Writer::append(&mut file, position, &begin()).unwrap();
    let mut payload = Payload::default();
    log.store(b"more", &mut payload).unwrap();
    let change = Change::Wrote {
        node: FILE,
        description: None,
        offset: 0,
        flags: 0,
        payload,
    };
    log.operation(&mut operation("write", Ok(4), change))
        .unwrap();
    log.finish(end(Vec::new())).unwrap();

    let (entries, completeness) = read_all(&file).unwrap();
    assert_eq!(entries.len(), 1 + OPERATIONS + 1 + 1 + 1);
    let Some(Entry::End(end)) = entries.last() else {
        panic!("no end");
    };
    assert_eq!(end.operations, 1);
    let Completeness::Incomplete { because } = completeness else {
        panic!("the first recording has no end");
    };
    assert_eq!(because[0].what, Missing::RecordingEnd);
}

#[test]
fn payload_outside_its_chunk_is_refused() {
    let pieces = [
        (9, 0, 1),
        (0, 0, u32::MAX),
        (0, u32::MAX, 1),
        (u64::MAX, 0, 1),
    ];
    for (chunk, at, bytes) in pieces {
        let payload = Payload {
            pieces: vec![Piece::Stored { chunk, at, bytes }],
        };
        let mut reader = Reader::new(Cursor::new(GOLDEN)).unwrap();
        while reader.next_entry().unwrap().is_some() {}
        assert!(matches!(
            reader.payload_bytes(&payload),
            Err(ReadError::Corrupt { .. } | ReadError::TooMuch(_))
        ));
    }
}

proptest! {
    #[test]
    fn payloads_of_any_length_come_back(
        lengths in prop::collection::vec((0_usize..200_000, 0_u64..4), 1..12),
    ) {
        let writes: Vec<Vec<u8>> = lengths.iter().map(|(bytes, seed)| noise(*bytes, *seed)).collect();
        prop_assert_eq!(payloads_of(&log_of(&writes)), writes);
    }

    /// Damage with correct checksums, as from a faulty writer.
    #[test]
    fn well_formed_nonsense_never_panics(
        frames in prop::collection::vec((0_usize..4, prop::collection::vec(any::<u8>(), 0..200)), 0..6),
    ) {
        let kinds = [
            Frame::Begin,
            Frame::Chunk,
            Frame::Operations,
            Frame::End,
        ];
        let mut log = Vec::new();
        frame::write_prefix(&mut log).unwrap();
        for (kind, body) in &frames {
            frame::write(&mut log, kinds[*kind], body).unwrap();
        }
        if let Ok((entries, _)) = read_all(&log) {
            prop_assert!(entries.len() <= frames.iter().map(|(_, body)| body.len() + 1).sum());
        }
    }

    #[test]
    fn spliced_logs_never_panic(
        cuts in prop::collection::vec((0_usize..4_000, 0_usize..4_000), 1..5),
        inserted in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let mut log = GOLDEN.to_vec();
        for (at, bytes) in cuts {
            let at = at.min(log.len());
            let to = (at + bytes).min(log.len());
            log.splice(at..to, inserted.iter().copied());
        }
        let unchanged = log == GOLDEN;
        match read_all(&log) {
            Ok((_, completeness)) => {
                prop_assert!(unchanged || completeness != Completeness::Complete);
            }
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }
}
