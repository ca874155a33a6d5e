//! Programs whose I/O is known to the unit.

use iostrata_core::trace::{FileRow, TraceResult};

use crate::traced::{calls, file, iostrata, place, strace, trace, workload};

#[test]
fn appends_with_fsync() {
    let dir = place();
    let append = workload("append");
    let command = [append.as_str(), "log", "200", "100", "fsync"];
    let result = trace(dir.path(), &command);
    let log = file(&result, "log");
    assert_eq!((log.writes.count, log.writes.bytes), (200, 20_000));
    assert_eq!((log.opens, log.syncs.count), (1, 200));
    let history = log.history.as_deref().unwrap();
    assert!(history.created);
    assert_eq!((history.syncs.count, history.data_syncs), (200, 0));
    assert_eq!(
        (history.syncs_of_nothing.count, history.unsynced_bytes),
        (0, 0)
    );
    // One each; the kernel's own write-back may come between a write and its sync.
    let data = log.evidence.exact_device().unwrap().data.count;
    assert!((200..=205).contains(&data), "{data}");
    assert_eq!(log.dirty_at_exit_bytes, Some(0));
    std::fs::remove_file(dir.path().join("log")).unwrap();
    assert_eq!(calls(&result), strace(dir.path(), &command));
}

#[test]
fn what_is_left_dirty_is_said() {
    let dir = place();
    let result = trace(
        dir.path(),
        &[&workload("append"), "log", "1000", "4096", "none"],
    );
    let log = file(&result, "log");
    assert_eq!(log.evidence.cache.dirtied_bytes, Some(4_096_000));
    // Write-back may have begun, but not ended, in the moment since.
    assert!(log.dirty_at_exit_bytes.unwrap() > 0);
    assert_eq!(log.history.as_deref().unwrap().unsynced_bytes, 4_096_000);
}

#[test]
fn a_renamed_file_and_a_reused_number_are_kept_apart() {
    let dir = place();
    let script = "printf one > a; mv a b; printf three > a; rm a; printf seven77 > a";
    let result = trace(dir.path(), &["sh", "-c", script]);
    let wrote = |bytes: u64| {
        let mut files = result.files.iter().filter(|file| {
            file.writes.bytes == bytes && file.path.starts_with(dir.path().to_str().unwrap())
        });
        let found = files.next().unwrap();
        assert!(files.next().is_none());
        found
    };
    assert_eq!(
        wrote(3).renamed_to.as_deref(),
        dir.path().join("b").to_str()
    );
    assert!(wrote(5).history.as_deref().unwrap().unlinked);
    assert!(wrote(7).path.ends_with("/a"));
    assert_eq!(wrote(7).renamed_to, None);
}

#[test]
fn descriptors_that_were_inherited_have_names() {
    let dir = place();
    let script = "exec 7>inherited; exec sh -c 'echo abc >&7; cat /dev/null'";
    let result = trace(dir.path(), &["sh", "-c", script]);
    assert_eq!(file(&result, "inherited").writes.bytes, 4);
}

#[test]
fn names_that_are_no_text() {
    let dir = place();
    let script = "printf x > \"$(printf 'a\\377b')\"";
    let result = trace(dir.path(), &["sh", "-c", script]);
    let odd = result
        .files
        .iter()
        .find(|file| file.path_hex.is_some())
        .unwrap();
    assert!(odd.path_hex.as_ref().unwrap().ends_with("61ff62"));
    assert_eq!(odd.writes.bytes, 1);
}

/// Which file a store into a mapping went to is read from `/proc/PID/maps`, all of it.
#[test]
fn a_mapping_beside_one_whose_name_is_no_text() {
    const MAPS: &str = "import mmap, os
for name in (b'plain', b'\\xff\\xfe'):
    file = os.open(name, os.O_RDWR | os.O_CREAT)
    os.ftruncate(file, 4096)
    kept = mmap.mmap(file, 4096)
    kept[0] = 7
    kept.flush()";
    let dir = place();
    let saved = dir.path().join("result.json");
    let options = ["--backend", "ptrace", "--json", saved.to_str().unwrap()];
    let mut program = iostrata(&options, &["python3", "-c", MAPS]);
    let output = program.current_dir(dir.path()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let result: TraceResult = serde_json::from_slice(&std::fs::read(&saved).unwrap()).unwrap();
    let hex = |file: &&FileRow| {
        file.path_hex
            .as_deref()
            .is_some_and(|hex| hex.ends_with("fffe"))
    };
    let no_text = result.files.iter().find(hex).unwrap();
    for file in [file(&result, "plain"), no_text] {
        let history = file.history.as_ref().unwrap();
        assert!(history.mapping_synced, "{}", file.path);
        assert_eq!(history.mapped_to_write.count, 1, "{}", file.path);
    }
}
