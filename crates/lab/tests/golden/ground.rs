//! One image, one program of `workloads/`, one observation.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use iostrata_core::evidence::{Charge, DeviceCounts, Losses, assemble};
use iostrata_core::observe::{Observation, Observer as _, Stream};
use iostrata_lab::interrupt::Interrupt;
use iostrata_lab::scratch::{ImageKind, Images, Plan, isolate, prepare};
use iostrata_tracer::ebpf::EbpfObserver;
use iostrata_tracer::stack::{Roots, inspect};

use crate::witness::Tracefs;

/// Whether the kernel sends the device the requests of Linux 6.1, not those of 6.12 and later:
/// where a count differs, the test names the code. Kernels in between were not measured.
pub(crate) fn is_as_6_1() -> bool {
    kernel() < (6, 12)
}

/// The running kernel: 6.12 is `(6, 12)`.
pub(crate) fn kernel() -> (u32, u32) {
    let release = rustix::system::uname()
        .release()
        .to_str()
        .unwrap()
        .to_owned();
    let mut numbers = release
        .split(['.', '-'])
        .map(|number| number.parse().unwrap());
    (numbers.next().unwrap(), numbers.next().unwrap())
}

/// Records of a counted run.
pub(crate) const RECORDS: i64 = 1000;

/// The device's work for [`RECORDS`] records of 1 KiB.
pub(crate) struct Counted {
    pub(crate) device: DeviceCounts,
    pub(crate) written_bytes: u64,
    pub(crate) dirtied_bytes: u64,
    pub(crate) losses: Losses,
    /// Transfers and flushes as tracefs counted them.
    pub(crate) witness: (u64, u64),
}

impl Counted {
    fn each(count: u64) -> f64 {
        count as f64 / RECORDS as f64
    }
    pub(crate) fn data(&self) -> f64 {
        Self::each(self.device.data.count)
    }
    pub(crate) fn journal(&self) -> f64 {
        Self::each(self.device.journal.count)
    }
    pub(crate) fn commit(&self) -> f64 {
        Self::each(self.device.commit.count)
    }
    pub(crate) fn metadata(&self) -> f64 {
        Self::each(self.device.metadata.count)
    }
    pub(crate) fn writes(&self) -> f64 {
        Self::each(self.device.writes().count)
    }
    pub(crate) fn flushes(&self) -> f64 {
        Self::each(self.device.flushes)
    }
    pub(crate) fn kib(&self) -> f64 {
        Self::each(self.device.writes().bytes) / 1024.0
    }
}

/// Where images are kept: in memory, so that what is counted does not depend on how fast this machine's disk is,
/// nor on who else uses it. tmpfs takes no direct I/O before Linux 6.6.
pub(crate) fn of_images() -> tempfile::TempDir {
    let place = if is_as_6_1() { "/var/tmp" } else { "/dev/shm" };
    tempfile::tempdir_in(place).unwrap()
}

/// Creates an image of `kind`, warms it up and counts `append` with `mode`.
pub(crate) fn count(kind: ImageKind, mode: &[&str]) -> Counted {
    let mounts = isolate().unwrap();
    let base = of_images();
    let append = build(base.path());
    let images = Images {
        kinds: &[kind],
        bytes: 1 << 30,
        mounts: &mounts,
    };
    let plan = Plan {
        dir: base.path(),
        enter: false,
        host_bytes: 0,
        images: Some(images),
    };
    let prepared = prepare(&plan, None, &Interrupt::never()).unwrap();
    let root = prepared.images()[0].path();
    let disks = inspect(root, &Roots::default()).unwrap().charged_disks();

    let mut observer = EbpfObserver::open().unwrap();
    // The first sync on a fresh file system also writes directories and extents.
    observe(&mut observer, &append, &root.join("warm"), 20, mode);
    rustix::fs::syncfs(std::fs::File::open(root).unwrap()).unwrap();
    let tracefs = Tracefs::record(base.path(), disks[0]);
    let seen = observe(&mut observer, &append, &root.join("counted"), RECORDS, mode);
    let witness = tracefs.requests();
    summarise(&seen, disks, witness)
}

fn build(dir: &Path) -> PathBuf {
    let append = dir.join("append");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../workloads/append.c");
    let built = Command::new("cc")
        .arg("-o")
        .arg(&append)
        .arg(source)
        .status();
    assert!(built.unwrap().success());
    append
}

fn observe(
    observer: &mut EbpfObserver,
    append: &Path,
    file: &Path,
    records: i64,
    mode: &[&str],
) -> Observation {
    let mut child = Command::new("/bin/sh")
        .args(["-c", "read go; exec \"$0\" \"$@\""])
        .arg(append)
        .arg(file)
        .args([&records.to_string(), "1024"])
        .args(mode)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    observer.start(child.id(), Stream::default()).unwrap();
    child.stdin.take().unwrap().write_all(b"\n").unwrap();
    assert!(child.wait().unwrap().success());
    observer.program_ended().unwrap();
    observer.stop().unwrap()
}

fn summarise(seen: &Observation, disks: Vec<u32>, witness: (u64, u64)) -> Counted {
    let charge = Charge {
        disks,
        files: None,
        unnamed_calls: true,
    };
    let evidence = assemble(&seen.raw, &charge);
    let calls = seen.raw.syscalls.iter().flatten();
    // The program writes only to its file.
    let written = calls
        .filter(|row| row.name == "write")
        .map(|row| row.returned);
    Counted {
        device: *evidence.exact_device().unwrap(),
        written_bytes: written.sum(),
        dirtied_bytes: evidence.cache.dirtied_bytes.unwrap(),
        losses: seen.raw.losses,
        witness,
    }
}
