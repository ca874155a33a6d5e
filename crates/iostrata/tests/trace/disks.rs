//! Disks that no mount shows: used as devices, mounted elsewhere, or not any more.

use std::fs;
use std::process::Command;

use iostrata_core::evidence::DeviceRange;
use iostrata_core::gap::{Gap, Reason};
use iostrata_core::trace::TraceResult;

use crate::image::{Image, done, text};
use crate::skip::skip;
use crate::traced::{assert_audited, file, iostrata};

const WRITTEN: u64 = 8 << 20;

/// A loop device with an ext4, not mounted; detached when the test ends.
struct Disk {
    image: Image,
    node: String,
}

impl Disk {
    /// `None` where there can be none.
    fn new() -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            skip("a loop device needs root");
            return None;
        }
        let image = Image::unmounted();
        let attached = Command::new("losetup")
            .args(["-f", "--show", &text(&image.file())])
            .output()
            .unwrap();
        let node = String::from_utf8(attached.stdout).unwrap();
        Some(Self {
            image,
            node: node.trim().to_owned(),
        })
    }

    /// Bytes read and written, as the disk counts them.
    fn counted(&self) -> [u64; 2] {
        let name = self.node.trim_start_matches("/dev/");
        let stat = fs::read_to_string(format!("/sys/block/{name}/stat")).unwrap();
        let figures: Vec<u64> = stat
            .split_whitespace()
            .map(|figure| figure.parse().unwrap())
            .collect();
        [figures[2] * 512, figures[6] * 512]
    }

    /// Traces a script with `$D` and `$M`, the device and a directory; beside what the disk counted meanwhile.
    fn traced(&self, script: &str) -> (TraceResult, [u64; 2]) {
        let saved = format!("{}.json", text(&self.image.file()));
        let options = [
            "--backend",
            "ebpf",
            "--no-save",
            "--no-measure",
            "-o",
            &saved,
        ];
        // What made the file system on it may have left pages to write.
        done("blockdev", &["--flushbufs", &self.node]);
        let before = self.counted();
        let output = iostrata(&options, &["sh", "-ec", script])
            .env("D", &self.node)
            .env("M", self.image.path(""))
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        let after = self.counted();
        let result = serde_json::from_str(&fs::read_to_string(&saved).unwrap()).unwrap();
        assert_audited(&result);
        (result, [after[0] - before[0], after[1] - before[1]])
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        done("losetup", &["-d", &self.node]);
    }
}

fn range(result: &TraceResult) -> DeviceRange {
    result.evidence.device.unwrap()
}

#[test]
fn used_as_a_device() {
    let Some(disk) = Disk::new() else { return };
    let dd = "dd if=/dev/zero of=$D bs=1M count=8 conv=fsync,notrunc status=none";
    let (result, [_, written]) = disk.traced(&format!("{dd} oflag=direct"));
    let device = range(&result);
    assert_eq!(written, WRITTEN);
    assert_eq!(device.exact(|device| device.writes().bytes), Some(written));
    assert_eq!(device.exact(|device| device.flushes), Some(1));

    let (result, [read, _]) =
        disk.traced("dd if=$D of=/dev/null bs=1M count=8 iflag=direct status=none");
    assert_eq!(read, WRITTEN);
    let reads = range(&result).exact(|device| device.reads.bytes);
    // The program's own libraries may have been read.
    assert!(reads.unwrap() >= read, "{reads:?}");

    // The pages of a device belong to no file.
    let (result, [_, written]) = disk.traced(dd);
    let (least, most) = range(&result).of(|device| device.writes().bytes);
    assert!(
        least <= written && written <= most && written >= WRITTEN,
        "{least} to {most}"
    );
}

/// Data, of the file and in all: the disk has counted these and metadata.
#[track_caller]
fn assert_written(result: &TraceResult, written: u64) {
    let data = |range: DeviceRange| range.exact(|device| device.data.bytes);
    assert_eq!(data(range(result)), Some(WRITTEN));
    let row = file(result, "F").evidence.device.unwrap();
    assert_eq!(data(row), Some(WRITTEN));
    assert!(written >= WRITTEN);
    let (least, most) = range(result).of(|device| device.writes().bytes);
    assert!(
        least <= written && written <= most,
        "{written} of {least} to {most}"
    );
}

#[test]
fn mounted_in_another_namespace() {
    let Some(disk) = Disk::new() else { return };
    let script = "unshare -m sh -ec 'mount $D $M
        dd if=/dev/zero of=$M/F bs=1M count=8 conv=fsync status=none; sleep 0.1'";
    let (result, [_, written]) = disk.traced(script);
    assert_written(&result, written);
}

#[test]
fn unmounted_before_the_end() {
    let Some(disk) = Disk::new() else { return };
    for sync in ["conv=fsync", ""] {
        let script = format!(
            "mount $D $M; dd if=/dev/zero of=$M/F bs=1M count=8 {sync} status=none; umount $M"
        );
        // A mount namespace that another test makes meanwhile has the mount, too: only its end unmounts.
        let mut runs = (0..5).map(|_| disk.traced(&script));
        let run =
            runs.find(|(result, [_, written])| *written <= range(result).at_most.writes().bytes);
        let (result, [_, written]) = run.expect("nobody else holds the mount");
        assert_written(&result, written);
    }
}

#[test]
fn below_an_overlay_with_relative_directories() {
    let Some(disk) = Disk::new() else { return };
    done("mount", &[&disk.node, &text(&disk.image.path(""))]);
    let script = "cd $M; mkdir -p low up work merged; mount -t overlay -o lowerdir=low,upperdir=up,workdir=work none merged
        dd if=/dev/zero of=merged/F bs=1M count=8 conv=fsync status=none";
    let (result, [_, written]) = disk.traced(script);
    done("umount", &[&text(&disk.image.path("merged"))]);
    done("umount", &[&text(&disk.image.path(""))]);
    assert_written(&result, written);
}

/// Which disk repeats its requests is not known any more, and a figure that may be of half of them is none.
#[test]
fn a_loop_device_that_is_detached_in_the_run() {
    nothing_is_known_of("");
}

#[test]
fn a_loop_device_that_has_another_file_in_the_end() {
    // Another program may take the number first.
    nothing_is_known_of("losetup $L $I || losetup $L");
}

fn nothing_is_known_of(at_the_end: &str) {
    let Some(disk) = Disk::new() else { return };
    let image = disk.image.path("../second");
    // It goes when the last of those who look at all devices closes it.
    let script = format!(
        "I={0}; truncate -s 64M $I; mkfs.ext4 -q $I; L=$(losetup --find --show $I); mount $L $M
        dd if=/dev/zero of=$M/F bs=1M count=8 conv=fsync status=none; umount $M
        losetup -d $L; while losetup --noheadings --list -j $I | grep -q .; do sleep 0.01; done
        {at_the_end}",
        text(&image)
    );
    let (result, _) = disk.traced(&script);
    let list = Command::new("losetup")
        .args(["--noheadings", "--output=NAME", "-j"])
        .arg(&image)
        .output();
    for left in String::from_utf8(list.unwrap().stdout).unwrap().lines() {
        done("losetup", &["-d", left]);
    }
    fs::remove_file(image).unwrap();
    assert_eq!(result.evidence.device, None);
    assert_eq!(file(&result, "F").evidence.device, None);
    let is_said = |gap: &Gap| gap.why == Reason::ServedUnseen;
    assert!(result.missing.iter().any(is_said), "{:?}", result.missing);
}
