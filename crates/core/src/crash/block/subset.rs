//! Which subsets of an epoch's blocks are tried.

use std::collections::BTreeSet;

use crate::crash::explore::bits;

/// How many subsets of one epoch are tried, besides none and all of its blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SubsetBudget {
    /// Up to so many blocks all subsets are tried.
    pub exhaustive_blocks: usize,
    /// Where there are more blocks, so many subsets.
    pub sampled: usize,
    /// Of the random ones.
    pub seed: u64,
}

impl Default for SubsetBudget {
    fn default() -> Self {
        Self {
            exhaustive_blocks: 7,
            sampled: 40,
            seed: 1,
        }
    }
}

/// Subsets of an epoch's blocks, neither none nor all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subsets {
    /// Of each, which blocks are on disk.
    pub kept: Vec<Vec<bool>>,
    /// Whether there are no others.
    pub all: bool,
}

/// The subsets of so many blocks to try; `number` is the epoch's.
///
/// Where not all are tried, those that find most: all up to one block, all but one, one alone, in turns from
/// the begin, the end and the middle, for half of the budget, and random ones for the rest.
pub fn subsets(count: usize, number: usize, budget: SubsetBudget) -> Subsets {
    if count <= budget.exhaustive_blocks.min(20) {
        let kept = (1..(1_u32 << count).saturating_sub(1))
            .map(|set| (0..count).map(|at| set >> at & 1 == 1).collect());
        return Subsets {
            kept: kept.collect(),
            all: true,
        };
    }
    let mut seen = BTreeSet::new();
    let mut kept = Vec::new();
    let mut add = |subset: Vec<bool>, kept: &mut Vec<Vec<bool>>| {
        let is_proper = subset.contains(&true) && subset.contains(&false);
        if is_proper && kept.len() < budget.sampled && seen.insert(subset.clone()) {
            kept.push(subset);
        }
    };
    let aimed = budget.sampled.div_ceil(2);
    for at in spread(count) {
        for kind in 0..3 {
            if kept.len() < aimed {
                let subset = (0..count).map(|block| match kind {
                    0 => block != at,
                    1 => block <= at,
                    _ => block == at,
                });
                add(subset.collect(), &mut kept);
            }
        }
    }
    // Random ones seldom repeat; where they do, there are few blocks and nearly all were tried.
    for attempt in 0..budget.sampled * 2 {
        add(bits(budget.seed, number, attempt, count), &mut kept);
    }
    Subsets { kept, all: false }
}

/// All places, the first and the last one first, then those halfway between.
fn spread(count: usize) -> Vec<usize> {
    let mut places = Vec::with_capacity(count);
    let mut seen = BTreeSet::new();
    let mut step = count.saturating_sub(1).max(1);
    loop {
        let ends = std::iter::once(count - 1);
        for at in (0..count).step_by(step).chain(ends) {
            if seen.insert(at) {
                places.push(at);
            }
        }
        if step == 1 {
            return places;
        }
        step = step.div_ceil(2);
    }
}
