//! Finds the states that break something, and what made each of them possible.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use blake3::Hash;

use super::explore::{Budget, Coverage, Explorer, Point, State};
use super::history::History;
use super::model::Model;
use super::state;
use crate::record::Tree;

/// How a crash breaks something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Everything up to some operation is on disk and nothing after it.
    Prefix,
    /// A part of an operation is on disk, another part is not.
    Atomicity,
    /// A later operation is on disk, an earlier one is not.
    Ordering,
    /// Somebody had been told, and it is not on disk.
    LostAfterAck,
}

/// One way to break something, however many states show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// How.
    pub kind: Kind,
    /// The step whose effects, or some of them, are lost; of a prefix the last one that is there.
    pub culprit: usize,
    /// The step that should have waited: what it changed is there, or what it said was said.
    pub before: Option<usize>,
    /// What the checker said.
    pub message: String,
    /// The smallest state that was found.
    pub state: State,
    /// Effects of it that are lost though they were under way.
    pub(super) lost: Vec<usize>,
    /// States of this model that show it, this one included.
    pub states: u64,
}

/// What a search came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Found {
    /// How much was tried.
    pub coverage: Coverage,
    /// Different trees, or the same with more said before.
    pub distinct: u64,
    /// Of these, those that break something.
    pub failing: u64,
    /// In the order in which they were found.
    pub faults: Vec<Fault>,
}

/// What a checker said of trees that were seen: none of it when all was well.
#[derive(Debug, Default)]
pub struct Verdicts {
    known: HashMap<(Hash, usize), Option<String>>,
}

impl Verdicts {
    /// Trees that were checked.
    pub fn count(&self) -> usize {
        self.known.len()
    }
}

/// Looks at a tree, and at how many steps had told somebody something; gives what is broken.
pub trait Check<E>: FnMut(&Tree, usize) -> Result<Option<String>, E> {}
impl<E, F: FnMut(&Tree, usize) -> Result<Option<String>, E>> Check<E> for F {}

/// Goes through the states of a model. Each different tree is checked once.
///
/// # Errors
/// When the check does, as when it is interrupted.
pub fn search<E>(
    history: &History,
    model: Model,
    budget: Budget,
    verdicts: &mut Verdicts,
    check: &mut impl Check<E>,
) -> Result<Found, E> {
    let mut failing = Vec::new();
    let mut distinct = HashMap::new();
    let mut explorer = Explorer::new(history, model);
    let root = history.root;
    let coverage = explorer.explore(budget, |state, tree, told| {
        let key = (state::digest(tree, root), told);
        if let Entry::Vacant(vacant) = distinct.entry(key) {
            let verdict = verdict(verdicts, key, || check(tree, told))?;
            let fails = verdict.is_some();
            vacant.insert(fails);
            if let Some(message) = verdict {
                failing.push((state.clone(), message));
            }
        }
        Ok(())
    })?;
    let mut found = Found {
        coverage,
        distinct: distinct.len() as u64,
        failing: failing.len() as u64,
        faults: Vec::new(),
    };
    let mut explorer = Explorer::new(history, model);
    for (state, message) in failing {
        if let Some(fault) = found
            .faults
            .iter_mut()
            .find(|fault| explains(history, fault, &state, &message))
        {
            fault.states += 1;
            continue;
        }
        let fault = Smaller {
            explorer: &mut explorer,
            verdicts,
            check,
        }
        .fault(state, message)?;
        match found.faults.iter_mut().find(|known| is_same(known, &fault)) {
            Some(known) => known.states += 1,
            None => found.faults.push(fault),
        }
    }
    Ok(found)
}

fn verdict<E>(
    verdicts: &mut Verdicts,
    key: (Hash, usize),
    check: impl FnOnce() -> Result<Option<String>, E>,
) -> Result<Option<String>, E> {
    match verdicts.known.entry(key) {
        Entry::Occupied(known) => Ok(known.get().clone()),
        Entry::Vacant(vacant) => Ok(vacant.insert(check()?).clone()),
    }
}

fn is_same(one: &Fault, other: &Fault) -> bool {
    (one.kind, one.culprit, one.before, &one.message)
        == (other.kind, other.culprit, other.before, &other.message)
}

/// Whether a state lacks what the fault lacks, and has what should have waited.
fn explains(history: &History, fault: &Fault, state: &State, message: &str) -> bool {
    let lacks = !fault.lost.is_empty() && fault.lost.iter().all(|at| !state.kept[*at]);
    let has = fault.before.is_some_and(|before| {
        let step = &history.steps[before];
        if fault.kind == Kind::LostAfterAck {
            step.end <= state.point.time
        } else {
            step.effects.clone().any(|at| state.kept[at])
        }
    });
    lacks && has && fault.message == message
}

/// Makes a failing state smaller.
struct Smaller<'a, 'h, C> {
    explorer: &'a mut Explorer<'h>,
    verdicts: &'a mut Verdicts,
    check: &'a mut C,
}

impl<C> Smaller<'_, '_, C> {
    /// Puts back what need not be lost, and takes away what need not be there, as long as the checker says
    /// the same.
    fn fault<E>(&mut self, state: State, message: String) -> Result<Fault, E>
    where
        C: Check<E>,
    {
        let point = state.point;
        let certain = self.explorer.certain(point);
        let issued = self.explorer.issued(point);
        let mut kept = state.kept;
        for at in issued.iter().rev() {
            if kept[*at] {
                continue;
            }
            let more = self.explorer.closed(&kept, [*at]);
            if self.says(point, &more)?.as_ref() == Some(&message) {
                kept = more;
            }
        }
        let lost: Vec<usize> = issued.iter().copied().filter(|at| !kept[*at]).collect();
        if let Some(first) = lost.first() {
            for at in issued.iter().rev().take_while(|at| *at > first) {
                let less = self.explorer.less(&kept, &certain, [*at]);
                if kept[*at] && !less[*at] && self.says(point, &less)?.as_ref() == Some(&message) {
                    kept = less;
                }
            }
        }
        let acknowledged = self.acknowledged(point, &kept)?;
        Ok(self.named(State { point, kept }, lost, acknowledged, message))
    }

    fn says<E>(&mut self, point: Point, kept: &[bool]) -> Result<Option<String>, E>
    where
        C: Check<E>,
    {
        self.says_when(point, kept, self.explorer.told(point))
    }

    fn says_when<E>(
        &mut self,
        point: Point,
        kept: &[bool],
        told: usize,
    ) -> Result<Option<String>, E>
    where
        C: Check<E>,
    {
        let state = State {
            point,
            kept: kept.to_vec(),
        };
        let Ok(tree) = self.explorer.tree(&state) else {
            return Ok(None);
        };
        let key = (state::digest(&tree, self.explorer.history.root), told);
        verdict(self.verdicts, key, || (self.check)(&tree, told))
    }

    /// The first thing said without which the state would be fine.
    fn acknowledged<E>(&mut self, point: Point, kept: &[bool]) -> Result<Option<usize>, E>
    where
        C: Check<E>,
    {
        let told = self.explorer.told(point);
        for fewer in 0..told {
            if self.says_when(point, kept, fewer)?.is_some() {
                return Ok(fewer
                    .checked_sub(1)
                    .map(|number| self.step_that_told(number)));
            }
        }
        Ok(told
            .checked_sub(1)
            .map(|number| self.step_that_told(number)))
    }

    fn step_that_told(&self, number: usize) -> usize {
        let mut steps: Vec<usize> = (0..self.explorer.history.steps.len())
            .filter(|step| self.explorer.history.steps[*step].printed.is_some())
            .collect();
        steps.sort_unstable_by_key(|step| self.explorer.history.steps[*step].end);
        steps[number]
    }

    fn named(
        &self,
        state: State,
        lost: Vec<usize>,
        acknowledged: Option<usize>,
        message: String,
    ) -> Fault {
        let effects = &self.explorer.history.effects;
        let last_kept = (0..effects.len()).rev().find(|at| state.kept[*at]);
        let last_step = last_kept.map_or(state.point.step, |at| effects[at].step);
        let (kind, culprit, before) = match (lost.first(), acknowledged) {
            (first, Some(told)) => {
                let culprit = first.map_or(last_step, |at| effects[*at].step);
                (Kind::LostAfterAck, culprit, Some(told))
            }
            (None, None) => (Kind::Prefix, last_step, None),
            (Some(first), None) => {
                let culprit = effects[*first].step;
                let later = last_kept.filter(|at| at > first).map(|at| effects[at].step);
                match later {
                    Some(step) if step != culprit => (Kind::Ordering, culprit, Some(step)),
                    _ if self.has_kept(&state, culprit) => (Kind::Atomicity, culprit, None),
                    _ => (Kind::Prefix, last_step, None),
                }
            }
        };
        Fault {
            kind,
            culprit,
            before,
            message,
            state,
            lost,
            states: 1,
        }
    }

    fn has_kept(&self, state: &State, step: usize) -> bool {
        let mut effects = self.explorer.history.steps[step].effects.clone();
        effects.any(|at| state.kept[at])
    }
}
