//! Goes through the states that a crash could leave.
//!
//! A crash is considered after each step that changed something or acknowledged it. The effects that
//! were under way by then, and that no sync covers, may be on disk in any combination that the model
//! allows. Each point first has its whole and its least state: everything, and what is certain; then each has what its
//! step changed without all that came before. Then, where there are few combinations, all are tried; where there are many,
//! those that find most: all but one, one alone, all but one file or one operation, prefixes, and random ones.

mod combinations;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use blake3::Hash;

pub(super) use combinations::bits;

use super::cursor::{Cursor, Slots};
use super::effect::BLOCK_BYTES;
use super::graph::Graph;
use super::history::History;
use super::model::Model;
use super::state::Absurd;
use super::verdicts::Share;
use crate::record::Tree;

/// How much is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Combinations at one point up to which all of them are tried.
    pub exhaustive: usize,
    /// Random combinations at each point where not all are tried.
    pub random: usize,
    pub states: u64,
    pub seed: u64,
    /// Of the points in the order of time, one of so many is looked at, and each after an acknowledgement.
    pub every: u64,
    /// Only the end of the operation with this number, and points after it, are looked at; `None` for all.
    pub after: Option<u64>,
    /// Which of the states are looked at.
    pub share: Share,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            exhaustive: 512,
            random: 32,
            states: 200_000,
            seed: 1,
            every: 1,
            after: None,
            share: Share::ALL,
        }
    }
}

/// Points that have what their step changed alone before all else: of thousands most are alike, and each that fails is made
/// smaller.
const MOST_ALONE: usize = 256;

/// States that each point may have, however many points there are: all, none, and some between.
const FEWEST_AT_A_POINT: u64 = 16;

/// When the power fails: while a step is under way that changes something, or after an acknowledgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Point {
    /// The step: its place in the history.
    pub step: usize,
    /// The time, in the order of begins and ends.
    pub(super) time: usize,
}

/// A state that a crash could leave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State {
    /// When the power failed.
    pub point: Point,
    /// Which one it is of those that a model allows, from 1; the same budget gives the same numbers.
    pub number: u64,
    /// Which effects are on disk.
    pub(super) kept: Vec<bool>,
}

/// A state as a judge sees it.
#[derive(Debug, Clone, Copy)]
pub struct Looked<'t> {
    pub tree: &'t Arc<Tree>,
    /// What tells the tree from others.
    pub hash: Hash,
    /// The number of acknowledgements by then.
    pub told: usize,
}

/// How much of all there is was tried.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Coverage {
    pub states: u64,
    /// Points where the power could fail, and of which the whole and the least state were tried.
    pub points: u64,
    /// Of these, points where not all combinations were tried.
    pub sampled: u64,
    /// Points that were not tried: the number of states was reached before, or the search was ended.
    pub not_tried: u64,
    /// Whether the number of states was reached before all was tried that is tried at any point.
    pub limit_reached: bool,
}

/// The states of one history under one model.
#[derive(Debug)]
pub struct Explorer<'h> {
    pub(super) history: &'h History,
    model: Model,
    pub(super) graph: Graph,
    /// Where a page may be torn: what waits for what on a device that tears none.
    pages: Option<Graph>,
    /// When each effect, and all that it needs, was under way.
    under_way: Vec<usize>,
    slots: Slots<'h>,
    /// Of two neighbours the nearer one leads to a state: whole and least states are near each other.
    cursors: [Cursor; 2],
    /// When acknowledgements ended, in order.
    told_at: Vec<usize>,
}

impl<'h> Explorer<'h> {
    /// Works the rules of the model out.
    pub fn new(history: &'h History, model: Model) -> Self {
        let graph = Graph::of(history, model);
        let under_way = under_way(history, &graph);
        let pages = (history.sector_bytes < BLOCK_BYTES).then(|| {
            let mut pages = history.clone();
            pages.sector_bytes = BLOCK_BYTES;
            let pages = Graph::of(&pages, model);
            // A write that began earlier and ended later may be there without the other one in its page.
            pages.add_to(&graph, |at, need| under_way[need] <= under_way[at])
        });
        let cursor = Cursor::of(history);
        let reports = history.reports();
        Self {
            history,
            model,
            graph,
            pages,
            under_way,
            slots: Slots::of(history),
            cursors: [cursor.clone(), cursor],
            told_at: reports.map(|step| history.steps[step].end).collect(),
        }
    }

    /// Gives every state to `judge`, with its tree, what tells the tree from others, and the number of
    /// acknowledgements. First come the whole and the least state of each point, those after an acknowledgement
    /// before all others; then other states, at points that stand for others first: the first and the last
    /// of each call on each file. `coverage` is of what was tried also when it ends early.
    ///
    /// # Errors
    /// When `judge` does.
    pub fn explore<E>(
        &mut self,
        budget: Budget,
        coverage: &mut Coverage,
        mut judge: impl FnMut(&State, Looked<'_>, &Coverage) -> Result<(), E>,
    ) -> Result<(), E> {
        let points = self.points(budget);
        coverage.not_tried = points.len() as u64;
        let [first, rest] = self.rounds(points);
        let points = self.reports_first(&first, &rest);
        let mut seen = HashSet::new();
        for &point in &points {
            let mut ends = self.ends(point);
            ends.retain(|kept| seen.insert((Self::key(kept), self.told(point))));
            if coverage.states + ends.len() as u64 > budget.states {
                coverage.limit_reached = true;
                return Ok(());
            }
            for kept in ends {
                self.look(point, kept, coverage, &mut judge)?;
            }
            coverage.points += 1;
            coverage.sampled += 1;
            coverage.not_tried -= 1;
        }
        for point in points.into_iter().take(MOST_ALONE) {
            let own = self.own(point, &self.ends(point));
            let Some(kept) = own.filter(|kept| seen.insert((Self::key(kept), self.told(point))))
            else {
                continue;
            };
            if coverage.states == budget.states {
                coverage.limit_reached = true;
                return Ok(());
            }
            self.look(point, kept, coverage, &mut judge)?;
        }
        // Half of the states is for the first round, and what it leaves is for the second.
        let mut until = if rest.is_empty() {
            budget.states
        } else {
            coverage.states + budget.states.saturating_sub(coverage.states).div_ceil(2)
        };
        for round in [first, rest] {
            for (number, point) in round.iter().enumerate() {
                let left = until.saturating_sub(coverage.states);
                let most = (left / (round.len() - number) as u64).max(FEWEST_AT_A_POINT);
                let (mut states, all) = self.states_at(*point, budget, most);
                let ends = self.ends(*point);
                let own = self.own(*point, &ends);
                let own = own.filter(|kept| seen.contains(&(Self::key(kept), self.told(*point))));
                states.retain(|kept| !ends.contains(kept) && own.as_ref() != Some(kept));
                for kept in states {
                    if coverage.states == budget.states {
                        coverage.limit_reached = true;
                        return Ok(());
                    }
                    self.look(*point, kept, coverage, &mut judge)?;
                }
                coverage.sampled -= u64::from(all);
            }
            until = budget.states;
        }
        Ok(())
    }

    fn look<E>(
        &mut self,
        point: Point,
        kept: Vec<bool>,
        coverage: &mut Coverage,
        judge: &mut impl FnMut(&State, Looked<'_>, &Coverage) -> Result<(), E>,
    ) -> Result<(), E> {
        let number = coverage.states + 1;
        // What no file system could hold is no state.
        let Ok((tree, hash)) = self.tree(&kept) else {
            return Ok(());
        };
        coverage.states = number;
        let told = self.told(point);
        let state = State {
            point,
            number,
            kept,
        };
        judge(
            &state,
            Looked {
                tree: &tree,
                hash,
                told,
            },
            coverage,
        )
    }

    /// The whole and the least state of a point. What is less after a sync was possible before it, too, as one of many.
    fn ends(&self, point: Point) -> Vec<Vec<bool>> {
        let certain = self.certain(point);
        let whole = self.graph.closed(&certain, self.issued(point));
        let mut ends = vec![whole];
        if ends[0] != certain {
            ends.push(certain);
        }
        // What was there before the program is no state.
        ends.retain(|kept| self.told(point) > 0 || kept.contains(&true));
        ends
    }

    /// What the step of a point changed, without all that need not be there before it: one state for most of what should have
    /// waited. `None` where that is the whole or the least state.
    fn own(&self, point: Point, ends: &[Vec<bool>]) -> Option<Vec<bool>> {
        let certain = self.certain(point);
        let own = self.history.steps[point.step].effects.clone();
        let own = own.filter(|at| self.under_way[*at] <= point.time);
        let kept = self.pages().closed(&certain, own);
        (!ends.contains(&kept) && kept.contains(&true)).then_some(kept)
    }

    fn key(kept: &[bool]) -> Hash {
        let bytes: Vec<u8> = kept.iter().copied().map(u8::from).collect();
        blake3::hash(&bytes)
    }

    /// Whether a state is none of an earlier point: without an effect of this step it is one, where fewer people had been
    /// told.
    fn is_new(&self, point: Point, kept: &[bool], budget: Budget) -> bool {
        // The earlier point may be left out.
        if budget.every > 1 || budget.after.is_some() {
            return self.told(point) > 0 || kept.contains(&true);
        }
        let step = &self.history.steps[point.step];
        let all_new = point.time == step.end;
        all_new && (self.told(point) > 0 || kept.contains(&true))
            || step.effects.clone().any(|at| kept[at])
    }

    /// All points: those after an acknowledgement before the others, and of both those first that stand for the rest.
    fn reports_first(&self, first: &[Point], rest: &[Point]) -> Vec<Point> {
        let part = |all: &[Point], reports: bool| {
            let all = all.iter().copied();
            all.filter(|point| self.is_report(*point) == reports)
                .collect::<Vec<_>>()
        };
        let parts = [(first, true), (rest, true), (first, false), (rest, false)];
        parts
            .into_iter()
            .flat_map(|(all, reports)| part(all, reports))
            .collect()
    }

    fn is_report(&self, point: Point) -> bool {
        let step = &self.history.steps[point.step];
        step.printed.is_some() && point.time == step.end
    }

    /// Points that stand for others, and all others, each in the order of time.
    fn rounds(&self, points: Vec<Point>) -> [Vec<Point>; 2] {
        let alike = |point: &Point| {
            let step = &self.history.steps[point.step];
            (
                &step.call,
                &step.path,
                &step.other_path,
                point.time == step.end,
            )
        };
        let mut ends = HashMap::new();
        for (number, point) in points.iter().enumerate() {
            let (_, last) = ends.entry(alike(point)).or_insert((number, number));
            *last = number;
        }
        let firsts: HashSet<usize> = ends
            .into_values()
            .flat_map(|(one, other)| [one, other])
            .collect();
        let (first, rest): (Vec<_>, Vec<_>) = points
            .into_iter()
            .enumerate()
            .partition(|(number, _)| firsts.contains(number));
        [first, rest].map(|round| round.into_iter().map(|(_, point)| point).collect())
    }

    /// The tree with these effects, and what tells it from others. Fails where the effects cannot be together.
    pub(super) fn tree(&mut self, kept: &[bool]) -> Result<(Arc<Tree>, Hash), Absurd> {
        let [one, other] = &mut self.cursors;
        let nearer = if one.distance(kept) <= other.distance(kept) {
            one
        } else {
            other
        };
        nearer.go(self.history, &self.slots, kept)
    }

    /// Times at which the power may fail: others leave nothing that these do not. A sync leaves less than
    /// was possible before, save where it puts a file on disk without what came before it; the last one counts for the
    /// least that is left.
    fn points(&self, budget: Budget) -> Vec<Point> {
        let syncs_count = !self.model.syncs_all_before();
        let mut points = Vec::new();
        for (step, own) in self.history.steps.iter().enumerate() {
            if !own.effects.is_empty() {
                let time = own.begin;
                points.push(Point { step, time });
            }
            let is_last = step + 1 == self.history.steps.len();
            if own.printed.is_some() || (syncs_count || is_last) && own.sync.is_some() {
                let time = own.end;
                points.push(Point { step, time });
            }
        }
        points.sort_unstable_by_key(|point| point.time);
        if let Some(after) = budget.after {
            let mut steps = self.history.steps.iter();
            if let Some(step) = steps.position(|step| step.operation == after) {
                let time = self.history.steps[step].end;
                points.retain(|point| point.time > time);
                points.insert(0, Point { step, time });
            }
        }
        let mut number = 0;
        points.retain(|point| {
            number += 1;
            (number - 1) % budget.every == 0 || self.is_report(*point)
        });
        points
    }

    /// What is on disk for certain at a time.
    pub(super) fn certain(&self, point: Point) -> Vec<bool> {
        let effects = 0..self.history.effects.len();
        effects
            .map(|at| self.graph.is_durable(at, point.time))
            .collect()
    }

    /// Effects that are under way at a time, or were before, with all that they need.
    pub(super) fn issued(&self, point: Point) -> Vec<usize> {
        let is_issued = |at: &usize| self.under_way[*at] <= point.time;
        (0..self.history.effects.len()).filter(is_issued).collect()
    }

    /// Number of acknowledgements by then.
    pub fn told(&self, point: Point) -> usize {
        self.told_at.partition_point(|at| *at <= point.time)
    }

    /// What waits for what where pages are written whole.
    pub(super) fn pages(&self) -> &Graph {
        self.pages.as_ref().unwrap_or(&self.graph)
    }
}

/// An operation that began later can have ended earlier, and what an effect needs is in the order of ends.
fn under_way(history: &History, graph: &Graph) -> Vec<usize> {
    let begins = history.effects.iter();
    let begins = begins.map(|effect| history.steps[effect.step].begin);
    let mut under_way: Vec<usize> = begins.collect();
    let mut is_done = false;
    while !is_done {
        is_done = true;
        for at in 0..under_way.len() {
            let needs = graph.needs[at].iter().map(|need| under_way[*need]);
            let last = needs.max().unwrap_or(0);
            if last > under_way[at] {
                under_way[at] = last;
                is_done = false;
            }
        }
    }
    under_way
}
