//! Experiments with their cases chosen.

use iostrata_lab::error::LabError;
use iostrata_lab::experiment::Experiment;
use iostrata_lab::session::Effort;

use crate::cli::{ExperimentName, Lab};

/// One experiment of a run.
pub(super) struct Planned {
    pub(super) name: ExperimentName,
    pub(super) experiment: Box<dyn Experiment>,
}

impl Planned {
    /// Chooses the cases.
    pub(super) fn new(
        name: ExperimentName,
        options: &Lab,
        effort: Effort,
    ) -> Result<Self, LabError> {
        let experiment = options.experiment(name, effort)?;
        Ok(Self { name, experiment })
    }
}
