//! Litmus programs about what a sync takes with it, and what calls change of it afterwards.

use super::Call::{Close, Create, Fsync, Link, MakeDirectory, Rename, Unlink, Write};
use super::programs::{file, fill};
use super::{Given, Litmus};

const TWO_DIRECTORIES: [Given; 2] = [Given::Directory("A"), Given::Directory("B")];

/// They tell file systems with one log of all metadata from those that log single files.
pub(super) const LOGGED: &[Litmus] = &[
    Litmus {
        name: "fsync-create-rename",
        does: "syncs a new file, creates another one, renames the first",
        given: &[],
        calls: &[
            Create("t"),
            Write(fill("t", 0, b'b', 10)),
            Fsync("t"),
            Create("g"),
            Close("g"),
            Rename("t", "f"),
        ],
        looks_at: &["f", "g", "t"],
    },
    Litmus {
        name: "fsync-create-link",
        does: "syncs a new file, creates another one, gives the first another name",
        given: &[],
        calls: &[
            Create("f"),
            Fsync("f"),
            Create("g"),
            Close("g"),
            Link("f", "h"),
        ],
        looks_at: &["f", "g", "h"],
    },
    Litmus {
        name: "fsync-create-unlink",
        does: "syncs a new file, creates another one, removes the first",
        given: &[],
        calls: &[
            Create("f"),
            Fsync("f"),
            Create("g"),
            Close("g"),
            Unlink("f"),
        ],
        looks_at: &["f", "g"],
    },
    Litmus {
        name: "fsync-create-replace",
        does: "syncs a new file, then renames a file over it that is not synced",
        given: &[],
        calls: &[
            Create("f"),
            Write(fill("f", 0, b'a', 10)),
            Fsync("f"),
            Create("t"),
            Write(fill("t", 0, b'b', 10)),
            Close("t"),
            Rename("t", "f"),
        ],
        looks_at: &["f", "t"],
    },
    Litmus {
        name: "fsync-replace-older",
        does: "syncs an older file, then renames a file over it that is not synced",
        given: &[file("f", 10)],
        calls: &[
            Write(fill("f", 0, b'c', 10)),
            Fsync("f"),
            Create("t"),
            Write(fill("t", 0, b'b', 10)),
            Close("t"),
            Rename("t", "f"),
        ],
        looks_at: &["f", "t"],
    },
    Litmus {
        name: "fsync-directory-move",
        does: "syncs a directory that has changed, creates a file elsewhere, moves another one out of the directory",
        given: &[TWO_DIRECTORIES[0], TWO_DIRECTORIES[1], file("A/f", 10)],
        calls: &[
            Create("A/x"),
            Close("A/x"),
            Fsync("A"),
            Create("g"),
            Close("g"),
            Rename("A/f", "B/f"),
        ],
        looks_at: &["A/f", "B/f", "g"],
    },
    Litmus {
        name: "link-fsync-neighbours",
        does: "creates files in two directories, gives a file in the second another name, syncs that file",
        given: &[TWO_DIRECTORIES[0], TWO_DIRECTORIES[1], file("A/f", 10)],
        calls: &[
            Create("B/g"),
            Close("B/g"),
            Create("A/h"),
            Close("A/h"),
            Link("A/f", "A/l"),
            Fsync("A/f"),
        ],
        looks_at: &["A/h", "A/l", "B/g"],
    },
    Litmus {
        name: "move-link-fsync-neighbour",
        does: "moves a file into a directory, gives another one there a second name, syncs that one",
        given: &[
            TWO_DIRECTORIES[0],
            TWO_DIRECTORIES[1],
            file("A/f", 10),
            file("B/k", 10),
        ],
        calls: &[Rename("B/k", "A/k"), Link("A/f", "A/l"), Fsync("A/f")],
        looks_at: &["A/k", "A/l", "B/k"],
    },
    Litmus {
        name: "replace-by-rename-commit",
        does: "renames a file over another one, and has the whole file system commit at once",
        given: &[
            TWO_DIRECTORIES[0],
            TWO_DIRECTORIES[1],
            file("A/x", 10),
            file("f", 9_000),
        ],
        // btrfs commits the transaction for a directory that a file was moved out of.
        calls: &[
            Create("t"),
            Write(fill("t", 0, b'b', 9_000)),
            Close("t"),
            Rename("t", "f"),
            Rename("A/x", "B/x"),
            Fsync("A"),
        ],
        looks_at: &["f"],
    },
    Litmus {
        name: "unlink-create-same-fsync",
        does: "removes a file, creates one with the same name, syncs that",
        given: &[file("f", 9_000)],
        calls: &[
            Unlink("f"),
            Create("f"),
            Write(fill("f", 0, b'b', 10)),
            Fsync("f"),
        ],
        looks_at: &["f"],
    },
    Litmus {
        name: "rename-create-same-fsync",
        does: "renames a file, creates one with its old name, syncs that",
        given: &[file("f", 10)],
        calls: &[
            Rename("f", "g"),
            Create("f"),
            Write(fill("f", 0, b'b', 10)),
            Fsync("f"),
        ],
        looks_at: &["f", "g"],
    },
    Litmus {
        name: "rename-fsync-directory",
        does: "renames a file, syncs the directory",
        given: &[file("f", 10)],
        calls: &[Rename("f", "g"), Fsync(".")],
        looks_at: &["f", "g"],
    },
    Litmus {
        name: "link-unlink-fsync",
        does: "gives a file another name, removes the first, syncs the file",
        given: &[file("f", 10)],
        calls: &[Link("f", "g"), Unlink("f"), Fsync("g")],
        looks_at: &["f", "g"],
    },
    Litmus {
        name: "link-fsync-first",
        does: "gives a file another name, syncs it by the first",
        given: &[file("f", 10)],
        calls: &[Link("f", "g"), Fsync("f")],
        looks_at: &["f", "g"],
    },
    Litmus {
        name: "move-directory-create-fsync",
        does: "moves a directory into another one, creates a file in it, syncs the file",
        given: &TWO_DIRECTORIES,
        calls: &[Rename("A", "B/A"), Create("B/A/f"), Fsync("B/A/f")],
        looks_at: &["A", "A/f", "B/A", "B/A/f"],
    },
    Litmus {
        name: "move-directory-make-same-fsync",
        does: "moves a directory, makes one with its old name, syncs a new file in that",
        given: &[
            TWO_DIRECTORIES[0],
            TWO_DIRECTORIES[1],
            Given::Directory("A/D"),
        ],
        calls: &[
            Rename("A/D", "B/D"),
            MakeDirectory("A/D"),
            Create("A/D/f"),
            Fsync("A/D/f"),
        ],
        looks_at: &["A/D", "A/D/f", "B/D", "B/D/f"],
    },
];
