//! Common parts of all experiments' results, for every output.

pub(crate) use iostrata_core::lab::Facts;
use iostrata_core::lab::{Experiment, MeasuredTarget, OwnCost};
use iostrata_core::{Answer, Gap};

use crate::format::number;

/// An experiment's result without its specific parts.
pub(crate) struct Whole<'a> {
    /// The name in the JSON.
    pub(crate) name: &'static str,
    pub(crate) question: &'a str,
    pub(crate) targets: &'a [MeasuredTarget],
    pub(crate) answers: &'a [Answer],
    pub(crate) caveats: &'a [String],
    pub(crate) missing: &'a [Gap],
    pub(crate) warm_up_runs: usize,
    /// Rows requested, if the run was interrupted.
    pub(crate) interrupted: Option<usize>,
    /// The cost of measuring: `25 ns per record`.
    pub(crate) own_cost: Option<String>,
    pub(crate) rows: Vec<Facts<'a>>,
}

impl<'a> Whole<'a> {
    pub(crate) fn of(experiment: &'a Experiment) -> Self {
        let own_cost = match experiment {
            Experiment::Buffering(result) => cost(&result.method.own, "record"),
            Experiment::PageCache(result) => cost(&result.method.own, "random read"),
            _ => None,
        };
        let shared = experiment.shared();
        Self {
            name: shared.id,
            question: shared.question,
            targets: shared.targets,
            answers: shared.answers,
            caveats: shared.caveats,
            missing: shared.missing,
            warm_up_runs: shared.warm_up_runs,
            interrupted: shared.interrupted.then_some(shared.planned_rows),
            own_cost,
            rows: experiment.facts(),
        }
    }
}

fn cost(own: &OwnCost, of: &str) -> Option<String> {
    let cost_ns = own.own_cost_ns?;
    Some(format!("{} ns per {of}", number(cost_ns)))
}

/// The label of a row.
pub(crate) trait Named {
    /// The operation, in a word or two.
    fn name(&self) -> String;

    /// The common value of rows in one table.
    fn title(&self) -> String;
}
