//! One run of an experiment: the observer, the launcher, the passes and the files.

mod passes;
mod timed;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use iostrata_core::evidence::{Cache, Charge, Evidence, RawEvidence, assemble, foreign_requests};
use iostrata_core::gap::{Gap, Missing, Reason, Stratum};
use iostrata_core::lab::{ExperimentResult, Method};
use iostrata_core::observe::{Observation, ObserveError, Observer, Stream};

use crate::engine::{
    EngineError, Job, KernelFile, Launcher, Ledger, StoppingRule, Work, Workload, observed_file,
};
use crate::error::LabError;
use crate::target::Target;

pub(crate) use passes::{Item, Observed, measure, observe_all};
#[cfg(test)]
pub(crate) use tests::target;
pub(crate) use timed::{Timed, time, wide};

/// The time budget of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Effort {
    /// Some seconds for each experiment.
    Quick,
    /// Some minutes for four file systems on a fast disk.
    #[default]
    Normal,
    /// Full-size workloads, and many runs.
    Thorough,
}

impl Effort {
    /// The stopping rule of a case. Fewer than four runs have no 95 % interval against as few
    /// others.
    pub fn stopping(self) -> StoppingRule {
        let (min_runs, max_runs, budget_s) = match self {
            Self::Quick => (5, 5, 2.0),
            Self::Normal => (5, 9, 20.0),
            Self::Thorough => (10, 30, 300.0),
        };
        StoppingRule {
            min_runs,
            max_runs,
            target_width: 0.1,
            budget_s,
        }
    }
}

/// The settings of every experiment besides its cases and targets.
#[derive(Debug, Clone)]
pub struct RunSettings {
    pub stopping: StoppingRule,
    pub effort: Effort,
    /// Directory for programs and files that belong to no target.
    pub scratch: PathBuf,
    pub launcher: Launcher,
    /// Hypervisor or container, as in the environment block.
    pub virtualization: Option<String>,
    /// Why there is no observer; shown only if there is none.
    pub unobserved_because: Reason,
}

/// How long requests are still counted after `syncfs` returned: for the completion of the last
/// ones, and for journal work that a commit leaves to a worker.
const SETTLE: Duration = Duration::from_millis(50);

/// Runs that measure the measuring loop itself.
pub(crate) const LOOP_RUNS: usize = 3;

pub struct Session<'a> {
    pub(crate) run: RunSettings,
    pub(crate) targets: &'a [Target],
    pub(crate) observer: Option<&'a mut dyn Observer>,
    pub(crate) ledger: Ledger<'a>,
    pub(crate) stop: &'a dyn Fn() -> bool,
    /// Whether it ends before all cases are done.
    pub(crate) interrupted: bool,
    /// Parts that the result will lack, and why.
    pub(crate) missing: Vec<Gap>,
    /// Timing runs that are not among the samples.
    pub(crate) warm_up_runs: usize,
}

impl Session<'_> {
    /// Adds to the gaps what the observer cannot see, or that there is none.
    pub(crate) fn lack_what_is_unseen(&mut self) {
        let missing = match &self.observer {
            Some(observer) => observer.missing(),
            None => vec![self.unseen(Missing::KernelEvidence)],
        };
        self.missing.extend(missing);
    }

    /// Announces a step.
    pub(crate) fn step(&mut self, label: &str) {
        self.ledger.step(label);
    }

    /// Parts that need an observer.
    pub(crate) fn unseen(&self, what: Missing) -> Gap {
        Gap::new(what, self.run.unobserved_because.clone())
    }

    /// The result of the measurements, without caveats and answers.
    pub(crate) fn result<R, O, M>(
        &mut self,
        question: &str,
        rows: Vec<R>,
        own: O,
        method: M,
        planned_rows: usize,
    ) -> ExperimentResult<R, O, M> {
        ExperimentResult {
            question: question.to_owned(),
            targets: self.targets.iter().map(Target::measured).collect(),
            rows,
            own,
            answers: Vec::new(),
            settings: None,
            caveats: Vec::new(),
            missing: std::mem::take(&mut self.missing),
            method: Method {
                timing_runs: (self.run.stopping.min_runs, self.run.stopping.max_runs),
                warm_up_runs: self.warm_up_runs,
                own: method,
                interrupted: self.interrupted,
                planned_rows,
            },
        }
    }

    /// Starts a workload process that has prepared `job`.
    pub(crate) fn start<J: Job>(&self, job: &J) -> Result<Workload<J>, EngineError> {
        self.run.launcher.start(job, self.stop)
    }

    /// Runs a job with one step and lets its process end.
    pub(crate) fn work<J: Job>(&self, job: &J) -> Result<J::Report, EngineError> {
        let mut workload = self.start(job)?;
        let report = workload.go(self.stop)?;
        workload.exit()?;
        Ok(report)
    }

    /// Runs `work` under the observer, if there is one; `work` may read its counts meanwhile. The
    /// session also ends when the work fails. Afterwards the dirty data on `settle` is written
    /// back, and counts as left at the program's end.
    pub(crate) fn observed<T>(
        &mut self,
        process: u32,
        stream: Stream,
        settle: Option<&Path>,
        work: impl FnOnce(&mut Self, Option<&mut dyn Observer>) -> Result<T, LabError>,
    ) -> Result<(T, Option<Observation>), LabError> {
        let Some(observer) = self.observer.take() else {
            return Ok((work(self, None)?, None));
        };
        let outcome = observer
            .start(process, stream)
            .map_err(LabError::from)
            .and_then(|()| {
                let done = work(self, Some(&mut *observer))?;
                observer.program_ended()?;
                if let Some(dir) = settle {
                    sync_file_system(dir)?;
                    thread::sleep(SETTLE);
                }
                Ok(done)
            });
        let observation = observer.stop();
        self.observer = Some(observer);
        // The failure of the work is the reason; a second one from `stop` is not reported.
        let done = outcome?;
        let mut observation = observation?;
        match observation.failed.pop() {
            None => Ok((done, Some(observation))),
            Some(gap) => Err(LabError::from(ObserveError {
                doing: "observe the workload to its end".to_owned(),
                cause: gap.why.text(),
            })),
        }
    }

    /// Runs `work` unless an end was requested; a failure during an interruption counts as one.
    pub(crate) fn until_stopped<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, LabError>,
    ) -> Result<Option<T>, LabError> {
        if !self.interrupted && !(self.stop)() {
            match work(self) {
                Ok(done) => return Ok(Some(done)),
                Err(error) if !(self.stop)() => return Err(error),
                Err(_) => {}
            }
        }
        self.interrupted = true;
        Ok(None)
    }

    /// The same for work in addition to existing rows: a failure does not lose the rows, and is
    /// reported as a gap of the result.
    pub(crate) fn unless_failed<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, LabError>,
    ) -> Result<Option<T>, LabError> {
        match self.until_stopped(work) {
            Err(error) if !error.spoils_all() => {
                self.ledger.to.failed(error);
                self.interrupted = true;
                Ok(None)
            }
            outcome => outcome,
        }
    }

    /// Seconds of the measuring loop around nothing, which `run` does: the fastest of three runs.
    /// `None` when interrupted.
    pub(crate) fn loop_s(
        &mut self,
        run: impl Fn(&mut Self) -> Result<Work, EngineError>,
    ) -> Result<Option<f64>, LabError> {
        let mut least_s = f64::INFINITY;
        for _ in 0..LOOP_RUNS {
            self.ledger.step("timing the measuring loop itself");
            let Some(work) = self.until_stopped(|session| Ok(run(session)?))? else {
                return Ok(None);
            };
            least_s = least_s.min(work.sample.real_s);
        }
        Ok(Some(least_s))
    }
}

/// Writes back all dirty data on the file system of `dir`.
pub(crate) fn sync_file_system(dir: &Path) -> Result<(), LabError> {
    File::open(dir)
        .and_then(|dir| Ok(rustix::fs::syncfs(dir)?))
        .map_err(|error| LabError::at("sync the file system of", dir, error))
}

/// A file as the observer identifies it.
pub(crate) fn identity(path: &Path) -> Result<KernelFile, LabError> {
    observed_file(path).map_err(|error| LabError::at("look up", path, error))
}

/// A file of one run, removed with it.
pub(crate) struct RunFile {
    path: PathBuf,
}

impl RunFile {
    /// The name of a file that does not exist yet.
    pub(crate) fn new(dir: &Path, name: &str) -> Self {
        Self {
            path: dir.join(name),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// In the form that the observer uses.
    pub(crate) fn identity(&self) -> Result<KernelFile, LabError> {
        identity(&self.path)
    }

    pub(crate) fn remove(self) -> Result<(), LabError> {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(LabError::at("remove", &self.path, error))
            }
            _ => Ok(()),
        }
    }
}

impl Drop for RunFile {
    /// After [`RunFile::remove`], or before the file was created, there is nothing to remove; after
    /// a failure the scratch directory's own removal reports what stays.
    fn drop(&mut self) {
        drop(fs::remove_file(&self.path));
    }
}

/// The evidence of one case that used `files`, and the number of requests from others.
///
/// Calls and pages are attributed by file: the workload process also communicates with its parent,
/// and calls without a file are its own housekeeping. On a shared disk, requests are attributed by
/// file; on an image created for the run all requests belong to the case, including those for
/// metadata that a file system keeps in internal inodes.
pub(crate) fn evidence(
    raw: &RawEvidence,
    target: &Target,
    files: &[KernelFile],
) -> (Evidence, Option<u64>) {
    let identities = files.iter().map(|file| as_observed(raw, target, *file));
    let by_file = Charge {
        disks: target.disks.clone(),
        files: Some(identities.collect()),
        unnamed_calls: false,
    };
    let by_disk = Charge {
        files: None,
        ..by_file.clone()
    };
    let requests = if target.image { &by_disk } else { &by_file };
    let mut evidence = assemble(raw, &by_file);
    if target.image {
        let whole = assemble(raw, &by_disk);
        (evidence.device, evidence.device_after_exit) = (whole.device, whole.device_after_exit);
    }
    let mut foreign = foreign_requests(raw, requests);
    if let Some(why) = target.unchargeable() {
        (evidence.device, evidence.device_after_exit, foreign) = (None, None, None);
        evidence
            .missing
            .push(Gap::new(Missing::Stratum(Stratum::Device), why));
    }
    if let Some(why) = target.unknown_cache() {
        evidence.cache = Cache::default();
        evidence.missing.push(Gap::new(Missing::CacheEvents, why));
    }
    (evidence, foreign)
}

/// The device and the inode under which the file is counted: on overlayfs those of a layer, of
/// which the file system reports only the inode number.
fn as_observed(raw: &RawEvidence, target: &Target, file: KernelFile) -> (u32, u64) {
    let own = (file.device, file.inode);
    if target.storage.filesystem != "overlay" {
        return own;
    }
    let rows = raw.syscalls.iter().flatten().filter_map(|row| row.file);
    let mut devices: Vec<u32> = rows
        .filter(|seen| seen.inode == file.inode)
        .map(|seen| seen.device)
        .collect();
    devices.sort_unstable();
    devices.dedup();
    match devices[..] {
        [device] => (device, file.inode),
        _ => own,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use iostrata_core::FileId;
    use iostrata_core::environment;
    use iostrata_core::evidence::{BlockRow, Cause, Phase, SyscallRow};

    use super::*;

    const FILE: FileId = FileId {
        device: 39,
        inode: 257,
        generation: 1,
    };
    const TREE: FileId = FileId {
        device: 39,
        inode: 1,
        generation: 1,
    };
    const PIPE: FileId = FileId {
        device: 12,
        inode: 900,
        generation: 0,
    };

    pub(crate) fn target(filesystem: &str, image: bool, disks: &[u32]) -> Target {
        Target {
            name: "t".to_owned(),
            dir: "/t".into(),
            image,
            backing_cached: false,
            disks: disks.to_vec(),
            device_path: None,
            storage: environment::Storage {
                path: "/t".to_owned(),
                filesystem: filesystem.to_owned(),
                mount_options: "rw".to_owned(),
                journal: None,
                devices: vec![],
            },
        }
    }

    fn request(cause: Cause, file: Option<FileId>) -> BlockRow {
        BlockRow {
            disk: 7,
            phase: Phase::Running,
            cause,
            file,
            submitter: iostrata_core::evidence::Submitter::Unknown,
            pages: iostrata_core::evidence::Pages::default(),
            count: 1,
            bytes: 4096,
            time_ns: 0,
        }
    }

    fn raw() -> RawEvidence {
        let write = |file| SyscallRow {
            name: "write",
            file: Some(file),
            count: 1,
            errors: 0,
            returned: 10,
            time_ns: 0,
            blocked_ns: 0,
            alone_ns: 0,
            histogram: vec![],
            shape: None,
            span_ns: None,
            is_source: false,
        };
        RawEvidence {
            syscalls: Some(vec![write(FILE), write(PIPE)]),
            block: Some(vec![
                request(Cause::Data, Some(FILE)),
                request(Cause::Metadata, Some(TREE)),
            ]),
            ..RawEvidence::default()
        }
    }

    fn charged(target: &Target) -> (Evidence, Option<u64>) {
        let file = KernelFile {
            device: FILE.device,
            inode: FILE.inode,
        };
        evidence(&raw(), target, &[file])
    }

    #[test]
    fn the_pipe_to_the_parent_is_never_charged() {
        for image in [true, false] {
            let (evidence, _) = charged(&target("btrfs", image, &[7]));
            assert_eq!(evidence.syscalls.unwrap().get("write").unwrap().count, 1);
        }
    }

    #[test]
    fn on_an_image_every_request_is_the_cases() {
        let (evidence, foreign) = charged(&target("btrfs", true, &[7]));
        assert_eq!(evidence.exact_device().unwrap().metadata.count, 1);
        assert_eq!(foreign, Some(0));
        let (evidence, foreign) = charged(&target("btrfs", false, &[7]));
        assert_eq!(evidence.exact_device().unwrap().metadata.count, 0);
        assert_eq!(foreign, Some(1));
    }

    #[test]
    fn a_file_of_an_overlay_is_counted_at_its_layer() {
        let calls = |device| {
            let file = KernelFile {
                device,
                inode: FILE.inode,
            };
            let (evidence, _) = evidence(&raw(), &target("overlay", false, &[7]), &[file]);
            evidence.syscalls.unwrap().get("write").map(|row| row.count)
        };
        assert_eq!(calls(99), Some(1), "the device is the overlay's");
        assert_eq!(calls(FILE.device), Some(1));
    }

    #[test]
    fn unknown_disks_are_unknown_requests_but_memory_has_none() {
        for (filesystem, disks) in [("ext4", &[][..]), ("overlay", &[7])] {
            let (evidence, foreign) = charged(&target(filesystem, false, disks));
            assert_eq!((evidence.device, foreign), (None, None), "{filesystem}");
            let device = Missing::Stratum(Stratum::Device);
            assert_eq!(evidence.missing[0].what, device);
        }
        let (evidence, _) = charged(&target("overlay", false, &[7]));
        assert_eq!(
            evidence.cache,
            Cache::default(),
            "the pages are another file's"
        );
        let (evidence, _) = charged(&target("tmpfs", false, &[]));
        assert_eq!(
            evidence.exact_device().map(|device| device.writes().count),
            Some(0)
        );
    }
}
