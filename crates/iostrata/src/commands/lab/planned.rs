//! Experiments with their cases chosen: where each meets the command line.

use iostrata_core::buffering::Case;
use iostrata_core::lab::Experiment;
use iostrata_core::observe::Observer;
use iostrata_core::sync::{self, DEVICES, Figures};
use iostrata_lab::atime;
use iostrata_lab::buffering::{self, Selection};
use iostrata_lab::copy;
use iostrata_lab::engine::Progress;
use iostrata_lab::error::LabError;
use iostrata_lab::pace::{Expected, Pace};
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
    Atime(atime::Chosen),
    Copy(copy::Cases),
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
            ExperimentName::Atime => {
                let selection = atime::Selection {
                    operations: options.atime.operation.clone(),
                    loops: options.atime.files.clone(),
                    mounts: options.atime.mount.clone(),
                    effort,
                };
                Ok(Self::Atime(selection.chosen()))
            }
            ExperimentName::Copy => {
                let given = &options.copy;
                let selection = copy::Selection {
                    methods: given.method.clone(),
                    sources: given.source.clone(),
                    sizes_bytes: options.size.clone(),
                    buffers: given.buffer.clone(),
                    destination: given.target.unwrap_or_default(),
                    durable: given.durable,
                    named_images: !options.fs.is_empty(),
                    effort,
                };
                Ok(Self::Copy(selection.cases()?))
            }
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
    pub(super) fn usual_images(&self, effort: Effort) -> &'static [ImageKind] {
        match (self, effort) {
            // Those that can share blocks.
            (Self::Copy(cases), _) if !cases.images.is_empty() => {
                &[ImageKind::Xfs, ImageKind::Btrfs]
            }
            // A cache is the same over all of them.
            (Self::PageCache(_) | Self::Copy(_), _) => &[],
            (_, Effort::Quick) => &[ImageKind::Ext4],
            (Self::Sync { .. }, Effort::Thorough) => &ImageKind::ALL,
            (Self::Buffering(_) | Self::Sync { .. } | Self::Atime(_), _) => {
                &[ImageKind::Ext4, ImageKind::Xfs, ImageKind::Btrfs]
            }
        }
    }

    /// Whether it is usually measured on a tmpfs too.
    pub(super) fn usual_tmpfs(&self) -> bool {
        matches!(self, Self::Atime(_))
    }

    /// Bytes that must be free on each target.
    pub(super) fn needed_bytes(&self) -> u64 {
        match self {
            Self::Buffering(cases) => buffering::needed_bytes(cases),
            Self::PageCache(plan) => page_cache::needed_bytes(&plan.cases),
            Self::Sync { cases, effort, .. } => lab_sync::needed_bytes(*effort, cases),
            Self::Atime(_) => atime::needed_bytes(),
            Self::Copy(cases) => copy::needed_bytes(cases),
        }
    }

    /// How long it will take on targets of these paces.
    pub(super) fn expected(&self, run: &RunSettings, targets: &[(&Target, Pace)]) -> Expected {
        let paces: Vec<Pace> = targets.iter().map(|(_, pace)| *pace).collect();
        let stopping = &run.stopping;
        match self {
            Self::Buffering(cases) => buffering::expected(cases, stopping, &paces),
            Self::PageCache(plan) => page_cache::expected(plan, stopping, &paces),
            Self::Sync { cases, effort, .. } => {
                lab_sync::expected(*effort, cases, stopping, &paces)
            }
            Self::Atime(chosen) => atime::expected(chosen, &paces),
            Self::Copy(cases) => copy::expected(run.effort, cases, *stopping, targets),
        }
    }

    /// As it is named on the command line.
    pub(super) fn name(&self) -> ExperimentName {
        match self {
            Self::Buffering(_) => ExperimentName::Buffering,
            Self::PageCache(_) => ExperimentName::PageCache,
            Self::Sync { .. } => ExperimentName::Sync,
            Self::Atime(_) => ExperimentName::Atime,
            Self::Copy(_) => ExperimentName::Copy,
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
            Self::Atime(chosen) => {
                atime::run(chosen, run, targets, observer, progress, stop).map(Experiment::Atime)
            }
            Self::Copy(cases) => {
                copy::run(cases, run, targets, observer, progress, stop).map(Experiment::Copy)
            }
        }
    }
}
