//! More files than are kept one by one.

use iostrata_core::gap::Countable;
use iostrata_core::trace::TraceResult;

use crate::traced::{calls, iostrata};

/// 16,384 are kept.
const FILES: u64 = 40_000;

/// Makes its second argument's number of files with one byte each in the directory that is its
/// first, and removes each at once. Pauses, in which a reader that is not optimised catches up.
const CROWD: &str = "import os, sys, time
for number in range(int(sys.argv[2])):
    if number % 1000 == 0:
        time.sleep(0.1)
    path = f'{sys.argv[1]}/{number}'
    file = os.open(path, os.O_CREAT | os.O_WRONLY)
    assert os.write(file, b'x') == 1
    os.ftruncate(file, 0)
    os.close(file)
    os.unlink(path)";

#[test]
fn the_calls_on_the_lesser_of_too_many_files_are_summed() {
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
    assert_eq!(result.lost_events, 0, "{:?}", result.missing);
    let mine = result.files.iter();
    let mine: Vec<_> = mine.filter(|file| file.path.starts_with(files)).collect();
    assert!((16_000..=20_480).contains(&mine.len()), "{}", mine.len());
    for file in &mine {
        assert_eq!((file.opens, file.writes.count), (1, 1), "{}", file.path);
    }
    let kept = mine.len() as u64;
    assert!(
        result.summed_files >= FILES - kept,
        "{}",
        result.summed_files
    );
    // What opened, wrote, cut and closed them.
    assert!(result.other_calls >= 4 * (FILES - kept));
    let mut missing = result.missing.iter();
    let told = missing.find_map(|gap| gap.count_of(Countable::FilesWithoutRow));
    assert!(told.is_some(), "{:?}", result.missing);
    let drawn = String::from_utf8(output.stderr).unwrap();
    for said in ["application at least ", " more files, summed: "] {
        assert!(drawn.contains(said), "{drawn}");
    }
}
