//! The explorer against the obvious: every set of effects, kept where each effect has what it needs.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::super::effect::Effect;
use super::super::history::{History, Sync};
use super::super::model::{Model, ended_before};
use super::super::state;
use super::{Log, ROOT, letters, shown, states};
use crate::crash::Budget;
use crate::op::FileId;
use crate::record::{Change, Durability, Name};

/// More effects have too many subsets.
const MOST_EFFECTS: usize = 12;

/// What is on disk for certain at a time: worked out sync by sync.
fn certain(history: &History, model: Model, time: usize) -> Vec<bool> {
    let mut durable: Vec<Option<usize>> = vec![None; history.effects.len()];
    for (number, by) in history.steps.iter().enumerate() {
        let Some(sync) = by.sync else { continue };
        let is_done =
            |effect: &Effect| effect.step < number && ended_before(&history.steps[effect.step], by);
        let effects = history.effects.iter().enumerate();
        let done: Vec<usize> = effects
            .filter(|(at, effect)| durable[*at].is_none() && is_done(effect))
            .map(|(at, _)| at)
            .collect();
        let forced = model.forced(history, sync, &done);
        for at in done {
            if sync == Sync::All || model.syncs(history, sync, &forced, at) {
                durable[at] = Some(by.end);
            }
        }
    }
    // Repeats until nothing changes.
    while model.syncs_all_before() && spread(history, model, &mut durable) {}
    durable
        .iter()
        .map(|at| at.is_some_and(|at| at <= time))
        .collect()
}

/// What is durable makes durable what it needs; gives whether there was something.
fn spread(history: &History, model: Model, durable: &mut [Option<usize>]) -> bool {
    for one in 0..durable.len() {
        for other in 0..durable.len() {
            let (Some(since), own) = (durable[one], durable[other]) else {
                continue;
            };
            if needs(history, model, one, other) && own.is_none_or(|own| own > since) {
                durable[other] = Some(since);
                return true;
            }
        }
    }
    false
}

fn needs(history: &History, model: Model, one: usize, other: usize) -> bool {
    let exempt = model.exempt(history);
    other < one && model.needs(history, &exempt, one, other)
        || one < other && model.inseparable(history, &exempt, other, one)
}

fn is_legal(history: &History, model: Model, kept: &[bool], certain: &[bool]) -> bool {
    let lacks =
        |one| (0..kept.len()).any(|other| !kept[other] && needs(history, model, one, other));
    (0..kept.len()).all(|one| !kept[one] || certain[one] || !lacks(one))
}

fn all_states(history: &History, model: Model) -> BTreeSet<(String, usize)> {
    let mut all = BTreeSet::new();
    let count = history.effects.len();
    for time in 0..2 * history.steps.len() {
        let certain = certain(history, model, time);
        let steps = history.steps.iter();
        let told = steps
            .filter(|step| step.printed.is_some() && step.end <= time)
            .count();
        let begun = |at: usize| history.steps[history.effects[at].step].begin <= time;
        for set in 0..1_u32 << count {
            let kept: Vec<bool> = (0..count).map(|at| set >> at & 1 == 1).collect();
            let may_be = |at: usize| if kept[at] { begun(at) } else { !certain[at] };
            if !(0..count).all(may_be) || set == 0 && told == 0 {
                continue;
            }
            if is_legal(history, model, &kept, &certain)
                && let Ok((tree, _)) = state::with(&history.base, history, &kept)
            {
                all.insert((shown(&tree), told));
            }
        }
    }
    all
}

/// What the steps of a random program do, on two files and two directories.
fn program(steps: &[(u8, u8, u8, bool)]) -> Log {
    let mut log = Log::new();
    let mut names = [
        ("f", Some(log.found(ROOT, "f", letters('o', 5_000)))),
        ("g", None),
        ("h", None),
    ];
    let directory = log.mkdir(ROOT, "d");
    let mut made = 0;
    for &(kind, which, how, overlaps) in steps {
        let (name, node) = names[usize::from(which) % 3];
        let letter = char::from(b'a' + made % 26);
        made += 1;
        let before = if overlaps { 25 } else { 0 };
        match (kind % 12, node) {
            (0, None) => names[usize::from(which) % 3].1 = Some(log.create(ROOT, name)),
            (1 | 2, Some(node)) => {
                let offset = [0, 4_000, 5_000, 8_192][usize::from(how) % 4];
                let change = Change::Wrote {
                    node,
                    description: None,
                    offset,
                    flags: [0, 2, 0x40, 0][usize::from(how / 64)],
                    payload: letters(letter, 1_000),
                };
                log.push_during("pwrite64", change, before);
            }
            (3, Some(node)) => {
                let change = Change::Synced {
                    node: Some(node),
                    description: None,
                    scope: if how & 1 == 0 {
                        Durability::File
                    } else {
                        Durability::Data
                    },
                };
                log.push_during("fsync", change, before);
            }
            (4, _) => log.fsync(if how & 1 == 0 { ROOT } else { directory }),
            (5, Some(node)) => {
                let to = usize::from(how) % 3;
                if to != usize::from(which) % 3 {
                    log.rename(node, (ROOT, name), (ROOT, names[to].0));
                    names[to].1 = Some(node);
                    names[usize::from(which) % 3].1 = None;
                }
            }
            (6, Some(node)) => {
                let change = Change::Unlinked {
                    node,
                    name: Name::new(ROOT, name),
                    directory: false,
                };
                log.push_during("unlink", change, before);
                names[usize::from(which) % 3].1 = None;
            }
            (7, Some(node)) => log.open_truncated(node),
            (8, Some(node)) => {
                log.link(node, directory, &format!("l{made}"));
            }
            (9, _) => log.print(),
            // What stores are read at may take a while, and cover any part of the file.
            (10, Some(node)) => {
                let stored = Change::Stored {
                    node,
                    offset: [0, 4_096][usize::from(how) % 2],
                    payload: letters(letter, 900),
                };
                log.push_during("msync", stored, before);
            }
            (11, Some(node)) => {
                let scope = Durability::Range {
                    offset: [0, 4_096][usize::from(how) % 2],
                    bytes: 4_096,
                };
                let (description, node) = (None, Some(node));
                let synced = Change::Synced {
                    node,
                    description,
                    scope,
                };
                log.push_during("msync", synced, before);
            }
            _ => log.sync(FileId { ..ROOT }, Durability::Everything),
        }
    }
    log
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(
        std::env::var("IOSTRATA_INPUTS").ok().and_then(|count| count.parse().ok()).unwrap_or(300)
    ))]

    #[test]
    fn every_state_that_a_model_allows_is_found(
        steps in prop::collection::vec((any::<u8>(), any::<u8>(), any::<u8>(), prop::bool::weighted(0.2)), 1..9),
        model in prop::sample::select(Model::ALL.to_vec()),
        sector_bytes in prop::sample::select(vec![512, 4096]),
    ) {
        let mut history = program(&steps).history();
        if model == Model::Ext4Journal {
            history.grow_by_pages();
        }
        history.tear_at(sector_bytes);
        prop_assume!(history.effects.len() <= MOST_EFFECTS);
        let budget = Budget { exhaustive: 1 << 13, ..Budget::default() };
        let found = states(&history, model, budget);
        let wanted = all_states(&history, model);
        prop_assert_eq!(found, wanted.clone());
        // What is tried of many combinations is among all.
        let few = Budget { exhaustive: 2, random: 8, ..Budget::default() };
        let few = states(&history, model, few);
        prop_assert!(few.is_subset(&wanted), "{:?}", few.difference(&wanted).next());
    }
}
