//! Makes a failing state smaller: as much as possible is put back, then taken away.

use std::iter;

use super::effect::Piece;
use super::explore::{Coverage, Explorer, Point, State};
use super::graph::Graph;
use super::history::History;
use super::search::{Check, Fault, FaultKind, Seen};
use super::verdicts::{Key, Verdicts};
use crate::op::FileId;

/// So many pages of a file in a row are tried alone; the rest are taken to be like them.
const MOST_IN_VAIN: usize = 64;

/// So many effects are changed for each fault, and ten times as many are gone through: a look goes through all.
const MOST_EFFORT: usize = 3_000_000;

/// Changes in a row after which the checker says something else, all of them of the bytes of one file.
#[derive(Default)]
struct InVain {
    file: Option<FileId>,
    times: usize,
}

impl InVain {
    fn count(&mut self, file: Option<FileId>) {
        let times = if file == self.file { self.times + 1 } else { 1 };
        self.times = if file.is_some() { times } else { 0 };
        self.file = file;
    }
}

/// Makes failing states smaller.
pub(super) struct Smaller<'a, 'h, E> {
    pub(super) explorer: Explorer<'h>,
    pub(super) verdicts: &'a mut Verdicts,
    pub(super) check: &'a mut Check<'a, E>,
    pub(super) coverage: Coverage,
    /// Whether each effect of the fault at hand was tried.
    pub(super) is_thorough: bool,
    /// What the looks for the fault at hand took.
    pub(super) effort: usize,
}

impl<E> Smaller<'_, '_, E> {
    /// Puts back what need not be lost, and takes away what need not be there, as long as the checker says
    /// the same.
    pub(super) fn fault(&mut self, state: State, message: String) -> Result<Fault, E> {
        let State { point, number, .. } = state;
        self.is_thorough = true;
        self.effort = 0;
        let certain = self.explorer.certain(point);
        let issued = self.explorer.issued(point);
        let missing = issued.iter().rev().copied().filter(|at| !state.kept[*at]);
        let missing: Vec<usize> = missing.collect();
        let is_torn = self.explorer.history.torn_at(&state.kept, point.time);
        let is_torn = is_torn.is_some();
        let more = |explorer: &Explorer<'_>, kept: &[bool], effects: &[usize]| {
            order(explorer, is_torn).closed(kept, effects.iter().copied())
        };
        let mut kept = self.changed(
            point,
            state.kept,
            &message,
            &self.parts(&missing, is_torn),
            more,
        )?;
        let lost: Vec<usize> = issued.iter().copied().filter(|at| !kept[*at]).collect();
        if let Some(first) = lost.first() {
            let later = issued.iter().rev().copied().take_while(|at| at > first);
            let later: Vec<usize> = later.filter(|at| kept[*at] && !certain[*at]).collect();
            let less = |explorer: &Explorer<'_>, kept: &[bool], effects: &[usize]| {
                order(explorer, is_torn).less(kept, &certain, effects.iter().copied())
            };
            kept = self.changed(point, kept, &message, &self.parts(&later, is_torn), less)?;
        }
        let acknowledged = self.acknowledged(point, &kept)?;
        let state = State {
            point,
            number,
            kept,
        };
        Ok(self.named(state, lost, acknowledged, message, self.is_thorough))
    }

    /// The fault of a state that nobody made smaller. One that was possible before the last report may be fine but for that.
    pub(super) fn unfinished(&self, state: State, message: String) -> Fault {
        let issued = self.explorer.issued(state.point).into_iter();
        let lost: Vec<usize> = issued.filter(|at| !state.kept[*at]).collect();
        let first = lost.first();
        let is_cut = first.is_some_and(|first| !state.kept[*first..].contains(&true));
        let told = self.explorer.told(state.point).checked_sub(1);
        let told = told.filter(|_| is_cut);
        let report = told.and_then(|last| self.explorer.history.reports().nth(last));
        Fault {
            is_attributed: false,
            ..self.named(state, lost, report, message, false)
        }
    }

    /// Makes each change after which the checker says the same, one after the other: of many that can be made
    /// together few are tried. What comes of it does not depend on how many are looked at side by side.
    fn changed(
        &mut self,
        point: Point,
        mut kept: Vec<bool>,
        message: &str,
        parts: &[&[usize]],
        change: impl Fn(&Explorer<'_>, &[bool], &[usize]) -> Vec<bool>,
    ) -> Result<Vec<bool>, E> {
        let mut rest = parts;
        let mut ahead = 1;
        let mut in_vain = InVain::default();
        while !rest.is_empty() {
            if self.effort > MOST_EFFORT {
                self.is_thorough = false;
                break;
            }
            let next = &rest[..rest.len().min(ahead)];
            let changed = next.iter().map(|part| change(&self.explorer, &kept, part));
            let same = self.same(point, message, &kept, &changed.collect::<Vec<_>>())?;
            let Some(first) = same.iter().position(|same| *same) else {
                rest = &rest[next.len()..];
                for part in next {
                    in_vain.count(self.written(part));
                }
                if in_vain.times >= MOST_IN_VAIN {
                    let is_alike = |part: &&&[usize]| self.written(part) == in_vain.file;
                    let alike = rest.iter().take_while(is_alike).count();
                    self.is_thorough &= alike == 0;
                    rest = &rest[alike..];
                }
                // Where the message has a number, none can be made: those are tried side by side.
                ahead = self.verdicts.beside.min(2 * ahead);
                continue;
            };
            ahead = 1;
            in_vain = InVain::default();
            rest = &rest[first..];
            let with =
                |explorer: &Explorer<'_>, run| change(explorer, &kept, &rest[..run].concat());
            let run = self.longest(point, message, &kept, rest.len(), with)?;
            kept = change(&self.explorer, &kept, &rest[..run].concat());
            rest = &rest[run..];
        }
        Ok(kept)
    }

    /// Effects that are put back or taken away together.
    fn parts<'e>(&self, effects: &'e [usize], is_torn: bool) -> Vec<&'e [usize]> {
        if is_torn {
            effects.chunks(1).collect()
        } else {
            self.explorer.history.whole_pages(effects)
        }
    }

    /// The file that these effects write to.
    fn written(&self, part: &[usize]) -> Option<FileId> {
        match self.explorer.history.effects[*part.first()?].piece {
            Piece::Data { file, .. } => Some(file),
            _ => None,
        }
    }

    /// How many of the first changes can be made, one of which can be; with the one that follows the checker says
    /// something else. Found by division.
    fn longest(
        &mut self,
        point: Point,
        message: &str,
        from: &[bool],
        all: usize,
        with: impl Fn(&Explorer<'_>, usize) -> Vec<bool>,
    ) -> Result<usize, E> {
        let mut can = 1;
        let mut cannot = None;
        while cannot.unwrap_or(all + 1) - can > 1 {
            let runs = runs_between(can, cannot, all);
            let changed = runs.iter().map(|run| with(&self.explorer, *run));
            let same = self.same(point, message, from, &changed.collect::<Vec<_>>())?;
            if let Some(last) = same.iter().rposition(|same| *same) {
                can = runs[last];
            }
            cannot = runs.into_iter().find(|run| *run > can).or(cannot);
        }
        Ok(can)
    }

    /// Of which of these changes of a combination the checker says the same.
    fn same(
        &mut self,
        point: Point,
        message: &str,
        from: &[bool],
        combinations: &[Vec<bool>],
    ) -> Result<Vec<bool>, E> {
        let told = self.explorer.told(point);
        for kept in combinations {
            let changed = from.iter().zip(kept).filter(|(one, other)| one != other);
            self.effort += from.len() / 10 + changed.count();
        }
        let looks = combinations.iter().map(|kept| (kept.as_slice(), told));
        let said = self.say(looks)?.into_iter();
        Ok(said.map(|said| said.as_deref() == Some(message)).collect())
    }

    /// What was said of these, or is said now.
    pub(super) fn look(&mut self, looks: Vec<(Key, Seen)>) -> Result<Vec<Option<String>>, E> {
        let verdicts = &mut *self.verdicts;
        verdicts.of(looks, |seen| (self.check)(seen, &self.coverage))
    }

    /// What the checker says of combinations at a point; of one that no file system could hold nothing.
    fn say<'k>(
        &mut self,
        looks: impl Iterator<Item = (&'k [bool], usize)>,
    ) -> Result<Vec<Option<String>>, E> {
        let mut places = Vec::new();
        let mut seen = Vec::new();
        for (kept, told) in looks {
            places.push(self.explorer.tree(kept).ok().map(|(tree, hash)| {
                seen.push(((hash, told), (tree, told)));
                seen.len() - 1
            }));
        }
        let mut said = self.look(seen)?;
        let said = places.into_iter().map(|place| said[place?].take());
        Ok(said.collect())
    }

    /// The first thing said without which the state would be fine.
    fn acknowledged(&mut self, point: Point, kept: &[bool]) -> Result<Option<usize>, E> {
        let told = self.explorer.told(point);
        let mut needed = 0;
        while needed < told {
            let upto = told.min(needed + self.verdicts.beside);
            let said = self.say((needed..upto).map(|told| (kept, told)))?;
            if let Some(first) = said.iter().position(Option::is_some) {
                needed += first;
                break;
            }
            needed = upto;
        }
        let last = needed.checked_sub(1);
        Ok(last.and_then(|last| self.explorer.history.reports().nth(last)))
    }

    fn named(
        &self,
        state: State,
        lost: Vec<usize>,
        acknowledged: Option<usize>,
        message: String,
        is_smallest: bool,
    ) -> Fault {
        let History { effects, steps, .. } = self.explorer.history;
        // What begins later was not what was reported: it destroys that.
        let acknowledged = acknowledged.filter(|report| {
            let begin = lost.first().map(|at| steps[effects[*at].step].begin);
            begin.is_none_or(|begin| begin < steps[*report].end)
        });
        let last_kept = (0..effects.len()).rev().find(|at| state.kept[*at]);
        let last_step = last_kept.map_or(state.point.step, |at| effects[at].step);
        let (kind, culprit, before) = match (lost.first(), acknowledged) {
            (first, Some(told)) => {
                let culprit = first.map_or(last_step, |at| effects[*at].step);
                (FaultKind::LostAfterAck, culprit, Some(told))
            }
            (None, None) => (FaultKind::Prefix, last_step, None),
            (Some(first), None) => {
                let culprit = effects[*first].step;
                let later = last_kept.filter(|at| at > first).map(|at| effects[at].step);
                match later {
                    Some(step) if step != culprit => (FaultKind::Ordering, culprit, Some(step)),
                    _ if self.has_kept(&state, culprit) => (FaultKind::Atomicity, culprit, None),
                    _ => (FaultKind::Prefix, last_step, None),
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
            is_attributed: true,
            lost,
            states: 1,
        }
    }

    fn has_kept(&self, state: &State, step: usize) -> bool {
        let mut effects = self.explorer.history.steps[step].effects.clone();
        effects.any(|at| state.kept[at])
    }
}

/// What waits for what: a state without a torn page is not made one.
fn order<'e>(explorer: &'e Explorer<'_>, is_torn: bool) -> &'e Graph {
    if is_torn {
        &explorer.graph
    } else {
        explorer.pages()
    }
}

/// Into how many parts what is not known is divided at once.
const PARTS: usize = 4;

/// Lengths to try between one that can be and, if one is known, one that cannot. Without it they grow, up to all.
fn runs_between(can: usize, cannot: Option<usize>, all: usize) -> Vec<usize> {
    let mut runs: Vec<usize> = if let Some(cannot) = cannot {
        let divided = (1..PARTS).map(|part| can + (cannot - can) * part / PARTS);
        divided.filter(|run| *run > can).collect()
    } else {
        let longer = iter::successors(Some(can * PARTS), |run| Some(run * PARTS));
        longer.take_while(|run| *run < all).chain([all]).collect()
    };
    runs.dedup();
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_grow_and_then_divide_what_is_left() {
        assert_eq!(runs_between(1, None, 100), [4, 16, 64, 100]);
        assert_eq!(runs_between(1, None, 2), [2]);
        assert_eq!(runs_between(16, Some(64), 100), [28, 40, 52]);
        assert_eq!(runs_between(4, Some(6), 100), [5]);
    }
}
