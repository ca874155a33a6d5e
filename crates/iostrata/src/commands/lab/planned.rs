//! Experiments with their cases chosen: where each meets the command line.

use iostrata_core::buffering::Case;
use iostrata_core::lab::Experiment;
use iostrata_core::observe::Observer;
use iostrata_core::sync::{self, DEVICES, Figures};
use iostrata_lab::buffering::{self, Selection};
use iostrata_lab::engine::Progress;
use iostrata_lab::error::LabError;
use iostrata_lab::page_cache;
use iostrata_lab::scratch::ImageKind;
use iostrata_lab::session::{Effort, RunSettings};
use iostrata_lab::sync as lab_sync;
use iostrata_lab::target::Target;

use crate::cli::{ExperimentName, Lab};

/// One experiment of a run.
pub(super) enum Planned {
    Buffering(Vec<Case>),
    PageCache(page_cache::Plan),
    Sync {
        cases: Vec<sync::Case>,
        devices: Vec<Figures>,
        effort: Effort,
    },
}

impl Planned {
    /// Chooses the cases; what makes no sense is refused before anything is made.
    pub(super) fn new(
        name: ExperimentName,
        options: &Lab,
        effort: Effort,
    ) -> Result<Self, LabError> {
        match name {
            ExperimentName::Buffering => {
                let selection = Selection {
                    modes: options.buffering.mode.clone(),
                    sizes_bytes: options.size.clone(),
                    count: options.buffering.count,
                    effort,
                };
                Ok(Self::Buffering(selection.cases()?))
            }
            ExperimentName::PageCache => {
                let selection = page_cache::Selection {
                    states: options.page_cache.state.clone(),
                    readers: options.page_cache.reader.clone(),
                    parses: options.page_cache.parse.clone(),
                    sizes_bytes: options.size.clone(),
                    sleep: options.page_cache.sleep,
                    effort,
                };
                Ok(Self::PageCache(selection.plan()?))
            }
            ExperimentName::Sync => Self::sync(options, effort),
        }
    }

    fn sync(options: &Lab, effort: Effort) -> Result<Self, LabError> {
        let selection = lab_sync::Selection {
            calls: options.sync.call.clone(),
            writes: options.sync.write.clone(),
            sizes_bytes: options.size.clone(),
            writers: options.sync.writers.clone(),
            effort,
        };
        let devices = if options.sync.device.is_empty() {
            DEVICES.map(|device| device.figures()).to_vec()
        } else {
            options.sync.device.clone()
        };
        Ok(Self::Sync {
            cases: selection.cases()?,
            devices,
            effort,
        })
    }

    /// The images that a run as root makes for it unless told otherwise.
    pub(super) fn usual_images(&self) -> &'static [ImageKind] {
        match self {
            // A cache is the same over all of them.
            Self::PageCache(_) => &[],
            Self::Sync {
                effort: Effort::Thorough,
                ..
            } => &ImageKind::ALL,
            Self::Buffering(_) | Self::Sync { .. } => {
                &[ImageKind::Ext4, ImageKind::Xfs, ImageKind::Btrfs]
            }
        }
    }

    /// Bytes that must be free on each target.
    pub(super) fn needed_bytes(&self) -> u64 {
        match self {
            Self::Buffering(cases) => buffering::needed_bytes(cases),
            Self::PageCache(plan) => page_cache::needed_bytes(&plan.cases),
            Self::Sync { cases, effort, .. } => lab_sync::needed_bytes(*effort, cases),
        }
    }

    /// Runs it. When `stop` says yes, what is finished is returned.
    pub(super) fn run<'a>(
        &'a self,
        run: &'a RunSettings,
        targets: &[Target],
        observer: Option<&'a mut dyn Observer>,
        progress: &'a mut dyn Progress,
        stop: &'a dyn Fn() -> bool,
    ) -> Result<Experiment, LabError> {
        match self {
            Self::Buffering(cases) => buffering::run(cases, run, targets, observer, progress, stop)
                .map(Experiment::Buffering),
            Self::PageCache(plan) => page_cache::run(plan, run, targets, observer, progress, stop)
                .map(Experiment::PageCache),
            Self::Sync { cases, devices, .. } => {
                lab_sync::run(cases, devices, run, targets, observer, progress, stop)
                    .map(Experiment::Sync)
            }
        }
    }
}
