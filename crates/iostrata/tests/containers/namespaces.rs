//! What iostrata sees from within a namespace is what is there.

use crate::contained::{BACKENDS, Contained, PIDS, file};

/// 20 synchronous writes and one sync.
const DD: [&str; 7] = [
    "dd",
    "if=/dev/zero",
    "of=x",
    "bs=4k",
    "count=20",
    "oflag=sync",
    "conv=fsync",
];

/// Runs `dd` and says under which number.
const NUMBERED_DD: [&str; 3] = [
    "sh",
    "-c",
    "echo $$ > number; exec dd if=/dev/zero of=x bs=4k count=20 oflag=sync conv=fsync",
];

#[track_caller]
fn sees_all(outside: &[&[&str]], backend: &str) {
    let contained = Contained::new();
    let output = contained.run(outside, &["--backend", backend], &NUMBERED_DD);
    assert!(output.status.success(), "{outside:?} {backend}: {output:?}");
    let result = contained.result();
    let x = file(&result, "x");
    assert_eq!((x.writes.count, x.writes.bytes), (20, 20 * 4096));
    let syncs = result.syscalls.iter().find(|row| row.name == "fsync");
    assert_eq!(syncs.map(|row| row.stats.count), Some(1));
    assert_eq!((result.processes, result.lost_events), (1, 0));
    let number = contained.text("number");
    let [task] = &result.tasks[..] else {
        panic!("{:?}", result.tasks);
    };
    assert_eq!(task.process.to_string(), number, "{outside:?} {backend}");
    assert_eq!(task.thread, task.process);
}

#[test]
fn all_is_seen_in_a_pid_namespace_however_deep() {
    for backend in BACKENDS {
        sees_all(&[PIDS], backend);
        sees_all(&[PIDS, PIDS], backend);
    }
}

#[test]
fn all_is_seen_in_mount_and_cgroup_namespaces() {
    for backend in BACKENDS {
        sees_all(&[&["unshare", "-m", "-C"]], backend);
        sees_all(&[&["unshare", "-m", "-C", "-u", "-i"], PIDS], backend);
    }
}

/// Root of a user namespace has no right to eBPF; ptrace needs none.
#[test]
fn all_is_seen_in_a_user_namespace() {
    sees_all(&[&["unshare", "-U", "-r"]], "ptrace");
    sees_all(&[&["unshare", "-U", "-r"], PIDS], "ptrace");
    let contained = Contained::new();
    let output = contained.run(&[&["unshare", "-U", "-r"]], &["--backend", "ebpf"], &DD);
    assert_eq!(output.status.code(), Some(125), "{output:?}");
    assert!(!contained.path("x").exists(), "it is not started");
}

#[test]
fn a_budget_is_not_kept_by_not_looking() {
    for backend in BACKENDS {
        let contained = Contained::new();
        let options = ["--backend", backend, "--budget", "fsync<=0,writes<=0"];
        let output = contained.run(&[PIDS], &options, &DD);
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{text}");
        assert_eq!(text.matches("exceeded").count(), 2, "{text}");
    }
}

#[test]
fn a_log_holds_what_was_written() {
    let contained = Contained::new();
    let output = contained.run(&[PIDS, PIDS], &["--record", "log"], &DD);
    assert!(output.status.success(), "{output:?}");
    let recording = contained.result().recording.unwrap();
    assert_eq!(recording.incomplete_because, []);
    assert!(recording.operations >= 22, "{}", recording.operations);
}

/// More than goes through the ring at once: the process is stopped and continued by its number.
#[test]
fn a_log_of_large_writes_is_whole() {
    let contained = Contained::new();
    let program = ["dd", "if=/dev/zero", "of=x", "bs=8M", "count=8"];
    let output = contained.run(&[PIDS], &["--record", "log"], &program);
    assert!(output.status.success(), "{output:?}");
    let recording = contained.result().recording.unwrap();
    assert_eq!(recording.incomplete_because, []);
    assert!(recording.stops > 0);
}

/// `/proc` of another namespace has the same numbers for other processes.
#[test]
fn a_proc_of_another_namespace_is_refused() {
    for backend in BACKENDS {
        let contained = Contained::new();
        let outside: &[&[&str]] = &[&["unshare", "-p", "-f"]];
        let output = contained.run(outside, &["--backend", backend], &DD);
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(125), "{text}");
        assert!(text.contains("mount -t proc proc /proc"), "{text}");
        assert!(!contained.path("x").exists(), "it is not started");
    }
}
