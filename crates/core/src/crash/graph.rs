//! Which effects wait for which, and when syncs made them durable: a model's rules, worked out once.

use super::history::History;
use super::model::{Model, ended_before};

/// The rules of one model for one history.
#[derive(Debug)]
pub(super) struct Graph {
    /// Of each effect, those that it needs. With what these need in turn it is all that it needs.
    pub(super) needs: Vec<Vec<usize>>,
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
        Self { needs, durable }
    }

    /// Whether a crash at this time has the effect on disk for certain.
    pub(super) fn is_durable(&self, effect: usize, time: usize) -> bool {
        self.durable_since(effect).is_some_and(|at| at <= time)
    }

    /// The end of the sync that put the effect on disk for certain.
    pub(super) fn durable_since(&self, effect: usize) -> Option<usize> {
        self.durable[effect]
    }
}

/// Each effect needs the last one before it in the order of metadata, which needs the one before that in
/// turn; so only those that overlap it in time, and the first that does not, are edges of their own.
/// One that a sync put on disk before its time, or that may come before it, as on btrfs, stands for none of those
/// before it.
fn needs(history: &History, model: Model, durable: &[Option<usize>]) -> Vec<Vec<usize>> {
    let effects = &history.effects;
    let exempt = model.exempt(history);
    let mut needs = vec![Vec::new(); effects.len()];
    for later in 0..effects.len() {
        let is_chained = model.chained(&effects[later]) && !exempt.alone[later];
        let mut chain_ends = false;
        for earlier in (0..later).rev() {
            let in_chain = is_chained && model.chained(&effects[earlier]);
            if in_chain && chain_ends && !model.orders(history, later, earlier) {
                continue;
            }
            if model.needs(history, &exempt, later, earlier) {
                needs[later].push(earlier);
                chain_ends |= in_chain
                    && durable[earlier].is_none()
                    && !exempt.alone[earlier]
                    && stands_alone(history, earlier);
            }
            if model.inseparable(history, &exempt, later, earlier) {
                needs[earlier].push(later);
            }
        }
    }
    needs
}

/// Whether everything before the effect's operation was over when it began.
fn stands_alone(history: &History, effect: usize) -> bool {
    let own = history.effects[effect].step;
    let before = history.steps[..own].iter();
    before
        .into_iter()
        .all(|step| ended_before(step, &history.steps[own]))
}

fn durable_by_syncs(history: &History, model: Model) -> Vec<Option<usize>> {
    let mut durable: Vec<Option<usize>> = vec![None; history.effects.len()];
    for (number, step) in history.steps.iter().enumerate() {
        let Some(sync) = step.sync else { continue };
        let done: Vec<usize> = (0..step.effects.start)
            .filter(|at| durable[*at].is_none())
            .filter(|at| {
                let own = history.effects[*at].step;
                own < number && ended_before(&history.steps[own], step)
            })
            .collect();
        let through = model.forced_through(history, sync, &done);
        for at in done {
            if model.syncs(history, sync, through, at) {
                durable[at] = Some(step.end);
            }
        }
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
