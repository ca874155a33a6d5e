//! How fast crash's block mode records and recovers.
//!
//! `make bench` runs it, as root. Targets: 5,000 appends of 4 KiB with `fsync` a second on a recorded ext4 without delay; images
//! a second: 400 of ext4, 80 of xfs, 100 of btrfs.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints its figures and stops at the first error"
)]

use std::env;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use iostrata_core::crash::block::{Pressure, SubsetBudget};
use iostrata_lab::crash::block::{
    BlockError, ExploreBudget, Foundation, Recovered, Room, Setting, explore, record,
};
use iostrata_lab::device::{Server, server_main};
use iostrata_lab::engine::Launcher;
use iostrata_lab::interrupt::Interrupt;
use iostrata_lab::scratch::{ImageKind, isolate};
use iostrata_tracer::record::Presser;

const SERVE: &str = "serve";

/// More fill a btrfs of 128 MiB with the trees that each `fsync` logs.
const APPENDS: u32 = 1_000;

/// Files that are replaced, one after the other, for images to recover.
const FILES: u32 = 60;

fn main() {
    if env::args().nth(1).is_some_and(|argument| argument == SERVE) {
        return server_main();
    }
    if !rustix::process::geteuid().is_root() {
        println!("crash: not measured, FUSE and loop devices need root");
        return;
    }
    let server = Server::start(&Launcher::program(env::current_exe().unwrap(), [SERVE])).unwrap();
    let mounts = isolate().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let interrupt = Interrupt::never();
    let room = Room {
        directory: directory.path(),
        mounts: &mounts,
        interrupt: &interrupt,
    };
    for (kind, target) in [
        (ImageKind::Ext4, 400.0),
        (ImageKind::Xfs, 80.0),
        (ImageKind::Btrfs, 100.0),
    ] {
        let foundation = Foundation::make(&room, kind, None, |_| Ok(())).unwrap();
        let rate = appends(&room, &server, &foundation);
        let target_rate = (kind == ImageKind::Ext4).then_some(5_000.0);
        told(
            &format!("{kind}: recorded append + fsync"),
            rate,
            target_rate,
        );
        let rate = images(&room, &server, &foundation);
        told(&format!("{kind}: images recovered"), rate, Some(target));
    }
}

fn told(what: &str, rate: f64, target: Option<f64>) {
    match target {
        Some(target) => {
            let verdict = if rate >= target { "reached" } else { "MISSED" };
            println!("{what}: {rate:.0}/s, target {target:.0}/s {verdict}");
        }
        None => println!("{what}: {rate:.0}/s"),
    }
}

fn appends(room: &Room<'_>, server: &Server, foundation: &Foundation) -> f64 {
    let setting = Setting {
        pressure: Pressure::None,
        delay: Duration::ZERO,
    };
    let mut took = Duration::ZERO;
    let recording = record(room, server, foundation, setting, |work, _| {
        let mut file = File::create(work.join("log")).unwrap();
        let begun = Instant::now();
        for _ in 0..APPENDS {
            file.write_all(&[7; 4096]).unwrap();
            file.sync_all().unwrap();
        }
        took = begun.elapsed();
        Ok::<(), BlockError>(())
    });
    assert!(recording.unwrap().epochs.len() > APPENDS as usize / 2);
    f64::from(APPENDS) / took.as_secs_f64()
}

fn images(room: &Room<'_>, server: &Server, foundation: &Foundation) -> f64 {
    let setting = Setting {
        pressure: Pressure::Fsync,
        delay: Duration::ZERO,
    };
    let recording = record(room, server, foundation, setting, |work, press| {
        let mut presser = Presser::open(press.unwrap()).unwrap();
        for number in 0..FILES {
            replace(work, number);
            presser.press().unwrap();
        }
        Ok::<(), BlockError>(())
    });
    let recording = recording.unwrap();
    let budget = ExploreBudget {
        images: 600,
        subsets: SubsetBudget::default(),
        every: 1,
        after_ns: None,
        until: None,
        beside: usize::MAX,
    };
    let begun = Instant::now();
    let look = |_: Recovered<'_>, _| Ok::<_, BlockError>(None);
    let (explored, ended) = explore(room.site(), &recording, budget, |_| 0, look, |_| {});
    ended.unwrap();
    let rate = explored.images as f64 / begun.elapsed().as_secs_f64();
    println!(
        "{}: {} images of {} states",
        foundation.kind(),
        explored.images,
        explored.states
    );
    rate
}

fn replace(work: &Path, number: u32) {
    let mut file = File::create(work.join("new")).unwrap();
    writeln!(file, "{number}").unwrap();
    file.write_all(&[b'b'; 6000]).unwrap();
    drop(file);
    fs::rename(work.join("new"), work.join("file")).unwrap();
}
