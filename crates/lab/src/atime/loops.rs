//! The loops: files made, read by workload processes, timed and observed.

use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};

use iostrata_core::Gap;
use iostrata_core::atime::{AtimeRow, Loop, LoopCase, LoopRow, Mount, Reading};
use iostrata_core::lab::{Interference, Row};
use iostrata_core::timing::{Sample, Timing};

use super::matrix::options;
use super::mounts::remount;
use super::observed::{Observed, observe};
use super::settings::{Chosen, FILE_BYTES};
use super::workload::file_name;
use crate::engine::{EngineError, Job, LoopReport, ReadLoopJob, Report, XorShift};
use crate::error::LabError;
use crate::session::{Session, Timed, sync_file_system, time, until_stopped};
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

/// What the loops gave.
#[derive(Default)]
pub(super) struct Looped {
    pub(super) rows: Vec<AtimeRow>,
    pub(super) warm_ups: usize,
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

    /// For progress: `one_file under relatime on ext4`.
    pub(super) fn label(&self) -> String {
        let (files, mount) = (self.files.as_str(), self.mount.as_str());
        let second = if self.reading == Reading::Second {
            ", second reading"
        } else {
            ""
        };
        format!("{files}{second} under {mount} on {}", self.target.name)
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
    pub(super) fn job(&self) -> Job {
        let (files, reads) = self.size;
        Job::ReadLoop(ReadLoopJob {
            directory: directory(self.target).into(),
            files,
            reads,
            reading: self.reading,
        })
    }

    /// Sees to it that the target is mounted as the label says.
    pub(super) fn mount(&self) -> Result<(), LabError> {
        if self.target.image {
            return remount(self.target, self.mount);
        }
        // The user's own mount stays as it is; `options` has read it.
        Ok(())
    }

    /// One timed run.
    fn run(&self, session: &Session<'_>) -> Result<LoopReport, LabError> {
        self.mount()?;
        let mut workload = session.start(&self.job())?;
        // What setting the times left to write back is not the loop's.
        sync_file_system(&self.target.dir)?;
        let report = expect_loop(&workload.go(session.stop)?)?;
        workload.exit()?;
        Ok(report)
    }

    fn row(&self, timed: Timed, with_sync: &[Sample], observed: Observed) -> AtimeRow {
        let row = Row {
            case: self.case(),
            target: self.target.name.clone(),
            timing: timed.timing,
            evidence: observed.evidence,
            interference: Interference {
                other_requests: observed.other_requests,
                ..timed.interference
            },
            notes: observed.notes,
        };
        let mut row = LoopRow::new(row, Timing::from_samples(with_sync));
        if !self.target.image && row.sectors.take().is_some() {
            let why =
                "inodes are written without naming their file, and others write to the same disk";
            row.row.evidence.missing.push(Gap::new("sectors", why));
        }
        AtimeRow::Loop(Box::new(row))
    }
}

/// The report of a loop.
pub(super) fn expect_loop(report: &Report) -> Result<LoopReport, EngineError> {
    match report {
        Report::Loop(report) => Ok(*report),
        _ => Err(EngineError::Protocol("another report".into())),
    }
}

/// Times and observes the items; `steps_after` come after them.
pub(super) fn loops(
    session: &mut Session<'_>,
    items: &[Item<'_>],
    interrupted: &mut bool,
) -> Result<Looped, LabError> {
    if items.is_empty() || *interrupted {
        return Ok(Looped::default());
    }
    let _files = Files::make(session, items)?;
    let labels: Vec<String> = items.iter().map(Item::label).collect();
    // The first of each is the warm-up, as the pass has it.
    let with_sync = RefCell::new(vec![Vec::new(); items.len()]);
    let pass = time(session, &labels, items.len(), |session, index| {
        let LoopReport { reading, sync } = items[index].run(session)?;
        with_sync.borrow_mut()[index].push(sum(reading.sample, sync.sample));
        Ok(reading.sample)
    })?;
    *interrupted |= pass.interrupted;
    let mut looped = Looped {
        warm_ups: pass.warm_ups,
        ..Looped::default()
    };
    let timed = items.iter().zip(pass.items).zip(with_sync.into_inner());
    for ((item, timed), with_sync) in timed.filter(|((_, timed), _)| timed.enough) {
        let stop = session.stop;
        let observed = until_stopped(stop, interrupted, || observe(session, item))?;
        let observed = observed.unwrap_or_else(Observed::interrupted);
        looped
            .rows
            .push(item.row(timed, with_sync.get(1..).unwrap_or_default(), observed));
    }
    Ok(looped)
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
