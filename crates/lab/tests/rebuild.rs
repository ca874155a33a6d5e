//! Rebuilds from a log, and from hostile logs.
#![expect(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that fails"
)]

use iostrata_report::words;
use std::fs;
use std::io::BufWriter;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, symlink};
use std::path::{Path, PathBuf};

use iostrata_core::op::FileId;
use iostrata_core::record::{
    Begin, Change, Check, Completeness, Description, End, FileKind, Limits, Name, Operation,
    Payload, Place, Writer,
};
use iostrata_lab::interrupt::Interrupt;
use iostrata_lab::rebuild::{RebuildError, Rebuilt, rebuild};

#[path = "../../core/tests/mutation/mod.rs"]
#[expect(dead_code, reason = "shared with the other tests of readers")]
mod mutation;
#[path = "../../core/tests/mutation/operations.rs"]
mod operations;

use mutation::{inputs, limited};
use operations::operations;

fn node(inode: u64) -> FileId {
    FileId {
        device: 9,
        inode,
        generation: 0,
    }
}

fn name(parent: u64, name: &str) -> Name {
    Name::new(node(parent), name)
}

fn root() -> Change {
    Change::Found {
        node: node(1),
        kind: FileKind::Directory,
        place: Place::Root,
        mode: None,
        size_bytes: 0,
        contents: None,
    }
}

fn made(inode: u64, kind: FileKind, parent: u64, called: &str, target: &str) -> Change {
    Change::Made {
        node: node(inode),
        kind,
        name: name(parent, called),
        mode: Some(0o755),
        device_number: 0x103,
        target: target.into(),
    }
}

fn created(inode: u64, parent: u64, called: &str) -> Change {
    Change::Opened {
        node: node(inode),
        description: Description(inode),
        flags: 1,
        created: Some(Place::Name(name(parent, called))),
        mode: Some(0o4755),
        truncated: false,
    }
}

/// A log, and its destination.
struct Ground {
    dir: tempfile::TempDir,
    log: Writer<BufWriter<fs::File>>,
    count: u64,
}

impl Ground {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let begin = Begin {
            command: Vec::new(),
            directory: b"/".to_vec(),
            started_ns: 0,
            reads: false,
        };
        let file = BufWriter::new(fs::File::create(dir.path().join("log")).unwrap());
        Self {
            log: Writer::new(file, &begin).unwrap(),
            dir,
            count: 0,
        }
    }

    fn with(mut self, changes: impl IntoIterator<Item = Change>) -> Self {
        for change in changes {
            let mut operation = Operation {
                id: 0,
                process: 1,
                thread: 1,
                started_ns: self.count,
                took_ns: 0,
                call: "call".into(),
                outcome: Ok(0),
                change,
            };
            self.log.operation(&mut operation).unwrap();
            self.count += 1;
        }
        self
    }

    fn wrote(mut self, inode: u64, offset: u64, bytes: &[u8]) -> Self {
        let mut payload = Payload::default();
        self.log.store(bytes, &mut payload).unwrap();
        self.with([Change::Wrote {
            node: node(inode),
            description: None,
            offset,
            flags: 0,
            payload,
        }])
    }

    fn finish(self) -> (tempfile::TempDir, PathBuf) {
        let end = End {
            operations: 0,
            stops: 0,
            completeness: Completeness::Complete,
            check: Check::Skipped {
                because: iostrata_core::gap::Reason::StillRunning,
            },
        };
        self.log.finish(end).unwrap();
        let log = self.dir.path().join("log");
        (self.dir, log)
    }

    fn rebuild(self) -> (tempfile::TempDir, Result<Rebuilt, RebuildError>) {
        let (dir, log) = self.finish();
        let into = dir.path().join("into");
        let result = rebuild(&log, &into, Limits::default(), &Interrupt::never());
        (dir, result)
    }
}

fn text(path: impl AsRef<Path>) -> String {
    fs::read_to_string(path).unwrap()
}

#[test]
fn a_tree_is_made_with_its_kinds_links_and_holes() {
    let ground = Ground::new()
        .with([
            root(),
            made(2, FileKind::Directory, 1, "d", ""),
            created(3, 2, "file"),
        ])
        .wrote(3, 4, b"text")
        .with([
            Change::Linked {
                node: node(3),
                name: name(1, "linked"),
            },
            made(4, FileKind::Symlink, 1, "link", "d/file"),
            made(5, FileKind::Pipe, 2, "fifo", ""),
            made(6, FileKind::CharacterDevice, 2, "null", ""),
            created(7, 1, "emptied"),
        ]);
    let (dir, result) = ground.rebuild();
    let rebuilt = result.unwrap();
    assert_eq!(rebuilt.missing, []);
    let what: Vec<String> = rebuilt
        .left_out
        .iter()
        .map(|gap| words::missing(&gap.what).to_string())
        .collect();
    assert_eq!(
        what,
        [
            "devices: d/null",
            "set-user-ID and set-group-ID bits: emptied, linked"
        ]
    );
    assert_eq!(
        (rebuilt.files, rebuilt.directories, rebuilt.others),
        (3, 1, 2)
    );
    let into = dir.path().join("into");
    assert_eq!(text(into.join("link")), "\0\0\0\0text");
    let file = fs::metadata(into.join("d/file")).unwrap();
    assert_eq!((file.mode() & 0o7777, file.nlink()), (0o755, 2));
    assert_eq!(file.ino(), fs::metadata(into.join("linked")).unwrap().ino());
    assert!(
        fs::metadata(into.join("d/fifo"))
            .unwrap()
            .file_type()
            .is_fifo()
    );
    assert!(!into.join("d/null").exists());
}

#[test]
fn each_name_of_a_special_file_counts() {
    let ground = Ground::new().with([
        root(),
        made(2, FileKind::Pipe, 1, "fifo", ""),
        Change::Linked {
            node: node(2),
            name: name(1, "again"),
        },
    ]);
    let (dir, result) = ground.rebuild();
    assert_eq!(result.unwrap().others, 2);
    assert_eq!(fs::read_dir(dir.path().join("into")).unwrap().count(), 2);
}

#[test]
fn nothing_is_made_outside() {
    let outside = tempfile::tempdir().unwrap();
    let target = outside.path().to_str().unwrap().to_owned();
    // A symbolic link is planted, and a directory with the same name used.
    let planted = Ground::new()
        .with([
            root(),
            made(2, FileKind::Symlink, 1, "door", &target),
            made(3, FileKind::Directory, 1, "door", ""),
            created(4, 3, "file"),
        ])
        .wrote(4, 0, b"inside");
    let (dir, result) = planted.rebuild();
    assert!(
        words::missing(&result.unwrap().missing[0].what)
            .to_string()
            .contains("do not")
    );
    assert_eq!(text(dir.path().join("into/door/file")), "inside");
    // A file is created in a symbolic link.
    let through = Ground::new().with([
        root(),
        made(2, FileKind::Symlink, 1, "door", &target),
        created(4, 2, "file"),
    ]);
    let (_dir, result) = through.rebuild();
    assert!(matches!(result, Err(RebuildError::Impossible { .. })));
    for bad in ["..", "/etc/cron.d/x", "../x", "a/b", ""] {
        let ground = Ground::new().with([root(), created(2, 1, bad)]);
        let (dir, result) = ground.rebuild();
        let error = result.unwrap_err().to_string();
        assert!(
            error.contains("operation 1 (call) is impossible: no file can be called"),
            "{error}"
        );
        assert!(!dir.path().join("into").exists());
    }
    // A link to a node that was never in the log.
    let linked = Ground::new().with([
        root(),
        Change::Linked {
            node: node(77),
            name: name(1, "passwd"),
        },
    ]);
    let (dir, result) = linked.rebuild();
    assert!(!result.unwrap().missing.is_empty());
    assert_eq!(text(dir.path().join("into/passwd")), "");
    assert!(fs::read_dir(outside.path()).unwrap().next().is_none());
}

#[test]
fn impossible_sizes_and_circles_are_named() {
    let huge = Ground::new()
        .with([root(), created(2, 1, "proc")])
        .wrote(2, u64::MAX - 3, b"abc");
    let (_dir, result) = huge.rebuild();
    let error = result.unwrap_err().to_string();
    assert!(
        error.contains("operation 2 (call) is impossible: the file would be longer"),
        "{error}"
    );
    let circle = Ground::new().with([
        root(),
        made(2, FileKind::Directory, 1, "a", ""),
        made(3, FileKind::Directory, 2, "b", ""),
        Change::Renamed {
            node: node(2),
            from: name(1, "a"),
            to: name(3, "c"),
            other: None,
            flags: 0,
        },
    ]);
    let (_dir, result) = circle.rebuild();
    assert!(result.unwrap_err().to_string().contains("within itself"));
}

#[test]
fn what_the_file_system_refuses_leaves_nothing_behind() {
    let far = |offset| {
        Ground::new()
            .with([root(), created(2, 1, "first"), created(3, 1, "huge")])
            .wrote(2, 0, b"first")
            .wrote(3, offset, b"far")
    };
    // ext4 ends at 16 TiB, tmpfs at 8 EiB: a write at the last offset is refused, or makes a sparse
    // file.
    let (dir, result) = far(i64::MAX as u64 - 3).rebuild();
    match result {
        Err(error) => {
            assert!(matches!(error, RebuildError::Make { .. }), "{error}");
            assert!(error.to_string().contains("huge"), "{error}");
            assert!(!dir.path().join("into").exists());
        }
        Ok(rebuilt) => assert_eq!(rebuilt.bytes, 8),
    }
}

#[test]
fn only_an_empty_directory_is_taken() {
    let (dir, log) = Ground::new().with([root(), created(2, 1, "a")]).finish();
    let into = dir.path().join("into");
    fs::create_dir(&into).unwrap();
    fs::write(into.join("mine"), "mine").unwrap();
    let refused = |into: &Path| {
        let error = rebuild(&log, into, Limits::default(), &Interrupt::never()).unwrap_err();
        assert!(matches!(error, RebuildError::NotEmpty { .. }), "{error}");
    };
    refused(&into);
    refused(&into.join("mine"));
    assert_eq!(text(into.join("mine")), "mine");
    fs::remove_file(into.join("mine")).unwrap();
    let linked = dir.path().join("linked");
    symlink(&into, &linked).unwrap();
    rebuild(&log, &linked, Limits::default(), &Interrupt::never()).unwrap();
    assert!(into.join("a").exists());
}

#[test]
fn a_log_that_was_cut_off_gives_what_is_before() {
    let (dir, log) = Ground::new()
        .with([root(), created(2, 1, "a")])
        .wrote(2, 0, b"text")
        .finish();
    let whole = fs::read(&log).unwrap();
    fs::write(&log, &whole[..whole.len() - 1]).unwrap();
    let into = dir.path().join("into");
    let rebuilt = rebuild(&log, &into, Limits::default(), &Interrupt::never()).unwrap();
    let what: Vec<String> = rebuilt
        .missing
        .iter()
        .map(|gap| words::missing(&gap.what).to_string())
        .collect();
    assert_eq!(
        what,
        ["the end of a recording", "the rest of the operation log"]
    );
    assert_eq!(text(into.join("a")), "text");
    let mut damaged = whole.clone();
    damaged[60] ^= 1;
    fs::write(&log, damaged).unwrap();
    let error = rebuild(
        &log,
        &dir.path().join("other"),
        Limits::default(),
        &Interrupt::never(),
    )
    .unwrap_err();
    assert!(matches!(error, RebuildError::Read { .. }), "{error}");
}

#[test]
fn a_hundred_thousand_names_are_made() {
    let files = (0..100_000_u64).flat_map(|number| {
        let parent = 2 + number / 1_000;
        let directory = (number % 1_000 == 0)
            .then(|| made(parent, FileKind::Directory, 1, &format!("d{parent}"), ""));
        directory
            .into_iter()
            .chain([created(1_000 + number, parent, &format!("f{number}"))])
    });
    let ground = Ground::new().with([root()]).with(files);
    let (dir, result) = ground.rebuild();
    assert_eq!(result.unwrap().files, 100_000);
    let last = fs::read_dir(dir.path().join("into/d101")).unwrap();
    assert_eq!(last.count(), 1_000);
}

/// Everything below a directory, without following a link.
fn below(directory: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    let mut left = vec![directory.to_owned()];
    while let Some(directory) = left.pop() {
        for entry in fs::read_dir(directory).unwrap().flatten() {
            all.push(entry.path());
            if entry.file_type().unwrap().is_dir() {
                left.push(entry.path());
            }
        }
    }
    all
}

/// Whatever a log contains, only `into` is created, completely or not at all.
#[test]
fn what_nobody_has_made_is_rebuilt_or_refused() {
    limited("what_nobody_has_made_is_rebuilt_or_refused", |watch| {
        let dir = tempfile::tempdir_in("/dev/shm").unwrap();
        let (log, into) = (dir.path().join("log"), dir.path().join("into"));
        inputs(|random| {
            fs::write(
                &log,
                operations::write(Vec::new(), &operations::chunk(), operations(random)),
            )
            .unwrap();
            let limits = Limits {
                expanded_bytes: 1 << 24,
                ..Limits::default()
            };
            let rebuilt = watch.input(|| rebuild(&log, &into, limits, &Interrupt::never()));
            let outside = fs::read_dir(dir.path()).unwrap().count();
            assert_eq!(outside, 1 + usize::from(into.exists()));
            assert_eq!(into.exists(), rebuilt.is_ok(), "{rebuilt:?}");
            if let Ok(rebuilt) = rebuilt {
                let made = below(&into);
                let told = rebuilt.files + rebuilt.directories + rebuilt.others;
                assert!(made.len() as u64 <= told, "{made:?} {rebuilt:?}");
                fs::remove_dir_all(&into).unwrap();
            }
        });
    });
}

/// Deeper than the longest path, and than the limit of descriptors.
#[test]
fn directories_may_be_as_deep_as_a_stranger_likes() {
    let directories =
        (2..5_000_u64).map(|inode| made(inode, FileKind::Directory, inode - 1, "d", ""));
    let ground = Ground::new().with([root()]).with(directories);
    let (dir, result) = ground.rebuild();
    let into = dir.path().join("into");
    if let Err(error) = result {
        assert!(!into.exists(), "{error}");
    }
}
