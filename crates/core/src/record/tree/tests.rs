//! The effect of operations on a tree, and malicious logs.

use std::borrow::Cow;

use proptest::prelude::*;

use super::*;
use crate::record::{Attribute, Change, Description, Operation, Payload, Piece, Place, Was};

fn node(inode: u64) -> FileId {
    FileId {
        device: 1,
        inode,
        generation: 0,
    }
}

fn name(parent: u64, name: &str) -> Name {
    Name::new(node(parent), name)
}

fn found(inode: u64, kind: FileKind, place: Place) -> Change {
    Change::Found {
        node: node(inode),
        kind,
        place,
        mode: Some(0o755),
        size_bytes: 0,
        contents: None,
    }
}

fn root() -> Change {
    found(1, FileKind::Directory, Place::Root)
}

fn made(inode: u64, kind: FileKind, parent: u64, called: &str) -> Change {
    Change::Made {
        node: node(inode),
        kind,
        name: name(parent, called),
        mode: Some(0o700),
        device_number: 0,
        target: b"../elsewhere".to_vec(),
    }
}

fn created(inode: u64, parent: u64, called: &str) -> Change {
    Change::Opened {
        node: node(inode),
        description: Description(inode),
        flags: 0,
        created: Some(Place::Name(name(parent, called))),
        mode: Some(0o644),
        truncated: false,
    }
}

fn renamed(inode: u64, from: Name, to: Name, flags: u32) -> Change {
    Change::Renamed {
        node: node(inode),
        from,
        to,
        other: None,
        flags,
    }
}

fn wrote(inode: u64, offset: u64, bytes: u32) -> Change {
    Change::Wrote {
        node: node(inode),
        description: None,
        offset,
        flags: 0,
        payload: payload(bytes),
    }
}

fn payload(bytes: u32) -> Payload {
    Payload {
        pieces: vec![Piece::Stored {
            chunk: 0,
            at: 0,
            bytes,
        }],
    }
}

fn operation(id: u64, change: Change) -> Operation {
    Operation {
        id,
        process: 1,
        thread: 1,
        started_ns: 0,
        took_ns: 0,
        call: Cow::Borrowed("call"),
        outcome: Ok(0),
        change,
    }
}

fn tree_of(changes: Vec<Change>) -> Result<Tree, Refused> {
    let mut tree = Tree::default();
    for (id, change) in (0..).zip(changes) {
        tree.apply(&operation(id, change))?;
    }
    Ok(tree)
}

/// All paths; recursive, so that a cycle would not end.
fn paths(tree: &Tree) -> Vec<String> {
    fn below(tree: &Tree, directory: FileId, path: &str, all: &mut Vec<String>) {
        for (name, node) in tree.entries(directory) {
            let path = format!("{path}/{}", String::from_utf8_lossy(name));
            all.push(path.clone());
            below(tree, node, &path, all);
        }
    }
    let mut all = Vec::new();
    if let Some(root) = tree.root() {
        below(tree, root, "", &mut all);
    }
    all
}

fn size(tree: &Tree, inode: u64) -> u64 {
    match &tree.node(node(inode)).unwrap().body {
        Body::File(contents) => contents.size_bytes(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn directories_move_with_what_is_in_them_and_failures_change_nothing() {
    let mut tree = tree_of(vec![
        root(),
        made(2, FileKind::Directory, 1, "d"),
        created(3, 2, "f"),
        created(4, 1, "d-g"),
        renamed(2, name(1, "d"), name(1, "e"), 0),
    ])
    .unwrap();
    assert_eq!(paths(&tree), ["/d-g", "/e", "/e/f"]);
    let failed = Operation {
        outcome: Err(13),
        ..operation(9, renamed(4, name(1, "d-g"), name(1, "x"), 0))
    };
    tree.apply(&failed).unwrap();
    assert_eq!(paths(&tree), ["/d-g", "/e", "/e/f"]);
    assert_eq!(tree.misfits(), (0, &[][..]));
    assert_eq!(tree.resolve(b"/e/f"), Some(node(3)));
    assert_eq!(tree.resolve(b"/d/f"), None);
}

#[test]
fn a_rename_replaces_an_exchange_swaps_and_links_are_one_file() {
    let before = vec![root(), created(2, 1, "a"), created(3, 1, "b")];
    let with = |change| tree_of([before.clone(), vec![change]].concat()).unwrap();
    let replaced = with(renamed(2, name(1, "a"), name(1, "b"), 0));
    assert_eq!(paths(&replaced), ["/b"]);
    assert_eq!(replaced.resolve(b"/b"), Some(node(2)));
    assert_eq!(replaced.node(node(3)).unwrap().links, 0);
    let exchanged = with(renamed(2, name(1, "a"), name(1, "b"), 2));
    assert_eq!(exchanged.resolve(b"/a"), Some(node(3)));
    let mut linked = with(Change::Linked {
        node: node(2),
        name: name(1, "c"),
    });
    assert_eq!(linked.node(node(2)).unwrap().links, 2);
    let onto_itself = renamed(2, name(1, "a"), name(1, "c"), 0);
    linked.apply(&operation(4, onto_itself)).unwrap();
    assert_eq!(paths(&linked), ["/a", "/b", "/c"]);
}

#[test]
fn a_file_without_a_name_gets_one_by_a_link() {
    let nameless = Change::Opened {
        node: node(2),
        description: Description(1),
        flags: 0,
        created: Some(Place::Nowhere),
        mode: None,
        truncated: false,
    };
    let mut tree = tree_of(vec![root(), nameless, wrote(2, 0, 5)]).unwrap();
    assert!(paths(&tree).is_empty());
    let link = Change::Linked {
        node: node(2),
        name: name(1, "published"),
    };
    tree.apply(&operation(3, link)).unwrap();
    assert_eq!(tree.resolve(b"/published"), Some(node(2)));
    assert_eq!((size(&tree, 2), tree.misfits().0), (5, 0));
}

#[test]
fn kinds_attributes_and_lengths_are_followed() {
    let changed = |inode, attribute| Change::Changed {
        node: node(inode),
        attribute,
    };
    let at = Time::At {
        seconds: 7,
        nanoseconds: 8,
    };
    let times = Attribute::Times {
        accessed: Time::Kept,
        modified: at,
    };
    let value = Attribute::Extended {
        name: b"user.x".to_vec(),
        value: Some(b"y".to_vec()),
        flags: 0,
    };
    let mut tree = tree_of(vec![
        root(),
        made(2, FileKind::Symlink, 1, "link"),
        made(3, FileKind::Pipe, 1, "fifo"),
        created(4, 1, "file"),
        wrote(4, 10, 5),
        changed(4, times),
        changed(4, value),
        changed(4, Attribute::Mode { mode: 0o640 }),
    ])
    .unwrap();
    let body = |inode| tree.node(node(inode)).unwrap().body.clone();
    assert_eq!(body(2), Body::Symlink(Some(b"../elsewhere".to_vec())));
    assert_eq!(body(3), Body::Special { device_number: 0 });
    let own = &tree.node(node(4)).unwrap().attributes;
    assert_eq!((own.mode, own.modified), (Some(0o640), Some(at)));
    assert_eq!(own.extended[&b"user.x"[..]], Some(b"y".to_vec()));
    assert_eq!(size(&tree, 4), 15);
    tree.apply(&operation(9, wrote(4, 0, 1))).unwrap();
    let own = &tree.node(node(4)).unwrap().attributes;
    assert_eq!(own.modified, None, "writing sets the time anew");
}

#[test]
fn access_lists_and_new_owners_change_the_mode() {
    let attribute = |attribute| Change::Changed {
        node: node(2),
        attribute,
    };
    let mode = |last: Vec<Change>| {
        let first = vec![root(), made(2, FileKind::Regular, 1, "a")];
        let tree = tree_of([first, last].concat()).unwrap();
        tree.node(node(2)).unwrap().attributes.mode.unwrap()
    };
    // Version 2; owner rw-, group r--, others r--.
    let list = [
        &[2, 0, 0, 0][..],
        &[1, 0, 6, 0, 0xff, 0xff, 0xff, 0xff],
        &[4, 0, 4, 0, 0xff, 0xff, 0xff, 0xff],
        &[0x20, 0, 4, 0, 0xff, 0xff, 0xff, 0xff],
    ];
    let acl = attribute(Attribute::Extended {
        name: b"system.posix_acl_access".to_vec(),
        value: Some(list.concat()),
        flags: 0,
    });
    assert_eq!(mode(vec![acl]), 0o644);
    let owner = attribute(Attribute::Owner {
        user: Some(1),
        group: None,
    });
    let special = |mode| attribute(Attribute::Mode { mode });
    assert_eq!(mode(vec![special(0o6755), owner.clone()]), 0o755);
    assert_eq!(mode(vec![special(0o6745), owner]), 0o2745);
}

#[test]
fn what_does_not_fit_is_counted() {
    let tree = tree_of(vec![
        root(),
        Change::Unlinked {
            node: node(9),
            name: name(1, "never"),
            directory: false,
        },
        created(2, 1, "a"),
        created(3, 1, "a"),
        wrote(77, 0, 1),
    ])
    .unwrap();
    let (count, told) = tree.misfits();
    assert_eq!(count, 3);
    assert_eq!(
        told,
        [
            "operation 1 removes the name \"never\", which does not exist",
            "operation 3 makes the name \"a\", which is there",
            "operation 4 refers to a node that was not listed before",
        ]
    );
}

#[test]
fn what_no_file_system_could_have_done_is_refused_by_its_number() {
    let refused = |changes: Vec<Change>| tree_of(changes).unwrap_err().to_string();
    assert_eq!(
        refused(vec![root(), created(2, 1, "a"), wrote(2, u64::MAX - 3, 8)]),
        "operation 2 (call) is impossible: the file would be longer than 2^63 - 1 bytes"
    );
    for bad in ["..", ".", "", "/etc/passwd", "a/../../b", "nul\0"] {
        let error = refused(vec![root(), created(2, 1, bad)]);
        assert!(error.contains("no file can be called"), "{error}");
    }
    let within = refused(vec![
        root(),
        made(2, FileKind::Directory, 1, "a"),
        made(3, FileKind::Directory, 2, "b"),
        renamed(2, name(1, "a"), name(3, "a"), 0),
    ]);
    assert!(within.contains("within itself"), "{within}");
    let mut deep = vec![root()];
    deep.extend((2..5_000).map(|inode| made(inode, FileKind::Directory, inode - 1, "d")));
    assert!(refused(deep).contains("within more than 4096 directories"));
    let through_file = refused(vec![root(), created(2, 1, "a"), created(3, 2, "b")]);
    assert!(through_file.contains("not a directory"), "{through_file}");
}

#[test]
fn a_directory_has_one_name_whatever_the_log_says() {
    let tree = tree_of(vec![
        root(),
        made(2, FileKind::Directory, 1, "a"),
        found(2, FileKind::Directory, Place::Name(name(1, "mounted"))),
        Change::Linked {
            node: node(2),
            name: name(1, "b"),
        },
    ])
    .unwrap();
    assert_eq!(paths(&tree), ["/b"]);
}

fn any_change() -> impl Strategy<Value = Change> {
    let inode = 1_u64..8;
    let called = prop::sample::select(vec!["a", "b", "c", "..", ""]);
    let kind = prop::sample::select(vec![
        FileKind::Regular,
        FileKind::Directory,
        FileKind::Symlink,
    ]);
    (0_u8..8, inode.clone(), inode, called.clone(), called, kind).prop_map(
        |(which, one, other, from, to, kind)| match which {
            0 => found(one, kind, Place::Name(name(other, from))),
            1 | 2 => made(one, kind, other, from),
            3 => created(one, other, from),
            4 => Change::Linked {
                node: node(one),
                name: name(other, from),
            },
            5 => Change::Unlinked {
                node: node(one),
                name: name(other, from),
                directory: false,
            },
            6 => renamed(one, name(one, from), name(other, to), 2),
            _ => renamed(other, name(one, from), name(other, to), 0),
        },
    )
}

proptest! {
    /// The recursion over the tree ends, and links are counted correctly.
    #[test]
    fn whatever_a_log_says_the_tree_is_one(changes in prop::collection::vec(any_change(), 0..60)) {
        let mut tree = tree_of(vec![root()]).unwrap();
        for (id, change) in (1..).zip(changes) {
            let _refused = tree.apply(&operation(id, change));
            let all = paths(&tree);
            prop_assert!(all.len() < 1_000);
        }
        let mut links = HashMap::new();
        for (id, _) in tree.nodes() {
            for (_, entry) in tree.entries(id) {
                *links.entry(entry).or_insert(0) += 1;
            }
        }
        for (id, node) in tree.nodes() {
            if node.kind == FileKind::Directory {
                prop_assert!(links.get(&id).copied().unwrap_or(0) <= 1);
            }
        }
    }
}

/// The previous contents of a file, and the program's later writes.
#[test]
fn what_was_before_is_part_of_the_tree() {
    let before = |inode, was| Change::Before {
        node: node(inode),
        was,
    };
    let kept = Change::Found {
        node: node(2),
        kind: FileKind::Regular,
        place: Place::Name(name(1, "file")),
        mode: Some(0o4755),
        size_bytes: 100,
        contents: Some(payload(10)),
    };
    let owner = Attribute::Owner {
        user: Some(5),
        group: Some(6),
    };
    let tree = tree_of(vec![
        root(),
        kept,
        before(
            2,
            Was::Bytes {
                offset: 90,
                payload: payload(40),
            },
        ),
        before(2, Was::Attribute(owner)),
        found(3, FileKind::Symlink, Place::Name(name(1, "link"))),
        before(3, Was::Target(b"file".to_vec())),
        found(4, FileKind::CharacterDevice, Place::Name(name(1, "null"))),
        before(4, Was::DeviceNumber(0x103)),
        before(1, Was::Listed),
        wrote(2, 5, 1),
    ])
    .unwrap();
    assert_eq!(tree.misfits().0, 0);
    let file = tree.node(node(2)).unwrap();
    let Body::File(contents) = &file.body else {
        panic!("{file:?}")
    };
    assert_eq!(
        (contents.size_bytes(), contents.unknown_bytes()),
        (100, (0, 0))
    );
    let extents: Vec<_> = contents
        .extents()
        .map(|(at, extent)| (at, extent.bytes))
        .collect();
    assert_eq!(extents, [(0, 5), (5, 1), (6, 4), (90, 10)]);
    assert_eq!(
        file.attributes.mode,
        Some(0o4755),
        "nobody has changed the owner"
    );
    assert_eq!(file.attributes.user, Some(5));
    let target = Some(b"file".to_vec());
    assert_eq!(tree.node(node(3)).unwrap().body, Body::Symlink(target));
    let device = Body::Special {
        device_number: 0x103,
    };
    assert_eq!(tree.node(node(4)).unwrap().body, device);
}

#[test]
fn what_only_another_kind_had_before_does_not_fit() {
    let wrong = |inode, was| Change::Before {
        node: node(inode),
        was,
    };
    let tree = tree_of(vec![
        root(),
        wrong(1, Was::Target(b"x".to_vec())),
        wrong(9, Was::Listed),
    ]);
    assert_eq!(tree.unwrap().misfits().0, 2);
    let too_long = Was::Bytes {
        offset: u64::MAX,
        payload: payload(1),
    };
    let file = found(2, FileKind::Regular, Place::Name(name(1, "file")));
    assert!(tree_of(vec![root(), file, wrong(2, too_long)]).is_err());
}
