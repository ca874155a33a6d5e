//! Calls that only their arguments identify, operations that end elsewhere, and calls that nothing
//! follows: counted for their file, in the history, or named as missing.
#![expect(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that fails"
)]

use iostrata_report::words;
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::os::fd::AsFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::process::Command;

use iostrata_core::evidence::SyscallRow;
use iostrata_core::gap::Gap;
use iostrata_core::observe::{Observation, Stream};
use iostrata_core::op::FileId;
use iostrata_core::record::{self, Begin, Completeness};
use iostrata_core::trace::FileHistory;
use iostrata_core::trace::calls::{unfollowed, unrecorded};
use iostrata_lab::interrupt::Interrupt;
use iostrata_lab::rebuild::rebuild;
use iostrata_tracer::ebpf::{EbpfObserver, Limits};
use iostrata_tracer::kernel::{LoopDevice, private_mounts};
use iostrata_tracer::record::{Recorded, Recording};
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

use crate::session::{observe, workload};

/// What a workload did in its directory.
pub(crate) struct Ran {
    pub(crate) observation: Observation,
    dir: Vec<u8>,
}

fn run(program: &str, dir: &Path) -> Ran {
    run_with(program, dir, &[])
}

pub(crate) fn run_with(program: &str, dir: &Path, how: &[&str]) -> Ran {
    let mut observer = EbpfObserver::with_limits(Limits::trace()).unwrap();
    let mut program = Command::new(workload(program));
    program.arg(dir).args(how);
    let (observation, status) = observe(&mut observer, Stream::default(), &mut program, || ());
    assert!(status.success());
    assert_eq!(observation.raw.losses.total(), 0);
    Ran {
        observation,
        dir: dir.as_os_str().as_bytes().to_vec(),
    }
}

impl Ran {
    fn file(&self, name: &str) -> FileId {
        let path = [&self.dir, &b"/"[..], name.as_bytes()].concat();
        let names = &self.observation.seen.as_ref().unwrap().names;
        let found = names.iter().find(|named| named.path == path);
        found.unwrap_or_else(|| panic!("{name} has no name")).file
    }

    pub(crate) fn rows(&self) -> &[SyscallRow] {
        self.observation.raw.syscalls.as_deref().unwrap()
    }

    /// Count, failures and bytes of each call on a file; the name of a call's source file begins
    /// with an arrow.
    pub(crate) fn calls(&self, name: &str) -> BTreeMap<String, (u64, u64, u64)> {
        let file = Some(self.file(name));
        let rows = self.rows().iter().filter(|row| row.file == file);
        rows.map(|row| {
            let arrow = if row.is_source { "<" } else { "" };
            let name = format!("{arrow}{}", row.name);
            (name, (row.count, row.errors, row.returned))
        })
        .collect()
    }

    pub(crate) fn history(&self, name: &str) -> &FileHistory {
        let followed = &self.observation.seen.as_ref().unwrap().followed;
        &followed.files[&self.file(name)]
    }

    pub(crate) fn missing(&self) -> Vec<String> {
        let seen = self.observation.seen.as_ref().unwrap();
        let gaps = self.observation.raw.missing.iter().chain(&seen.missing);
        what(&gaps.cloned().collect::<Vec<_>>())
    }
}

pub(crate) fn what(gaps: &[Gap]) -> Vec<String> {
    gaps.iter()
        .map(|gap| words::missing(&gap.what).to_string())
        .collect()
}

#[test]
fn operations_of_libaio_are_counted_at_their_files() {
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    let ran = run("aio", dir.path());
    let calls = ran.calls("a");
    assert_eq!(calls["aio.pwrite"], (9, 0, 8 * 4096 + 512));
    assert_eq!(calls["aio.pwritev"], (1, 0, 1024));
    assert_eq!(calls["aio.pread"], (4, 0, 3 * 4096 + 1536));
    assert_eq!(calls["aio.preadv"], (1, 0, 1024));
    assert_eq!((calls["aio.fdsync"].0, calls["aio.fsync"].0), (1, 1));
    let history = ran.history("a");
    assert_eq!(
        (history.writes, history.written_bytes),
        (10, 8 * 4096 + 1536)
    );
    assert_eq!((history.syncs.count, history.data_syncs), (2, 1));
    assert_eq!(history.unsynced_bytes, 0);
    assert_eq!(ran.calls("b")["aio.pwrite"], (3, 0, 1536));
    let history = ran.history("b");
    assert_eq!((history.writes, history.written_bytes), (3, 1536));
    assert_eq!(history.unsynced_bytes, 1536);
    assert_eq!(
        ran.missing(),
        ["3 libaio operations without results and times"]
    );
    let log = ["12 aio.pwrite", "1 aio.pwritev"];
    assert_eq!(what(&unrecorded(ran.rows())), log);
    assert_eq!(unfollowed(ran.rows()), []);
}

#[test]
fn what_the_arguments_tell_is_in_the_history() {
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    for name in ["emptied", "shortened", "mapped"] {
        std::fs::write(dir.path().join(name), [7; 8192]).unwrap();
    }
    let ran = run("told", dir.path());
    let history = ran.history("emptied");
    assert_eq!((history.emptied.count, history.writes), (1, 1));
    assert_eq!(ran.calls("mapped")["mprotect(shared)"].0, 1);
    assert_eq!(ran.history("mapped").mapped_to_write.count, 1);
    let history = ran.history("flags");
    assert_eq!(
        (history.writes, history.written_bytes, history.appends),
        (2, 8, 2)
    );
    assert_eq!(ran.calls("shortened")["truncate"].0, 1);
    assert_eq!(ran.missing(), [""; 0]);
    let both = ["1 ioctl(space)", "1 madvise(MADV_REMOVE)"];
    assert_eq!(what(&unfollowed(ran.rows())), both);
    assert_eq!(what(&unrecorded(ran.rows())), both);
    let files = &ran.observation.seen.as_ref().unwrap().followed.files;
    let names = &ran.observation.seen.as_ref().unwrap().names;
    let proc = names
        .iter()
        .find(|named| named.filesystem == "proc")
        .unwrap();
    assert!(!files.contains_key(&proc.file), "{:?}", files[&proc.file]);
}

#[test]
fn threads_that_protect_memory_lose_nothing() {
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    for name in ["read", "written"] {
        std::fs::write(dir.path().join(name), [7; 4096]).unwrap();
    }
    let ran = run("protects", dir.path());
    assert_eq!(ran.missing(), [""; 0]);
    let protected = ran.rows().iter().filter(|row| row.name == "mprotect");
    assert!(protected.map(|row| row.count).sum::<u64>() >= 40_000);
}

#[test]
fn a_mount_is_named() {
    with_btrfs(|dir| {
        let mut observer = EbpfObserver::with_limits(Limits::trace()).unwrap();
        let mut program = Command::new("mount");
        program.args(["-t", "tmpfs", "none"]).arg(dir);
        let (observation, status) = observe(&mut observer, Stream::default(), &mut program, || ());
        assert!(status.success());
        unmount(dir, UnmountFlags::DETACH).unwrap();
        let gaps = what(&unfollowed(observation.raw.syscalls.as_deref().unwrap()));
        // By either call, depending on the version of mount(8).
        assert!(
            matches!(&gaps[..], [one] if one.ends_with("mount")),
            "{gaps:?}"
        );
    });
}

#[test]
fn ordinary_changes_leave_nothing_unseen() {
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    let ran = run("changes", dir.path());
    assert_eq!(ran.missing(), [""; 0]);
    assert_eq!(unrecorded(ran.rows()), []);
}

#[test]
fn operations_of_io_uring_are_followed() {
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    std::fs::write(dir.path().join("old"), [7; 8192]).unwrap();
    let ran = run("ring", dir.path());
    let calls = ran.calls("made");
    assert_eq!(calls["io_uring.openat"].0, 1);
    assert_eq!(calls["io_uring.write"], (3, 0, 1520));
    assert_eq!(calls["io_uring.fsync"], (2, 0, 0));
    assert_eq!(calls["io_uring.ftruncate"].0, 1);
    assert_eq!(calls["io_uring.fallocate"].0, 1);
    assert_eq!(calls["io_uring.close"].0, 1);
    let history = ran.history("made");
    assert!(history.created && history.allocated);
    assert_eq!((history.writes, history.written_bytes), (3, 1520));
    assert_eq!(
        history.appends, 2,
        "the one at position 0 makes it no longer"
    );
    assert_eq!((history.syncs.count, history.data_syncs), (2, 1));
    assert_eq!(history.unsynced_bytes, 0);
    let history = ran.history("old");
    assert_eq!((history.emptied.count, history.opened_to_write), (1, 1));
    assert_eq!(
        ran.missing(),
        ["1 io_uring operation"],
        "the one that tells nothing"
    );
    assert_eq!(unfollowed(ran.rows()), []);
}

/// A log of a workload's work in `dir`, rebuilt next to it.
fn recorded(program: &str, dir: &Path) -> (tempfile::TempDir, Recorded) {
    recorded_with(program, dir, &[])
}

pub(crate) fn recorded_with(
    program: &str,
    dir: &Path,
    how: &[&str],
) -> (tempfile::TempDir, Recorded) {
    let begin = Begin {
        command: vec![program.into()],
        directory: b"/".to_vec(),
        started_ns: 0,
        reads: false,
    };
    let again = tempfile::tempdir_in("/var/tmp").unwrap();
    let log = again.path().join("log");
    let mut observer = EbpfObserver::with_limits(Limits::record()).unwrap();
    observer.record(Recording::create(&log, &begin).unwrap());
    let mut program = Command::new(workload(program));
    program.arg(dir).args(how);
    let (_, status) = observe(&mut observer, Stream::default(), &mut program, || ());
    assert!(status.success());
    let recorded = observer.recorded().unwrap().finish().unwrap();
    let into = tempfile::tempdir_in("/var/tmp").unwrap();
    rebuild(
        &log,
        into.path(),
        record::Limits::default(),
        &Interrupt::never(),
    )
    .unwrap();
    (into, recorded)
}

pub(crate) fn incomplete(recorded: &Recorded) -> Vec<String> {
    match &recorded.completeness {
        Completeness::Complete => Vec::new(),
        Completeness::Incomplete { because } => what(because),
    }
}

#[test]
fn the_log_has_what_arguments_tell_or_says_what_it_lacks() {
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    for name in ["emptied", "shortened", "mapped"] {
        std::fs::write(dir.path().join(name), [7; 8192]).unwrap();
    }
    let (again, log) = recorded("told", dir.path());
    let left_out = [
        "1 ioctl(space)",
        "1 madvise(MADV_REMOVE)",
        "1 writable shared mapping",
    ];
    assert_eq!(incomplete(&log), left_out);
    let rebuilt = |name: &str| {
        let path = dir.path().join(name);
        std::fs::read(again.path().join(path.strip_prefix("/").unwrap())).unwrap()
    };
    assert_eq!(rebuilt("emptied"), b"new");
    assert_eq!(rebuilt("flags"), b"fourfour");
    assert_eq!(rebuilt("shortened").len(), 100);
    assert!(!again.path().join("proc").exists(), "/proc stores nothing");
}

#[test]
fn the_log_says_what_io_uring_and_libaio_left_out() {
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    std::fs::write(dir.path().join("old"), [7; 8192]).unwrap();
    let (_, log) = recorded("ring", dir.path());
    let renamed = format!("what changed {}/renamed", dir.path().display());
    let left_out = ["1 io_uring operation", &renamed];
    assert_eq!(incomplete(&log), left_out);
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    let (_, log) = recorded("aio", dir.path());
    let changed = |name: &str| format!("what changed {}/{name}", dir.path().display());
    let left_out = [
        "12 aio.pwrite",
        "1 aio.pwritev",
        &changed("a"),
        &changed("b"),
    ];
    assert_eq!(incomplete(&log), left_out);
}

#[test]
fn clones_are_rebuilt() {
    with_btrfs(|dir| {
        let (again, log) = recorded("clones", dir);
        assert_eq!(incomplete(&log), [""; 0]);
        for name in ["source", "whole", "part", "same", "too", "refused"] {
            let made = std::fs::read(dir.join(name)).unwrap();
            let rebuilt = again.path().join(dir.strip_prefix("/").unwrap()).join(name);
            assert!(std::fs::read(rebuilt).unwrap() == made, "{name}");
        }
    });
}

/// A file system that supports shared extents, mounted for this thread alone.
fn with_btrfs(test: impl FnOnce(&Path) + Send) {
    let above = tempfile::tempdir_in("/var/tmp").unwrap();
    let outcome = std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let _namespace = private_mounts().unwrap();
            let (file, point) = (above.path().join("image"), above.path().join("mounted"));
            File::create(&file).unwrap().set_len(320 << 20).unwrap();
            let made = Command::new("mkfs.btrfs").arg("-q").arg(&file).status();
            assert!(made.unwrap().success());
            let image = OpenOptions::new().read(true).write(true).open(&file);
            let device = LoopDevice::attach(image.unwrap().as_fd()).unwrap();
            std::fs::create_dir(&point).unwrap();
            mount(device.path(), &point, "btrfs", MountFlags::empty(), None).unwrap();
            let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| test(&point)));
            unmount(&point, UnmountFlags::DETACH).unwrap();
            outcome
        });
        thread.join()
    });
    if let Err(panic) = outcome.and_then(|outcome| outcome) {
        std::panic::resume_unwind(panic);
    }
}

#[test]
fn what_is_shared_between_files_is_a_copy() {
    with_btrfs(|dir| {
        let ran = run("clones", dir);
        assert_eq!(ran.calls("whole")["ioctl(FICLONE)"], (1, 0, 65_536));
        assert_eq!(ran.calls("part")["ioctl(FICLONERANGE)"], (1, 0, 8_192));
        assert_eq!(ran.calls("same")["ioctl(FIDEDUPERANGE)"], (1, 0, 4_096));
        assert_eq!(ran.calls("too")["ioctl(FIDEDUPERANGE)"], (1, 0, 4_096));
        assert_eq!(ran.calls("refused")["ioctl(FICLONE)"], (1, 1, 0));
        let source = ran.calls("source");
        assert_eq!(source["<ioctl(FICLONE)"], (1, 0, 65_536));
        assert_eq!(source["<ioctl(FICLONERANGE)"], (1, 0, 8_192));
        assert_eq!(source["<ioctl(FIDEDUPERANGE)"], (1, 0, 4_096));
        let history = ran.history("whole");
        assert_eq!((history.writes, history.written_bytes), (1, 65_536));
        assert_eq!(history.unsynced_bytes, 65_536);
        let history = ran.history("part");
        assert_eq!((history.writes, history.written_bytes), (1, 8_192));
        assert_eq!(ran.history("same").writes, 1, "only what it was made with");
        assert_eq!(ran.missing(), [""; 0]);
        assert_eq!(unrecorded(ran.rows()), []);
    });
}
