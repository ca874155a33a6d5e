//! Litmus programs of a few calls: contents, then names, then syncs.

use super::Call::{
    Allocate, Close, Create, Empty, Fdatasync, Fsync, Link, MakeDirectory, Msync, Rename, Store,
    SyncFileRange, Unlink, Write, WriteDirect, WriteDsync,
};
use super::{Filled, Given, Litmus};

/// `bytes` letters `a`, as a file that is there before.
pub(super) const fn file(path: &'static str, bytes: u32) -> Given {
    Given::File(fill(path, 0, b'a', bytes))
}

/// A range of one letter.
pub(super) const fn fill(path: &'static str, at: u64, letter: u8, bytes: u32) -> Filled {
    Filled {
        path,
        at,
        letter,
        bytes,
    }
}

/// Those of one sync at most.
pub(super) const SHORT: &[Litmus] = &[
    Litmus {
        name: "append",
        does: "appends 2,500 bytes to 2,500",
        given: &[file("f", 2_500)],
        calls: &[Write(fill("f", 2_500, b'b', 2_500))],
        looks_at: &["f"],
    },
    Litmus {
        name: "append-twice",
        does: "appends 13 bytes, then 2,500, to 2,509",
        given: &[file("f", 2_509)],
        calls: &[
            Write(fill("f", 2_509, b'b', 13)),
            Write(fill("f", 2_522, b'c', 2_500)),
        ],
        looks_at: &["f"],
    },
    Litmus {
        name: "append-create",
        does: "appends to a file into its next block, then creates another file",
        given: &[file("f", 5_000)],
        calls: &[
            Write(fill("f", 5_000, b'b', 5_000)),
            Create("g"),
            Close("g"),
        ],
        looks_at: &["f", "g"],
    },
    Litmus {
        name: "overwrite",
        does: "overwrites two blocks with one call",
        given: &[file("f", 8_192)],
        calls: &[Write(fill("f", 0, b'b', 8_192))],
        looks_at: &["f"],
    },
    Litmus {
        name: "overwrite-in-order",
        does: "overwrites the last block of ten, then the first",
        given: &[file("f", 40_960)],
        calls: &[
            Write(fill("f", 36_864, b'b', 4_096)),
            Write(fill("f", 0, b'c', 4_096)),
        ],
        looks_at: &["f"],
    },
    Litmus {
        name: "overwrite-two-files",
        does: "overwrites a file, then another one",
        given: &[file("f", 4_096), file("g", 4_096)],
        calls: &[
            Write(fill("f", 0, b'b', 4_096)),
            Write(fill("g", 0, b'b', 4_096)),
        ],
        looks_at: &["f", "g"],
    },
    Litmus {
        name: "overwrite-create",
        does: "overwrites a file, then creates another one",
        given: &[file("f", 4_096)],
        calls: &[Write(fill("f", 0, b'b', 4_096)), Create("g"), Close("g")],
        looks_at: &["f", "g"],
    },
    Litmus {
        name: "overwrite-mapped",
        does: "overwrites two blocks by stores to a shared mapping",
        given: &[file("f", 8_192)],
        calls: &[Store(fill("f", 0, b'b', 8_192))],
        looks_at: &["f"],
    },
    Litmus {
        name: "overwrite-direct",
        does: "overwrites two blocks with O_DIRECT",
        given: &[file("f", 8_192)],
        calls: &[WriteDirect(fill("f", 0, b'b', 8_192))],
        looks_at: &["f"],
    },
    Litmus {
        name: "overwrite-sync-file-range",
        does: "overwrites two blocks and calls sync_file_range",
        given: &[file("f", 8_192)],
        calls: &[Write(fill("f", 0, b'b', 8_192)), SyncFileRange("f")],
        looks_at: &["f"],
    },
    Litmus {
        name: "rewrite",
        does: "opens a file with O_TRUNC and writes it anew",
        given: &[file("f", 9_000)],
        calls: &[Empty("f"), Write(fill("f", 0, b'b', 9_000)), Close("f")],
        looks_at: &["f"],
    },
    Litmus {
        name: "replace-by-rename",
        does: "writes a file and renames it over another one (ARVR)",
        given: &[file("f", 9_000)],
        calls: &[
            Create("t"),
            Write(fill("t", 0, b'b', 9_000)),
            Close("t"),
            Rename("t", "f"),
        ],
        looks_at: &["f"],
    },
    Litmus {
        name: "create-by-rename",
        does: "writes a file and renames it to a free name (ACVR)",
        given: &[],
        calls: &[
            Create("t"),
            Write(fill("t", 0, b'b', 9_000)),
            Close("t"),
            Rename("t", "f"),
        ],
        looks_at: &["f"],
    },
    Litmus {
        name: "fsync-replace",
        does: "writes a file, syncs it, renames it over another one",
        given: &[file("f", 9_000)],
        calls: &[
            Create("t"),
            Write(fill("t", 0, b'b', 9_000)),
            Fsync("t"),
            Close("t"),
            Rename("t", "f"),
        ],
        looks_at: &["f"],
    },
    Litmus {
        name: "fsync-replace-fsync-directory",
        does: "the same, then syncs the directory",
        given: &[file("f", 9_000)],
        calls: &[
            Create("t"),
            Write(fill("t", 0, b'b', 9_000)),
            Fsync("t"),
            Close("t"),
            Rename("t", "f"),
            Fsync("."),
        ],
        looks_at: &["f"],
    },
    Litmus {
        name: "create-two",
        does: "creates a file, then another one in the same directory",
        given: &[],
        calls: &[Create("f"), Close("f"), Create("g"), Close("g")],
        looks_at: &["f", "g"],
    },
    Litmus {
        name: "create-two-apart",
        does: "creates a file, then one in another directory",
        given: &[Given::Directory("A"), Given::Directory("B")],
        calls: &[Create("A/f"), Close("A/f"), Create("B/g"), Close("B/g")],
        looks_at: &["A/f", "B/g"],
    },
    Litmus {
        name: "unlink",
        does: "removes a file",
        given: &[file("f", 10)],
        calls: &[Unlink("f")],
        looks_at: &["f"],
    },
    Litmus {
        name: "create-fsync",
        does: "creates a file, writes it, syncs it",
        given: &[],
        calls: &[Create("f"), Write(fill("f", 0, b'b', 9_000)), Fsync("f")],
        looks_at: &["f"],
    },
    Litmus {
        name: "create-fsync-directory",
        does: "creates a file, writes it, syncs the directory",
        given: &[],
        calls: &[
            Create("f"),
            Write(fill("f", 0, b'b', 9_000)),
            Close("f"),
            Fsync("."),
        ],
        looks_at: &["f"],
    },
    Litmus {
        name: "create-two-fsync",
        does: "creates a file, then another one in the same directory, and syncs the second",
        given: &[],
        calls: &[Create("f"), Close("f"), Create("g"), Fsync("g")],
        looks_at: &["f", "g"],
    },
    Litmus {
        name: "create-two-apart-fsync",
        does: "creates a file, then one in another directory, and syncs the second",
        given: &[Given::Directory("A"), Given::Directory("B")],
        calls: &[Create("A/f"), Close("A/f"), Create("B/g"), Fsync("B/g")],
        looks_at: &["A/f", "B/g"],
    },
    Litmus {
        name: "mkdir-create-fsync",
        does: "makes a directory, creates a file in it, syncs the file",
        given: &[],
        calls: &[
            MakeDirectory("A"),
            Create("A/f"),
            Write(fill("A/f", 0, b'b', 9_000)),
            Fsync("A/f"),
        ],
        looks_at: &["A", "A/f"],
    },
    Litmus {
        name: "append-two-fsync",
        does: "appends to a file, then to another one, and syncs the second",
        given: &[file("f", 2_500), file("g", 2_500)],
        calls: &[
            Write(fill("f", 2_500, b'b', 2_500)),
            Write(fill("g", 2_500, b'b', 2_500)),
            Fsync("g"),
        ],
        looks_at: &["f", "g"],
    },
    Litmus {
        name: "overwrite-two-fsync",
        does: "overwrites a file, then another one, and syncs the second",
        given: &[file("f", 4_096), file("g", 4_096)],
        calls: &[
            Write(fill("f", 0, b'b', 4_096)),
            Write(fill("g", 0, b'b', 4_096)),
            Fsync("g"),
        ],
        looks_at: &["f", "g"],
    },
    Litmus {
        name: "unlink-create-fsync",
        does: "removes a file, creates another one, syncs the second",
        given: &[file("f", 10)],
        calls: &[Unlink("f"), Create("g"), Fsync("g")],
        looks_at: &["f", "g"],
    },
    Litmus {
        name: "link-fsync",
        does: "gives a file another name, syncs it",
        given: &[file("f", 10)],
        calls: &[Link("f", "g"), Fsync("g")],
        looks_at: &["f", "g"],
    },
    Litmus {
        name: "rename-fsync",
        does: "renames a file, syncs it",
        given: &[file("f", 10)],
        calls: &[Rename("f", "g"), Fsync("g")],
        looks_at: &["f", "g"],
    },
    Litmus {
        name: "link-rename-fsync",
        does: "gives a file another name, renames that, syncs the file",
        given: &[file("f", 10)],
        calls: &[Link("f", "g"), Rename("g", "h"), Fsync("h")],
        looks_at: &["f", "g", "h"],
    },
    Litmus {
        name: "move-fsync-source",
        does: "moves a file to another directory, syncs the old one",
        given: &[
            Given::Directory("A"),
            Given::Directory("B"),
            file("A/f", 10),
        ],
        calls: &[Rename("A/f", "B/f"), Fsync("A")],
        looks_at: &["A/f", "B/f"],
    },
    Litmus {
        name: "move-fsync-destination",
        does: "moves a file to another directory, syncs the new one",
        given: &[
            Given::Directory("A"),
            Given::Directory("B"),
            file("A/f", 10),
        ],
        calls: &[Rename("A/f", "B/f"), Fsync("B")],
        looks_at: &["A/f", "B/f"],
    },
    Litmus {
        name: "append-fdatasync",
        does: "appends 2,500 bytes to 2,500 and calls fdatasync",
        given: &[file("f", 2_500)],
        calls: &[Write(fill("f", 2_500, b'b', 2_500)), Fdatasync("f")],
        looks_at: &["f"],
    },
    Litmus {
        name: "append-o-dsync",
        does: "appends 2,500 bytes to 2,500 with O_DSYNC",
        given: &[file("f", 2_500)],
        calls: &[WriteDsync(fill("f", 2_500, b'b', 2_500))],
        looks_at: &["f"],
    },
    Litmus {
        name: "allocate-fdatasync",
        does: "allocates 9,000 bytes, writes them, calls fdatasync",
        given: &[file("f", 0)],
        calls: &[
            Allocate("f", 9_000),
            Write(fill("f", 0, b'b', 9_000)),
            Fdatasync("f"),
        ],
        looks_at: &["f"],
    },
    Litmus {
        name: "overwrite-mapped-msync",
        does: "overwrites two blocks by stores to a shared mapping and calls msync",
        given: &[file("f", 8_192)],
        calls: &[Store(fill("f", 0, b'b', 8_192)), Msync("f")],
        looks_at: &["f"],
    },
];
