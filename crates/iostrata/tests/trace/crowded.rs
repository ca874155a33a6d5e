//! More files than the observer's tables have room for.

use iostrata_core::trace::TraceResult;

use crate::traced::{calls, iostrata};

/// With four calls each, more pairs of call and file than there is room for: 131,072 in the tables
/// of the kernel side, and as many with the reader of its ring.
const FILES: u64 = 80_000;

/// Makes its second argument's number of files with one byte each in the directory that is its
/// first, and removes each at once.
const CROWD: &str = "import os, sys
for number in range(int(sys.argv[2])):
    path = f'{sys.argv[1]}/{number}'
    file = os.open(path, os.O_CREAT | os.O_WRONLY)
    assert os.write(file, b'x') == 1
    os.ftruncate(file, 0)
    os.close(file)
    os.unlink(path)";

#[test]
fn calls_without_room_for_their_file_are_counted_under_other() {
    let memory = tempfile::tempdir_in("/dev/shm").unwrap();
    let saved = memory.path().join("result.json");
    let (files, count) = (memory.path().join("crowd"), FILES.to_string());
    std::fs::create_dir(&files).unwrap();
    let files = files.to_str().unwrap();
    let options = ["--json", saved.to_str().unwrap(), "--backend", "ebpf"];
    let command = ["python3", "-c", CROWD, files, &count];
    let output = iostrata(&options, &command).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = std::fs::read_to_string(&saved).unwrap();
    let result: TraceResult = serde_json::from_str(&text).unwrap();

    let all = calls(&result);
    assert_eq!(all["ftruncate"], (FILES, 0), "no call is lost");
    assert_eq!(all["unlink"], (FILES, 0));
    assert!(result.other_calls > 0);
    let mine = result
        .files
        .iter()
        .filter(|file| file.path.starts_with(files));
    let written: u64 = mine.map(|file| file.writes.count).sum();
    assert!((1..FILES).contains(&written), "{written}");
    let gap = format!("{} system calls without their file", result.other_calls);
    assert!(result.missing.iter().any(|missing| missing.what == gap));
    let drawn = String::from_utf8(output.stderr).unwrap();
    for said in [
        "application at least ",
        "other: ",
        "found no room in the tables",
    ] {
        assert!(drawn.contains(said), "{drawn}");
    }
}
