//! Names, shapes, tasks: what a trace needs besides counts.
#![expect(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that fails"
)]

use std::process::Command;

use iostrata_core::observe::{Observation, Stream};
use iostrata_core::trace::{FileKind, Seen, Shape};
use iostrata_tracer::ebpf::{EbpfObserver, Limits};

use crate::session::{observe, workload};

fn run(program: &mut Command) -> (Observation, Seen) {
    let mut observer = EbpfObserver::with_limits(Limits::trace()).unwrap();
    let (mut seen, status) = observe(&mut observer, Stream::default(), program, || {});
    assert!(status.success());
    assert_eq!(seen.raw.losses.total(), 0);
    assert_eq!(seen.raw.missing, []);
    let history = seen.seen.take().unwrap();
    (seen, history)
}

#[test]
fn files_have_their_whole_path_however_they_were_opened() {
    let dir = tempfile::tempdir().unwrap();
    let deep = dir.path().join("a/b/c");
    std::fs::create_dir_all(&deep).unwrap();
    let long = "n".repeat(255);
    let script = format!(
        "cd {}/a; echo x > b/c/../c/{long}; cat b/c/{long}",
        dir.path().display()
    );
    let (_, seen) = run(Command::new("/bin/sh").args(["-c", &script]));
    let path = deep.join(&long);
    let found = seen
        .names
        .iter()
        .find(|named| named.path == path.as_os_str().as_encoded_bytes());
    let found = found.expect("the file by its path");
    assert_eq!(found.kind, FileKind::Regular);
    let directory = seen.names.iter().find(|named| named.path.ends_with(b"/a"));
    assert!(directory.is_none_or(|named| named.kind == FileKind::Directory));
}

#[test]
fn transfers_have_a_shape() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("f");
    let (seen, history) = run(Command::new(workload("append"))
        .arg(&path)
        .args(["1000", "3", "none"]));
    let file = history
        .names
        .iter()
        .find(|named| named.path == path.as_os_str().as_encoded_bytes());
    let file = file.unwrap().file;
    let rows = seen.raw.syscalls.unwrap();
    let row = rows
        .iter()
        .find(|row| row.name == "write" && row.file == Some(file))
        .unwrap();
    let mut expected = Shape {
        pairs: 999,
        sequential: 999,
        furthest_bytes: 3000,
        ..Shape::default()
    };
    expected.sizes = vec![0, 1000];
    assert_eq!(row.shape.as_deref(), Some(&expected));
    // The program, and the one write of the workload's own output if any.
    assert_eq!(history.tasks.len(), 1);
    assert_eq!(history.tasks[0].name, b"append");
    assert_eq!(history.tasks[0].written_bytes, 3000);
}

/// The scheduler's sum is as old as the last tick or switch, so of such a process it says little.
#[test]
fn a_process_shorter_than_a_tick_has_its_cpu_time() {
    let report = tempfile::NamedTempFile::new().unwrap();
    let (_, history) = run(Command::new(workload("brief"))
        .args(["50", "300"])
        .arg(report.path()));
    let lines = std::fs::read_to_string(report.path()).unwrap();
    assert_eq!(lines.lines().count(), 50);
    let (mut shorter, mut longer) = (0, 0);
    for line in lines.lines() {
        let words: Vec<u64> = line.split(' ').map(|word| word.parse().unwrap()).collect();
        let [process, least_ns, whole_us] = words[..] else {
            panic!("{line}");
        };
        let mut tasks = history.tasks.iter();
        let task = tasks.find(|task| u64::from(task.process) == process);
        let on_cpu_ns = task.unwrap().on_cpu_ns.unwrap();
        // Its end is seen before it is gone. Each of the two sums of wait4 is rounded down.
        shorter += u64::from(on_cpu_ns < least_ns);
        longer += u64::from(on_cpu_ns >= (whole_us + 2) * 1000);
    }
    // A few may be: the clock of the scheduler waits for its tick where that is late (`sched_clock_local`,
    // kernel/sched/clock.c), as on an emulated machine.
    assert!(shorter < 10 && longer < 10, "{shorter} {longer}");
}
