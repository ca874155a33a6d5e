//! Of the combinations at one point all, where they are few, or those that find most: those of whole pages first, then
//! those with a torn one.

use std::collections::{HashMap, HashSet};

use blake3::Hasher;

use super::{Budget, Explorer, Point};
use crate::crash::effect::{BLOCK_BYTES, Piece};
use crate::crash::graph::Graph;
use crate::op::FileId;

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
        if let Some(mut all) = all_of(&self.atoms(&open, false), &certain, exhaustive) {
            all.retain(is_new);
            all.sort_by_key(|kept| self.history.torn_at(kept, point.time).is_some());
            return (all, true);
        }
        let pages = self.history.whole_pages(&open);
        let atoms = (pages.len() < open.len()).then(|| self.atoms(&open, true));
        let whole = atoms.and_then(|atoms| all_of(&atoms, &certain, exhaustive));
        let mut all = whole.unwrap_or_else(|| self.sampled(point, &certain, &pages, budget, most));
        // What is torn comes besides what a device with sectors of 4 KiB leaves.
        let torn = self.torn(point, &certain, &open, most / 4);
        if !torn.is_empty() {
            all.extend(torn);
            let sectors: Vec<&[usize]> = open.chunks(1).collect();
            all.extend(self.sampled(point, &certain, &sectors, budget, most / 4));
        }
        let mut seen = HashSet::new();
        let hash = |kept: &[bool]| {
            let bytes: Vec<u8> = kept.iter().map(|kept| u8::from(*kept)).collect();
            blake3::hash(&bytes)
        };
        all.retain(|kept| is_new(kept) && seen.insert(hash(kept)));
        (all, false)
    }

    /// Combinations of these parts that find most, and random ones.
    fn sampled(
        &self,
        point: Point,
        certain: &[bool],
        parts: &[&[usize]],
        budget: Budget,
        most: usize,
    ) -> Vec<Vec<bool>> {
        // Where these are whole pages, a later write of one has all that was in it before.
        let graph = if parts.iter().any(|part| part.len() > 1) {
            self.pages()
        } else {
            &self.graph
        };
        let random = budget.random.min(most / 4);
        let mut some = self.targeted(graph, point, certain, parts, most - random);
        for number in 0..random {
            let bits = bits(budget.seed, point.time, number, parts.len());
            let chosen = parts.iter().zip(bits).filter(|(_, bit)| *bit);
            some.push(graph.closed(certain, chosen.flat_map(|(part, _)| part.iter().copied())));
        }
        some.sort_unstable();
        some.dedup();
        // The complete one first: what fails there fails for the simplest reason.
        some.reverse();
        some
    }

    /// Effects that are on disk together or not at all; with `whole_pages` the data of a page too.
    fn atoms(&self, open: &[usize], whole_pages: bool) -> Vec<Atom> {
        let effects = &self.history.effects;
        let page = |at: usize| effects[at].block().filter(|_| whole_pages);
        let mut atoms: Vec<Atom> = Vec::new();
        let mut atom_of: HashMap<usize, usize> = HashMap::new();
        let mut last_in: HashMap<(FileId, u64), usize> = HashMap::new();
        for &at in open {
            let tied = self.graph.needs[at].iter().filter_map(|other| {
                let atom = atom_of.get(other)?;
                self.graph.needs[*other].contains(&at).then_some(*atom)
            });
            let before = page(at).and_then(|page| last_in.insert(page, at));
            let (same, before): (Vec<_>, Vec<_>) = before
                .into_iter()
                .partition(|before| effects[*before].step == effects[at].step);
            let same = same.iter().map(|before| atom_of[before]);
            let atom = tied.chain(same).max().unwrap_or(atoms.len());
            if atom == atoms.len() {
                atoms.push(Atom::default());
            }
            atoms[atom].effects.push(at);
            let needs = self.graph.needs[at].iter().copied().chain(before);
            atoms[atom].needs.extend(needs);
            atom_of.insert(at, atom);
        }
        for Atom { effects, needs } in &mut atoms {
            needs.retain(|need| !effects.contains(need));
        }
        atoms
    }

    /// Combinations in which one page is torn, and no more than `most`: in its half, of all else that could be there or
    /// alone, then at its ends. Pages of the operation at the point come first.
    fn torn(&self, point: Point, certain: &[bool], open: &[usize], most: usize) -> Vec<Vec<bool>> {
        if self.history.sector_bytes == BLOCK_BYTES {
            return Vec::new();
        }
        let effects = &self.history.effects;
        let is_torn = |page: &&[usize]| match page {
            [first, second, ..] => !self.graph.needs[*first].contains(second),
            _ => false,
        };
        let pages = self.history.whole_pages(open).into_iter();
        let (own, others): (Vec<_>, Vec<_>) = pages
            .filter(is_torn)
            .partition(|page| effects[page[0]].step == point.step);
        let pages: Vec<&[usize]> = own.into_iter().chain(others.into_iter().rev()).collect();
        let pages = &pages[..pages.len().min(most.div_ceil(4))];
        let all = self.graph.closed(certain, open.iter().copied());
        let less = |part: &[usize]| self.graph.less(&all, certain, part.iter().copied());
        let alone = |part: &[usize]| self.graph.closed(certain, part.iter().copied());
        let mut torn = Vec::new();
        for way in 0..6 {
            for page in pages {
                let (front, back) = page.split_at(page.len() / 2);
                torn.push(match way {
                    0 => less(back),
                    1 => less(front),
                    2 => alone(front),
                    3 => alone(back),
                    4 => less(&page[page.len() - 1..]),
                    _ => less(&page[..1]),
                });
            }
        }
        torn.truncate(most);
        torn
    }

    /// Combinations that find most, and no more than `most`: those of whole files and operations first, then
    /// those of single effects.
    fn targeted(
        &self,
        graph: &Graph,
        point: Point,
        certain: &[bool],
        parts: &[&[usize]],
        most: usize,
    ) -> Vec<Vec<bool>> {
        let open: Vec<usize> = parts.concat();
        let mut some = vec![
            graph.closed(certain, open.iter().copied()),
            certain.to_vec(),
        ];
        let all = some[0].clone();
        let effects = &self.history.effects;
        let mut files: Vec<_> = open.iter().map(|at| effects[*at].node()).collect();
        files.sort_unstable();
        files.dedup();
        for file in files.into_iter().take(most) {
            let is_data = |at: &usize| {
                effects[*at].node() == file && matches!(effects[*at].piece, Piece::Data { .. })
            };
            some.push(graph.less(&all, certain, open.iter().copied().filter(is_data)));
            let is_other = |at: &usize| effects[*at].node() != file;
            some.push(graph.less(&all, certain, open.iter().copied().filter(is_other)));
        }
        let mut steps: Vec<usize> = open.iter().map(|at| effects[*at].step).collect();
        steps.dedup();
        steps.retain(|step| {
            let effects: Vec<usize> = self.history.steps[*step].effects.clone().collect();
            self.history.whole_pages(&effects).len() > 1
        });
        for step in Self::some_of(&steps, most.saturating_sub(some.len())) {
            let effects = self.history.steps[step].effects.clone();
            some.push(graph.less(&all, certain, effects));
        }
        // Of a long operation the ends, and some between.
        let left = most.saturating_sub(some.len()) / 3;
        let own = parts.iter().copied();
        let own = own.filter(|part| effects[part[0]].step == point.step);
        let mut singles = if parts.len() <= left {
            parts.to_vec()
        } else {
            let of_own = Self::some_of(&own.collect::<Vec<_>>(), left / 2);
            [Self::some_of(parts, left - of_own.len()), of_own].concat()
        };
        singles.sort_unstable();
        singles.dedup();
        for single in singles {
            some.push(graph.less(&all, certain, single.iter().copied()));
            some.push(graph.closed(certain, single.iter().copied()));
            let last = single.last();
            let up_to = open.iter().copied().filter(|other| Some(other) <= last);
            some.push(graph.closed(certain, up_to));
        }
        some
    }

    /// No more than so many of these, evenly, the first and the last among them.
    fn some_of<T: Copy>(all: &[T], most: usize) -> Vec<T> {
        if all.len() <= most {
            return all.to_vec();
        }
        let last = all.len() - 1;
        let chosen = (0..most).map(|number| all[number * last / (most.max(2) - 1)]);
        chosen.collect()
    }
}

/// Effects that are on disk together or not at all.
#[derive(Default)]
struct Atom {
    effects: Vec<usize>,
    /// Other effects that are on disk with them.
    needs: Vec<usize>,
}

/// All combinations of atoms besides what is certain, if there are no more than `most`. What an atom needs stands before it.
fn all_of(atoms: &[Atom], certain: &[bool], most: usize) -> Option<Vec<Vec<bool>>> {
    let mut all = Vec::new();
    // Recursion is as deep as there are atoms.
    let fits = atoms.len() <= 4 * most && combine(atoms, &mut certain.to_vec(), most, &mut all);
    fits.then_some(all)
}

/// Adds all combinations; gives whether there are no more than `most`.
fn combine(atoms: &[Atom], kept: &mut Vec<bool>, most: usize, all: &mut Vec<Vec<bool>>) -> bool {
    let Some((atom, rest)) = atoms.split_first() else {
        all.push(kept.clone());
        return all.len() <= most;
    };
    if atom.needs.iter().all(|need| kept[*need]) {
        for at in &atom.effects {
            kept[*at] = true;
        }
        let fits = combine(rest, kept, most, all);
        for at in &atom.effects {
            kept[*at] = false;
        }
        if !fits {
            return false;
        }
    }
    combine(rest, kept, most, all)
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
