//! Random operations for readers of operation logs. Tests of other crates include this file.

use std::io::Write;

use crate::mutation::Random;
use iostrata_core::op::FileId;
use iostrata_core::record::{
    Attribute, Begin, Change, Check, Completeness, Description, Durability, End, FileKind, Name,
    Operation, Payload, Piece, Place, Was, Writer,
};

/// Bytes of the only chunk in such a log.
const CHUNK: u32 = 3_000;

/// The first is the root in nearly all. Few, so that operations collide.
fn node(random: &mut Random) -> FileId {
    FileId {
        device: 1,
        inode: 1 + random.any() % 7,
        generation: 0,
    }
}

/// Valid and invalid names.
const NAMES: [&[u8]; 12] = [
    b"a",
    b"b",
    b"c",
    b"d",
    b".",
    b"..",
    b"",
    b"a/b",
    b"/",
    b"\xff\xfe",
    b"\x1b[2J\n",
    b"nul\0",
];

fn bytes(random: &mut Random) -> Vec<u8> {
    match random.below(12) {
        0..8 => NAMES[random.below(4)].to_vec(),
        8..11 => NAMES[random.below(NAMES.len())].to_vec(),
        _ => vec![b'x'; 200 + random.below(4_800)],
    }
}

fn name(random: &mut Random) -> Name {
    Name::new(node(random), bytes(random))
}

fn place(random: &mut Random) -> Place {
    match random.below(8) {
        0 => Place::Root,
        1 => Place::Nowhere,
        _ => Place::Name(name(random)),
    }
}

fn kind(random: &mut Random) -> FileKind {
    match random.below(14) {
        0..4 => FileKind::Regular,
        4..8 => FileKind::Directory,
        8 => FileKind::Symlink,
        9 => FileKind::Pipe,
        10 => FileKind::Socket,
        11 => FileKind::CharacterDevice,
        12 => FileKind::BlockDevice,
        _ => FileKind::Anonymous,
    }
}

/// Lengths and offsets: small ones, and the limits of arithmetic.
fn number(random: &mut Random) -> u64 {
    match random.below(13) {
        0..6 => random.any() % 20_000,
        6 => 1 << 40,
        7 => i64::MAX as u64 - 3,
        8 => i64::MAX as u64,
        9 => 1 << 63,
        10 => u64::MAX - 3,
        11 => u64::MAX,
        _ => random.any(),
    }
}

fn small(random: &mut Random) -> u32 {
    u32::try_from(random.below(CHUNK as usize)).unwrap()
}

fn word(random: &mut Random) -> u32 {
    u32::try_from(random.any() >> 32).unwrap()
}

fn is(random: &mut Random) -> bool {
    random.below(2) == 0
}

/// Parts of the chunk, and missing parts.
fn payload(random: &mut Random) -> Payload {
    let piece = |random: &mut Random| match random.below(14) {
        0..12 => {
            let at = small(random);
            Piece::Stored {
                chunk: 0,
                at,
                bytes: small(random).min(CHUNK - at),
            }
        }
        12 => Piece::Stored {
            chunk: random.any(),
            at: word(random),
            bytes: word(random),
        },
        _ => Piece::Unknown {
            bytes: number(random),
        },
    };
    let pieces = (0..random.below(4)).map(|_| piece(random)).collect();
    Payload { pieces }
}

fn attribute(random: &mut Random) -> Attribute {
    match random.below(4) {
        0 => Attribute::Mode { mode: word(random) },
        1 => Attribute::Owner {
            user: is(random).then(|| word(random)),
            group: is(random).then(|| word(random)),
        },
        2 => Attribute::Extended {
            name: bytes(random),
            value: is(random).then(|| bytes(random)),
            flags: word(random),
        },
        _ => Attribute::Flags {
            flags: word(random),
        },
    }
}

fn about_names(random: &mut Random) -> Change {
    let node_of = node;
    let node = node(random);
    match random.below(15) {
        0..3 => Change::Found {
            node,
            kind: kind(random),
            place: place(random),
            mode: Some(0o6755),
            size_bytes: number(random),
            contents: is(random).then(|| payload(random)),
        },
        3..6 => Change::Made {
            node,
            kind: kind(random),
            name: name(random),
            mode: None,
            device_number: random.any(),
            target: bytes(random),
        },
        6..9 => Change::Opened {
            node,
            description: Description(random.any() % 5),
            flags: 2,
            created: is(random).then(|| place(random)),
            mode: Some(0o644),
            truncated: is(random),
        },
        9..11 => Change::Renamed {
            node,
            from: name(random),
            to: name(random),
            other: is(random).then(|| node_of(random)),
            flags: small(random) % 8,
        },
        11..13 => Change::Linked {
            node,
            name: name(random),
        },
        13 => Change::Unlinked {
            node,
            name: name(random),
            directory: is(random),
        },
        _ => Change::Attempted {
            paths: (0..random.below(3)).map(|_| bytes(random)).collect(),
        },
    }
}

fn about_contents(random: &mut Random) -> Change {
    let node_of = node;
    let node = node(random);
    let description = None;
    match random.below(17) {
        0..4 => Change::Wrote {
            node,
            description: is(random).then(|| Description(random.any() % 5)),
            offset: number(random),
            flags: 0,
            payload: payload(random),
        },
        4 => Change::Stored {
            node,
            offset: number(random),
            payload: payload(random),
        },
        5..7 => Change::Resized {
            node,
            description,
            bytes: number(random),
        },
        7..9 => Change::Allocated {
            node,
            description,
            mode: small(random) % 0x80,
            offset: number(random),
            bytes: number(random),
        },
        9 => Change::Cloned {
            node,
            description,
            offset: number(random),
            source: node_of(random),
            source_offset: number(random),
            payload: payload(random),
        },
        10 => Change::Changed {
            node,
            attribute: attribute(random),
        },
        11..14 => Change::Before {
            node,
            was: was(random),
        },
        14 => Change::Synced {
            node: is(random).then_some(node),
            description,
            scope: Durability::Range {
                offset: number(random),
                bytes: number(random),
            },
        },
        15 => Change::Mapped {
            node,
            offset: number(random),
            bytes: number(random),
        },
        _ => Change::Printed {
            descriptor: 1,
            payload: payload(random),
        },
    }
}

fn was(random: &mut Random) -> Was {
    match random.below(4) {
        0 => Was::Bytes {
            offset: number(random),
            payload: payload(random),
        },
        1 => Was::Attribute(attribute(random)),
        2 => Was::Target(bytes(random)),
        _ => Was::Listed,
    }
}

/// Operations, most of them meaningless. A root usually comes first.
pub(crate) fn operations(random: &mut Random) -> Vec<Change> {
    let root = Change::Found {
        node: FileId {
            device: 1,
            inode: 1,
            generation: 0,
        },
        kind: FileKind::Directory,
        place: Place::Root,
        mode: None,
        size_bytes: 0,
        contents: None,
    };
    let with_root = random.below(8) > 0;
    let changes = (0..random.below(40)).map(|_| {
        if is(random) {
            about_names(random)
        } else {
            about_contents(random)
        }
    });
    let changes: Vec<Change> = changes.collect();
    with_root
        .then_some(root)
        .into_iter()
        .chain(changes)
        .collect()
}

/// The bytes that their payloads refer to.
pub(crate) fn chunk() -> Vec<u8> {
    (0..CHUNK).map(|at| (at % 251) as u8).collect()
}

/// A log of them.
pub(crate) fn write<W: Write>(
    out: W,
    chunk: &[u8],
    changes: impl IntoIterator<Item = Change>,
) -> W {
    let begin = Begin {
        command: Vec::new(),
        directory: Vec::new(),
        started_ns: 0,
        reads: false,
    };
    let mut log = Writer::new(out, &begin).unwrap();
    log.store(chunk, &mut Payload::default()).unwrap();
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
            because: iostrata_core::gap::Reason::StillRunning,
        },
    };
    log.finish(end).unwrap()
}
