//! Results of several machines as one: the rows of all of them, each with its machine, judged again
//! within each machine.

use std::any::Any;
use std::collections::BTreeMap;

use super::{AT, Experiment, ExperimentResult, LabResult, OwnCost, Part, Row, SCHEMA};
use crate::gap::{Gap, Missing, Reason};

/// A result that is merged with others.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    pub file: &'a str,
    /// The name of its machine; by default the label of its environment.
    pub machine: Option<&'a str>,
    pub result: &'a LabResult,
}

/// Why results cannot be merged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    #[error("one result alone cannot be merged; name two or more")]
    Alone,
    /// A name that ids cannot hold.
    #[error(
        "{0:?} cannot name a machine, because the name becomes part of ids; use up to \
         {LONGEST_NAME} letters, digits, dots, hyphens and underscores"
    )]
    Name(String),
    #[error(
        "{file} is itself merged from results of several machines; name the results it was made \
         from"
    )]
    Merged { file: String },
    /// Two results of one machine.
    #[error(
        "{first} and {second} are both of machine {machine}, so their rows would have the same \
         ids; leave one out if they were measured on the same machine, or else name each machine \
         (--machine)"
    )]
    SameMachine {
        first: String,
        second: String,
        machine: String,
    },
    /// Two versions of iostrata.
    #[error(
        "{first} was saved by iostrata {ours} and {second} by iostrata {theirs}, which may not \
         measure in the same way; run lab with one version on all machines"
    )]
    Versions {
        first: String,
        ours: String,
        second: String,
        theirs: String,
    },
    /// Two methods of one experiment.
    #[error(
        "{experiment} was timed {ours} times a case in {first} and {theirs} times in {second}, so \
         their intervals do not mean the same; run lab with the same options on all machines"
    )]
    Method {
        experiment: &'static str,
        first: String,
        ours: String,
        second: String,
        theirs: String,
    },
}

/// Names stand in a column of tables, and in ids.
const LONGEST_NAME: usize = 40;

/// Merges results of several machines.
///
/// The environment is that of the first; [`LabResult::parts`] has all of them.
pub fn merge(inputs: &[Input<'_>]) -> Result<LabResult, MergeError> {
    let machines = machines(inputs)?;
    check_versions(inputs)?;
    let [first, ..] = inputs else {
        return Err(MergeError::Alone);
    };
    let mut experiments: Vec<Experiment> = Vec::new();
    // The file that has an experiment first, and with it the method.
    let mut firsts: BTreeMap<&'static str, &Input<'_>> = BTreeMap::new();
    for (input, machine) in inputs.iter().zip(&machines) {
        for experiment in &input.result.experiments {
            let id = experiment.shared().id;
            let earlier = firsts.entry(id).or_insert(input);
            let known = experiments.iter_mut().find(|known| known.shared().id == id);
            let before = known.as_ref().map_or(0, |known| known.rows());
            let mut part = experiment.clone();
            part.put_on(&Stamp { machine, before });
            match known {
                None => experiments.push(part),
                Some(known) => {
                    check_method(earlier, known, input, &part)?;
                    known.append(part);
                }
            }
        }
    }
    for experiment in &mut experiments {
        experiment.lack(inputs, &machines);
        experiment.judge();
    }
    let parts = machines.iter().zip(inputs).map(|(machine, input)| Part {
        machine: machine.clone(),
        environment: input.result.environment.clone(),
    });
    Ok(LabResult {
        schema: SCHEMA.to_owned(),
        environment: first.result.environment.clone(),
        parts: parts.collect(),
        experiments,
    })
}

/// The names of the machines, each different.
fn machines(inputs: &[Input<'_>]) -> Result<Vec<String>, MergeError> {
    if inputs.len() < 2 {
        return Err(MergeError::Alone);
    }
    let mut machines: Vec<String> = Vec::new();
    for input in inputs {
        let file = || input.file.to_owned();
        if !input.result.parts.is_empty() {
            return Err(MergeError::Merged { file: file() });
        }
        let label = input.result.environment.machine.as_str();
        let machine = input.machine.unwrap_or(label).to_owned();
        if !can_name(&machine) {
            return Err(MergeError::Name(machine));
        }
        if let Some(place) = machines.iter().position(|known| *known == machine) {
            return Err(MergeError::SameMachine {
                first: inputs[place].file.to_owned(),
                second: file(),
                machine,
            });
        }
        machines.push(machine);
    }
    Ok(machines)
}

fn can_name(machine: &str) -> bool {
    let fits = |char: char| char.is_ascii_alphanumeric() || matches!(char, '.' | '-' | '_');
    !machine.is_empty() && machine.len() <= LONGEST_NAME && machine.chars().all(fits)
}

fn check_versions(inputs: &[Input<'_>]) -> Result<(), MergeError> {
    let version = |input: &Input<'_>| input.result.environment.iostrata_version.clone();
    for pair in inputs.windows(2) {
        let (ours, theirs) = (version(&pair[0]), version(&pair[1]));
        if ours != theirs {
            return Err(MergeError::Versions {
                first: pair[0].file.to_owned(),
                ours,
                second: pair[1].file.to_owned(),
                theirs,
            });
        }
    }
    Ok(())
}

/// That an experiment was timed alike in both results.
fn check_method(
    first: &Input<'_>,
    ours: &Experiment,
    second: &Input<'_>,
    theirs: &Experiment,
) -> Result<(), MergeError> {
    let (ours, theirs) = (ours.shared(), theirs.shared());
    if ours.timing_runs == theirs.timing_runs {
        return Ok(());
    }
    let runs = |(fewest, most): (usize, usize)| match most {
        _ if fewest == most => most.to_string(),
        _ => format!("{fewest} to {most}"),
    };
    Err(MergeError::Method {
        experiment: ours.id,
        first: first.file.to_owned(),
        ours: runs(ours.timing_runs),
        second: second.file.to_owned(),
        theirs: runs(theirs.timing_runs),
    })
}

/// Where a part of a merged result was made, and how many rows stand before its own.
pub(crate) struct Stamp<'a> {
    machine: &'a str,
    before: usize,
}

impl Stamp<'_> {
    /// Puts the machine behind the name of a target.
    pub(crate) fn target(&self, name: &mut String) {
        name.push(AT);
        name.push_str(self.machine);
    }

    /// Of what belongs to no target.
    pub(crate) fn machine(&self, machine: &mut Option<String>) {
        *machine = Some(self.machine.to_owned());
    }

    /// Makes the number of a row that in the merged result.
    pub(crate) fn number(&self, row: &mut usize) {
        *row = row.saturating_add(self.before);
    }

    /// Puts the machine's name before a text.
    fn whose(&self, text: &mut String) {
        *text = format!("{}: {text}", self.machine);
    }
}

impl Experiment {
    fn put_on(&mut self, stamp: &Stamp<'_>) {
        each!(self, result => put_on(result, stamp));
    }

    /// Adds another machine's measurements of the same experiment.
    fn append(&mut self, other: Self) {
        let other: Box<dyn Any> = each!(other, result => Box::new(result));
        // Experiments of one name are of one kind.
        each!(self, result => {
            if let Ok(theirs) = other.downcast() {
                append(result, *theirs);
            }
        });
    }

    /// Names the machines that did not measure it.
    fn lack(&mut self, inputs: &[Input<'_>], machines: &[String]) {
        let id = self.shared().id;
        for (input, machine) in inputs.iter().zip(machines) {
            let has = |one: &Self| one.shared().id == id;
            if !input.result.experiments.iter().any(has) {
                let machine = machine.clone();
                let why = Reason::NotInFile {
                    file: input.file.to_owned(),
                    experiment: id.to_owned(),
                };
                self.missing_mut()
                    .push(Gap::new(Missing::RowsOf { machine }, why));
            }
        }
    }
}

/// The result of one machine as a part of a merged result.
fn put_on<R: Stamped, O: Stamped, M>(result: &mut ExperimentResult<R, O, M>, stamp: &Stamp<'_>) {
    for target in &mut result.targets {
        stamp.target(&mut target.name);
    }
    for row in &mut result.rows {
        row.put_on(stamp);
    }
    result.own.put_on(stamp);
    for caveat in &mut result.caveats {
        stamp.whose(caveat);
    }
    for gap in &mut result.missing {
        gap.what = Missing::OnMachine {
            machine: stamp.machine.to_owned(),
            what: Box::new(gap.what.clone()),
        };
    }
}

fn append<R, O: Joined, M: Joined>(
    result: &mut ExperimentResult<R, O, M>,
    other: ExperimentResult<R, O, M>,
) {
    result.targets.extend(other.targets);
    result.rows.extend(other.rows);
    result.caveats.extend(other.caveats);
    result.missing.extend(other.missing);
    let (ours, theirs) = (&mut result.method, other.method);
    ours.warm_up_runs = ours.warm_up_runs.saturating_add(theirs.warm_up_runs);
    ours.planned_rows = ours.planned_rows.saturating_add(theirs.planned_rows);
    ours.interrupted |= theirs.interrupted;
    let mut differs = Vec::new();
    differs.extend(result.own.join(other.own));
    differs.extend(ours.own.join(theirs.own));
    if result.settings != other.settings {
        result.settings = None;
        differs.push(Missing::Settings);
    }
    for what in differs {
        let gap = Gap::new(what, Reason::MachinesDiffer);
        if !result.missing.contains(&gap) {
            result.missing.push(gap);
        }
    }
}

/// Something that was measured on one machine.
pub(crate) trait Stamped {
    /// Notes on which.
    fn put_on(&mut self, stamp: &Stamp<'_>);
}

/// Something that a result has once, also where it is of several machines.
pub(crate) trait Joined {
    /// Adds the result of another machine. Parts that cannot be joined are left out, and named.
    fn join(&mut self, other: Self) -> Option<Missing>;
}

impl<C> Stamped for Row<C> {
    fn put_on(&mut self, stamp: &Stamp<'_>) {
        stamp.target(&mut self.target);
    }
}

impl Joined for OwnCost {
    fn join(&mut self, other: Self) -> Option<Missing> {
        let differs = *self != other;
        if differs {
            self.own_cost_ns = None;
        }
        differs.then_some(Missing::OwnCost)
    }
}

impl Joined for () {
    fn join(&mut self, (): Self) -> Option<Missing> {
        None
    }
}
