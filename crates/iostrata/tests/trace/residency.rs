//! What of a program's files is resident at its end.

use std::path::Path;
use std::process::Command;

use iostrata_core::cache::ResidencyMap;
use iostrata_core::gap::Reason;
use iostrata_core::trace::{Bounds, FileRow, TraceResult};

use crate::traced::{file, iostrata, place};
use crate::undisturbed::undisturbed;

/// Resident bytes by another program.
#[track_caller]
fn fincore(path: &Path) -> u64 {
    let mut command = Command::new("fincore");
    command.args(["--bytes", "--noheadings", "--output", "RES"]);
    let output = command.arg(path).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.trim().parse().unwrap()
}

#[track_caller]
fn traced_by(backend: &str, dir: &Path, script: &str) -> TraceResult {
    let saved = tempfile::NamedTempFile::new().unwrap();
    let options = [
        "--backend",
        backend,
        "--json",
        saved.path().to_str().unwrap(),
    ];
    let mut command = iostrata(&options, &["sh", "-c", script]);
    let output = command.current_dir(dir).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&std::fs::read(saved.path()).unwrap()).unwrap()
}

fn sum(map: &ResidencyMap) -> u64 {
    map.resident_bytes.iter().sum()
}

#[test]
fn is_told_by_both_back_ends_in_maps() {
    undisturbed(|| {
        // The first needs root.
        let needs_root = usize::from(!rustix::process::geteuid().is_root());
        for backend in &["ebpf", "ptrace"][needs_root..] {
            let dir = place();
            // 1 MiB in the middle of 8, a file under its last name, one that is empty, and one that
            // is gone: of the last two there is no map.
            let script = "truncate -s 8M holed; \
            dd if=/dev/zero of=holed bs=64k count=16 seek=48 conv=notrunc,fsync status=none; \
            echo x > new; mv new old; : > empty; echo x > gone; rm gone; cat old > /dev/null";
            let result = traced_by(backend, dir.path(), script);
            let map = file(&result, "holed").residency.clone().unwrap();
            assert_eq!(map.range_bytes, 128 << 10, "{backend}");
            let expected: Vec<u64> = (0..64)
                .map(|range| {
                    if (24..32).contains(&range) {
                        128 << 10
                    } else {
                        0
                    }
                })
                .collect();
            assert_eq!(map.resident_bytes, expected, "{backend}");
            assert_eq!(
                map.dirty_bytes,
                Some(vec![0; 64]),
                "{backend}: it was synced"
            );
            assert_eq!(sum(&map), fincore(&dir.path().join("holed")));
            let renamed = file(&result, "new").residency.clone().unwrap();
            assert_eq!(renamed.resident_bytes, [4096], "{backend}");
            for none in ["empty", "gone"] {
                assert_eq!(file(&result, none).residency, None, "{backend}: {none}");
            }
            assert!(
                result
                    .files
                    .iter()
                    .filter(|file| file.residency.is_some())
                    .count()
                    <= 20
            );
        }
    });
}

/// A write to pages that are dirty already turns none dirty. What the run wrote over of them may be the run's, and no
/// more; what it only read is not.
#[test]
fn of_what_others_left_dirty_at_most_what_was_written_is_the_runs() {
    undisturbed(|| {
        const ALL: u64 = 4 << 20;
        let all =
            "head -c 4M /dev/zero | dd of=data bs=64k iflag=fullblock conv=notrunc status=none";
        let byte = "printf x | dd of=data bs=1 seek=4096 conv=notrunc status=none";
        let beside = "cat data; printf x >new";
        let cases = [
            (all, "data", (0, ALL)),
            (byte, "data", (0, 4096)),
            (beside, "new", (4096, 4096)),
        ];
        // The first needs root.
        let needs_root = usize::from(!rustix::process::geteuid().is_root());
        for (backend, (script, name, expected)) in ["ebpf", "ptrace"][needs_root..]
            .iter()
            .flat_map(|backend| cases.map(|case| (backend, case)))
        {
            let dir = place();
            std::fs::write(dir.path().join("data"), vec![1; 4 << 20]).unwrap();
            let result = traced_by(backend, dir.path(), script);
            let said = format!("{backend}: {script}: {:?}", result.missing);
            let is_seen = *backend == "ebpf";
            let expected = match (name, expected) {
                // ptrace knows the most of it only.
                ("data", _) if !is_seen => (0, ALL),
                (_, (_, most)) if !is_seen => (0, most),
                _ => expected,
            };
            let expected = Some(Bounds::from(expected));
            assert_eq!(file(&result, name).dirty_at_exit(), expected, "{said}");
            assert_eq!(result.bytes.dirty_at_exit(), expected, "{said}");
            let is_said = result
                .missing
                .iter()
                .any(|gap| gap.why == Reason::OthersDirtyFiles);
            assert_eq!(is_said, is_seen && name == "data", "{said}");
        }
    });
}

/// An `msync` is a sync of the file whose mapping it names, also where the range has two.
#[test]
fn msync_is_a_sync_of_its_file() {
    let script = "python3 -c '
import ctypes, mmap
libc = ctypes.CDLL(None, use_errno=True)
maps = []
for name in (\"one\", \"two\"):
    file = open(name, \"w+b\")
    file.truncate(8192)
    maps.append(mmap.mmap(file.fileno(), 8192))
for i in range(50):
    maps[0][i] = 1
    maps[0].flush()
maps[1][0] = 1
address = ctypes.addressof(ctypes.c_char.from_buffer(maps[1]))
assert libc.msync(ctypes.c_void_p(address), ctypes.c_size_t(8192), 1) == 0
'";
    undisturbed(|| {
        // The first needs root.
        let needs_root = usize::from(!rustix::process::geteuid().is_root());
        for backend in &["ebpf", "ptrace"][needs_root..] {
            let dir = place();
            let result = traced_by(backend, dir.path(), script);
            let (one, two) = (file(&result, "one"), file(&result, "two"));
            let msyncs = |row: &FileRow| row.history.as_ref().unwrap().msyncs;
            assert_eq!((one.syncs.count, msyncs(one)), (50, 50), "{backend}");
            // MS_ASYNC promises nothing (msync(2)).
            assert_eq!((two.syncs.count, msyncs(two)), (1, 0), "{backend}");
            assert_eq!(one.history.as_ref().unwrap().syncs.count, 50, "{backend}");
            assert_eq!(two.history.as_ref().unwrap().hints.count, 1, "{backend}");
            let found = result
                .findings
                .iter()
                .find(|finding| finding.rule == "fsync-per-record");
            if let Some(finding) = found {
                assert_eq!(
                    finding.evidence[0].call.as_deref(),
                    Some("msync"),
                    "{backend}"
                );
            }
        }
    });
}
