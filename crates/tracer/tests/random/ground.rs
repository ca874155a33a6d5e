//! The file systems for the random programs, and the program.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;

use iostrata_tracer::kernel::{PrivateMounts, private_mounts};

/// A file system, or several on top of each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Ext4,
    Xfs,
    /// Two subvolumes, one a snapshot of the other: inode numbers collide.
    Btrfs,
    /// Two layers, each an ext4 of its own: inode numbers collide.
    Overlay,
    Tmpfs,
}

/// Mounted for one thread and its children; unmounted with them.
#[derive(Debug)]
pub(crate) struct Ground {
    /// Ends before its directory is removed.
    _neighbour: Neighbour,
    /// The directory of a run.
    pub(crate) dir: PathBuf,
    /// Its second directory, on another file system if there is one.
    pub(crate) other: PathBuf,
    /// For files outside the tested file systems.
    pub(crate) scratch: tempfile::TempDir,
    _mounts: PrivateMounts,
}

/// A thread of this process, which nobody traces: it makes, changes and removes files in the same directory until it is
/// dropped. Their inode numbers are those of files that the program has removed, and the other way round.
#[derive(Debug)]
struct Neighbour {
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Neighbour {
    fn of(directory: PathBuf) -> Self {
        let ends = Arc::new(AtomicBool::new(false));
        let asked = Arc::clone(&ends);
        let works = move || {
            while !asked.load(Ordering::Relaxed) {
                for number in 0..8 {
                    let [made, moved] = ["neighbour", "moved"]
                        .map(|name| directory.join(format!("{name}-{number}")));
                    std::fs::write(&made, vec![1; 700 * number]).expect("a file");
                    std::fs::rename(&made, &moved).expect("its new name");
                    std::fs::remove_file(&moved).expect("no file");
                }
                std::thread::sleep(Duration::from_millis(1));
            }
        };
        Self {
            ends,
            thread: Some(std::thread::spawn(works)),
        }
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        let ended = self.thread.take().expect("a thread").join();
        assert!(ended.is_ok() || std::thread::panicking(), "it has worked");
    }
}

/// Large enough for the smallest btrfs; nearly all of it is holes.
const IMAGE_BYTES: u64 = 256 << 20;
/// ... and for the smallest xfs (mkfs.xfs(8)).
const XFS_BYTES: u64 = 300 << 20;

impl Ground {
    /// Creates and mounts it for these seeds, in a private mount namespace, for the calling thread.
    pub(crate) fn make(kind: Kind, seeds: Range<u64>) -> Self {
        let mounts = private_mounts().expect("a mount namespace needs root");
        let scratch = tempfile::tempdir_in("/var/tmp").expect("a directory");
        let at = scratch.path().join("mnt");
        std::fs::create_dir(&at).expect("a mount point");
        let sub = |name: &str| {
            let path = at.join(name);
            std::fs::create_dir_all(&path).expect("a directory");
            path
        };
        let (dir, other) = match kind {
            Kind::Ext4 => {
                image(&scratch, &at, IMAGE_BYTES, "mkfs.ext4");
                (sub("one"), sub("two"))
            }
            Kind::Xfs => {
                image(&scratch, &at, XFS_BYTES, "mkfs.xfs");
                (sub("one"), sub("two"))
            }
            Kind::Btrfs => {
                image(&scratch, &at, IMAGE_BYTES, "mkfs.btrfs");
                let (one, two) = (at.join("one"), at.join("two"));
                run("btrfs", &["-q", "subvolume", "create", text(&one)]);
                std::fs::write(one.join("shared"), "in both").expect("a file");
                run(
                    "btrfs",
                    &["-q", "subvolume", "snapshot", text(&one), text(&two)],
                );
                (one, two)
            }
            Kind::Overlay => {
                let (low, high) = (sub("low"), sub("high"));
                for layer in [&low, &high] {
                    image(&scratch, layer, IMAGE_BYTES, "mkfs.ext4");
                }
                let (upper, merged) = (sub("high/upper"), sub("merged"));
                sub("high/work");
                overlay(&low, &upper, &merged, seeds);
                (merged.join("one"), merged.join("two"))
            }
            Kind::Tmpfs => {
                run("mount", &["-t", "tmpfs", "memory", text(&at)]);
                (sub("one"), sub("two"))
            }
        };
        Self {
            _neighbour: Neighbour::of(dir.clone()),
            dir,
            other,
            scratch,
            _mounts: mounts,
        }
    }
}

fn overlay(low: &Path, upper: &Path, merged: &Path, seeds: Range<u64>) {
    for name in ["one", "two"] {
        std::fs::create_dir(low.join(name)).expect("a directory");
    }
    below(&low.join("one"), seeds);
    let options = format!(
        "lowerdir={},upperdir={},workdir={}",
        low.display(),
        upper.display(),
        upper.with_file_name("work").display()
    );
    run(
        "mount",
        &["-t", "overlay", "both", "-o", &options, text(merged)],
    );
}

/// Files in the lower layer, which are copied up when they are written to.
fn below(dir: &Path, seeds: Range<u64>) {
    for seed in seeds {
        let at = dir.join(seed.to_string());
        std::fs::create_dir_all(at.join("d")).expect("directories");
        for path in ["below", "d/below"] {
            let text = format!("of the lower layer, {seed}").repeat(20);
            std::fs::write(at.join(path), text).expect("a file below");
        }
    }
}

fn image(scratch: &tempfile::TempDir, at: &Path, bytes: u64, make: &str) {
    let path = scratch.path().join(format!(
        "image of {}",
        at.file_name().expect("a name").display()
    ));
    let file = std::fs::File::create(&path).expect("an image");
    file.set_len(bytes).expect("its length");
    run(make, &["-q", text(&path)]);
    // The loop device goes with the last mount of it (`-o loop`, mount(8)).
    run("mount", &["-o", "loop", text(&path), text(at)]);
}

fn run(program: &str, arguments: &[&str]) {
    let output = Command::new(program).args(arguments).output();
    let output = output.unwrap_or_else(|error| panic!("{program}: {error}"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}: {said}");
}

pub(crate) fn text(path: &Path) -> &str {
    path.to_str().expect("paths of tests are text")
}

/// `workloads/random`, compiled once, in Cargo's directory for test files.
pub(crate) fn program() -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let built = BUILT.get_or_init(|| {
        let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("random");
        // Under another name first: the one of an earlier run may still be running.
        let new = program.with_extension(std::process::id().to_string());
        let source = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../workloads/random/random.c"
        );
        run("cc", &["-O1", "-pthread", "-o", text(&new), source]);
        std::fs::rename(&new, &program).expect("the program");
        program
    });
    built.clone()
}
