//! Whose bytes reach the disk, beside another program that uses the same names, files and inode numbers.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use iostrata_core::evidence::{DeviceCounts, DeviceRange, Evidence};
use iostrata_core::trace::TraceResult;
use rustix::process::{Pid, Signal, kill_process_group};

use crate::image::{Image, done, text};
use crate::skip::skip;
use crate::traced::{assert_audited, file, iostrata, workload};

const MIB: usize = 1 << 20;

/// A shell in the image under eBPF, which waits for the test where it says `wait`. Through pipes: a file would be one of
/// the run.
struct Traced<'i> {
    image: &'i Image,
    child: Child,
}

impl<'i> Traced<'i> {
    fn start(image: &'i Image, script: &str) -> Self {
        let result = format!("{}.json", text(&image.file()));
        drop(fs::remove_file(&result));
        let script = format!("wait() {{ echo ready; read go || :; }}; {script}");
        let options = [
            "--backend",
            "ebpf",
            "--no-save",
            "--no-measure",
            "-o",
            &result,
        ];
        let mut command = iostrata(&options, &["sh", "-c", &script]);
        let command = command.current_dir(image.path("")).stderr(Stdio::null());
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut traced = Self {
            image,
            child: command.spawn().unwrap(),
        };
        traced.waits();
        traced
    }

    /// Until it waits.
    fn waits(&mut self) {
        let mut line = [0; 6];
        let printed = self.child.stdout.as_mut().unwrap();
        printed.read_exact(&mut line).unwrap();
        assert_eq!(&line, b"ready\n");
    }

    /// Lets it go on until it waits again.
    fn goes_on(&mut self) {
        let stdin = self.child.stdin.as_mut().unwrap();
        stdin.write_all(b"\n").unwrap();
        self.waits();
    }

    fn finish(self) -> TraceResult {
        let saved = format!("{}.json", text(&self.image.file()));
        // The end of its input ends the wait.
        assert!(self.child.wait_with_output().unwrap().status.success());
        let saved = fs::read_to_string(saved).unwrap();
        let result: TraceResult = serde_json::from_str(&saved).unwrap();
        assert_eq!(result.lost_events, 0);
        assert_sums(&result);
        assert_audited(&result);
        result
    }
}

/// `None` where there can be none.
fn image() -> Option<Image> {
    image_of(Image::new)
}

fn image_of(make: fn() -> Image) -> Option<Image> {
    if rustix::process::geteuid().is_root() {
        return Some(make());
    }
    skip("mounting images needs root");
    None
}

fn data_bytes(evidence: &Evidence) -> (u64, u64) {
    let range: DeviceRange = evidence.device.unwrap();
    range.of(|device| device.data.bytes)
}

/// The total is the sum of the files.
#[track_caller]
fn assert_sums(result: &TraceResult) {
    let files = result.files.iter().map(|file| data_bytes(&file.evidence));
    let sum = files.fold((0, 0), |sum, of| (sum.0 + of.0, sum.1 + of.1));
    assert_eq!(sum, data_bytes(&result.evidence));
}

/// A figure of the disk, from 0 (Documentation/block/stat.rst).
fn stat(image: &Image, figure: usize) -> u64 {
    let stat = fs::read_to_string(format!("/sys/block/{}/stat", image.disk())).unwrap();
    let word = stat.split_whitespace().nth(figure).unwrap();
    word.parse().unwrap()
}

/// Bytes that the disk has counted.
fn counted(image: &Image) -> u64 {
    512 * stat(image, 6)
}

/// Writes and syncs; the bytes are in the sectors that the disk counts, which it returns.
fn written_by_another(image: &Image, path: &Path, mebibytes: usize) -> u64 {
    let before = counted(image);
    fs::write(path, vec![1; mebibytes * MIB]).unwrap();
    File::open(path).unwrap().sync_all().unwrap();
    let bytes = counted(image) - before;
    assert!(bytes >= (mebibytes * MIB) as u64);
    bytes
}

#[test]
fn a_file_that_gets_the_number_of_a_removed_one_is_another() {
    let Some(image) = image() else { return };
    let script = "echo hello > t; sync t; stat -c %i t > ../number; rm t; wait";
    let traced = Traced::start(&image, script);
    let big = image.path("big");
    written_by_another(&image, &big, 16);
    let number = fs::read_to_string(image.path("../number")).unwrap();
    assert_eq!(fs::metadata(&big).unwrap().ino().to_string(), number.trim());
    let result = traced.finish();
    // Blocks of the image are of 1 KiB or 4.
    let (least, most) = data_bytes(&file(&result, "t").evidence);
    assert_eq!(least, most);
    assert!((1..=4096).contains(&most), "{most}");
}

#[test]
fn a_file_that_is_only_read_was_written_by_others() {
    let Some(image) = image() else { return };
    let big = image.path("big");
    fs::write(&big, vec![1; 16 * MIB]).unwrap();
    // O_PATH needs no right to read or write it.
    let opens = "python3 -c 'import os; os.open(\"big\", os.O_PATH)'";
    let script = format!("{opens}; head -c 1 big > /dev/null; wait; sync");
    let traced = Traced::start(&image, &script);
    File::open(&big).unwrap().sync_all().unwrap();
    assert_eq!(data_bytes(&traced.finish().evidence), (0, 0));
}

#[test]
fn where_both_write_to_a_file_the_truth_is_between() {
    let Some(image) = image() else { return };
    let traced = Traced::start(
        &image,
        "echo hello > log; sync log; wait; echo more >> log; sync log",
    );
    let log = image.path("log");
    written_by_another(&image, &log, 16);
    let result = traced.finish();
    let (least, most) = data_bytes(&file(&result, "log").evidence);
    // A block at each sync; the second may be in a page that the other has dirtied.
    assert!(
        least <= 2048 && (1024..=24_576).contains(&most),
        "{least} to {most}"
    );
    let is_said =
        |gap: &iostrata_core::Gap| matches!(gap.what, iostrata_core::gap::Missing::ExactData);
    assert!(result.missing.iter().any(is_said), "{:?}", result.missing);
}

#[test]
fn pages_that_were_dirty_before_may_be_others() {
    let Some(image) = image() else { return };
    let old = image.path("old");
    let script = "wait; dd if=/dev/zero of=old bs=1M count=4 conv=notrunc,fsync status=none";
    let data = |is_dirty: bool| {
        let traced = Traced::start(&image, script);
        // Not truncated: ext4 writes the new contents back at the close then (auto_da_alloc, ext4(5)).
        drop(fs::remove_file(&old));
        fs::write(&old, vec![1; 4 * MIB]).unwrap();
        if !is_dirty {
            File::open(&old).unwrap().sync_all().unwrap();
        }
        data_bytes(&traced.finish().evidence)
    };
    // Anybody's sync(2) may come in between.
    assert!((0..5).any(|_| data(true) == (0, 4 << 20)));
    assert_eq!(data(false), (4 << 20, 4 << 20));
}

#[test]
fn workers_of_a_ring_dirty_pages_for_the_program() {
    let Some(image) = image() else { return };
    let program = workload("ring_writes");
    for way in ["plain", "async", "polled"] {
        let result =
            Traced::start(&image, &format!("{program} {way} {way}; sync {way}; wait")).finish();
        let row = file(&result, way);
        assert_eq!(row.evidence.cache.dirtied_bytes, Some(1 << 20), "{way}");
        assert_eq!(data_bytes(&row.evidence), (1 << 20, 1 << 20), "{way}");
    }
}

/// Blocks of small files lie next to each other, and are written by one request.
#[test]
fn bytes_of_a_merged_request_are_of_their_files() {
    let Some(image) = image() else { return };
    let script =
        "for n in 0 1 2 3 4 5 6 7; do head -c 4096 /dev/zero > own-$n; done; wait; sync -f .";
    let traced = Traced::start(&image, script);
    for number in 0..8 {
        fs::write(image.path(&format!("others-{number}")), vec![1; 4096]).unwrap();
    }
    let result = traced.finish();
    for number in 0..8 {
        let row = file(&result, &format!("own-{number}"));
        assert_eq!(data_bytes(&row.evidence), (4096, 4096), "{number}");
    }
    assert_eq!(data_bytes(&result.evidence), (8 * 4096, 8 * 4096));
}

#[test]
fn what_goes_to_dirty_pages_by_other_ways_than_write_may_be_the_runs() {
    let Some(image) = image() else { return };
    let ring = workload("ring_writes");
    let dd = "dd if=/dev/zero of=old bs=1M count=1 conv=notrunc status=none oflag=dsync";
    for way in [&format!("{ring} plain old; sync old"), dd] {
        let most = |_| {
            let traced = Traced::start(&image, &format!("wait; {way}"));
            let old = image.path("old");
            drop(fs::remove_file(&old));
            fs::write(&old, vec![1; MIB]).unwrap();
            data_bytes(&traced.finish().evidence)
        };
        assert!((0..5).map(most).any(|of| of == (0, 1 << 20)), "{way}");
    }
}

/// Its node.
fn loop_device(of: &Path) -> String {
    let mut command = Command::new("losetup");
    let node = command.args(["-f", "--show", &text(of)]).output().unwrap();
    String::from_utf8(node.stdout).unwrap().trim().to_owned()
}

/// A worker of the loop device writes to its file for the users of the device.
#[test]
fn what_others_write_through_a_loop_device_is_not_of_who_wrote_to_its_file() {
    let Some(image) = image() else { return };
    let inner = image.path("inner");
    File::create(&inner).unwrap().set_len(32 << 20).unwrap();
    let node = loop_device(&inner);
    let script =
        "dd if=/dev/zero of=inner bs=4k count=1 conv=notrunc,fsync status=none; wait; sync inner";
    let traced = Traced::start(&image, script);
    let to = format!("of={node}");
    let through = [
        "if=/dev/zero",
        &to,
        "bs=1M",
        "seek=8",
        "count=4",
        "oflag=direct",
        "status=none",
    ];
    done("dd", &through);
    let result = traced.finish();
    done("losetup", &["-d", &node]);
    let (least, most) = data_bytes(&file(&result, "inner").evidence);
    assert!(
        least <= 4096 && (4096..1 << 20).contains(&most),
        "{least} to {most}"
    );
}

/// A sync of the run writes it back: the same file, or in one request with a file of the run.
#[test]
fn what_others_left_dirty_breaks_no_law() {
    let Some(image) = image() else { return };
    for script in [
        ": >> left; sync left",
        "truncate -s 8192 left; sync left",
        "head -c 9000 /dev/zero > own; sync -f .; rm own",
    ] {
        fs::write(image.path("left"), vec![0; 30_000]).unwrap();
        let traced = Traced::start(&image, &format!("{script}; wait"));
        let result = traced.finish();
        assert!(result.audit.len() > 8, "{:?}", result.audit);
        fs::remove_file(image.path("left")).unwrap();
    }
}

/// Syncs of the run and of another program in turn: each has transactions of its own, though both use the journal.
#[test]
fn a_commit_is_of_those_who_took_part_in_its_transaction() {
    let Some(image) = image() else { return };
    let script = "for name in a b c d; do echo $name > $name; sync $name; wait; done";
    // What made the image is committed.
    done("sync", &["-f", &text(&image.path(""))]);
    let before = counted(&image);
    let mut traced = Traced::start(&image, script);
    let mut by_others = 0;
    for number in 0..3 {
        by_others += written_by_another(&image, &image.path(&format!("other-{number}")), 1);
        traced.goes_on();
    }
    let by_both = counted(&image) - before;
    let device = traced.finish().evidence.device.unwrap();
    assert_eq!(device.of(|device| device.commit.count), (4, 4));
    // Before and after the commit block: the disk cannot force a write by itself (FUA).
    assert_eq!(device.of(|device| device.flushes), (8, 8));
    let of_run =
        |device: &DeviceCounts| device.data.bytes + device.journal.bytes + device.commit.bytes;
    let (least, most) = device.of(of_run);
    assert_eq!(most, by_both - by_others);
    // The journal's superblock, before the first commit begins (jbd2_journal_commit_transaction, fs/jbd2/commit.c).
    assert!(most - least <= 4096, "{least} {most}");
}

/// A task closes its files after the event of its end: what was removed is freed in a transaction then.
#[test]
fn a_commit_of_what_a_task_did_as_it_ended_is_of_the_run() {
    let Some(image) = image() else { return };
    done("sync", &["-f", &text(&image.path(""))]);
    let before = stat(&image, 15);
    let holds = "exec 3> b; head -c 2000000 /dev/zero >&3; rm b; sync -f .";
    let mut traced = Traced::start(&image, &format!("wait; sh -c '{holds}'; sync -f .; wait"));
    traced.goes_on();
    let flushes = stat(&image, 15) - before;
    let device = traced.finish().evidence.device.unwrap();
    // The disk may get more of them before the end.
    let (least, most) = device.of(|device| device.flushes);
    assert!(flushes <= least, "{least} to {most} of {flushes}");
}

/// A worker of the loop device frees blocks of its file, and no other task is seen to use the disk. For which file a worker
/// begins a handle is known since Linux 6.2.
#[test]
fn what_a_worker_did_for_others_leaves_the_commit_open() {
    let Some(image) = image() else { return };
    let inner = image.path("inner");
    fs::write(&inner, vec![1; 8 * MIB]).unwrap();
    done("sync", &["-f", &text(&image.path(""))]);
    let node = loop_device(&inner);
    let traced = Traced::start(&image, "echo own > own; wait; sync own");
    done("blkdiscard", &[&node]);
    let device = traced.finish().evidence.device.unwrap();
    done("losetup", &["-d", &node]);
    assert_eq!(device.of(|device| device.commit.count), (0, 1));
}

/// The sync of another task sends the log of xfs to the disk by itself, with what the run has changed.
#[test]
fn a_log_that_anothers_sync_writes_may_be_of_both() {
    // The smallest that there is (mkfs.xfs(8)).
    let xfs = image_of(|| Image::made(300 << 20, &["mkfs.xfs", "-q"]).mounted());
    let Some(image) = xfs else { return };
    done("sync", &["-f", &text(&image.path(""))]);
    let traced = Traced::start(&image, "for name in a b c d; do : > $name; done; wait");
    let bytes = written_by_another(&image, &image.path("other"), 1);
    let device = traced.finish().evidence.device.unwrap();
    let (least, most) = device.of(|device| device.journal.bytes);
    assert_eq!((least, most), (0, bytes - MIB as u64));
}

/// Makes, syncs and removes files in a directory until it is dropped.
struct Neighbour {
    shell: Child,
}

impl Neighbour {
    fn of(directory: &Path) -> Self {
        let script = "while :; do for name in 1 2 3 4 5 6 7 8; do
            dd if=/dev/zero of=neighbour-$name bs=64k count=4 conv=fsync status=none
            rm neighbour-$name; done; done";
        let mut command = Command::new("sh");
        command.args(["-c", script]).current_dir(directory);
        // Its dd ends with it.
        let shell = command.process_group(0).spawn().unwrap();
        Self { shell }
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        let group = Pid::from_child(&self.shell);
        kill_process_group(group, Signal::KILL).unwrap();
        self.shell.wait().unwrap();
    }
}

/// The neighbour gets the inode numbers of files that the program has removed, and the other way round.
#[test]
fn random_programs_beside_one_that_uses_the_same_inodes() {
    let Some(image) = image() else { return };
    let program = workload("random/random");
    let mut files = 0;
    for seed in 1..=16 {
        let neighbour = Neighbour::of(&image.path(""));
        let script = format!(": > go; {program} . other {seed} 1 go 2>/dev/null; sync -f .; wait");
        fs::create_dir_all(image.path("other")).unwrap();
        let traced = Traced::start(&image, &script);
        drop(neighbour);
        let result = traced.finish();
        for row in &result.files {
            let (least, most) = data_bytes(&row.evidence);
            assert_eq!(least, most, "seed {seed}: {}", row.path);
            // No page is written back that was not dirtied, but what O_DIRECT writes.
            let dirtied = row.evidence.cache.dirtied_bytes.unwrap();
            let called = row.writes.bytes + 2 * 4096 * row.writes.count;
            assert!(most <= dirtied + called, "seed {seed}: {row:?}");
            files += u64::from(most > 0);
        }
    }
    assert!(files > 30, "{files}");
}
