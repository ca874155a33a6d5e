//! What other programs do on the same disk is not the run's.

use iostrata_report::words;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use iostrata_core::evidence::DeviceCounts;
use iostrata_core::trace::TraceResult;

use rustix::fs::syncfs;

use crate::place::{Outcome, Place, is_root, run, with_own_mounts};

const RECORDS: u64 = 200;

pub(crate) fn built(place: &Place, name: &str) -> PathBuf {
    let program = place.path(name);
    let source = format!("{}/../../workloads/{name}.c", env!("CARGO_MANIFEST_DIR"));
    let mut compile = Command::new("/usr/bin/cc");
    compile.args(["-O1", "-o"]).arg(&program).arg(source);
    run(compile).expect(0);
    program
}

/// `workloads/neighbour.c`, as long as this lives.
struct Busy(Child);

impl Busy {
    fn begin(program: &Path, dir: &Path) -> Self {
        let mut command = Command::new(program);
        command
            .arg(dir)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut busy = Self(command.spawn().unwrap());
        let mut line = String::new();
        let output = busy.0.stdout.take().unwrap();
        BufReader::new(output).read_line(&mut line).unwrap();
        assert_eq!(line, "busy\n");
        busy
    }

    /// Lets it end, and tells how it did.
    fn end(mut self) {
        drop(self.0.stdin.take());
        assert!(self.0.wait().unwrap().success());
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// An ext4 image with a journal, mounted on the measured directory. Its inode tables are made at
/// once: the kernel would do that later, as one more that uses the disk.
fn mount_image(place: &Place) {
    let image = place.path("image");
    std::fs::File::create(&image)
        .unwrap()
        .set_len(128 << 20)
        .unwrap();
    let mut make = Command::new("/usr/sbin/mkfs.ext4");
    make.args(["-q", "-O", "has_journal", "-E"]);
    make.arg("lazy_itable_init=0,lazy_journal_init=0")
        .arg(&image);
    run(make).expect(0);
    let mut attach = Command::new("/bin/mount");
    attach.args(["-o", "loop"]).arg(image).arg(place.dir());
    run(attach).expect(0);
}

/// Flushes of the image's device so far (Documentation/ABI/stable/sysfs-block, `stat`).
fn flushes(place: &Place) -> u64 {
    let root = std::os::unix::fs::MetadataExt::dev(&std::fs::metadata(place.dir()).unwrap());
    let (major, minor) = (rustix::fs::major(root), rustix::fs::minor(root));
    let stat = std::fs::read_to_string(format!("/sys/dev/block/{major}:{minor}/stat")).unwrap();
    let mut fields = stat.split_whitespace();
    fields.nth(15).unwrap().parse().unwrap()
}

/// Appends records to a file in the measured directory, each with an fsync. Without rules, of
/// which some would do the same again on the same device to measure a saving.
fn appended(place: &Place, name: &str, options: &str) -> (Outcome, TraceResult) {
    let (result, append) = (place.path("result.json"), place.path("append"));
    let mut command = place.iostrata(&format!("trace {options} --json"));
    command.arg(&result);
    for rule in iostrata_core::rules::ALL {
        command.args(["--ignore", rule.id]);
    }
    command.arg("--").arg(append).arg(name);
    command.args([&RECORDS.to_string(), "100", "fsync"]);
    let outcome = run(command);
    let saved = std::fs::read(result).unwrap_or_else(|_| panic!("{}", outcome.stderr));
    (outcome, serde_json::from_slice(&saved).unwrap())
}

/// Repeats a run that another test's sync(2) disturbed: others then made requests on this disk.
fn alone(run: impl FnMut(u32) -> (Outcome, TraceResult)) -> (Outcome, TraceResult) {
    let mut runs = (0..5).map(run);
    let exact = runs.find(|(_, result)| result.evidence.exact_device().is_some());
    exact.expect("others use the disk in each of five runs")
}

/// The golden figures of `lab sync`: an append with fsync on ext4 with a journal takes one data
/// request and two flushes.
#[test]
fn an_image_of_its_own_is_counted_exactly_and_once() {
    if !is_root("mounting an image") {
        return;
    }
    let place = Place::new();
    built(&place, "append");
    with_own_mounts(|| {
        mount_image(&place);
        appended(&place, "warm", "");
        syncfs(std::fs::File::open(place.dir()).unwrap()).unwrap();
        let mut passed = 0;
        let (outcome, result) = alone(|number| {
            let before = flushes(&place);
            let ran = appended(&place, &format!("log-{number}"), "--budget flushes<=450");
            passed = flushes(&place) - before;
            ran
        });
        outcome.expect(0);
        let device = result.evidence.exact_device().expect("exact");
        assert_eq!(device.flushes, passed, "not those of the disk below too");
        assert!((390..=410).contains(&passed), "{passed}");
        assert!((200..=220).contains(&device.data.count), "{device:?}");
        assert!((200..=210).contains(&device.commit.count), "{device:?}");
        let times = result.amplification().unwrap();
        assert!(times > 40.0, "a page and a journal for 100 bytes: {times}");
    });
    place.assert_kernel_is_clean();
}

#[test]
fn on_an_image_that_another_uses_too_it_is_a_range() {
    if !is_root("mounting an image") {
        return;
    }
    let place = Place::new();
    built(&place, "append");
    let busy = built(&place, "neighbour");
    with_own_mounts(|| {
        mount_image(&place);
        appended(&place, "warm", "");
        let (_, quiet) = alone(|number| appended(&place, &format!("quiet-{number}"), ""));
        let truth = quiet.evidence.exact_device().expect("exact");
        let busy = Busy::begin(&busy, &place.dir());
        let limit = truth.flushes;
        let budget = format!("--budget flushes<={limit}");
        let (outcome, shared) = appended(&place, "log", &budget);
        busy.end();
        assert_eq!(shared.evidence.exact_device(), None, "not included here");
        let range = shared.evidence.device.unwrap();
        // Only what is so in the whole range is decided.
        let code = match range.of(|device| device.flushes) {
            (least, _) if least > limit => 1,
            (_, most) if most <= limit => 0,
            _ => 125,
        };
        let outcome = outcome.expect(code);
        if code == 125 {
            outcome.says(&["flushes <= ", "those of others on the same disk"]);
        }
        let within = |figure: fn(&DeviceCounts) -> u64| {
            let (least, most) = range.of(figure);
            // One commit may serve both.
            assert!(least <= figure(truth), "{least} of {truth:?}");
            assert!(most * 10 >= figure(truth) * 9, "{most} of {truth:?}");
        };
        within(|device| device.flushes);
        within(|device| device.commit.count);
        within(|device| device.journal.count);
        let (least, most) = range.of(|device| device.data.count);
        assert!(
            least == most && (200..=220).contains(&least),
            "{least} {most}"
        );
        assert_eq!(shared.amplification(), None);
        assert!(shared.missing.iter().any(|gap| {
            words::reason(&gap.why)
                .to_string()
                .contains("other programs")
        }));
    });
    place.assert_kernel_is_clean();
}

/// A sleeping program asks the disk for nothing, whatever others do.
#[test]
fn the_requests_of_others_exceed_no_budget() {
    if !is_root("observing a program in the kernel") {
        return;
    }
    let place = Place::new();
    let busy = Busy::begin(&built(&place, "neighbour"), &place.dir());
    let budget = "device.writes.bytes<=4KiB,flushes<=1";
    let command = place.iostrata(&format!("trace --budget {budget} -- /bin/sleep 1"));
    let outcome = run(command);
    busy.end();
    assert!(matches!(outcome.code, Some(0 | 125)), "{}", outcome.stderr);
    assert!(!outcome.stderr.contains("exceeded"), "{}", outcome.stderr);
    outcome.says(&["  others "]);
}
