//! Finds the states that break something, and what made each of them possible.

use std::collections::HashSet;
use std::sync::Arc;

use super::explore::{Budget, Coverage, Explorer, Looked, State};
use super::history::History;
use super::model::Model;
use super::smaller::Smaller;
use super::verdicts::{Key, Share, Verdicts};
use crate::record::Tree;

names! {
    /// How a crash breaks something.
    pub enum FaultKind {
        /// Something was reported and is lost.
        LostAfterAck = "lost-after-ack",
        /// A later operation is on disk, an earlier one is not.
        Ordering = "ordering",
        /// A part of an operation is on disk.
        Atomicity = "atomicity",
        /// Everything up to an operation is on disk, and that is not enough.
        Prefix = "prefix",
    }
}

impl FaultKind {
    /// What a crash leaves, in one line.
    pub fn leaves(self) -> &'static str {
        match self {
            Self::LostAfterAck => "less than the program had reported",
            Self::Ordering => "a later operation without an earlier one",
            Self::Atomicity => "a part of one operation",
            Self::Prefix => "all operations up to one, and none after it",
        }
    }
}

/// One way to break something, however many states show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub kind: FaultKind,
    /// The step whose effects, or some of them, are lost; of a prefix the last one that is there.
    pub culprit: usize,
    /// The step that should have waited: what it changed is there, or what it said was said.
    pub before: Option<usize>,
    pub message: String,
    /// The smallest state that was found; its number is that of the state it was made of.
    pub state: State,
    /// Whether it was made as small as it gets, effect after effect.
    pub is_smallest: bool,
    /// Whether the operations are those that matter; else the search ended before they were known.
    pub is_attributed: bool,
    /// Effects of it that are lost though they were under way.
    pub(super) lost: Vec<usize>,
    /// States of this model that show it, this one included.
    pub states: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Found {
    pub coverage: Coverage,
    /// Different trees, or the same with more said before.
    pub distinct: u64,
    /// Of these, those that break something.
    pub failing: u64,
    /// In the order in which they were found.
    pub faults: Vec<Fault>,
}

/// A tree to check, and the number of acknowledgements by then.
pub type Seen = (Arc<Tree>, usize);

/// Why not all of some trees were looked at, and what was said of those that were.
#[derive(Debug)]
pub struct Stopped<E> {
    /// The number of each of these trees, and its message.
    pub said: Vec<(usize, Option<String>)>,
    pub by: E,
}

impl<E> From<E> for Stopped<E> {
    fn from(by: E) -> Self {
        Self {
            said: Vec::new(),
            by,
        }
    }
}

/// Looks at trees, and gives for each what is broken in it: the message of a checker. Learns how far the
/// exploration is.
pub type Check<'a, E> =
    dyn FnMut(&[Seen], &Coverage) -> Result<Vec<Option<String>>, Stopped<E>> + 'a;

/// Goes through the states of a model, and adds to `found`. Each different tree is checked once; what is
/// found does not depend on how many are looked at side by side.
///
/// # Errors
/// When the check does, as when it is interrupted: `found` has what was found until then.
pub fn search<E>(
    history: &History,
    model: Model,
    budget: Budget,
    verdicts: &mut Verdicts,
    check: &mut Check<'_, E>,
    found: &mut Found,
) -> Result<(), E> {
    let mut explorer = Explorer::new(history, model);
    let mut coverage = Coverage::default();
    let mut search = Search {
        smaller: Smaller {
            explorer: Explorer::new(history, model),
            verdicts,
            check,
            coverage: Coverage::default(),
            is_thorough: true,
            effort: 0,
        },
        share: budget.share,
        distinct: HashSet::new(),
        waiting: Vec::new(),
        judged: Coverage::default(),
        found,
    };
    let explored = explorer.explore(budget, &mut coverage, |state, looked, coverage| {
        search.smaller.coverage = *coverage;
        search.add(state, looked)
    });
    let explored = explored.and_then(|()| search.judge());
    // What waited for the checker when the search ended is not explored.
    let judged = search.judged;
    found.coverage = if explored.is_ok() { coverage } else { judged };
    explored
}

/// Whether a state of a model breaks something: the search is over with the first one.
///
/// # Errors
/// When the check does.
pub(super) fn breaks<E>(
    history: &History,
    model: Model,
    budget: Budget,
    verdicts: &mut Verdicts,
    check: &mut Check<'_, E>,
) -> Result<bool, E> {
    let mut seen = HashSet::new();
    let mut waiting = Vec::new();
    let beside = verdicts.beside;
    let mut judge = |waiting: &mut Vec<(Key, Seen)>, coverage: &Coverage| {
        if waiting.is_empty() {
            return idle(check, coverage).map_err(Ended::By);
        }
        let said = verdicts.of(std::mem::take(waiting), |seen| check(seen, coverage));
        match said {
            Ok(said) if said.iter().any(Option::is_some) => Err(Ended::Broken),
            Ok(_) => Ok(()),
            Err(error) => Err(Ended::By(error)),
        }
    };
    let mut coverage = Coverage::default();
    let mut explorer = Explorer::new(history, model);
    let explored = explorer.explore(budget, &mut coverage, |_, looked, coverage| {
        let key = (looked.hash, looked.told);
        if !budget.share.has(&key) || !seen.insert(key) {
            return judge(&mut Vec::new(), coverage);
        }
        waiting.push((key, (Arc::clone(looked.tree), looked.told)));
        if waiting.len() < beside {
            return Ok(());
        }
        judge(&mut waiting, coverage)
    });
    match explored.and_then(|()| judge(&mut waiting, &coverage)) {
        Ok(()) => Ok(false),
        Err(Ended::Broken) => Ok(true),
        Err(Ended::By(error)) => Err(error),
    }
}

/// Lets the check end the exploration where many states in a row are known already.
fn idle<E>(check: &mut Check<'_, E>, coverage: &Coverage) -> Result<(), E> {
    match check(&[], coverage) {
        Ok(_) => Ok(()),
        Err(Stopped { by, .. }) => Err(by),
    }
}

/// Why an exploration is over before its end.
enum Ended<E> {
    Broken,
    By(E),
}

/// A search under way.
struct Search<'a, 'h, E> {
    smaller: Smaller<'a, 'h, E>,
    share: Share,
    distinct: HashSet<Key>,
    /// States that wait to be checked in parallel.
    waiting: Vec<(State, Key, Seen)>,
    /// How much was tried of which each state was judged.
    judged: Coverage,
    found: &'a mut Found,
}

impl<E> Search<'_, '_, E> {
    fn add(&mut self, state: &State, looked: Looked<'_>) -> Result<(), E> {
        let key = (looked.hash, looked.told);
        if self.waiting.is_empty() {
            let Coverage { states, .. } = self.smaller.coverage;
            self.judged = Coverage {
                states: states - 1,
                ..self.smaller.coverage
            };
        }
        if !self.share.has(&key) || !self.distinct.insert(key) {
            return idle(self.smaller.check, &self.smaller.coverage);
        }
        self.waiting
            .push((state.clone(), key, (Arc::clone(looked.tree), looked.told)));
        if self.waiting.len() < self.smaller.verdicts.beside {
            return Ok(());
        }
        self.judge()
    }

    /// Checks the states that wait, and attributes those that fail.
    fn judge(&mut self) -> Result<(), E> {
        let (states, looks): (Vec<_>, Vec<_>) = std::mem::take(&mut self.waiting)
            .into_iter()
            .map(|(state, key, seen)| ((state, key), (key, seen)))
            .unzip();
        let said = match self.smaller.look(looks) {
            Ok(said) => said,
            Err(error) => {
                self.keep(states);
                return Err(error);
            }
        };
        self.judged = self.smaller.coverage;
        self.found.distinct += states.len() as u64;
        let mut ended = Ok(());
        for ((state, _), message) in states.into_iter().zip(said) {
            let Some(message) = message else { continue };
            self.found.failing += 1;
            if ended.is_ok() {
                ended = self.blame(state, message);
            } else {
                self.add_fault(self.smaller.unfinished(state, message));
            }
        }
        ended
    }

    /// Attributes those of these states that were checked before the end, and fail.
    fn keep(&mut self, states: Vec<(State, Key)>) {
        for (state, key) in states {
            self.found.distinct += u64::from(self.smaller.verdicts.has(&key));
            if let Some(message) = self.smaller.verdicts.message(&key) {
                let message = message.to_owned();
                self.found.failing += 1;
                self.add_fault(self.smaller.unfinished(state, message));
            }
        }
    }

    fn blame(&mut self, state: State, message: String) -> Result<(), E> {
        let history = self.smaller.explorer.history;
        let is_known = |fault: &&mut Fault| explains(history, fault, &state, &message);
        if let Some(fault) = self.found.faults.iter_mut().find(is_known) {
            fault.states += 1;
            return Ok(());
        }
        let (fault, ended) = match self.smaller.fault(state.clone(), message.clone()) {
            Ok(fault) => (fault, Ok(())),
            Err(error) => (self.smaller.unfinished(state, message), Err(error)),
        };
        self.add_fault(fault);
        ended
    }

    fn add_fault(&mut self, fault: Fault) {
        let history = self.smaller.explorer.history;
        let is_known = |known: &&mut Fault| is_same(history, known, &fault);
        match self.found.faults.iter_mut().find(is_known) {
            Some(known) => known.states += 1,
            None => self.found.faults.push(fault),
        }
    }
}

fn is_same(history: &History, one: &Fault, other: &Fault) -> bool {
    let same = (one.kind, &one.message) == (other.kind, &other.message);
    // Of a prefix no sync would help: one of a loop stands for all.
    if one.kind == FaultKind::Prefix {
        return same && is_alike(history, one.culprit, other.culprit);
    }
    same && (one.culprit, one.before) == (other.culprit, other.before)
}

/// Whether two steps are the same call on the same paths.
fn is_alike(history: &History, one: usize, other: usize) -> bool {
    let [one, other] = [one, other].map(|step| &history.steps[step]);
    (&one.call, &one.path, &one.other_path) == (&other.call, &other.path, &other.other_path)
}

/// Whether a state lacks what the fault lacks, and has what should have waited.
fn explains(history: &History, fault: &Fault, state: &State, message: &str) -> bool {
    if fault.message != message {
        return false;
    }
    if fault.kind == FaultKind::Prefix && fault.lost.is_empty() {
        let effects = history.effects.iter().zip(&state.kept);
        let mut issued =
            effects.filter(|(effect, _)| history.steps[effect.step].begin <= state.point.time);
        return is_alike(history, fault.culprit, state.point.step) && issued.all(|(_, kept)| *kept);
    }
    let lacks = !fault.lost.is_empty() && fault.lost.iter().all(|at| !state.kept[*at]);
    let has = fault.before.is_some_and(|before| {
        let step = &history.steps[before];
        if fault.kind == FaultKind::LostAfterAck {
            step.end <= state.point.time
        } else {
            step.effects.clone().any(|at| state.kept[at])
        }
    });
    lacks && has
}
