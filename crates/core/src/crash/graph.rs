//! Which effects wait for which, and when syncs made them durable: a model's rules, worked out once.

use std::collections::{BTreeMap, HashMap};

use super::effect::{BLOCK_BYTES, Effect, Piece};
use super::history::History;
use super::model::{Model, ended_before, same_group};
use crate::op::FileId;
use crate::record::Name;

/// The rules of one model for one history.
#[derive(Debug)]
pub(super) struct Graph {
    /// Of each effect, those that it needs. With what these need in turn it is all that it needs.
    pub(super) needs: Vec<Vec<usize>>,
    /// Of each effect, those that need it.
    needed_by: Vec<Vec<usize>>,
    /// When a sync that covers it returned, in the order of begins and ends.
    durable: Vec<Option<usize>>,
}

impl Graph {
    pub(super) fn of(history: &History, model: Model) -> Self {
        let mut durable = durable_by_syncs(history, model);
        let needs = needs(history, model, &durable);
        if model.syncs_all_before() {
            close(&needs, &mut durable);
        }
        Self {
            needed_by: reversed(&needs),
            needs,
            durable,
        }
    }

    /// The needs of another graph, and of this one those for which this holds: of an effect, and one that it needs.
    pub(super) fn add_to(mut self, other: &Self, is_kept: impl Fn(usize, usize) -> bool) -> Self {
        for (at, needs) in self.needs.iter_mut().enumerate() {
            needs.retain(|need| is_kept(at, *need));
            needs.extend(&other.needs[at]);
            needs.sort_unstable();
            needs.dedup();
        }
        self.needed_by = reversed(&self.needs);
        self
    }

    /// Whether a crash at this time has the effect on disk for certain.
    pub(super) fn is_durable(&self, effect: usize, time: usize) -> bool {
        self.durable_since(effect).is_some_and(|at| at <= time)
    }

    /// The end of the sync that put the effect on disk for certain.
    pub(super) fn durable_since(&self, effect: usize) -> Option<usize> {
        self.durable[effect]
    }

    /// What is certain, these effects, and all that they need.
    pub(super) fn closed(
        &self,
        certain: &[bool],
        effects: impl IntoIterator<Item = usize>,
    ) -> Vec<bool> {
        let mut kept = certain.to_vec();
        let mut waiting: Vec<usize> = effects.into_iter().collect();
        while let Some(at) = waiting.pop() {
            if !std::mem::replace(&mut kept[at], true) {
                waiting.extend(self.needs[at].iter().filter(|need| !kept[**need]));
            }
        }
        kept
    }

    /// A combination without these effects, and without what needs them.
    pub(super) fn less(
        &self,
        kept: &[bool],
        certain: &[bool],
        effects: impl IntoIterator<Item = usize>,
    ) -> Vec<bool> {
        let mut kept = kept.to_vec();
        let mut waiting: Vec<usize> = effects.into_iter().filter(|at| !certain[*at]).collect();
        while let Some(at) = waiting.pop() {
            if std::mem::replace(&mut kept[at], false) {
                let needed_by = self.needed_by[at].iter();
                waiting.extend(needed_by.filter(|by| !certain[**by]));
            }
        }
        kept
    }
}

/// Of each effect, those that need it.
fn reversed(needs: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut needed_by = vec![Vec::new(); needs.len()];
    for (later, needs) in needs.iter().enumerate() {
        for earlier in needs {
            needed_by[*earlier].push(later);
        }
    }
    needed_by
}

/// Each effect needs the last one before it in the order of metadata, which needs the one before that in
/// turn; so only those that overlap it in time, and the first that does not, are edges of their own.
/// One that may come before it, as on btrfs, or that a sync put on disk before its time without what it needs, stands
/// for none of those before it. The same holds for what is ordered otherwise. What is durable when an effect
/// begins is no edge.
fn needs(history: &History, model: Model, durable: &[Option<usize>]) -> Vec<Vec<usize>> {
    let exempt = model.exempt(history);
    let mut needs = vec![Vec::new(); history.effects.len()];
    let mut earlier = Earlier::default();
    let stands_alone = stands_alone(history);
    for later in 0..history.effects.len() {
        let effect = &history.effects[later];
        let begin = history.steps[effect.step].begin;
        let is_durable = |at: usize| durable[at].is_some_and(|since| since <= begin);
        let stands_for = |at: usize| model.syncs_all_before() || durable[at].is_none();
        let mut all = earlier.candidates(history, model, later, stands_for);
        if model.chained(effect) && !exempt.alone[later] {
            for &at in earlier.chained.iter().rev() {
                all.push(at);
                let is_needed = model.needs(history, &exempt, later, at);
                let step = history.effects[at].step;
                if is_needed && stands_for(at) && !exempt.alone[at] && stands_alone[step] {
                    break;
                }
            }
        }
        all.sort_unstable_by(|one, other| other.cmp(one));
        all.dedup();
        for at in all {
            if !is_durable(at) && model.needs(history, &exempt, later, at) {
                needs[later].push(at);
            }
            if model.inseparable(history, &exempt, later, at) {
                needs[at].push(later);
            }
        }
        earlier.add(history, later, model);
    }
    needs
}

/// Effects that later ones may have to wait for, by what these share with them.
#[derive(Default)]
struct Earlier<'h> {
    /// In the one order of metadata.
    chained: Vec<usize>,
    /// Names that the last operation changed.
    group: Vec<usize>,
    of_node: HashMap<FileId, OfNode>,
    of_name: HashMap<&'h Name, Vec<usize>>,
    in_directory: HashMap<FileId, Vec<usize>>,
}

/// All effects on a node, in program order; its names are of their directories.
#[derive(Default)]
struct OfNode {
    all: Vec<usize>,
    of_block: HashMap<u64, Vec<usize>>,
    /// Data, by where it begins.
    by_offset: BTreeMap<u64, Vec<usize>>,
    sizes: Vec<usize>,
    /// Of these, those that made it shorter.
    cuts: Vec<usize>,
    spaces: Vec<usize>,
    attributes: Vec<usize>,
}

impl<'h> Earlier<'h> {
    /// Effects that `later` may need besides those of the one order; what these stand for is left out.
    fn candidates(
        &self,
        history: &History,
        model: Model,
        later: usize,
        stands_for: impl Fn(usize) -> bool,
    ) -> Vec<usize> {
        let effect = &history.effects[later];
        let mut all = Vec::new();
        let mut last = |list: &[usize]| {
            for &at in list.iter().rev() {
                all.push(at);
                if model.orders(history, later, at) && stands_for(at) {
                    break;
                }
            }
        };
        if let Piece::Entry {
            name, node, before, ..
        } = &effect.piece
        {
            last(self.of_name.get(name).map_or(&[], Vec::as_slice));
            // ext4 gives a file that replaces another one its length.
            if let Some(of_node) = node.and_then(|node| self.of_node.get(&node)) {
                last(&of_node.sizes);
            }
            all.extend(
                self.group
                    .iter()
                    .copied()
                    .filter(|at| same_group(effect, &history.effects[*at])),
            );
            let inner = before.and_then(|before| self.in_directory.get(&before));
            all.extend(inner.into_iter().flatten());
            return all;
        }
        let Some(of_node) = self.of_node.get(&effect.node()) else {
            return all;
        };
        last(&of_node.spaces);
        match &effect.piece {
            Piece::Data { offset, .. } => {
                last(&of_node.cuts);
                // Another sector of a write that is not torn stands for none before it in this sector.
                let block = of_node.of_block.get(&(offset / BLOCK_BYTES));
                for &at in block.into_iter().flatten().rev() {
                    all.push(at);
                    let unit = model.unit_bytes(history);
                    if effect.shares(&history.effects[at], unit) && stands_for(at) {
                        break;
                    }
                }
                // Its neighbour in an extent of btrfs.
                all.extend(of_node.all.last());
            }
            Piece::Size { .. } => {
                last(&of_node.sizes);
                // Its neighbour in a handle of ext4.
                all.extend(of_node.all.last());
                all.extend(of_node.covered(history, model, effect, stands_for));
            }
            Piece::Space { .. } => {
                for &at in of_node.all.iter().rev() {
                    all.push(at);
                    if of_node.spaces.last() == Some(&at) && stands_for(at) {
                        break;
                    }
                }
            }
            Piece::Attribute { .. } => last(&of_node.attributes),
            Piece::Entry { .. } => {}
        }
        all
    }

    fn add(&mut self, history: &'h History, at: usize, model: Model) {
        let effect = &history.effects[at];
        if model.chained(effect) {
            self.chained.push(at);
        }
        if let Piece::Entry { name, .. } = &effect.piece {
            self.of_name.entry(name).or_default().push(at);
            self.in_directory.entry(name.parent).or_default().push(at);
            self.group
                .retain(|other| history.effects[*other].step == effect.step);
            self.group.push(at);
            return;
        }
        let of_node = self.of_node.entry(effect.node()).or_default();
        of_node.all.push(at);
        match &effect.piece {
            Piece::Data { offset, .. } => {
                of_node
                    .of_block
                    .entry(offset / BLOCK_BYTES)
                    .or_default()
                    .push(at);
                of_node.by_offset.entry(*offset).or_default().push(at);
            }
            Piece::Size {
                from_bytes,
                to_bytes,
                ..
            } => {
                of_node.sizes.push(at);
                if to_bytes < from_bytes {
                    of_node.cuts.push(at);
                }
            }
            Piece::Space { .. } => of_node.spaces.push(at),
            Piece::Attribute { .. } => of_node.attributes.push(at),
            Piece::Entry { .. } => {}
        }
    }
}

impl OfNode {
    /// Data that a length waits for: all since the last length that waited for what was before it, and what lies behind
    /// that one.
    fn covered(
        &self,
        history: &History,
        model: Model,
        size: &Effect,
        stands_for: impl Fn(usize) -> bool,
    ) -> Vec<usize> {
        let mut all = Vec::new();
        let Piece::Size { to_bytes, .. } = size.piece else {
            return all;
        };
        if size.is_journaled() || !model.waits_for_data() {
            return all;
        }
        for &at in self.all.iter().rev() {
            let earlier = &history.effects[at];
            match earlier.piece {
                Piece::Data { .. } => all.push(at),
                Piece::Size {
                    to_bytes: reached, ..
                } if !earlier.is_journaled() && stands_for(at) => {
                    if reached < to_bytes {
                        let behind = self.by_offset.range(reached..to_bytes);
                        all.extend(behind.flat_map(|(_, all)| all).filter(|data| **data < at));
                    }
                    break;
                }
                _ => {}
            }
        }
        all
    }
}

/// Whether everything before a step was over when it began, for each step.
fn stands_alone(history: &History) -> Vec<bool> {
    let mut last_end = None;
    let mut alone = Vec::with_capacity(history.steps.len());
    for step in &history.steps {
        alone.push(last_end.is_none_or(|last| last < step.begin));
        last_end = last_end.max(Some(step.end));
    }
    alone
}

fn durable_by_syncs(history: &History, model: Model) -> Vec<Option<usize>> {
    let mut durable: Vec<Option<usize>> = vec![None; history.effects.len()];
    // Those that no sync has covered yet, of the steps so far.
    let mut open: Vec<usize> = Vec::new();
    for step in &history.steps {
        if let Some(sync) = step.sync {
            let is_done =
                |at: &&usize| ended_before(&history.steps[history.effects[**at].step], step);
            let done: Vec<usize> = open.iter().filter(is_done).copied().collect();
            let forced = model.forced(history, sync, &done);
            for at in done {
                if model.syncs(history, sync, &forced, at) {
                    durable[at] = Some(step.end);
                }
            }
            open.retain(|at| durable[*at].is_none());
        }
        open.extend(step.effects.clone());
    }
    durable
}

/// What a durable effect needs is durable as early.
fn close(needs: &[Vec<usize>], durable: &mut [Option<usize>]) {
    let mut waiting: Vec<usize> = (0..needs.len()).collect();
    while let Some(at) = waiting.pop() {
        let Some(since) = durable[at] else { continue };
        for &need in &needs[at] {
            if durable[need].is_none_or(|own| own > since) {
                durable[need] = Some(since);
                waiting.push(need);
            }
        }
    }
}
