//! Who waits for which commit, and whose changes are in it.

use std::fs::{self, File, FileTimes};
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime};

use iostrata_core::top::{Awaited, Part, SyncWait};
use rustix::process::geteuid;

use crate::image::{Image, done, text};
use crate::journal::Journal;
use crate::watched::{Watch, until_nothing_is_lost, workload};

const APPENDS: u64 = 100;

/// Makes and removes a file without end, and syncs nothing.
const CHANGE: &str = "while :; do : >\"$0\"; rm \"$0\"; done";

/// Commits without end. What was written may become part of its file in a later transaction than that in which it
/// was given its blocks, and the writer has no handle there.
const COMMIT: &str = "while :; do sync -f \"$0\"; done";

/// Reads a file without end, by opening it.
const READ: &str = "while :; do read -r line <\"$0\"; done";

/// Killed when the test ends.
struct Shell(Child);

impl Shell {
    fn start(script: &str, file: &str) -> Self {
        let mut shell = Command::new("bash");
        shell.args(["-c", script, file]).stderr(Stdio::null());
        Self(shell.spawn().unwrap())
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

#[test]
fn a_sync_is_told_whose_changes_its_commits_had() {
    if !geteuid().is_root() {
        crate::skip::skip("observing programs in the kernel needs root");
        return;
    }
    until_nothing_is_lost(sync_beside_changes);
}

fn sync_beside_changes() -> Option<()> {
    let (image, other) = (Image::new(), Image::new());
    let (log, changed) = (text(&image.path("log")), text(&image.path("changed")));
    let mut read = File::create(image.path("read")).unwrap();
    read.write_all(b"line\n").unwrap();
    // The first read after a write changes the access time (relatime), and takes part for that.
    let later = SystemTime::now() + Duration::from_hours(1);
    read.set_times(FileTimes::new().set_accessed(later))
        .unwrap();
    // No other contents are written back while it is watched.
    read.sync_all().unwrap();
    let append = workload("append");
    let journal = Journal::record(&image.path(""));
    let watch = Watch::begin();
    let changes = Shell::start(CHANGE, &changed);
    let elsewhere = Shell::start(CHANGE, &text(&other.path("changed")));
    let reads = Shell::start(READ, &text(&image.path("read")));
    let commits_all = Shell::start(COMMIT, &text(&image.path("")));
    let mut append = Command::new(append);
    append.args([&log, &APPENDS.to_string(), "100", "fsync"]);
    let mut append = append.spawn().unwrap();
    let appends = append.id();
    assert!(append.wait().unwrap().success());
    let intervals = watch.end_whole()?;
    let waits = intervals.iter().flat_map(|interval| &interval.syncs);
    let waits = waits.filter(|wait| wait.pid == appends && wait.path.as_ref() == Some(&log));
    let commits: Vec<_> = waits.map(|wait| wait.commit.clone().unwrap()).collect();
    let sum = |of: &dyn Fn(&Awaited) -> u64| commits.iter().map(of).sum::<u64>();
    let (syncs, known) = (
        sum(&|commit| commit.syncs),
        sum(&|commit| commit.commits_known),
    );
    let inode = fs::metadata(&log).unwrap().ino();
    let witness = journal.waits(appends, inode);
    assert_eq!(syncs, witness.transactions.len() as u64);
    assert_eq!(sum(&|commit| commit.commits), syncs, "one commit each");
    assert!((APPENDS / 2..=APPENDS).contains(&syncs), "{syncs}");
    // The first transaction may have begun before.
    assert!(known == syncs || known + 1 == syncs, "{known}");
    let last = usize::try_from(known).unwrap();
    let parts = commits.iter().flat_map(|commit| &commit.parts);
    let parts: Vec<&Part> = parts.collect();
    let of = |pid: u32| parts.iter().filter(move |part| part.pid == Some(pid));
    // Before Linux 6.2 handles name no file.
    let are_named = parts.iter().any(|part| part.path.is_some());
    let commits_of =
        |parts: &mut dyn Iterator<Item = &&Part>| -> u64 { parts.map(|part| part.commits).sum() };
    let is_log = |part: &&&Part| part.path.as_ref() == are_named.then_some(&log);
    let own = commits_of(&mut of(appends).filter(is_log));
    assert_eq!(own, witness.own(last, are_named) as u64, "{parts:?}");
    let by_kernel = parts.iter().filter(|part| part.pid.is_none());
    let written_back = commits_of(&mut by_kernel.filter(is_log));
    assert_eq!(written_back, witness.written_back(last) as u64, "{parts:?}");
    drop(commits_all);
    assert!(of(changes.0.id()).count() > 0, "{parts:?}");
    let names: Vec<_> = of(appends).map(|part| part.name.as_deref()).collect();
    assert!(
        names.iter().all(|name| *name == Some("append")),
        "{names:?}"
    );
    for (whose, pid) in [("another disk", elsewhere.0.id()), ("reads", reads.0.id())] {
        assert_eq!(of(pid).count(), 0, "{whose}");
    }
    let elsewhere = text(&other.path(""));
    let is_elsewhere = |part: &&&Part| {
        let path = part.path.as_deref();
        path.is_some_and(|path| path.starts_with(&elsewhere) || path.ends_with("/image"))
    };
    assert_eq!(parts.iter().find(is_elsewhere), None);
    Some(())
}

/// By a flag of the call, on a descriptor without.
const WITH_RWF_DSYNC: &str = "
import os, sys
fd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)
for number in range(int(sys.argv[2])):
    assert os.pwritev(fd, [b'x' * 100], number * 100, os.RWF_DSYNC) == 100
    assert os.pwritev(fd, [b'x' * 100], number * 100) == 100
";

#[test]
fn a_synchronous_write_is_told_what_it_waited_for() {
    if !geteuid().is_root() {
        crate::skip::skip("observing programs in the kernel needs root");
        return;
    }
    until_nothing_is_lost(synchronous_writes);
}

fn synchronous_writes() -> Option<()> {
    let (image, synchronous) = (Image::new(), Image::new());
    let mounted = text(&synchronous.path(""));
    done("mount", &["-o", "remount,sync", &mounted]);
    let of_image = |name: &str| text(&image.path(name));
    let logs = [
        of_image("descriptor"),
        of_image("call"),
        text(&synchronous.path("mount")),
    ];
    let (append, count) = (workload("append"), APPENDS.to_string());
    let watch = Watch::begin();
    done(&append, &[&logs[0], &count, "100", "o_dsync"]);
    done("python3", &["-c", WITH_RWF_DSYNC, &logs[1], &count]);
    done(&append, &[&logs[2], &count, "100", "none"]);
    let unsynced = of_image("none");
    done(&append, &[&unsynced, &count, "100", "none"]);
    let intervals = watch.end_whole()?;
    let waits_on = |log: &String| -> Vec<&SyncWait> {
        let waits = intervals.iter().flat_map(|interval| &interval.syncs);
        waits
            .filter(|wait| wait.path.as_ref() == Some(log))
            .collect()
    };
    for log in &logs {
        let waits = waits_on(log);
        let sum = |of: &dyn Fn(&SyncWait) -> u64| waits.iter().map(|wait| of(wait)).sum::<u64>();
        assert_eq!(
            sum(&|wait| wait.synchronous_writes.unwrap().stats.count),
            APPENDS,
            "{log}"
        );
        assert_eq!(
            sum(&|wait| wait.synchronous_writes.unwrap().stats.bytes),
            100 * APPENDS
        );
        assert_eq!(sum(&|wait| wait.syncs.stats.count), 0);
        let commits = sum(&|wait| wait.commit.as_ref().map_or(0, |commit| commit.syncs));
        assert!(
            (APPENDS * 98 / 100..=APPENDS).contains(&commits),
            "{log}: {commits}"
        );
    }
    assert_eq!(waits_on(&unsynced), [] as [&SyncWait; 0]);
    Some(())
}
