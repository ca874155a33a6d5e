//! The common parts of the rows of all experiments.

use serde_json::{Map, Value};

use super::{Case, Interference, Row, machine_of, target_of};
use crate::evidence::Evidence;
use crate::judge::Judged;
use crate::timing::Timing;

/// A row without its experiment's own parts, with the number by which answers cite it.
#[derive(Clone, Copy)]
pub struct Facts<'a> {
    /// 1-based number in its experiment.
    pub number: usize,
    case: &'a dyn Cased,
    /// The target as its machine's own result names it.
    pub target: &'a str,
    /// The machine, in a result of several.
    pub machine: Option<&'a str>,
    /// `None` when no run finished.
    pub timing: Option<&'a Timing>,
    pub evidence: &'a Evidence,
    pub interference: &'a Interference,
    pub notes: &'a [String],
}

pub(crate) trait HasFacts {
    fn facts(&self, number: usize) -> Facts<'_>;
}

impl<R: Judged> HasFacts for R {
    fn facts(&self, number: usize) -> Facts<'_> {
        Facts::of(number, self.row())
    }
}

trait Cased {
    fn keys(&self) -> Map<String, Value>;

    fn id(&self) -> String;

    fn label(&self) -> String;
}

impl<C: Case> Cased for Row<C> {
    fn keys(&self) -> Map<String, Value> {
        // Cases are structures of names and numbers, which all can be written as JSON.
        match serde_json::to_value(&self.case) {
            Ok(Value::Object(keys)) => keys,
            _ => Map::new(),
        }
    }

    fn id(&self) -> String {
        self.id()
    }

    fn label(&self) -> String {
        self.case.label()
    }
}

impl<'a> Facts<'a> {
    pub fn of<C: Case>(number: usize, row: &'a Row<C>) -> Self {
        Self {
            number,
            case: row,
            target: target_of(&row.target),
            machine: machine_of(&row.target),
            timing: row.timing.as_ref(),
            evidence: &row.evidence,
            interference: &row.interference,
            notes: &row.notes,
        }
    }

    /// The keys of its case as in the JSON.
    pub fn case(&self) -> Map<String, Value> {
        self.case.keys()
    }

    /// The case in words, without its target.
    pub fn label(&self) -> String {
        self.case.label()
    }

    /// Id of the row, the same in every result.
    pub fn id(&self) -> String {
        self.case.id()
    }
}
