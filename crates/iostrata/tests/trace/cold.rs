//! Runs that begin with the files of the program out of the page cache.

use std::fs;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::process::Command;

use crate::runs::{lines, runs, said, traced};
use crate::traced::{file, place};
use crate::wait::until;

/// A file of 4 MiB that is in the page cache.
fn warm(dir: &Path) {
    fs::write(dir.join("input"), vec![7; 4 << 20]).unwrap();
    fs::File::open(dir.join("input"))
        .unwrap()
        .sync_all()
        .unwrap();
    assert_eq!(fs::read(dir.join("input")).unwrap().len(), 4 << 20);
}

/// Bytes of it that are resident, as `fincore(1)` says.
const RESIDENT: &str = "fincore -nb -o RES input >> resident; cat input > /dev/null; \
                        fincore -nb -o RES input >> after";

#[test]
fn cold_runs_read_from_the_device() {
    let dir = place();
    warm(dir.path());
    let (output, result) = traced(dir.path(), &["--runs", "2", "--cold"], RESIDENT);
    let resident = lines(&dir.path().join("resident"));
    // The first run tells which files are used: it finds them as they were.
    let trimmed: Vec<&str> = resident.iter().map(|line| line.trim()).collect();
    assert_eq!(trimmed, ["4194304", "0", "0", "0"], "{output:?}");
    let after = lines(&dir.path().join("after"));
    assert!(
        after.iter().all(|line| line.trim() == "4194304"),
        "{after:?}"
    );
    let input = file(&result, "input");
    let device = input.evidence.exact_device().unwrap();
    assert!(device.reads.bytes >= 4 << 20, "{device:?}");
    let cache = &input.evidence.cache;
    let (missed, prefetched) = (cache.missed_pages.unwrap(), cache.prefetched_pages.unwrap());
    assert!(missed > 0 && missed + prefetched >= 1024, "{cache:?}");
    let cold = runs(&result).cold.as_ref().unwrap();
    assert!(cold.evicted_bytes >= 4 << 20, "{cold:?}");
    assert!(
        !cold.left.iter().any(|left| left.path.ends_with("/input")),
        "{cold:?}"
    );
    // The C library of this very test stays, and that is said.
    let stayed = cold.left.iter().find(|left| left.path.contains("libc.so"));
    let stayed = stayed.unwrap_or_else(|| panic!("{cold:?}"));
    assert!(
        stayed.bytes > Some(0) && stayed.why.starts_with("mapped by process"),
        "{stayed:?}"
    );
    let text = said(&output);
    assert!(text.contains("evicted before each run"), "{text}");
    assert!(text.contains(" stayed: of"), "{text}");
    // Without it, the same program finds the file where it was.
    warm(dir.path());
    let (_, result) = traced(dir.path(), &["--runs", "1"], RESIDENT);
    let device = file(&result, "input").evidence.exact_device().unwrap();
    assert_eq!(device.reads.bytes, 0);
}

#[test]
fn ptrace_tells_which_files_to_evict_too() {
    let dir = place();
    warm(dir.path());
    let options = ["--backend", "ptrace", "--cold"];
    let (_, result) = traced(dir.path(), &options, RESIDENT);
    let resident = lines(&dir.path().join("resident"));
    let trimmed: Vec<&str> = resident.iter().map(|line| line.trim()).collect();
    assert_eq!(
        trimmed,
        ["4194304", "0"],
        "the run that tells, and the observed one"
    );
    let runs = runs(&result);
    assert_eq!((runs.each.len(), runs.wall_s), (0, None));
    assert!(runs.cold.as_ref().unwrap().evicted_bytes >= 4 << 20);
}

/// A mapping of another process keeps a file, and the result says that the run was not cold.
#[test]
fn a_file_that_stays_is_said() {
    let dir = place();
    warm(dir.path());
    let hold = "import mmap, time\n\
                file = open('input')\n\
                held = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)\n\
                sum(held[at] for at in range(0, len(held), 4096))\n\
                open('held', 'w')\n\
                time.sleep(600)";
    let mut holder = Command::new("python3");
    let mut holder = holder
        .args(["-c", hold])
        .current_dir(dir.path())
        .spawn()
        .unwrap();
    until(|| {
        assert_eq!(holder.try_wait().unwrap(), None);
        fs::metadata(dir.path().join("held"))
    });
    let (_, result) = traced(dir.path(), &["--cold"], "cat input > /dev/null");
    holder.kill().unwrap();
    holder.wait().unwrap();
    let cold = runs(&result).cold.as_ref().unwrap();
    let input = cold.left.iter().find(|left| left.path.ends_with("/input"));
    let input = input.unwrap_or_else(|| panic!("{cold:?}"));
    assert_eq!(input.bytes, Some(4 << 20));
    assert!(input.why.contains(&holder.id().to_string()), "{input:?}");
    assert!(cold.left_bytes >= 4 << 20);
}

/// An empty file that may not be read by others, so that no cache state is reported.
#[test]
fn files_that_are_gone_between_runs_hinder_nothing() {
    let dir = place();
    let script = "echo 1 > a; cat a > b; rm a; mv b c";
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).mode(0o600);
    drop(options.open(dir.path().join("c")).unwrap());
    let (_, result) = traced(dir.path(), &["--runs", "2", "--cold"], script);
    assert_eq!(runs(&result).each.len(), 2);
}
