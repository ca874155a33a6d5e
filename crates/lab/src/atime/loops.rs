//! The loops: files created, read by workload processes, timed and observed.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use iostrata_core::atime::{AtimeRow, Loop, LoopCase, LoopRow, Mount, Reading};
use iostrata_core::gap::{Gap, Missing, Reason};
use iostrata_core::observe::Stream;
use iostrata_core::timing::{Sample, Timing};

use super::mounts::remount;
use super::settings::{FILE_BYTES, Plan};
use super::workload::{LoopReport, ReadLoopJob, file_name};
use crate::engine::{KernelFile, XorShift};
use crate::error::LabError;
use crate::session::{self, Observed, Session, Timed, identity, measure, sync_file_system};
use crate::target::Target;

/// The call by which rustix opens: `openat` where the architecture has no `open`.
const OPEN: &str = if cfg!(target_arch = "x86_64") {
    "open"
} else {
    "openat"
};

#[derive(Clone, Copy)]
pub(super) struct Item<'a> {
    pub(super) target: &'a Target,
    pub(super) files: Loop,
    pub(super) reading: Reading,
    pub(super) mount: Mount,
    /// Number of files, and of reads in total.
    pub(super) size: (u64, u64),
}

impl<'a> Item<'a> {
    /// The loops of a target: the loop over one file has no second reading of its own, since all
    /// but its first read are such.
    pub(super) fn of(plan: &Plan, target: &'a Target, mounts: &[Mount]) -> Vec<Self> {
        let mut items = Vec::new();
        for &mount in mounts {
            // A file is not a directory: it would be relatime again.
            if mount == Mount::Nodiratime && plan.mounts.len() == Mount::ALL.len() {
                continue;
            }
            for &files in &plan.loops {
                let readings = match files {
                    Loop::OneFile => &[Reading::First][..],
                    Loop::ManyFiles => &[Reading::First, Reading::Second],
                };
                items.extend(readings.iter().map(|&reading| Self {
                    target,
                    files,
                    reading,
                    mount,
                    size: plan.size_of(files),
                }));
            }
        }
        items
    }

    pub(super) fn case(&self) -> LoopCase {
        LoopCase {
            files: self.files,
            reading: self.reading,
            mount: self.mount,
            filesystem: self.target.storage.filesystem.clone(),
            reads: self.size.1,
            size_bytes: FILE_BYTES as u64,
        }
    }

    pub(super) fn job(&self) -> ReadLoopJob {
        let (files, reads) = self.size;
        ReadLoopJob {
            directory: directory(self.target).into(),
            files,
            reads,
            reading: self.reading,
        }
    }

    /// Makes sure that the target is mounted as the label says.
    pub(super) fn mount(&self) -> Result<(), LabError> {
        if self.target.image {
            return remount(self.target, self.mount);
        }
        // The user's own mount stays unchanged; `options` has read it.
        Ok(())
    }
}

impl session::Item for Item<'_> {
    /// For each run with the sync after it.
    type Gathered = Vec<Sample>;
    type Found = ();
    type Row = AtimeRow;

    /// `one_file under relatime on ext4`.
    fn label(&self) -> String {
        let (files, mount) = (self.files.as_str(), self.mount.as_str());
        let second = if self.reading == Reading::Second {
            ", second reading"
        } else {
            ""
        };
        format!("{files}{second} under {mount} on {}", self.target.name)
    }

    fn run(
        &self,
        session: &mut Session<'_>,
        with_sync: &mut Vec<Sample>,
    ) -> Result<Sample, LabError> {
        self.mount()?;
        let mut workload = session.start(&self.job())?;
        // Write-back caused by setting the times does not belong to the loop.
        sync_file_system(&self.target.dir)?;
        let LoopReport { reading, sync } = workload.go(session.stop)?;
        workload.exit()?;
        with_sync.push(reading.and(&sync).sample);
        Ok(reading.sample)
    }

    fn observe(&self, session: &mut Session<'_>) -> Result<Observed, LabError> {
        self.mount()?;
        let mut workload = session.start(&self.job())?;
        let identities = identities(self)?;
        // Write-back caused by setting the times does not belong to the loop.
        sync_file_system(&self.target.dir)?;
        let (pid, settle) = (workload.pid(), Some(self.target.dir.as_path()));
        let (report, observation) =
            session.observed(pid, Stream::default(), settle, |session, _| {
                Ok(workload.go(session.stop)?)
            })?;
        workload.exit()?;
        let (work, observation) = (&report.reading, observation.as_ref());
        let mut observed: Observed =
            Observed::of(session, self.target, &identities, work, observation);
        let gap = Gap::new(Missing::ResidentBytes, Reason::ManySmallFiles);
        observed.evidence.missing.push(gap);
        let (_, reads) = self.size;
        let expected = [
            (OPEN, reads, 0),
            ("read", reads, reads * FILE_BYTES as u64),
            ("close", reads, 0),
        ];
        observed.check_calls("the loop", expected);
        let device = observed.evidence.exact_device();
        let device_reads = device.map_or(0, |device| device.reads.count);
        if device_reads > 0 {
            observed.notes.push(format!(
                "{device_reads} requests read from the device: not all files were resident"
            ));
        }
        Ok(observed)
    }

    fn row(&self, timed: Timed, with_sync: Vec<Sample>, observed: Observed) -> AtimeRow {
        let row = observed.row(self.case(), self.target, timed);
        // The first is the warm-up.
        let with_sync = Timing::from_samples(with_sync.get(1..).unwrap_or_default());
        let mut row = LoopRow::new(row, with_sync);
        if !self.target.image && row.sectors.take().is_some() {
            let gap = Gap::new(Missing::Sectors, Reason::InodeWritesUnnamed);
            row.row.evidence.missing.push(gap);
        }
        AtimeRow::Loop(Box::new(row))
    }
}

fn identities(item: &Item<'_>) -> Result<Vec<KernelFile>, LabError> {
    let directory = directory(item.target);
    // The mounts are read once for all of them.
    let device = identity(&directory)?.device;
    let (files, _) = item.size;
    let named = (0..files).map(|number| {
        let inode = fs::metadata(directory.join(file_name(number)))?.ino();
        Ok(KernelFile { device, inode })
    });
    let named: std::io::Result<Vec<KernelFile>> = named.collect();
    named.map_err(|error| LabError::at("look up", &directory, error))
}

pub(super) fn loops(
    session: &mut Session<'_>,
    items: &[Item<'_>],
) -> Result<Vec<AtimeRow>, LabError> {
    if items.is_empty() || session.interrupted {
        return Ok(Vec::new());
    }
    let _files = Files::make(session, items)?;
    measure(session, items, 0)
}

fn directory(target: &Target) -> PathBuf {
    target.dir.join("files")
}

/// The files that the loops read, removed on drop.
struct Files(Vec<PathBuf>);

impl Files {
    fn make(session: &mut Session<'_>, items: &[Item<'_>]) -> Result<Self, LabError> {
        let mut files = Self(Vec::new());
        let mut contents = [0; FILE_BYTES];
        XorShift::new(1).fill(&mut contents);
        for item in items {
            let directory = directory(item.target);
            if files.0.contains(&directory) {
                continue;
            }
            let most = items.iter().map(|item| item.size.0).max();
            session.step(&format!("creating files on {}", item.target.name));
            files.0.push(directory.clone());
            fill(&directory, most.unwrap_or(0), &contents)
                .map_err(|error| LabError::at("make files in", &directory, error))?;
            sync_file_system(&item.target.dir)?;
        }
        Ok(files)
    }
}

fn fill(directory: &Path, count: u64, contents: &[u8]) -> std::io::Result<()> {
    fs::create_dir(directory)?;
    for number in 0..count {
        fs::write(directory.join(file_name(number)), contents)?;
    }
    Ok(())
}

impl Drop for Files {
    fn drop(&mut self) {
        for directory in &self.0 {
            // Leftovers are in the scratch directory, whose removal reports what it cannot remove.
            drop(fs::remove_dir_all(directory));
        }
    }
}
