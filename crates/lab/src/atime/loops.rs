//! The loops: files made, read by workload processes, timed and observed.

use std::fs;
use std::path::{Path, PathBuf};

use iostrata_core::Gap;
use iostrata_core::atime::{AtimeRow, Loop, LoopCase, LoopRow, Mount, Reading};
use iostrata_core::timing::{Sample, Timing};

use super::job::{LoopReport, ReadLoopJob};
use super::matrix::options;
use super::mounts::remount;
use super::observed::observe;
use super::settings::{Chosen, FILE_BYTES};
use super::workload::file_name;
use crate::engine::{StoppingRule, XorShift};
use crate::error::LabError;
use crate::session::{self, Observed, Session, Timed, measure, sync_file_system};
use crate::target::Target;

/// A loop under a mount option on a target.
#[derive(Clone, Copy)]
pub(super) struct Item<'a> {
    pub(super) target: &'a Target,
    pub(super) files: Loop,
    pub(super) reading: Reading,
    pub(super) mount: Mount,
    /// Files, and reads in all.
    pub(super) size: (u64, u64),
}

impl<'a> Item<'a> {
    /// The loops of a target: the loop over one file has no second reading of its own,
    /// since all but its first read are.
    pub(super) fn of(chosen: &Chosen, target: &'a Target) -> Result<Vec<Self>, LabError> {
        let mut items = Vec::new();
        for mount in options(chosen, target)? {
            // A file is no directory: it would be relatime once more.
            if mount == Mount::Nodiratime && chosen.mounts.len() == Mount::ALL.len() {
                continue;
            }
            for &files in &chosen.loops {
                let readings = match files {
                    Loop::OneFile => &[Reading::First][..],
                    Loop::ManyFiles => &[Reading::First, Reading::Second],
                };
                items.extend(readings.iter().map(|&reading| Self {
                    target,
                    files,
                    reading,
                    mount,
                    size: chosen.size_of(files),
                }));
            }
        }
        Ok(items)
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

    /// What the workload process does; while it is observed it rests after so many files.
    pub(super) fn job(&self) -> ReadLoopJob {
        let (files, reads) = self.size;
        ReadLoopJob {
            directory: directory(self.target).into(),
            files,
            reads,
            reading: self.reading,
        }
    }

    /// Sees to it that the target is mounted as the label says.
    pub(super) fn mount(&self) -> Result<(), LabError> {
        if self.target.image {
            return remount(self.target, self.mount);
        }
        // The user's own mount stays as it is; `options` has read it.
        Ok(())
    }
}

impl session::Item for Item<'_> {
    /// Of each run with the sync after it.
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
        // What setting the times left to write back is not the loop's.
        sync_file_system(&self.target.dir)?;
        let LoopReport { reading, sync } = workload.go(session.stop)?;
        workload.exit()?;
        with_sync.push(sum(reading.sample, sync.sample));
        Ok(reading.sample)
    }

    fn observe(&self, session: &mut Session<'_>, _: &[AtimeRow]) -> Result<Observed, LabError> {
        observe(session, self)
    }

    fn row(
        &self,
        timed: Timed,
        with_sync: Vec<Sample>,
        observed: Observed,
        _: &StoppingRule,
    ) -> AtimeRow {
        let row = observed.row(self.case(), self.target, timed);
        // The first is the warm-up.
        let with_sync = Timing::from_samples(with_sync.get(1..).unwrap_or_default());
        let mut row = LoopRow::new(row, with_sync);
        if !self.target.image && row.sectors.take().is_some() {
            let why =
                "inodes are written without naming their file, and others write to the same disk";
            row.row.evidence.missing.push(Gap::new("sectors", why));
        }
        AtimeRow::Loop(Box::new(row))
    }
}

/// Times and observes the items, and says how many runs were warm-ups.
pub(super) fn loops(
    session: &mut Session<'_>,
    items: &[Item<'_>],
    interrupted: &mut bool,
) -> Result<(Vec<AtimeRow>, usize), LabError> {
    if items.is_empty() || *interrupted {
        return Ok((Vec::new(), 0));
    }
    let _files = Files::make(session, items)?;
    measure(session, items, 0, interrupted)
}

fn sum(reading: Sample, sync: Sample) -> Sample {
    Sample {
        real_s: reading.real_s + sync.real_s,
        user_s: reading.user_s + sync.user_s,
        system_s: reading.system_s + sync.system_s,
    }
}

/// Targets whose loops are not timed, and why.
pub(super) fn left_out(chosen: &Chosen, targets: &[Target]) -> (Vec<usize>, Option<Gap>) {
    let all: Vec<usize> = (0..targets.len()).collect();
    let Some(only) = chosen.timed_target else {
        return (all, None);
    };
    let Some(timed) = targets.iter().position(|target| target.name == only) else {
        return (all, None);
    };
    let others: Vec<&str> = targets
        .iter()
        .filter(|target| target.name != only)
        .map(|target| target.name.as_str())
        .collect();
    let gap = (!others.is_empty() && !chosen.loops.is_empty()).then(|| {
        Gap::new(
            format!("loops on {}", others.join(", ")),
            format!("--quick times them on {only} only"),
        )
    });
    (vec![timed], gap)
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
            session
                .ledger
                .step(&format!("making files on {}", item.target.name));
            files.0.push(directory.clone());
            fill(&directory, most.unwrap_or(0), &contents).map_err(|error| {
                LabError::io(format!("make files in {}", directory.display()), error)
            })?;
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
            // What stays is in the scratch directory, whose removal says what it cannot remove.
            drop(fs::remove_dir_all(directory));
        }
    }
}
