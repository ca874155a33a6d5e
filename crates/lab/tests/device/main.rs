//! The device that iostrata serves: what it logs, and that it leaves nothing behind.
#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "test helpers")]

mod crashing;
mod lost;
#[path = "../../../core/tests/skip/mod.rs"]
mod skip;
#[path = "../../../core/tests/wait/mod.rs"]
mod wait;

use std::env;
use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use iostrata_core::crash::block::{Action, epochs};
use iostrata_lab::device::{Cut, DiskImage, Recorder, Server, server_main};
use iostrata_lab::engine::Launcher;
use iostrata_lab::scratch::isolate;
use rustix::fs::{FallocateFlags, fallocate};
use wait::until;

const MIB: u64 = 1 << 20;

/// The process that the other tests start: it serves until its standard input ends, which is at once without them.
#[test]
#[ignore = "the server of the other tests"]
fn served() {
    server_main();
}

fn start_server() -> Server {
    let exe = env::current_exe().unwrap();
    let launcher = Launcher::program(exe, ["--exact", "served", "--ignored", "--nocapture"]);
    Server::start(&launcher).unwrap()
}

fn is_root() -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        skip::skip("FUSE and loop devices need root");
    }
    is_root
}

/// On a thread of its own, whose namespace ends with it.
fn isolated(test: impl FnOnce(&Path, &iostrata_tracer::kernel::PrivateMounts) + Send + 'static) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().to_owned();
    thread::spawn(move || test(&path, &isolate().unwrap()))
        .join()
        .unwrap();
}

fn opened(device: &Path) -> File {
    let mut options = File::options();
    options.read(true).write(true).open(device).unwrap()
}

#[test]
fn every_request_is_logged_in_order() {
    if !is_root() {
        return;
    }
    let server = start_server();
    isolated(move |at, mounts| {
        let image = DiskImage::new(64 * MIB).unwrap();
        let recorder = Recorder::attach(&server, &image, Duration::ZERO, at, mounts).unwrap();
        assert!(
            recorder.device().direct_io(),
            "the loop device bypasses the page cache"
        );
        let disk = opened(recorder.device().path());
        disk.write_all_at(&[7; 8192], 4096).unwrap();
        disk.sync_all().unwrap();
        disk.write_all_at(&[9; 4096], 4096).unwrap();
        disk.sync_all().unwrap();
        let punch = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        fallocate(&disk, punch, 8192, 4096).unwrap();
        disk.sync_all().unwrap();
        let mut read = [0; 8192];
        disk.read_exact_at(&mut read, 4096).unwrap();
        assert!(read[..4096] == [9; 4096] && read[4096..] == [0; 4096]);
        drop(disk);
        let (log, left) = recorder.close();
        assert!(left.is_none(), "{left:?}");
        let requests = log.requests().unwrap();
        assert_eq!(requests.cut, None);
        let times: Vec<u64> = requests.all.iter().map(|request| request.done_ns).collect();
        assert!(times.is_sorted());
        let epochs = epochs(&requests.all, u64::MAX);
        let of: Vec<Vec<(u64, u64, bool)>> = epochs
            .iter()
            .map(|epoch| {
                let blocks = epoch.blocks.iter();
                blocks
                    .map(|block| (block.offset, block.bytes, block.at.is_some()))
                    .collect()
            })
            .collect();
        assert_eq!(
            of,
            [
                vec![(4096, 4096, true), (8192, 4096, true)],
                vec![(4096, 4096, true)],
                vec![(8192, 4096, false)],
            ]
        );
        let mut block = [0; 4096];
        log.read(&mut block, epochs[1].blocks[0].at.unwrap())
            .unwrap();
        assert_eq!(block, [9; 4096]);
        image.read(&mut block, 4096).unwrap();
        assert_eq!(block, [9; 4096], "the image is what was written");
    });
}

#[test]
fn a_delay_holds_requests_back() {
    if !is_root() {
        return;
    }
    let server = start_server();
    isolated(move |at, mounts| {
        let image = DiskImage::new(MIB).unwrap();
        let delay = Duration::from_millis(20);
        let recorder = Recorder::attach(&server, &image, delay, at, mounts).unwrap();
        let disk = opened(recorder.device().path());
        for _ in 0..3 {
            disk.write_all_at(&[1; 4096], 0).unwrap();
            disk.sync_all().unwrap();
        }
        drop(disk);
        let all = recorder.close().0.requests().unwrap().all;
        let writes = all
            .iter()
            .filter(|request| matches!(request.action, Action::Write { .. }));
        let writes: Vec<_> = writes.collect();
        assert_eq!(writes.len(), 3);
        // Between two writes are a flush and the next write.
        assert!(writes[2].done_ns - writes[0].done_ns >= 80_000_000);
    });
}

#[test]
fn a_server_that_dies_leaves_errors_and_nothing_that_hangs() {
    if !is_root() {
        return;
    }
    let server = start_server();
    let id = server.id();
    isolated(move |at, mounts| {
        let image = DiskImage::new(MIB).unwrap();
        let recorder = Recorder::attach(&server, &image, Duration::ZERO, at, mounts).unwrap();
        let name = recorder.device().name();
        let mut disk = opened(recorder.device().path());
        disk.write_all(&[1; 4096]).unwrap();
        disk.sync_all().unwrap();
        let pid = rustix::process::Pid::from_raw(i32::try_from(id).unwrap()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        let deadline = Instant::now() + Duration::from_secs(10);
        loop {
            disk.write_all_at(&[2; 4096], 8192).unwrap();
            if disk.sync_all().is_err() {
                break;
            }
            assert!(Instant::now() < deadline, "no error");
        }
        drop(disk);
        let (log, left) = recorder.close();
        assert!(left.is_none(), "{left:?}");
        // It may have answered a request that it did not log any more.
        assert_eq!(log.requests().unwrap().cut, Some(Cut::NoServer));
        wait_detached(&name);
        let mounts = fs::read_to_string("/proc/thread-self/mountinfo").unwrap();
        assert!(!mounts.contains(at.to_str().unwrap()));
    });
}

#[track_caller]
fn wait_detached(name: &str) {
    let backing = || {
        let mut text = String::new();
        let file = File::open(format!("/sys/block/{name}/loop/backing_file"));
        file.is_ok_and(|mut file| file.read_to_string(&mut text).is_ok()) && text.contains("/disk")
    };
    until(|| (!backing()).then_some(()).ok_or(name));
}

#[test]
fn an_image_is_copied_and_its_zeros_cost_nothing() {
    let image = DiskImage::new(8 * MIB).unwrap();
    image.write(&[5; 4096], 4 * MIB).unwrap();
    image.write(&[0; 8192], MIB).unwrap();
    image.drop_zeros().unwrap();
    let copy = image.copy().unwrap();
    copy.write(&[6; 4096], 0).unwrap();
    let mut block = [1; 4096];
    copy.read(&mut block, 4 * MIB).unwrap();
    assert_eq!(block, [5; 4096]);
    image.read(&mut block, 0).unwrap();
    assert_eq!(block, [0; 4096], "the original stays");
    let mut held = Vec::new();
    copy.set(&[0; 12288], 0, &mut held).unwrap();
    assert_eq!(held, [[6; 4096], [0; 4096], [0; 4096]].concat());
    copy.read(&mut block, 0).unwrap();
    assert_eq!(block, [0; 4096]);
    let only = 4 * MIB..4 * MIB + 4096;
    assert_eq!(copy.extents().unwrap(), [only]);
    let blocks = rustix::fs::fstat(copy.as_fd()).unwrap().st_blocks;
    assert_eq!(blocks, 8, "one block of 4 KiB");
    assert!(image.write(&[1; 2], 8 * MIB - 1).is_err());
}
