//! The operation log of this back end in difficult cases. Recordings by both back ends are in
//! `tests/observe`, random programs in `tests/random`.
#![expect(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that fails"
)]

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use iostrata_core::gap::{Countable, Gap, Missing, Stratum};
use iostrata_core::record::{Begin, Change, Check, Completeness, Entry, Limits, Operation, Reader};
use iostrata_lab::interrupt::Interrupt;
use iostrata_lab::rebuild::rebuild;
use iostrata_tracer::ptrace::{Session, Stops};
use iostrata_tracer::record::{Recorded, Recording};

use crate::ground::{command, scratch, workload};

/// One run: its directory, and its log.
pub(crate) struct Run {
    dir: tempfile::TempDir,
    pub(crate) recorded: Recorded,
}

impl Run {
    /// Runs a command that `words` builds for the directory in which it works.
    pub(crate) fn of(dir: tempfile::TempDir, words: impl Fn(&Path) -> Vec<OsString>) -> Self {
        Self::with(false, dir, words)
    }

    /// With or without reads.
    fn with(reads: bool, dir: tempfile::TempDir, words: impl Fn(&Path) -> Vec<OsString>) -> Self {
        let begin = Begin {
            command: Vec::new(),
            directory: b"/".to_vec(),
            started_ns: 0,
            reads,
        };
        let made = dir.path().join("made");
        fs::create_dir(&made).unwrap();
        let recording = Recording::create(&dir.path().join("log"), &begin).unwrap();
        let quietly = ["sh", "-c", "exec \"$0\" \"$@\" > /dev/null"].map(OsString::from);
        let words: Vec<OsString> = quietly.into_iter().chain(words(&made)).collect();
        let outcome = Session::record(&words, Stops::Io, recording)
            .unwrap()
            .wait()
            .unwrap();
        assert_eq!(outcome.observation.failed, []);
        assert!(outcome.status.unwrap().success());
        let recorded = outcome.recorded.unwrap().finish().unwrap();
        Self { dir, recorded }
    }

    fn script(script: &str) -> Self {
        Self::of(scratch(), |made| {
            let script = format!("set -e; cd {}\n{script}", made.display());
            command(Path::new("sh"), &["-c", &script])
        })
    }

    fn made(&self) -> PathBuf {
        self.dir.path().join("made")
    }

    fn operations(&self) -> Vec<Operation> {
        let log = File::open(self.dir.path().join("log")).unwrap();
        let mut reader = Reader::new(log).unwrap();
        let mut all = Vec::new();
        while let Some(entry) = reader.next_entry().unwrap() {
            if let Entry::Operation(operation) = entry {
                all.push(operation);
            }
        }
        all
    }

    /// The gaps of the log.
    fn missing(&self) -> &[Gap] {
        match &self.recorded.completeness {
            Completeness::Complete => &[],
            Completeness::Incomplete { because } => because,
        }
    }

    /// The log matches the files, and so do the rebuilt files.
    #[track_caller]
    pub(crate) fn is_rebuilt(&self) {
        let check = &self.recorded.check;
        let is_same = matches!(
            check,
            Check::Compared {
                nodes: 1..,
                differing: 0,
                ..
            }
        );
        assert!(is_same, "{:?}", self.recorded);
        let again = self.dir.path().join("again");
        rebuild(
            &self.dir.path().join("log"),
            &again,
            Limits::default(),
            &Interrupt::never(),
        )
        .unwrap();
        let different = Command::new("diff")
            .args(["--recursive", "--no-dereference"])
            .arg(self.made())
            .arg(again.join(self.made().strip_prefix("/").unwrap()))
            .output()
            .unwrap();
        assert_eq!(String::from_utf8_lossy(&different.stdout), "");
        assert!(different.status.success());
    }
}

#[test]
fn buffers_that_change_and_buffers_that_cannot_be_read() {
    let run = Run::of(scratch(), |made| {
        let file = made.join("file");
        command(&workload("flips"), &[file.to_str().unwrap(), "300"])
    });
    assert_eq!(run.recorded.completeness, Completeness::Complete);
    run.is_rebuilt();
    let all = run.operations();
    let writes = all.iter().filter(|one| one.call == "write");
    let (done, failed): (Vec<_>, Vec<_>) = writes.partition(|one| one.outcome.is_ok());
    assert_eq!((done.len(), failed.len()), (5 * 300 + 1, 1));
    assert_eq!(failed[0].outcome, Err(libc::EFAULT));
    assert_eq!(done.last().unwrap().outcome, Ok(4096), "one page of two");
}

/// Three processes that write, append, rename and create directories until they are killed.
const KILLED: &str = "
import os, random, signal, time
pids = []
for k in range(3):
    pid = os.fork()
    if pid == 0:
        shared = os.open('shared', os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o644)
        i = 0
        while True:
            os.write(shared, bytes([65 + k]) * (997 * (i * 7 % 300 + 1)))
            new = os.open(f'n{k}.{i}', os.O_CREAT | os.O_WRONLY, 0o600)
            os.write(new, b'data')
            os.rename(f'n{k}.{i}', f'm{k}.{i % 20}')
            os.close(new)
            os.mkdir(f'd{k}.{i}')
            if os.fstat(shared).st_size > 30_000_000:
                os.ftruncate(shared, 0)
            i += 1
    pids.append(pid)
while len(os.listdir('.')) < 30 + SEED:
    time.sleep(0.001)
for pid in pids:
    os.kill(pid, signal.SIGKILL)
for pid in pids:
    os.waitpid(pid, 0)
";

#[test]
fn who_is_killed_leaves_what_the_log_says() {
    for seed in 0..6 {
        let program = KILLED.replace("SEED", &seed.to_string());
        let run = Run::script(&format!("exec python3 -c \"{program}\""));
        // A thread killed a second time is not seen ending, and the result of its call is unknown.
        for missing in run.missing() {
            assert!(missing.count_of(Countable::Calls).is_some(), "{missing:?}");
        }
        run.is_rebuilt();
    }
}

/// Each of them waits in the kernel, during its call, for something that another one does.
const WAITING: &str = "
import os, subprocess, threading, time
r, w = os.pipe()
f = os.open('f', os.O_CREAT | os.O_RDWR)
waits = threading.Thread(target=lambda: os.splice(r, f, 100, offset_dst=1000))
waits.start()
def of(what):
    return open(f'/proc/self/task/{waits.native_id}/{what}').read()
while not of('syscall').startswith('275 ') or of('stat').split()[2] != 'S':
    time.sleep(0.001)
g = os.open('g', os.O_CREAT | os.O_WRONLY)
os.write(g, b'another file')
os.write(f, b'the same file')
os.write(w, b'spliced')
waits.join()
os.mkfifo('fifo')
opens = subprocess.Popen('echo into > fifo', shell=True)
os.mkdir('x')
assert open('fifo').read() == 'into\\n'
opens.wait()
";

#[test]
fn calls_that_wait_for_others_keep_nobody_waiting_for_ever() {
    let run = Run::script(&format!("exec python3 -c \"{WAITING}\""));
    let missing = run.missing();
    assert_eq!(missing.len(), 1, "{missing:?}");
    assert_eq!(missing[0].count_of(Countable::PlacesInOrder), Some(1));
    let made = run.made();
    let text = fs::read(made.join("f")).unwrap();
    assert_eq!(text.len(), 1007);
    let check = &run.recorded.check;
    assert!(
        matches!(check, Check::Compared { differing: 0, .. }),
        "{check:?}"
    );
}

/// Two threads copy inside the kernel: one to the position of a file, the other from there.
const COPYING: &str = "
import os, threading
f, from_, to = (os.open(name, os.O_CREAT | os.O_RDWR) for name in ('f', 'from', 'to'))
os.pwrite(from_, b'x' * 61 * 400, 0)
os.pwrite(f, b'y' * 61 * 2000, 0)
def copies(read, written):
    for each in range(400):
        os.copy_file_range(read, written, 61)
threads = [threading.Thread(target=copies, args=pair) for pair in ((from_, f), (f, to))]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
";

#[test]
fn who_copies_from_a_position_does_not_move_it_below_one_who_writes_there() {
    let run = Run::script(&format!("exec python3 -c \"{COPYING}\""));
    assert_eq!(run.recorded.completeness, Completeness::Complete);
    run.is_rebuilt();
}

/// A `sendfile` that waits for room, while another thread moves the position that both use.
const SENDING: &str = "
import os, socket, threading, time
f = os.open('f', os.O_CREAT | os.O_RDWR)
os.pwrite(f, bytes(1 << 22), 0)
near, far = socket.socketpair()
sends = threading.Thread(target=lambda: os.sendfile(near.fileno(), f, None, 1 << 22))
sends.start()
def of(what):
    return open(f'/proc/self/task/{sends.native_id}/{what}').read()
while not of('syscall').startswith('40 ') or of('stat').split()[2] != 'S':
    time.sleep(0.001)
assert len(os.read(f, 10)) == 10
near_left = 1 << 22
while near_left:
    near_left -= len(far.recv(1 << 16))
sends.join()
"; // do_sendfile (fs/read_write.c) takes the position before, and sets it after.

#[test]
fn reads_that_wait_keep_nobody_waiting_for_ever() {
    let run = Run::with(true, scratch(), |made| {
        let script = format!("cd {}; exec python3 -c \"{SENDING}\"", made.display());
        command(Path::new("sh"), &["-c", &script])
    });
    let missing = run.missing();
    assert_eq!(missing.len(), 2, "{missing:?}");
    let places = missing
        .iter()
        .find_map(|gap| gap.count_of(Countable::PlacesInOrder));
    assert_eq!(places, Some(1), "{missing:?}");
    assert!(missing.iter().any(|gap| gap.what == Missing::MappedReads));
    let all = run.operations();
    let written = all
        .iter()
        .find(|one| one.call == "pwrite64")
        .and_then(|one| one.change.node());
    let of_file = all.iter().filter_map(|one| match one.change {
        Change::Read {
            node,
            offset,
            bytes,
            ..
        } if Some(node) == written => Some((one.call.to_string(), offset, bytes)),
        _ => None,
    });
    let of_file: Vec<_> = of_file.collect();
    let expected = [("read", 0, 10), ("sendfile", 0, 1 << 22)];
    let expected = expected.map(|(call, offset, bytes)| (call.to_owned(), offset, bytes));
    assert_eq!(of_file, expected);
}

#[test]
fn descriptors_that_processes_share_are_one_description() {
    let run = Run::script(
        "exec 5> shared; echo one >&5; (echo two >&5; exec 6>&5 5>&-; echo three >&6)
         sh -c 'echo four >&5'; { sh -c 'echo five; exec sh -c \"echo six\"'; } >&5
         exec 7> shared; echo other >&7",
    );
    assert_eq!(run.recorded.completeness, Completeness::Complete);
    run.is_rebuilt();
    let all = run.operations();
    let through: Vec<_> = all
        .iter()
        .filter(|one| matches!(one.change, Change::Wrote { .. }))
        .map(|one| one.change.description().unwrap())
        .collect();
    assert_eq!(through.len(), 7);
    assert!(
        through[..6].iter().all(|one| *one == through[0]),
        "{through:?}"
    );
    assert_ne!(through[6], through[0]);
}

#[test]
fn operations_of_io_uring_make_the_log_incomplete() {
    let run = Run::of(scratch(), |made| {
        fs::write(made.join("old"), [b'o'; 8192]).unwrap();
        command(&workload("ring"), &[made.to_str().unwrap()])
    });
    let missing = run.missing();
    let ring = Missing::Stratum(Stratum::Ring);
    assert!(missing.iter().any(|gap| gap.what == ring), "{missing:?}");
}
