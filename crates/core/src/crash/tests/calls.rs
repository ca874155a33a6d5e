//! Each kind of operation on files: what of it a crash can separate, and that all of it together is the file.

use std::collections::BTreeSet;

use super::{Log, ROOT, id, letters, shown, trees};
use crate::crash::Model;
use crate::op::{FileId, FileKind};
use crate::record::{Attribute, Change, Description, Durability, Name, Place, RENAME_EXCHANGE};

/// An operation on `f`, which has 10,000 bytes and is in the directory with `d/`, and its effects.
struct Row {
    call: &'static str,
    change: fn(FileId, FileId) -> Change,
    effects: usize,
}

fn wrote(node: FileId, offset: u64, bytes: u32) -> Change {
    Change::Wrote {
        node,
        description: None,
        offset,
        flags: 0,
        payload: letters('b', bytes),
    }
}

fn allocated(node: FileId, mode: u32) -> Change {
    Change::Allocated {
        node,
        description: None,
        mode,
        offset: 4096,
        bytes: 4096,
    }
}

fn made(kind: FileKind) -> Change {
    Change::Made {
        node: id(50),
        kind,
        name: Name::new(ROOT, "new"),
        mode: Some(0o644),
        device_number: 0,
        target: b"f".to_vec(),
    }
}

fn renamed(node: FileId, to: Name, other: Option<FileId>, flags: u32) -> Change {
    Change::Renamed {
        node,
        from: Name::new(ROOT, "f"),
        to,
        other,
        flags,
    }
}

fn changed(node: FileId, attribute: Attribute) -> Change {
    Change::Changed { node, attribute }
}

const ROWS: [Row; 19] = [
    Row {
        call: "write over two blocks",
        change: |f, _| wrote(f, 4000, 200),
        effects: 2,
    },
    Row {
        call: "append in the last block",
        change: |f, _| wrote(f, 10_000, 100),
        effects: 2,
    },
    // A part of the last block, a new block, and the length in each.
    Row {
        call: "append over the last block",
        change: |f, _| wrote(f, 10_000, 4_000),
        effects: 4,
    },
    Row {
        call: "write behind the end",
        change: |f, _| wrote(f, 20_000, 100),
        effects: 2,
    },
    Row {
        call: "ftruncate",
        change: |node, _| Change::Resized {
            node,
            description: None,
            bytes: 100,
        },
        effects: 1,
    },
    Row {
        call: "fallocate",
        change: |f, _| allocated(f, 0),
        effects: 1,
    },
    Row {
        call: "fallocate, FALLOC_FL_PUNCH_HOLE",
        change: |f, _| allocated(f, 3),
        effects: 1,
    },
    Row {
        call: "fallocate, FALLOC_FL_COLLAPSE_RANGE",
        change: |f, _| allocated(f, 8),
        effects: 1,
    },
    Row {
        call: "fallocate, FALLOC_FL_ZERO_RANGE",
        change: |f, _| allocated(f, 16),
        effects: 1,
    },
    Row {
        call: "fallocate, FALLOC_FL_INSERT_RANGE",
        change: |f, _| allocated(f, 32),
        effects: 1,
    },
    Row {
        call: "ioctl, FICLONERANGE",
        change: |node, source| Change::Cloned {
            node,
            description: None,
            offset: 0,
            source,
            source_offset: 0,
            payload: letters('c', 4096),
        },
        effects: 1,
    },
    Row {
        call: "mkdir",
        change: |_, _| made(FileKind::Directory),
        effects: 1,
    },
    Row {
        call: "symlink",
        change: |_, _| made(FileKind::Symlink),
        effects: 1,
    },
    Row {
        call: "mkfifo",
        change: |_, _| made(FileKind::Pipe),
        effects: 1,
    },
    Row {
        call: "rename",
        change: |f, _| renamed(f, Name::new(ROOT, "g"), None, 0),
        effects: 2,
    },
    Row {
        call: "renameat2, RENAME_EXCHANGE",
        change: |f, g| renamed(f, Name::new(ROOT, "g"), Some(g), RENAME_EXCHANGE),
        effects: 2,
    },
    Row {
        call: "link",
        change: |node, _| Change::Linked {
            node,
            name: Name::new(ROOT, "second"),
        },
        effects: 1,
    },
    Row {
        call: "unlink",
        change: |node, _| Change::Unlinked {
            node,
            name: Name::new(ROOT, "f"),
            directory: false,
        },
        effects: 1,
    },
    Row {
        call: "chmod",
        change: |f, _| changed(f, Attribute::Mode { mode: 0o600 }),
        effects: 1,
    },
];

#[test]
fn effects_of_each_call_make_the_file() {
    for row in ROWS {
        let mut log = Log::new();
        let f = log.found(ROOT, "f", letters('a', 10_000));
        let g = log.found(ROOT, "g", letters('g', 10));
        log.push(row.call, (row.change)(f, g));
        let history = log.history();
        assert_eq!(history.effects.len(), row.effects, "{}", row.call);
        assert!(history.is_whole, "{}", row.call);
    }
}

#[test]
fn what_makes_nothing_durable_is_no_sync() {
    for (scope, is_sync) in [
        (Durability::File, true),
        (Durability::Data, true),
        (Durability::FileSystem, true),
        (Durability::Everything, true),
        (
            Durability::Range {
                offset: 0,
                bytes: 10,
            },
            true,
        ),
        (Durability::Hint, false),
    ] {
        let mut log = Log::new();
        let f = log.found(ROOT, "f", letters('a', 10));
        log.write(f, 0, letters('b', 10));
        log.sync(f, scope);
        let history = log.history();
        let syncs = history.steps.iter().filter(|step| step.sync.is_some());
        assert_eq!(syncs.count() == 1, is_sync, "{scope:?}");
    }
}

/// `O_TMPFILE`, then `linkat`: what was written before there was a name is in the file.
#[test]
fn a_file_that_gets_its_name_at_the_end() {
    let mut log = Log::new();
    let node = id(40);
    let created = Change::Opened {
        node,
        description: Description(40),
        flags: 0,
        created: Some(Place::Nowhere),
        mode: Some(0o600),
        truncated: false,
    };
    log.push("openat", created);
    log.write(node, 0, letters('b', 5_000));
    log.link(node, ROOT, "f");
    assert!(log.history().is_whole);
    for model in Model::DEFAULTS {
        let all = trees(&log, model);
        assert!(all.contains("f=b*5000"), "{model:?}: {all:?}");
        assert!(
            all.contains("f=empty"),
            "a name without the bytes: {model:?}: {all:?}"
        );
    }
    let journal = trees(&log, Model::Ext4Journal);
    let none = "no file".to_owned();
    assert_eq!(journal, BTreeSet::from([none, "f=b*5000".to_owned()]));
    log.fsync(node);
    log.print();
    let history = log.history();
    let states = super::states(&history, Model::Ext4, crate::crash::Budget::default());
    let told: Vec<_> = states.iter().filter(|(_, told)| *told == 1).collect();
    assert_eq!(told, [&("f=b*5000".to_owned(), 1)]);
}

/// A directory is filled elsewhere and moved into the one under test; what stays outside has no effects.
#[test]
fn what_is_moved_into_the_directory_comes_with_its_bytes() {
    let mut log = Log::new();
    let inner = id(60);
    let under = Change::Found {
        node: inner,
        kind: FileKind::Directory,
        place: Place::Name(Name::new(ROOT, "under")),
        mode: Some(0o755),
        size_bytes: 0,
        contents: None,
    };
    log.push("openat", under);
    let outer = log.mkdir(ROOT, "elsewhere");
    let full = log.mkdir(outer, "full");
    let file = log.create(full, "f");
    log.write(file, 0, letters('b', 100));
    let stays = log.create(outer, "stays");
    log.write(stays, 0, letters('c', 100));
    log.rename(full, (outer, "full"), (inner, "full"));
    let history = log.history_of("/under");
    assert!(history.is_whole);
    let (_, end) = history.ends();
    let all = shown(&end);
    assert!(all.contains("under/full/f=b*100"), "{all}");
    let is_of = |node: FileId| {
        history
            .effects
            .iter()
            .filter(move |effect| effect.node() == node)
    };
    assert_eq!(is_of(stays).count(), 0);
    assert_eq!(is_of(file).count(), 2, "bytes and length");
}
