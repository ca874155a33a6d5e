//! Real programs: their counts are those of `strace -f -c`, their files have their names.

use std::fs;
use std::path::Path;
use std::process::Command;

use iostrata_core::trace::FileKind;

use crate::traced::{assert_audited, calls, file, place, strace, trace, trace_by, workload};

/// Runs the command twice, each time after `prepare`, and compares.
#[track_caller]
fn same_as_strace(dir: &Path, command: &[&str], prepare: impl Fn()) {
    prepare();
    let traced = calls(&trace(dir, command));
    prepare();
    let expected = strace(dir, command);
    assert_eq!(traced, expected);
}

/// Some files to work on.
fn tree(dir: &Path) {
    for directory in 0..5 {
        let directory = dir.join(format!("tree/{directory}"));
        fs::create_dir_all(&directory).unwrap();
        for file in 0..20_usize {
            fs::write(directory.join(format!("f{file}")), vec![7; file * 1000]).unwrap();
        }
    }
}

#[test]
fn a_shell_script() {
    let dir = place();
    let script = "for i in 1 2 3; do echo $i >> log; cat log; done; rm log";
    same_as_strace(dir.path(), &["sh", "-c", script], || {});
}

#[test]
fn tar() {
    let dir = place();
    tree(dir.path());
    let command = ["tar", "cf", "out.tar", "tree"];
    same_as_strace(dir.path(), &command, || {
        drop(fs::remove_file(dir.path().join("out.tar")));
    });
    let result = trace(dir.path(), &command);
    let archive = file(&result, "out.tar");
    let size = fs::metadata(dir.path().join("out.tar")).unwrap().len();
    assert_eq!(archive.writes.bytes, size);
    assert_eq!(file(&result, "tree/3/f7").reads.bytes, 7000);
    assert_eq!(
        result.bytes.dirty_at_exit_bytes,
        archive.dirty_at_exit_bytes
    );
}

#[test]
fn cp_of_a_tree() {
    let dir = place();
    tree(dir.path());
    let command = ["cp", "-r", "tree", "copy"];
    let prepare = || drop(fs::remove_dir_all(dir.path().join("copy")));
    same_as_strace(dir.path(), &command, prepare);
    prepare();
    let result = trace(dir.path(), &command);
    let (source, target) = (file(&result, "tree/4/f9"), file(&result, "copy/4/f9"));
    assert_eq!((source.reads.bytes, target.writes.bytes), (9000, 9000));
    assert!(target.history.as_deref().unwrap().created);
}

#[test]
fn sqlite_with_300_autocommit_inserts() {
    let dir = place();
    let sql: String = std::iter::once("create table t(a);".to_owned())
        .chain((0..300).map(|row| format!("insert into t values({row});")))
        .collect();
    fs::write(dir.path().join("inserts.sql"), sql).unwrap();
    let command = ["sqlite3", "data.db", ".read inserts.sql"];
    same_as_strace(dir.path(), &command, || {
        drop(fs::remove_file(dir.path().join("data.db")));
    });
    fs::remove_file(dir.path().join("data.db")).unwrap();
    let result = trace(dir.path(), &command);
    let database = file(&result, "data.db");
    // One for each transaction, of the table and of the rows (journal_mode=DELETE).
    assert_eq!(database.syncs.count, 301);
    let written = fs::metadata(dir.path().join("data.db")).unwrap().len();
    assert!(database.writes.bytes >= written, "{database:?}");
    // The journal is made and removed for each: 301 lives, and each is synced before and
    // after its header is written.
    let journals = result
        .files
        .iter()
        .filter(|file| file.path.ends_with("/data.db-journal"));
    let journals: u64 = journals.map(|journal| journal.syncs.count).sum();
    assert_eq!(journals, 602);
}

#[test]
fn git_commit() {
    let dir = place();
    tree(dir.path());
    let git = |arguments: &[&str]| {
        let mut git = Command::new("git");
        git.current_dir(dir.path()).args(arguments);
        assert!(git.output().unwrap().status.success());
    };
    git(&["init", "-q"]);
    git(&["add", "-A"]);
    let identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"];
    let command = [&["git"][..], &identity, &["commit", "-qm", "x"]].concat();
    let result = trace(dir.path(), &command);
    let head = fs::read_to_string(dir.path().join(".git/refs/heads/master"))
        .or_else(|_| fs::read_to_string(dir.path().join(".git/refs/heads/main")))
        .unwrap();
    // The commit is an object of that name, written under another and renamed.
    let (directory, name) = head.trim().split_at(2);
    let object = format!(".git/objects/{directory}/{name}");
    let written = result
        .files
        .iter()
        .filter_map(|file| file.renamed_to.as_deref());
    let linked = written.filter(|path| path.ends_with(&object)).count();
    assert!(linked == 1 || Path::new(&dir.path().join(object)).exists());
}

/// The interpreter itself: what is called `python3` may be a script that looks for it.
fn python() -> String {
    let ask = ["-c", "import sys; print(sys.executable)"];
    let output = Command::new("python3").args(ask).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[test]
fn python_writing_byte_by_byte() {
    let dir = place();
    let script = "f = open('bytes', 'wb', buffering=0)\nfor i in range(5000): f.write(b'x')";
    let python = python();
    same_as_strace(dir.path(), &[&python, "-c", script], || {});
    let result = trace(dir.path(), &[&python, "-c", script]);
    let bytes = file(&result, "bytes");
    assert_eq!((bytes.writes.count, bytes.writes.bytes), (5000, 5000));
    let write = bytes
        .calls
        .iter()
        .find(|call| call.row.name == "write")
        .unwrap();
    let shape = write.shape.as_ref().unwrap();
    assert_eq!(
        (shape.pairs, shape.sequential, shape.sizes[0]),
        (4999, 4999, 5000)
    );
}

#[test]
fn rsync_copies_through_two_processes() {
    let dir = place();
    tree(dir.path());
    let result = trace(dir.path(), &["rsync", "-a", "tree/", "copy/"]);
    assert!(result.processes >= 2, "{}", result.processes);
    // Written under a temporary name and renamed.
    let to = |file: &&iostrata_core::trace::FileRow| {
        file.renamed_to
            .as_deref()
            .is_some_and(|path| path.ends_with("/copy/2/f8"))
    };
    let copied = result.files.iter().find(to).unwrap();
    assert_eq!(copied.writes.bytes, 8000);
    assert_eq!(copied.kind, FileKind::Regular);
}

#[test]
fn fio_with_io_uring() {
    let dir = place();
    let fio = [
        "fio",
        "--name=x",
        "--rw=write",
        "--bs=4k",
        "--size=1m",
        "--ioengine=io_uring",
        "--iodepth=8",
        "--filename=data",
        "--fsync=64",
        "--fallocate=none",
    ];
    let result = trace(dir.path(), &fio);
    let data = file(&result, "data");
    let of = |name: &str| data.calls.iter().find(|call| call.row.name == name);
    let write = of("io_uring.write").expect("writes through the ring");
    assert_eq!(
        (write.row.stats.count, write.row.stats.bytes),
        (256, 1 << 20)
    );
    let syncs = of("io_uring.fsync").map_or(0, |call| call.row.stats.count)
        + of("fsync").map_or(0, |call| call.row.stats.count);
    assert!(syncs >= 3, "{:?}", data.calls);
}

/// The kernel asks the listener instead of the tracer (seccomp(2)).
#[test]
fn a_listener_of_the_program_hides_no_calls() {
    let dir = place();
    let program = workload("listened");
    for backend in ["ptrace", "ebpf"] {
        let Some((output, result)) = trace_by(backend, dir.path(), &[&program, "F"]) else {
            continue;
        };
        assert!(output.status.success(), "{output:?}");
        let written = file(&result, "F");
        let figures = (
            written.writes.count,
            written.writes.bytes,
            written.syncs.count,
        );
        assert_eq!(figures, (2, 11, 1), "{backend}");
        assert_audited(&result);
    }
}
