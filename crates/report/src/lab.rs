//! What the results of all experiments have in common, for every output.

use iostrata_core::atime::AtimeRow;
use iostrata_core::buffering::BufferingRow;
use iostrata_core::bytes::{exact, grouped};
use iostrata_core::copy::CopyRow;
use iostrata_core::evidence::Evidence;
use iostrata_core::lab::{
    Case, Experiment, ExperimentResult, Interference, MeasuredTarget, OwnCost, Row, machine_of,
    target_of,
};
use iostrata_core::page_cache::{PageCacheRow, Parse};
use iostrata_core::sync::SyncRow;
use iostrata_core::timing::Timing;
use iostrata_core::{Answer, Gap};
use serde_json::{Map, Value};

use crate::format::number;

/// An experiment's result without what only it has.
pub(crate) struct Whole<'a> {
    /// As in the JSON.
    pub(crate) name: &'static str,
    pub(crate) question: &'a str,
    pub(crate) targets: &'a [MeasuredTarget],
    pub(crate) answers: &'a [Answer],
    pub(crate) caveats: &'a [String],
    pub(crate) missing: &'a [Gap],
    /// Runs before the samples.
    pub(crate) warm_up_runs: usize,
    /// Rows that were asked for, where the run was interrupted.
    pub(crate) interrupted: Option<usize>,
    /// What measuring costs: `25 ns per record`.
    pub(crate) own_cost: Option<String>,
    pub(crate) rows: Vec<Facts<'a>>,
}

impl<'a> Whole<'a> {
    pub(crate) fn of(experiment: &'a Experiment) -> Self {
        let name = experiment.shared().id;
        let cost = |own: &OwnCost, of: &str| {
            let cost_ns = own.own_cost_ns?;
            Some(format!("{} ns per {of}", number(cost_ns)))
        };
        match experiment {
            Experiment::Buffering(result) => Self {
                own_cost: cost(&result.method.own, "record"),
                ..Self::with(name, result, |at, row| Facts::of(at, &row.row))
            },
            Experiment::PageCache(result) => Self {
                own_cost: cost(&result.method.own, "random read"),
                ..Self::with(name, result, |at, row| Facts::of(at, &row.row))
            },
            Experiment::Sync(result) => Self::with(name, result, |at, row| Facts::of(at, &row.row)),
            Experiment::Copy(result) => Self::with(name, result, |at, row| Facts::of(at, &row.row)),
            Experiment::Atime(result) => Self::with(name, result, |at, row| match row {
                AtimeRow::Touch(row) => Facts::of(at, &row.row),
                AtimeRow::Loop(row) => Facts::of(at, &row.row),
            }),
        }
    }

    fn with<R, O, M>(
        name: &'static str,
        result: &'a ExperimentResult<R, O, M>,
        facts: impl Fn(usize, &'a R) -> Facts<'a>,
    ) -> Self {
        let method = &result.method;
        let rows = (1..).zip(&result.rows);
        Self {
            name,
            question: &result.question,
            targets: &result.targets,
            answers: &result.answers,
            caveats: &result.caveats,
            missing: &result.missing,
            warm_up_runs: method.warm_up_runs,
            interrupted: method.interrupted.then_some(method.planned_rows),
            own_cost: None,
            rows: rows.map(|(at, row)| facts(at, row)).collect(),
        }
    }
}

/// What the row of any experiment has, with the number by which answers cite it.
#[derive(Clone, Copy)]
pub(crate) struct Facts<'a> {
    pub(crate) number: usize,
    case: &'a dyn Cased,
    /// The target as its machine's own result names it.
    pub(crate) target: &'a str,
    /// The machine, in a result of several.
    pub(crate) machine: Option<&'a str>,
    pub(crate) timing: Option<&'a Timing>,
    pub(crate) evidence: &'a Evidence,
    pub(crate) interference: &'a Interference,
    pub(crate) notes: &'a [String],
}

/// A row with the case of any experiment.
trait Cased {
    fn keys(&self) -> Map<String, Value>;

    fn id(&self) -> String;
}

impl<C: Case> Cased for Row<C> {
    fn keys(&self) -> Map<String, Value> {
        match serde_json::to_value(&self.case) {
            Ok(Value::Object(keys)) => keys,
            _ => Map::new(),
        }
    }

    fn id(&self) -> String {
        self.id()
    }
}

impl<'a> Facts<'a> {
    pub(crate) fn of<C: Case>(number: usize, row: &'a Row<C>) -> Self {
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
    pub(crate) fn case(&self) -> Map<String, Value> {
        self.case.keys()
    }

    /// What tells the row from others, the same in every result.
    pub(crate) fn id(&self) -> String {
        self.case.id()
    }
}

/// What a row is called.
pub(crate) trait Named {
    /// What was done, in a word or two.
    fn name(&self) -> String;

    /// What rows have in common that stand in one table.
    fn title(&self) -> String;
}

impl Named for BufferingRow {
    fn name(&self) -> String {
        self.row.case.mode.as_str().to_owned()
    }

    /// `2,000 × 1 B`.
    fn title(&self) -> String {
        let case = &self.row.case;
        format!("{} × {}", grouped(case.count), exact(case.size_bytes))
    }
}

impl Named for PageCacheRow {
    /// `cold read`, `warm read, json`.
    fn name(&self) -> String {
        let case = &self.row.case;
        let (state, reader) = (case.state.as_str(), case.reader.as_str());
        match case.parse {
            Parse::None => format!("{state} {reader}"),
            parse => format!("{state} {reader}, {}", parse.as_str()),
        }
    }

    fn title(&self) -> String {
        exact(self.row.case.size_bytes)
    }
}

impl Named for SyncRow {
    /// `fsync append`, with the number of writers where there are several.
    fn name(&self) -> String {
        let case = &self.row.case;
        let several = match case.writers {
            1 => String::new(),
            writers => format!(" × {writers}"),
        };
        format!("{} {}{several}", case.call.as_str(), case.write.as_str())
    }

    /// `1 KiB a write`.
    fn title(&self) -> String {
        format!("{} a write", exact(self.row.case.size_bytes))
    }
}

impl Named for CopyRow {
    /// `read_write 64 KiB`, `read_write whole file`, `sendfile`.
    fn name(&self) -> String {
        let case = &self.row.case;
        let method = case.method.as_str();
        match case.buffer_bytes {
            Some(_) if case.has_whole_buffer() => format!("{method} whole file"),
            Some(size) => format!("{method} {}", exact(size)),
            None => method.to_owned(),
        }
    }

    /// `100 MiB, warm source`.
    fn title(&self) -> String {
        let case = &self.row.case;
        let (size, source) = (exact(case.size_bytes), case.source.as_str());
        format!("{size}, {source} source")
    }
}
