//! Of the combinations at one point all, where they are few, or those that find most.

use std::collections::HashMap;

use blake3::Hasher;

use super::{Budget, Explorer, Point};
use crate::crash::effect::Piece;

impl Explorer<'_> {
    /// The combinations at a point that are none of an earlier one, and whether these are all.
    pub(super) fn states_at(
        &self,
        point: Point,
        budget: Budget,
        most: u64,
    ) -> (Vec<Vec<bool>>, bool) {
        let certain = self.certain(point);
        let mut open = self.issued(point);
        open.retain(|at| !certain[*at]);
        let is_new = |kept: &Vec<bool>| self.is_new(point, kept, budget);
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let exhaustive = budget.exhaustive.min(most);
        let atoms = self.atoms(&open);
        let mut all = Vec::new();
        // Recursion is as deep as there are atoms.
        if atoms.len() <= 4 * exhaustive
            && self.combine(&atoms, &mut certain.clone(), exhaustive, &mut all)
        {
            all.retain(is_new);
            return (all, true);
        }
        let random = budget.random.min(most / 4);
        let mut some = self.targeted(point, &certain, &open, most - random);
        some.retain(is_new);
        for number in 0..random {
            let bits = bits(budget.seed, point.time, number, open.len());
            let chosen = open.iter().zip(bits).filter(|(_, bit)| *bit);
            some.push(self.closed(&certain, chosen.map(|(at, _)| *at)));
        }
        some.retain(is_new);
        some.sort_unstable();
        some.dedup();
        // The complete one first: what fails there fails for the simplest reason.
        some.reverse();
        (some, false)
    }

    /// Effects that are on disk together or not at all.
    fn atoms(&self, open: &[usize]) -> Vec<Vec<usize>> {
        let mut atoms: Vec<Vec<usize>> = Vec::new();
        let mut atom_of: HashMap<usize, usize> = HashMap::new();
        for &at in open {
            let tied = self.graph.needs[at].iter().filter_map(|other| {
                let atom = atom_of.get(other)?;
                self.graph.needs[*other].contains(&at).then_some(*atom)
            });
            let atom = tied.max().unwrap_or(atoms.len());
            if atom == atoms.len() {
                atoms.push(Vec::new());
            }
            atoms[atom].push(at);
            atom_of.insert(at, atom);
        }
        atoms
    }

    /// Adds all combinations of atoms; gives whether there are no more than `most`. What an atom needs
    /// stands before it.
    fn combine(
        &self,
        atoms: &[Vec<usize>],
        kept: &mut Vec<bool>,
        most: usize,
        all: &mut Vec<Vec<bool>>,
    ) -> bool {
        let Some((atom, rest)) = atoms.split_first() else {
            all.push(kept.clone());
            return all.len() <= most;
        };
        let mut needs = atom.iter().flat_map(|at| &self.graph.needs[*at]);
        if needs.all(|need| kept[*need] || atom.contains(need)) {
            for at in atom {
                kept[*at] = true;
            }
            let fits = self.combine(rest, kept, most, all);
            for at in atom {
                kept[*at] = false;
            }
            if !fits {
                return false;
            }
        }
        self.combine(rest, kept, most, all)
    }

    /// Combinations that find most, and no more than `most`: those of whole files and operations first, then
    /// those of single effects.
    fn targeted(
        &self,
        point: Point,
        certain: &[bool],
        open: &[usize],
        most: usize,
    ) -> Vec<Vec<bool>> {
        let mut some = vec![self.closed(certain, open.iter().copied()), certain.to_vec()];
        let all = some[0].clone();
        let effects = &self.history.effects;
        let mut files: Vec<_> = open.iter().map(|at| effects[*at].node()).collect();
        files.sort_unstable();
        files.dedup();
        for file in files.into_iter().take(most) {
            let is_data = |at: &usize| {
                effects[*at].node() == file && matches!(effects[*at].piece, Piece::Data { .. })
            };
            some.push(self.less(&all, certain, open.iter().copied().filter(is_data)));
            let is_other = |at: &usize| effects[*at].node() != file;
            some.push(self.less(&all, certain, open.iter().copied().filter(is_other)));
        }
        let mut steps: Vec<usize> = open.iter().map(|at| effects[*at].step).collect();
        steps.dedup();
        steps.retain(|step| self.history.steps[*step].effects.len() > 1);
        for step in Self::some_of(&steps, most.saturating_sub(some.len())) {
            let effects = self.history.steps[step].effects.clone();
            some.push(self.less(&all, certain, effects));
        }
        // Of a long operation the ends, and some between.
        let left = most.saturating_sub(some.len()) / 3;
        let own = self.history.steps[point.step].effects.clone();
        let own: Vec<usize> = own.filter(|at| !certain[*at]).collect();
        let mut singles = if open.len() <= left {
            open.to_vec()
        } else {
            let of_own = Self::some_of(&own, left / 2);
            [Self::some_of(open, left - of_own.len()), of_own].concat()
        };
        singles.sort_unstable();
        singles.dedup();
        for at in singles {
            some.push(self.less(&all, certain, [at]));
            some.push(self.closed(certain, [at]));
            let up_to = open.iter().copied().filter(|other| *other <= at);
            some.push(self.closed(certain, up_to));
        }
        some
    }

    /// No more than so many of these, evenly, the first and the last among them.
    fn some_of(all: &[usize], most: usize) -> Vec<usize> {
        if all.len() <= most {
            return all.to_vec();
        }
        let last = all.len() - 1;
        let chosen = (0..most).map(|number| all[number * last / (most.max(2) - 1)]);
        chosen.collect()
    }
}

/// Random bits that depend on nothing but these numbers.
pub(in crate::crash) fn bits(seed: u64, point: usize, number: usize, count: usize) -> Vec<bool> {
    let mut hasher = Hasher::new();
    for word in [seed, point as u64, number as u64] {
        hasher.update(&word.to_le_bytes());
    }
    let mut bytes = vec![0; count.div_ceil(8)];
    hasher.finalize_xof().fill(&mut bytes);
    (0..count)
        .map(|at| bytes[at / 8] >> (at % 8) & 1 == 1)
        .collect()
}
