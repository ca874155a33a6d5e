//! Facts about a file that only the kernel knows: offsets of appends, owners of names, attributes.
#![expect(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that fails"
)]

use iostrata_report::words;
use std::fs;
use std::io::Cursor;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::Path;
use std::process::Command;

use iostrata_core::record::{Change, Completeness, Entry, FileKind, Payload, Reader};

use crate::record::{BY, By, again, assert_same, operations, program, rebuilt};
use crate::session::workload;

const WAYS: [&str; 6] = [
    "separate", "shared", "position", "flag", "offset", "threads",
];

/// Every record that the log attributes to a process begins with the number of one writer, which is
/// always the same process or thread.
fn assert_who_wrote_what(log: &Path) {
    let mut reader = Reader::new(Cursor::new(fs::read(log).unwrap())).unwrap();
    let mut writers = std::collections::HashMap::new();
    while let Some(entry) = reader.next_entry().unwrap() {
        if let Entry::Operation(operation) = entry
            && let Change::Wrote { payload, node, .. } = &operation.change
        {
            let record = reader.payload_bytes(payload).unwrap();
            let writer = writers
                .entry((*node, operation.thread))
                .or_insert(record[0]);
            assert_eq!(*writer, record[0]);
        }
    }
    assert_eq!(writers.len(), 4 * WAYS.len());
}

fn appended(by: By, times: &str) {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("log");
    let (made, second) = (dir.path().join("made"), dir.path().join("again"));
    fs::create_dir(&made).unwrap();
    let mut appenders = Command::new(workload("appenders"));
    let recorded = by.record(&log, appenders.arg(&made).arg(times));
    assert_eq!(recorded.completeness, Completeness::Complete);
    let result = again(&log, &second);
    assert_eq!(result.missing, []);
    for way in WAYS {
        let original = made.join(way);
        assert_same(&original, &rebuilt(&second, &original));
    }
    assert_who_wrote_what(&log);
}

#[test]
fn four_who_append_at_once_are_told_apart() {
    for _ in 0..5 {
        appended(By::Ebpf, "2000");
    }
    appended(By::Ptrace, "500");
}

const ODDITIES: &str = "\
mknodat fifo fifo 640 
mknodat regular regular 604 
mknodat fifo2 fifo 600 
mkdir directory directory 750 
fsync File
rename kept moved 0
symlink link symlink 777 moved
openat inside 644
write 6 at 0
close 
openat  600
write 9 at 0
linkat published
close 
openat  600
write 4 at 0
close 
openat emptied 644
write 13 at 0
close 
openat2 again
write 3 at 0
close 
truncate 3
openat twice 644
write 3 at 0
write 3 at 3
write 5 at 6
write 3 at 11
close 
close 
openat attributes 644
write 4 at 0
chmod Mode { mode: 388 }
fchmod Mode { mode: 416 }
chmod Mode { mode: 457 }
fchownat Owner { user: Some(7), group: None }
fsetxattr Extended { name: [117, 115, 101, 114, 46, 111, 110, 101], value: Some([49]), flags: 0 }
setxattr Extended { name: [117, 115, 101, 114, 46, 116, 119, 111], value: Some([50, 50]), flags: 1 }
removexattr Extended { name: [117, 115, 101, 114, 46, 111, 110, 101], value: None, flags: 0 }
ioctl Flags { flags: FLAGS }
close 
utimensat Times { accessed: Kept, modified: At { seconds: 1000000000, nanoseconds: 5 } }
";

#[test]
fn kinds_identities_and_attributes_are_in_the_log() {
    for by in BY {
        odd(by);
    }
}

fn odd(by: By) {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("log");
    let (made, second) = (dir.path().join("made"), dir.path().join("again"));
    fs::create_dir_all(made.join("kept")).unwrap();
    fs::write(made.join("old"), "older").unwrap();
    fs::write(made.join("kept/untouched"), "untouched").unwrap();
    let mut oddities = Command::new(workload("oddities"));
    let recorded = by.record(&log, oddities.arg(&made));
    let attributes = fs::File::open(made.join("attributes")).unwrap();
    let flags = rustix::fs::ioctl_getflags(attributes).unwrap();
    assert!(flags.contains(rustix::fs::IFlags::NODUMP));
    let expected = ODDITIES.replace("FLAGS", &flags.bits().to_string());
    assert_eq!(program(&log), expected, "{by:?}");
    assert_eq!(recorded.completeness, Completeness::Complete);

    let all = operations(&log);
    let synced = all.iter().find(|one| one.call == "fsync").unwrap();
    let node = synced.change.node().unwrap();
    let kind = all.iter().find_map(|one| match one.change {
        Change::Found {
            node: same, kind, ..
        }
        | Change::Made {
            node: same, kind, ..
        } if same == node => Some(kind),
        _ => None,
    });
    assert_eq!(
        kind,
        Some(FileKind::Directory),
        "what was synced is a directory"
    );
    let through: Vec<_> = all
        .iter()
        .filter(|one| one.call == "write")
        .filter_map(|one| Some((one.change.node()?, one.change.description()?)))
        .collect();
    let twice = &through[5..9];
    assert!(
        twice.iter().all(|one| *one == twice[0]),
        "dup shares the description: {twice:?}"
    );
    let before = all.iter().find_map(|one| match &one.change {
        Change::Found {
            size_bytes,
            contents,
            ..
        } if one.change.name().is_some_and(|name| name.name == b"old") => {
            Some((*size_bytes > 0, contents.clone()))
        }
        _ => None,
    });
    assert_eq!(before, Some((true, None::<Payload>)));

    is_rebuilt_but_for_old(&log, &made, &second);
}

/// Of `old` only the length is known.
fn is_rebuilt_but_for_old(log: &Path, made: &Path, second: &Path) {
    let result = again(log, second);
    assert_eq!(result.missing.len(), 1, "{:?}", result.missing);
    assert!(
        words::missing(&result.missing[0].what)
            .to_string()
            .contains("made/old")
    );
    let place = rebuilt(second, made);
    for (name, text) in [
        ("published", "published"),
        ("emptied", "new"),
        ("twice", "onetwothreeend"),
        ("directory/inside", "inside"),
        ("regular", ""),
        ("attributes", "text"),
    ] {
        assert_eq!(
            fs::read(place.join(name)).unwrap(),
            text.as_bytes(),
            "{name}"
        );
    }
    let is = |name: &str| fs::symlink_metadata(place.join(name)).unwrap();
    assert!(is("fifo").file_type().is_fifo() && is("fifo2").file_type().is_fifo());
    assert_eq!(is("attributes").mode() & 0o7777, 0o640);
    assert_eq!(
        (is("attributes").mtime(), is("attributes").mtime_nsec()),
        (1_000_000_000, 5)
    );
    assert_eq!(is("directory").mode() & 0o7777, 0o711);
    assert_eq!(is("old").len(), 3);
    assert!(is("moved").is_dir() && !place.join("kept").exists());
    assert!(!second.join("proc").exists());
}
