//! `lab buffering` from end to end, without an observer.

use iostrata_core::gap::Reason;
use iostrata_report::words;
use std::cell::Cell;
use std::fs;
use std::path::Path;

use crate::places::{launcher, target};
use crate::undisturbed::undisturbed;
use iostrata_core::Gap;
use iostrata_core::buffering::{BufferingResult, BufferingRow, Mode};
use iostrata_core::environment::Backend;
use iostrata_core::evidence::BlockRow;
use iostrata_core::observe::{Observation, ObserveError, Observer, Stream};
use iostrata_lab::buffering::Selection;
use iostrata_lab::engine::{EngineError, FailureKind, Progress, Silent, Step, StoppingRule};
use iostrata_lab::error::LabError;
use iostrata_lab::experiment::run;
use iostrata_lab::session::{Effort, RunSettings};
use iostrata_lab::target::Target;
use rustix::mount::{MountFlags, UnmountFlags, mount, mount_remount, unmount};

const WHY: &str = "no privilege";

fn settings(scratch: &Path) -> RunSettings {
    RunSettings {
        stopping: StoppingRule {
            min_runs: 2,
            max_runs: 3,
            target_width: 0.1,
            budget_s: 10.0,
        },
        effort: Effort::Quick,
        scratch: scratch.to_owned(),
        launcher: launcher(),
        virtualization: None,
        unobserved_because: Reason::Error(WHY.to_owned()),
    }
}

fn few() -> Selection {
    Selection {
        sizes_bytes: vec![1, 5000],
        count: Some(12),
        ..Selection::default()
    }
}

fn run_on(targets: &[Target], stop: &dyn Fn() -> bool) -> Result<BufferingResult, LabError> {
    let scratch = tempfile::tempdir().unwrap();
    let result = run(
        &few().plan().unwrap(),
        &settings(scratch.path()),
        targets,
        None,
        &mut Silent,
        stop,
    );
    Ok(of!(Buffering, result?))
}

fn is_empty(dir: &Path) -> bool {
    fs::read_dir(dir).unwrap().next().is_none()
}

#[test]
fn every_mode_is_timed_and_what_is_unknown_is_null() {
    undisturbed(|| {
        let (a, b) = (
            tempfile::tempdir_in("/var/tmp").unwrap(),
            tempfile::tempdir().unwrap(),
        );
        let targets = [
            target("host", a.path(), "ext4"),
            target("other", b.path(), "ext4"),
        ];
        let result = run_on(&targets, &|| false).unwrap();
        assert!(is_empty(a.path()) && is_empty(b.path()), "nothing stays");

        assert_eq!(result.rows.len(), 2 * 2 * Mode::ALL.len());
        assert_eq!(result.rows[0].row.target, "host");
        for row in &result.rows {
            let evidence = &row.row.evidence;
            let timing = row.row.timing.as_ref().unwrap();
            assert!((2..=3).contains(&timing.samples_s.len()));
            assert!(row.per_write.writes_per_s.is_some_and(|rate| rate > 0.0));
            assert_eq!((&evidence.syscalls, &evidence.device), (&None, &None));
            assert_eq!(row.per_write.requests.flushes, None);
            assert!(
                evidence
                    .missing
                    .iter()
                    .any(
                        |gap| words::missing(&gap.what).to_string() == "system calls"
                            && words::reason(&gap.why).to_string() == WHY
                    )
            );
            assert_eq!(evidence.cache.resident_before_bytes, Some(0));
            let pages = (row.row.case.size_bytes * row.row.case.count).div_ceil(4096);
            assert_eq!(evidence.cache.resident_after_bytes, Some(pages * 4096));
            assert!(evidence.faults.minor.is_some() && evidence.on_cpu_s.is_some());
            assert!(row.memory.is_some());
            assert!(row.row.interference.steal_s.is_some());
        }
        assert!(result.own.runtimes.is_empty());
        assert!(
            result
                .missing
                .iter()
                .any(|gap| words::missing(&gap.what).to_string() == "kernel evidence")
        );
        assert!(
            result
                .missing
                .iter()
                .any(|gap| words::missing(&gap.what).to_string() == "buffers of language runtimes")
        );
        assert_eq!(result.method.warm_up_runs, 40);
        assert!(result.method.own.own_cost_ns.is_some_and(|ns| ns > 0.0));
        assert!(!result.method.interrupted);
    });
}

#[test]
fn timelines_show_what_a_second_process_reads() {
    let dir = tempfile::tempdir().unwrap();
    let result = run_on(&[target("host", dir.path(), "ext4")], &|| false).unwrap();
    assert_eq!(result.own.timelines.len(), Mode::ALL.len());
    let visible = |mode: Mode| {
        let timeline = result
            .own
            .timelines
            .iter()
            .find(|timeline| timeline.mode == mode)
            .unwrap();
        timeline
            .steps
            .iter()
            .map(|step| step.visible_bytes)
            .collect::<Vec<_>>()
    };
    assert_eq!(visible(Mode::Buffered), [0, 0, 0, 6000, 6000, 12_000]);
    assert_eq!(visible(Mode::Fsync), [0, 3000, 6000, 9000, 12_000, 12_000]);
    assert!(
        result
            .own
            .timelines
            .iter()
            .flat_map(|t| &t.steps)
            .all(|s| s.durable_bytes.is_none())
    );
    assert!(result.missing.iter().any(
        |gap| words::missing(&gap.what).to_string() == "durable bytes of the timelines on host"
    ));
}

/// Returns true for stop once a label with the given start has been announced.
struct StopAt<'a> {
    label: &'a str,
    stopped: &'a Cell<bool>,
    finished: bool,
    last: (usize, usize),
}

impl Progress for StopAt<'_> {
    fn step(&mut self, step: &Step<'_>) {
        assert!(step.done < step.total, "{step:?}");
        self.last = (step.done, step.total);
        if step.label.starts_with(self.label) {
            self.stopped.set(true);
        }
    }

    fn line(&mut self, _: &str) {}

    fn failed(&mut self, error: LabError) {
        panic!("{error}");
    }

    fn finished(&mut self) {
        self.finished = true;
    }
}

fn interrupted_at(label: &str, observer: Option<&mut dyn Observer>) -> BufferingResult {
    let (dir, scratch) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let stopped = Cell::new(false);
    let mut progress = StopAt {
        label,
        stopped: &stopped,
        finished: false,
        last: (0, 0),
    };
    let settings = settings(scratch.path());
    let targets = [target("host", dir.path(), "ext4")];
    let result = run(
        &few().plan().unwrap(),
        &settings,
        &targets,
        observer,
        &mut progress,
        &|| stopped.get(),
    )
    .unwrap();
    assert!(progress.finished);
    assert!(is_empty(dir.path()), "nothing stays");
    let result = of!(Buffering, result);
    assert!(result.method.interrupted);
    result
}

#[test]
fn an_interruption_keeps_the_finished_rows() {
    let early = interrupted_at("timing fsync 5 kB", None);
    assert!(early.rows.is_empty(), "no case had its runs yet");

    let later = interrupted_at("observing flush 1 B", None);
    assert_eq!(later.rows.len(), 20, "all were timed");
    let unseen = |row: &&BufferingRow| {
        row.row
            .evidence
            .missing
            .iter()
            .any(|gap| words::reason(&gap.why).to_string().contains("interrupted"))
    };
    assert!(later.rows.iter().filter(unseen).count() >= 18);
    assert!(!unseen(&&later.rows[0]), "observed before the interruption");
    assert!(later.own.timelines.is_empty());
}

#[test]
fn the_steps_add_up_to_the_total() {
    let (dir, scratch) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let never = Cell::new(false);
    let mut progress = StopAt {
        label: "no such step",
        stopped: &never,
        finished: false,
        last: (0, 0),
    };
    let settings = settings(scratch.path());
    run(
        &few().plan().unwrap(),
        &settings,
        &[target("host", dir.path(), "ext4")],
        None,
        &mut progress,
        &|| false,
    )
    .unwrap();
    let (done, total) = progress.last;
    assert!(progress.finished && done + 1 == total, "{done} of {total}");
}

/// A tmpfs for the test, unmounted when dropped.
struct Tmpfs(tempfile::TempDir);

impl Tmpfs {
    fn mount(bytes: u64) -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            crate::skip::skip("mounting a tmpfs needs root");
            return None;
        }
        let dir = tempfile::tempdir().unwrap();
        let options = std::ffi::CString::new(format!("size={bytes}")).unwrap();
        mount(
            "none",
            dir.path(),
            "tmpfs",
            MountFlags::empty(),
            options.as_c_str(),
        )
        .unwrap();
        Some(Self(dir))
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        unmount(self.0.path(), UnmountFlags::DETACH).unwrap();
    }
}

#[test]
fn no_space_is_found_before_anything_is_written() {
    let Some(tmpfs) = Tmpfs::mount(80 << 10) else {
        return;
    };
    let dir = tmpfs.0.path();
    let error = run_on(&[target("small", dir, "tmpfs")], &|| false).map(drop);
    assert!(error.is_ok(), "12 x 5000 B and a fifth more fit: {error:?}");

    let big = Selection {
        sizes_bytes: vec![5000],
        count: Some(12_000),
        ..Selection::default()
    };
    let settings = settings(dir);
    let targets = [target("small", dir, "tmpfs")];
    let error = run(
        &big.plan().unwrap(),
        &settings,
        &targets,
        None,
        &mut Silent,
        &|| false,
    )
    .unwrap_err();
    assert!(
        matches!(
            error,
            LabError::NoSpace {
                needed_bytes: 72_000_000,
                ..
            }
        ),
        "{error}"
    );
    assert!(
        error.to_string().contains("choose another directory"),
        "{error}"
    );
    assert!(is_empty(dir));
}

#[test]
fn space_that_runs_out_in_the_middle_is_told_and_leaves_nothing() {
    // Room for the check, which another writer then takes.
    let Some(tmpfs) = Tmpfs::mount(256 << 10) else {
        return;
    };
    let dir = tmpfs.0.path();
    let taken = Cell::new(false);
    let take = || {
        if !taken.replace(true) {
            fs::write(dir.join("ballast"), vec![1; 240 << 10]).unwrap();
        }
        false
    };
    let error = run_on(&[target("small", dir, "tmpfs")], &take).unwrap_err();
    let LabError::Engine(EngineError::Failed(failure)) = &error else {
        panic!("{error}")
    };
    assert_eq!(
        (failure.kind, failure.errno),
        (FailureKind::NoSpace, Some(28))
    );
    assert!(
        error.to_string().contains("No space left on device"),
        "{error}"
    );
    assert!(
        error.to_string().contains("of 12 to "),
        "the record is named: {error}"
    );
    fs::remove_file(dir.join("ballast")).unwrap();
    assert!(is_empty(dir), "the run's own file is gone");
}

#[test]
fn a_directory_that_cannot_be_written_to_is_refused_at_once() {
    if let Some(tmpfs) = Tmpfs::mount(1 << 20) {
        let dir = tmpfs.0.path();
        mount_remount(dir, MountFlags::RDONLY, c"").unwrap();
        let error = run_on(&[target("tmpfs", dir, "tmpfs")], &|| false).unwrap_err();
        assert!(matches!(error, LabError::Denied { .. }), "{error}");
        assert!(
            error.to_string().contains("Read-only file system"),
            "{error}"
        );
    }
    let error = run_on(&[], &|| false).unwrap_err();
    assert!(matches!(error, LabError::Usage(_)));
}

/// Sees nothing, and fails after a given number of sessions.
struct Failing(u32);

impl Observer for Failing {
    fn backend(&self) -> Backend {
        Backend::None
    }

    fn missing(&self) -> Vec<Gap> {
        Vec::new()
    }

    fn start(&mut self, _: u32, _: Stream) -> Result<(), ObserveError> {
        let left = self.0.checked_sub(1);
        self.0 = left.unwrap_or(0);
        left.map(drop).ok_or_else(|| ObserveError {
            doing: "attach".to_owned(),
            cause: "no memory".to_owned(),
        })
    }

    fn program_ended(&mut self) -> Result<(), ObserveError> {
        Ok(())
    }

    fn requests_so_far(&mut self) -> Result<Option<Vec<BlockRow>>, ObserveError> {
        Ok(None)
    }

    fn stop(&mut self) -> Result<Observation, ObserveError> {
        Ok(Observation::default())
    }
}

#[derive(Default)]
struct Failures(Vec<String>);

impl Progress for Failures {
    fn step(&mut self, _: &Step<'_>) {}
    fn line(&mut self, _: &str) {}

    fn failed(&mut self, error: LabError) {
        self.0.push(error.to_string());
    }

    fn finished(&mut self) {}
}

#[test]
fn what_fails_while_it_is_observed_loses_no_row() {
    let (dir, scratch) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut failures = Failures::default();
    let mut observer = Failing(2);
    let result = run(
        &few().plan().unwrap(),
        &settings(scratch.path()),
        &[target("host", dir.path(), "ext4")],
        Some(&mut observer),
        &mut failures,
        &|| false,
    )
    .unwrap();
    let result = of!(Buffering, result);
    assert_eq!(failures.0, ["cannot attach: no memory"]);
    assert!(result.method.interrupted);
    assert_eq!(result.rows.len(), 20);
    let whys = |row: &BufferingRow| {
        let gaps = row.row.evidence.missing.iter();
        gaps.filter(|gap| {
            words::reason(&gap.why)
                .to_string()
                .contains("failed: cannot attach: no memory")
        })
        .count()
    };
    for (number, row) in result.rows.iter().enumerate() {
        assert!(row.row.timing.is_some());
        assert_eq!(whys(row), usize::from(number >= 2), "row {number}");
    }
    assert!(result.own.timelines.is_empty() && result.own.runtimes.is_empty());
    assert!(is_empty(dir.path()), "nothing stays");
}

#[test]
fn an_interruption_keeps_what_was_found_of_the_runtimes() {
    let mut observer = Failing(u32::MAX);
    let result = interrupted_at("looking at the buffers of Ruby", Some(&mut observer));
    assert_eq!(result.rows.len(), 20);
    // Calls are not visible here, so that each has a reason instead of a row.
    for name in ["C stdio", "Python"] {
        assert!(
            result
                .missing
                .iter()
                .any(|gap| words::missing(&gap.what).to_string() == name),
            "{name}"
        );
    }
}
