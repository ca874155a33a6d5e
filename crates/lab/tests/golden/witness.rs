//! tracefs counts the same requests.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::wait::until;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

/// Instances created so far; each has its own name.
static NUMBER: AtomicU32 = AtomicU32::new(0);

/// An instance of the kernel's own tracer that records `block_rq_issue` of one disk.
///
/// tracefs is mounted for this thread's mount namespace alone, which must be private.
pub(crate) struct Tracefs {
    root: PathBuf,
    instance: PathBuf,
}

impl Tracefs {
    pub(crate) fn record(at: &Path, disk: u32) -> Self {
        let root = at.join("tracefs");
        fs::create_dir(&root).unwrap();
        mount("none", &root, "tracefs", MountFlags::empty(), None).unwrap();
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let instance = root.join(format!(
            "instances/iostrata-test-{}-{number}",
            std::process::id()
        ));
        fs::create_dir(&instance).unwrap();
        let tracer = Self { root, instance };
        let event = tracer.instance.join("events/block/block_rq_issue");
        fs::write(tracer.instance.join("buffer_size_kb"), "16384").unwrap();
        fs::write(event.join("filter"), format!("dev == {disk}")).unwrap();
        fs::write(event.join("enable"), "1").unwrap();
        tracer
    }

    /// Issued requests: those that write or read data, and flushes.
    pub(crate) fn requests(&self) -> (u64, u64) {
        let trace = fs::read_to_string(self.instance.join("trace")).unwrap();
        let (mut transfers, mut flushes) = (0, 0);
        for line in trace
            .lines()
            .filter(|line| line.contains("block_rq_issue:"))
        {
            // "... block_rq_issue: 7,0 FF 0 () 18446744073709551615 + 0 none,0,0 [sh]"
            let fields: Vec<&str> = line
                .split("block_rq_issue:")
                .nth(1)
                .unwrap()
                .split_whitespace()
                .collect();
            if fields[1].starts_with('F') && fields[2] == "0" {
                flushes += 1;
            } else {
                transfers += 1;
            }
        }
        (transfers, flushes)
    }
}

impl Drop for Tracefs {
    fn drop(&mut self) {
        // The instance outlives this mount, so it must be removed; it stays busy for a moment while
        // the kernel detaches the event's last users.
        drop(fs::write(self.instance.join("events/enable"), "0"));
        until(|| fs::remove_dir(&self.instance));
        _ = unmount(&self.root, UnmountFlags::DETACH);
    }
}
