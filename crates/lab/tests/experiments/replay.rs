//! Measured savings on real file systems: within bounds, and nothing left behind.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::Path;

use iostrata_core::observe::{Observer as _, Stream};
use iostrata_core::trace::Remedy;
use iostrata_lab::engine::{Launcher, observed_file};
use iostrata_lab::interrupt::Interrupt;
use iostrata_lab::replay::{
    Measurement, NotReplayed, Programs, ReplayFile, ReplayJob, THOROUGH, Wanted, replay,
};
use iostrata_lab::scratch::{ImageKind, Images, Plan, isolate, prepare};
use iostrata_tracer::ebpf::EbpfObserver;
use rustix::mount::{MountFlags, UnmountFlags, mount, mount_remount, unmount};

use crate::places::launcher;

const BYTEWISE: Remedy = Remedy::LargerPieces {
    write: true,
    piece_bytes: 1,
    count: 100_000,
    better_bytes: 64 << 10,
};

fn fsync_each(syncs: u64) -> Remedy {
    Remedy::FewerSyncs {
        piece_bytes: 100,
        writes_per_sync: 1,
        syncs,
        group: 10,
        data_only_now: false,
        data_only_better: true,
        append: true,
        preallocate: false,
    }
}

fn never() -> bool {
    false
}

fn programs(work: &Launcher) -> Programs<'_> {
    Programs { work, guard: None }
}

fn wanted(remedy: Remedy, directory: &Path) -> Wanted<'_> {
    Wanted {
        remedy,
        directory,
        device: None,
    }
}

/// One measurement; nothing may be left.
fn one(remedy: Remedy, directory: &Path) -> Result<Measurement, NotReplayed> {
    let before = fs::read_dir(directory).map_or(0, Iterator::count);
    let replays = replay(
        &[wanted(remedy, directory)],
        THOROUGH,
        programs(&launcher()),
        &never,
    );
    assert!(replays.leftovers.is_empty(), "{:?}", replays.leftovers);
    let after = fs::read_dir(directory).map_or(0, Iterator::count);
    assert_eq!(before, after, "nothing is left in {}", directory.display());
    let [measured] = replays.measured.try_into().unwrap();
    measured
}

/// The same on a machine that may be busy: a measurement may run out of time, or decide nothing, and reports that.
fn one_at_last(remedy: Remedy, directory: &Path) -> Measurement {
    let mut whys = Vec::new();
    for _ in 0..50 {
        match one(remedy, directory) {
            Err(
                why @ (NotReplayed::TooSlow { .. }
                | NotReplayed::FewSyncs { .. }
                | NotReplayed::Overlap),
            ) => whys.push(why),
            measured => return measured.unwrap(),
        }
    }
    panic!("never in 50 times: {whys:?}")
}

fn is_root() -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        crate::skip::skip("mounts and eBPF need root");
    }
    root
}

/// A tmpfs in this thread's own mount namespace.
struct Mounted<'a>(&'a Path);

impl<'a> Mounted<'a> {
    fn tmpfs(at: &'a Path, bytes: u64) -> Self {
        let options = std::ffi::CString::new(format!("size={bytes}")).unwrap();
        mount("none", at, "tmpfs", MountFlags::empty(), options.as_c_str()).unwrap();
        Self(at)
    }
}

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        _ = unmount(self.0, UnmountFlags::DETACH);
    }
}

#[test]
fn both_ways_are_timed_and_nothing_is_left() {
    for place in ["/dev/shm", "/var/tmp"] {
        let dir = tempfile::tempdir_in(place).unwrap();
        let measured = one_at_last(BYTEWISE, dir.path());
        assert!(measured.replayed.now_s > 0.0 && measured.replayed.better_s > 0.0);
        assert!(measured.performed_share > 0.0 && measured.performed_share <= 1.0);
        assert!(measured.runs >= 1);
        assert_eq!(measured.directory, dir.path());
    }
}

#[test]
fn sharing_a_sync_is_timed_on_a_file_system_with_a_journal() {
    if !is_root() {
        return;
    }
    let mounts = isolate().unwrap();
    // In memory: a sync of a busy disk may take so long that no two ways can be told apart in the time for them.
    let dir = tempfile::tempdir_in("/dev/shm").unwrap();
    let plan = Plan {
        dir: dir.path(),
        enter: false,
        host_bytes: 0,
        images: Some(Images {
            kinds: &[ImageKind::Ext4, ImageKind::Btrfs],
            bytes: 64 << 20,
            mounts: &mounts,
        }),
    };
    let prepared = prepare(&plan, None, &Interrupt::never()).unwrap();
    for image in prepared.images() {
        let measured = one_at_last(fsync_each(200), image.path());
        assert!(measured.replayed.now_s > 0.0 && measured.replayed.better_s > 0.0);
        assert_eq!(measured.directory, image.path());
    }
    assert!(prepared.close().is_empty(), "everything is removed");
}

#[test]
fn what_is_done_is_what_the_kernel_saw() {
    if !is_root() {
        return;
    }
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    let job = ReplayJob {
        remedy: fsync_each(20),
        file: ReplayFile::Named {
            path: dir.path().join("f").into(),
        },
        deadline_ns: u64::MAX,
    };
    let mut observer = EbpfObserver::open().unwrap();
    let mut workload = launcher().start(&job, &never).unwrap();
    let file = observed_file(&dir.path().join("f")).unwrap();
    observer.start(workload.pid(), Stream::default()).unwrap();
    let report = workload.go(&never).unwrap();
    workload.exit().unwrap();
    observer.program_ended().unwrap();
    let seen = observer.stop().unwrap().raw.syscalls.unwrap();
    let of_file = |row: &&iostrata_core::evidence::SyscallRow| {
        row.file
            .is_some_and(|id| (id.device, id.inode) == (file.device, file.inode))
    };
    let calls: BTreeMap<&str, u64> = seen
        .iter()
        .filter(of_file)
        .map(|row| (row.name, row.count))
        .collect();
    let now = report.now.samples_s.len() as u64;
    let better = report.better.samples_s.len() as u64;
    // A run to determine how much time there is, and one of each variant that does not count.
    let (now_runs, better_runs) = (2 + now, 1 + better);
    assert_eq!(calls["pwrite64"], 20 * (now_runs + better_runs));
    assert_eq!(calls["fdatasync"], 2 * better_runs);
    assert_eq!(calls["ftruncate"], now_runs + better_runs);
    let emptied = now_runs + better_runs;
    assert_eq!(calls["fsync"], 20 * now_runs + emptied);
}

#[test]
fn all_together_are_bounded_and_equal_ones_are_measured_once() {
    let dir = tempfile::tempdir_in("/dev/shm").unwrap();
    // Each of them would take hours.
    let endless = |piece_bytes| Remedy::LargerPieces {
        write: true,
        piece_bytes,
        count: u64::MAX / piece_bytes,
        better_bytes: 64 << 10,
    };
    let mut all: Vec<_> = (1..=60)
        .map(|piece_bytes| wanted(endless(piece_bytes), dir.path()))
        .collect();
    all.extend(all.clone());
    let replays = replay(&all, THOROUGH, programs(&launcher()), &never);
    let measured = replays.measured;
    // A busy machine may leave some of them no run of each variant.
    let first = measured.iter().find_map(|one| one.as_ref().ok()).unwrap();
    assert!(first.performed_share < 1e-6, "a small part of hours");
    assert!(first.replayed.now_s > 3600.0, "scaled up to the whole");
    let (once, again) = measured.split_at(60);
    assert_eq!(again, once);
    assert_eq!(measured[59], Err(NotReplayed::NoTimeLeft { limit_s: 2.0 }));
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn no_room_and_a_disk_that_fills_are_reasons() {
    if !is_root() {
        return;
    }
    let _mounts = isolate().unwrap();
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    let small = Mounted::tmpfs(dir.path(), 64 << 10);
    let refused = one(BYTEWISE, dir.path()).unwrap_err();
    assert!(matches!(refused, NotReplayed::NoSpace { .. }), "{refused}");
    let text = refused.to_string();
    assert!(text.contains(" needed, "), "{text}");
    assert!(
        !text.contains("--"),
        "no options of another command: {text}"
    );

    drop(small);
    // Room at the start, and taken by another process during the run.
    let _small = Mounted::tmpfs(dir.path(), 256 << 10);
    let asked = Cell::new(0);
    let hog = fs::File::create(dir.path().join("hog")).unwrap();
    let stop = || {
        asked.set(asked.get() + 1);
        while asked.get() > 1 && (&hog).write_all(&[1; 4096]).is_ok() {}
        false
    };
    let replays = replay(
        &[wanted(BYTEWISE, dir.path())],
        THOROUGH,
        programs(&launcher()),
        &stop,
    );
    let refused = replays.measured[0].clone().unwrap_err();
    assert!(matches!(refused, NotReplayed::Full(_)), "{refused}");
}

#[test]
fn a_read_only_directory_is_a_reason() {
    if !is_root() {
        return;
    }
    let _mounts = isolate().unwrap();
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    let _mounted = Mounted::tmpfs(dir.path(), 1 << 20);
    mount_remount(dir.path(), MountFlags::RDONLY, "").unwrap();
    let refused = one(BYTEWISE, dir.path()).unwrap_err();
    assert!(matches!(refused, NotReplayed::ReadOnly(_)), "{refused}");
}

#[test]
fn a_directory_that_is_gone_is_a_reason_unless_the_file_system_is_known() {
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    let gone = dir.path().join("gone");
    let refused = one(BYTEWISE, &gone).unwrap_err();
    assert!(matches!(refused, NotReplayed::Gone(_)), "{refused}");
    let known = Wanted {
        device: Some(observed_file(dir.path()).unwrap().device),
        ..wanted(BYTEWISE, &gone)
    };
    let replays = replay(&[known], THOROUGH, programs(&launcher()), &never);
    assert_eq!(replays.measured[0].as_ref().unwrap().directory, dir.path());
}

#[test]
fn an_interruption_ends_it_and_leaves_nothing() {
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    let asked = Cell::new(0);
    let stop = || {
        asked.set(asked.get() + 1);
        asked.get() > 2
    };
    let all = [BYTEWISE, fsync_each(1000)].map(|remedy| wanted(remedy, dir.path()));
    let replays = replay(&all, THOROUGH, programs(&launcher()), &stop);
    assert_eq!(replays.measured[1], Err(NotReplayed::Interrupted));
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn a_measurement_has_no_name_while_it_runs() {
    if !is_root() {
        return;
    }
    let dir = tempfile::tempdir_in("/dev/shm").unwrap();
    let seen = Cell::new(0);
    let asked = Cell::new(0_u64);
    let stop = || {
        asked.set(asked.get() + 1);
        seen.set(seen.get() + fs::read_dir(dir.path()).unwrap().count());
        false
    };
    let all = [BYTEWISE, fsync_each(1000)].map(|remedy| wanted(remedy, dir.path()));
    let replays = replay(&all, THOROUGH, programs(&launcher()), &stop);
    // In memory a sync takes no time, so that the second trial need not tell its ways apart.
    let is_made = |measured: &Result<Measurement, NotReplayed>| {
        matches!(
            measured,
            Ok(_) | Err(NotReplayed::FewSyncs { .. } | NotReplayed::Overlap)
        )
    };
    assert!(replays.measured.iter().all(is_made), "{replays:?}");
    assert!(asked.get() > 0);
    assert_eq!(seen.get(), 0, "whoever is killed now leaves nothing");
}

#[test]
fn a_link_in_place_of_the_directory_is_a_reason() {
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    let (real, link) = (dir.path().join("real"), dir.path().join("link"));
    fs::create_dir(&real).unwrap();
    std::os::unix::fs::symlink(&real, &link).unwrap();
    let refused = one(BYTEWISE, &link).unwrap_err();
    assert!(
        refused.to_string().contains("a symbolic link stands"),
        "{refused}"
    );
    assert_eq!(fs::read_dir(&real).unwrap().count(), 0);
}
