//! Experiments with their cases chosen: where each meets the command line.

use iostrata_lab::error::LabError;
use iostrata_lab::experiment::AnyExperiment;
use iostrata_lab::session::Effort;
use iostrata_lab::{atime, buffering, copy, page_cache, sync};

use crate::cli::{ExperimentName, Lab};

/// One experiment of a run.
pub(super) struct Planned {
    pub(super) name: ExperimentName,
    pub(super) experiment: Box<dyn AnyExperiment>,
}

impl Planned {
    /// Chooses the cases; what makes no sense is refused before anything is made.
    pub(super) fn new(
        name: ExperimentName,
        options: &Lab,
        effort: Effort,
    ) -> Result<Self, LabError> {
        let experiment: Box<dyn AnyExperiment> = match name {
            ExperimentName::Buffering => Box::new(buffering(options, effort)?),
            ExperimentName::PageCache => Box::new(page_cache(options, effort)?),
            ExperimentName::Sync => Box::new(sync(options, effort)?),
            ExperimentName::Atime => Box::new(atime(options, effort)),
            ExperimentName::Copy => Box::new(copy(options, effort)?),
        };
        Ok(Self { name, experiment })
    }
}

fn buffering(options: &Lab, effort: Effort) -> Result<buffering::Plan, LabError> {
    let selection = buffering::Selection {
        modes: options.buffering.mode.clone(),
        sizes_bytes: options.size.clone(),
        count: options.buffering.count,
        effort,
    };
    selection.plan()
}

fn page_cache(options: &Lab, effort: Effort) -> Result<page_cache::Plan, LabError> {
    let selection = page_cache::Selection {
        states: options.page_cache.state.clone(),
        readers: options.page_cache.reader.clone(),
        parses: options.page_cache.parse.clone(),
        sizes_bytes: options.size.clone(),
        sleep: options.page_cache.sleep,
        effort,
    };
    selection.plan()
}

fn sync(options: &Lab, effort: Effort) -> Result<sync::Plan, LabError> {
    let selection = sync::Selection {
        calls: options.sync.call.clone(),
        writes: options.sync.write.clone(),
        sizes_bytes: options.size.clone(),
        writers: options.sync.writers.clone(),
        devices: options.sync.device.clone(),
        effort,
    };
    selection.plan()
}

fn atime(options: &Lab, effort: Effort) -> atime::Plan {
    let selection = atime::Selection {
        operations: options.atime.operation.clone(),
        loops: options.atime.files.clone(),
        mounts: options.atime.mount.clone(),
        effort,
    };
    selection.plan()
}

fn copy(options: &Lab, effort: Effort) -> Result<copy::Plan, LabError> {
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
    selection.plan()
}
