//! Finds the states that break something, and what made each of them possible.

use std::collections::HashSet;

use super::explore::{Budget, Coverage, Explorer, Point, State};
use super::history::History;
use super::model::Model;
use super::state;
use super::verdicts::{Key, Share, Verdicts};
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
    /// The smallest state that was found; its number is that of the state it was made of.
    pub state: State,
    /// Whether nothing could be added to it or taken from it; else the search was interrupted.
    pub is_smallest: bool,
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

/// A tree to look at, and how many steps had told somebody something by then.
pub type Seen = (Tree, usize);

/// Why not all of some trees were looked at, and what was said of those that were.
#[derive(Debug)]
pub struct Stopped<E> {
    /// The number of each of these trees, and its message.
    pub said: Vec<(usize, Option<String>)>,
    /// The reason.
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
pub trait Check<E>: FnMut(&[Seen], &Coverage) -> Result<Vec<Option<String>>, Stopped<E>> {}
impl<E, F> Check<E> for F where
    F: FnMut(&[Seen], &Coverage) -> Result<Vec<Option<String>>, Stopped<E>>
{
}

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
    check: &mut impl Check<E>,
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
        },
        share: budget.share,
        distinct: HashSet::new(),
        waiting: Vec::new(),
        found,
    };
    let explored = explorer.explore(budget, &mut coverage, |state, (tree, told), coverage| {
        search.smaller.coverage = *coverage;
        search.add(state, tree, told)
    });
    let explored = explored.and_then(|()| search.judge());
    found.coverage = coverage;
    explored
}

/// A search under way.
struct Search<'a, 'h, C> {
    smaller: Smaller<'a, 'h, C>,
    share: Share,
    distinct: HashSet<Key>,
    /// States that wait to be looked at side by side.
    waiting: Vec<(State, Key, Seen)>,
    found: &'a mut Found,
}

impl<C> Search<'_, '_, C> {
    fn add<E>(&mut self, state: &State, tree: &Tree, told: usize) -> Result<(), E>
    where
        C: Check<E>,
    {
        let history = self.smaller.explorer.history;
        let key = (state::digest(tree, history.root), told);
        if !self.share.has(&key) || !self.distinct.insert(key) {
            return Ok(());
        }
        self.found.distinct += 1;
        self.waiting
            .push((state.clone(), key, (tree.clone(), told)));
        if self.waiting.len() < self.smaller.verdicts.beside {
            return Ok(());
        }
        self.judge()
    }

    /// Looks at the states that wait, and blames somebody for those that fail.
    fn judge<E>(&mut self) -> Result<(), E>
    where
        C: Check<E>,
    {
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

    /// Blames somebody for those of these states that were looked at before the end, and fail.
    fn keep(&mut self, states: Vec<(State, Key)>) {
        for (state, key) in states {
            if let Some(message) = self.smaller.verdicts.message(&key) {
                let message = message.to_owned();
                self.found.failing += 1;
                self.add_fault(self.smaller.unfinished(state, message));
            }
        }
    }

    fn blame<E>(&mut self, state: State, message: String) -> Result<(), E>
    where
        C: Check<E>,
    {
        let history = self.smaller.explorer.history;
        let is_known = |fault: &&mut Fault| explains(history, fault, &state, &message);
        if let Some(fault) = self.found.faults.iter_mut().find(is_known) {
            fault.states += 1;
            return Ok(());
        }
        // Failing states come in the order of their points, within each of the two rounds.
        self.smaller.explorer.advance_to(state.point);
        let (fault, ended) = match self.smaller.fault(state.clone(), message.clone()) {
            Ok(fault) => (fault, Ok(())),
            Err(error) => (self.smaller.unfinished(state, message), Err(error)),
        };
        self.add_fault(fault);
        ended
    }

    fn add_fault(&mut self, fault: Fault) {
        let is_known = |known: &&mut Fault| is_same(known, &fault);
        match self.found.faults.iter_mut().find(is_known) {
            Some(known) => known.states += 1,
            None => self.found.faults.push(fault),
        }
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
    explorer: Explorer<'h>,
    verdicts: &'a mut Verdicts,
    check: &'a mut C,
    coverage: Coverage,
}

impl<C> Smaller<'_, '_, C> {
    /// Puts back what need not be lost, and takes away what need not be there, as long as the checker says
    /// the same.
    fn fault<E>(&mut self, state: State, message: String) -> Result<Fault, E>
    where
        C: Check<E>,
    {
        let State { point, number, .. } = state;
        let certain = self.explorer.certain(point);
        let issued = self.explorer.issued(point);
        let missing: Vec<usize> = issued.iter().rev().copied().collect();
        let more = |explorer: &Explorer<'_>, kept: &[bool], at: usize| {
            (!kept[at]).then(|| explorer.closed(kept, [at]))
        };
        let mut kept = self.changed(point, state.kept, &message, &missing, more)?;
        let lost: Vec<usize> = issued.iter().copied().filter(|at| !kept[*at]).collect();
        if let Some(first) = lost.first() {
            let later: Vec<usize> = missing.into_iter().take_while(|at| at > first).collect();
            let less = |explorer: &Explorer<'_>, kept: &[bool], at: usize| {
                let less = explorer.less(kept, &certain, [at]);
                (kept[at] && !less[at]).then_some(less)
            };
            kept = self.changed(point, kept, &message, &later, less)?;
        }
        let acknowledged = self.acknowledged(point, &kept)?;
        let state = State {
            point,
            number,
            kept,
        };
        Ok(self.named(state, lost, acknowledged, message, true))
    }

    /// The fault of a state that nobody made smaller.
    fn unfinished(&self, state: State, message: String) -> Fault {
        let issued = self.explorer.issued(state.point).into_iter();
        let lost = issued.filter(|at| !state.kept[*at]).collect();
        self.named(state, lost, None, message, false)
    }

    /// Makes each change after which the checker says the same. Several are tried side by side, each as if
    /// those before it had not been made; from the first that was, the rest is tried anew.
    fn changed<E>(
        &mut self,
        point: Point,
        mut kept: Vec<bool>,
        message: &str,
        effects: &[usize],
        change: impl Fn(&Explorer<'_>, &[bool], usize) -> Option<Vec<bool>>,
    ) -> Result<Vec<bool>, E>
    where
        C: Check<E>,
    {
        let told = self.explorer.told(point);
        let mut rest = effects;
        while !rest.is_empty() {
            let mut tried = Vec::new();
            let mut passed = 0;
            for at in rest {
                passed += 1;
                tried.extend(change(&self.explorer, &kept, *at).map(|kept| (passed, kept)));
                if tried.len() >= self.verdicts.beside {
                    break;
                }
            }
            let looks = tried.iter().map(|(_, kept)| (kept.as_slice(), told));
            let said = self.say(point, looks)?;
            let same = said
                .iter()
                .position(|said| said.as_deref() == Some(message));
            if let Some(same) = same {
                (passed, kept) = tried.swap_remove(same);
            }
            rest = &rest[passed..];
        }
        Ok(kept)
    }

    /// What was said of these, or is said now.
    fn look<E>(&mut self, looks: Vec<(Key, Seen)>) -> Result<Vec<Option<String>>, E>
    where
        C: Check<E>,
    {
        let Self {
            verdicts,
            check,
            coverage,
            ..
        } = self;
        verdicts.of(looks, |seen| check(seen, coverage))
    }

    /// What the checker says of combinations at a point; of one that no file system could hold nothing.
    fn say<'k, E>(
        &mut self,
        point: Point,
        looks: impl Iterator<Item = (&'k [bool], usize)>,
    ) -> Result<Vec<Option<String>>, E>
    where
        C: Check<E>,
    {
        let mut places = Vec::new();
        let mut seen = Vec::new();
        for (kept, told) in looks {
            let state = State {
                point,
                number: 0,
                kept: kept.to_vec(),
            };
            places.push(self.explorer.tree(&state).ok().map(|tree| {
                let key = (state::digest(&tree, self.explorer.history.root), told);
                seen.push((key, (tree, told)));
                seen.len() - 1
            }));
        }
        let mut said = self.look(seen)?;
        let said = places.into_iter().map(|place| said[place?].take());
        Ok(said.collect())
    }

    /// The first thing said without which the state would be fine.
    fn acknowledged<E>(&mut self, point: Point, kept: &[bool]) -> Result<Option<usize>, E>
    where
        C: Check<E>,
    {
        let told = self.explorer.told(point);
        let mut fewer = 0;
        while fewer < told {
            let upto = told.min(fewer + self.verdicts.beside);
            let said = self.say(point, (fewer..upto).map(|told| (kept, told)))?;
            if let Some(first) = said.iter().position(Option::is_some) {
                let needed = (fewer + first).checked_sub(1);
                return Ok(needed.map(|number| self.step_that_told(number)));
            }
            fewer = upto;
        }
        let last = told.checked_sub(1);
        Ok(last.map(|number| self.step_that_told(number)))
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
        is_smallest: bool,
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
            is_smallest,
            lost,
            states: 1,
        }
    }

    fn has_kept(&self, state: &State, step: usize) -> bool {
        let mut effects = self.explorer.history.steps[step].effects.clone();
        effects.any(|at| state.kept[at])
    }
}
