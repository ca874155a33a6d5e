//! What is left of a failing state is what is left when effects are put back and taken away one by one, with fewer looks.

use std::collections::HashMap;
use std::convert::Infallible;

use super::{Log, ROOT, fixed, letters, shown};
use crate::crash::Looked;
use crate::crash::{
    Budget, Coverage, Explorer, Fault, Found, History, Model, Seen, State, Stopped, Verdicts,
    search,
};

/// Blocks of each file.
const BLOCKS: u32 = 24;

/// A file is copied to another block by block, and overwritten in place without syncs; then that is reported.
fn program() -> Log {
    let mut log = Log::new();
    let file = log.found(ROOT, "f", letters('a', BLOCKS * 4_096));
    let journal = log.create(ROOT, "j");
    for block in 0..BLOCKS {
        log.write(journal, u64::from(block) * 4_096, letters('a', 4_096));
    }
    for block in 0..BLOCKS {
        log.write(file, u64::from(block) * 4_096, letters('b', 4_096));
    }
    log.unlink(journal, ROOT, "j");
    log.print();
    log
}

/// The file is as it was or all new, or the journal is whole; what was acknowledged must survive.
fn look((tree, told): &Seen) -> Option<String> {
    let all = shown(tree);
    let all = all.as_str();
    let whole = BLOCKS * 4_096;
    let old = format!("f=a*{whole}");
    let new = format!("f=b*{whole}");
    let is_old = all.starts_with(&old) || all.ends_with(&format!("j=a*{whole}"));
    let is_new = all.starts_with(&new);
    match (is_new, is_old) {
        (false, true) if *told > 0 => Some("lost".to_owned()),
        (true, _) | (false, true) => None,
        (false, false) => Some("half".to_owned()),
    }
}

/// The same, with how many runs of letters there are in the message: no two states have the same one for long.
fn look_with_number(seen: &Seen) -> Option<String> {
    let runs = shown(&seen.0).matches('*').count();
    look(seen).map(|message| format!("{message} of {runs}"))
}

/// What is found, and how many trees were looked at.
fn found(
    history: &History,
    model: Model,
    budget: Budget,
    look: fn(&Seen) -> Option<String>,
) -> (Found, usize) {
    let mut found = Found::default();
    let mut looked = 0;
    let mut check = |seen: &[Seen], _: &Coverage| {
        looked += seen.len();
        Ok::<_, Stopped<Infallible>>(seen.iter().map(look).collect())
    };
    let mut verdicts = Verdicts::new(4);
    search(
        history,
        model,
        budget,
        &mut verdicts,
        &mut check,
        &mut found,
    )
    .unwrap();
    (found, looked)
}

fn budget() -> Budget {
    Budget {
        states: 1_000,
        ..Budget::default()
    }
}

/// What a look says of a combination; nothing of one that cannot be.
fn said(
    explorer: &mut Explorer<'_>,
    fault: &Fault,
    kept: &[bool],
    look: fn(&Seen) -> Option<String>,
) -> Option<String> {
    let told = explorer.told(fault.state.point);
    let (tree, _) = explorer.tree(kept).ok()?;
    look(&(tree, told))
}

/// Puts back and takes away one effect after the other.
fn one_by_one(
    explorer: &mut Explorer<'_>,
    fault: &Fault,
    mut kept: Vec<bool>,
    look: fn(&Seen) -> Option<String>,
) -> Vec<bool> {
    let certain = explorer.certain(fault.state.point);
    let issued = explorer.issued(fault.state.point);
    for at in issued.iter().rev() {
        let more = explorer.graph.closed(&kept, [*at]);
        if said(explorer, fault, &more, look).as_ref() == Some(&fault.message) {
            kept = more;
        }
    }
    let Some(first) = issued.iter().find(|at| !kept[**at]) else {
        return kept;
    };
    for at in issued.iter().rev().take_while(|at| *at > first) {
        let less = explorer.graph.less(&kept, &certain, [*at]);
        if said(explorer, fault, &less, look).as_ref() == Some(&fault.message) {
            kept = less;
        }
    }
    kept
}

#[test]
fn the_same_is_left_as_of_one_effect_after_the_other() {
    let history = program().history();
    for model in Model::ALL {
        let (found, _) = found(&history, model, budget(), look);
        assert!(!found.faults.is_empty());
        let mut states = HashMap::new();
        let mut explorer = Explorer::new(&history, model);
        let seen = |state: &State, _: Looked<'_>, _: &Coverage| {
            states.insert(state.number, state.kept.clone());
            Ok::<(), Infallible>(())
        };
        let mut coverage = Coverage::default();
        explorer.explore(budget(), &mut coverage, seen).unwrap();
        for fault in &found.faults {
            assert!(fault.is_smallest);
            let begun = states[&fault.state.number].clone();
            let left = one_by_one(&mut explorer, fault, begun, look);
            assert_eq!(fault.state.kept, left, "{model:?} {}", fault.message);
        }
    }
}

/// Trees that were looked at only to make states smaller, and how many states were.
fn looked_at_for_it(model: Model, look: fn(&Seen) -> Option<String>) -> (usize, usize) {
    let history = program().history();
    let (found, looked) = found(&history, model, budget(), look);
    let mut explorer = Explorer::new(&history, model);
    for fault in &found.faults {
        let again = said(&mut explorer, fault, &fault.state.kept, look);
        assert_eq!(again.as_ref(), Some(&fault.message));
    }
    let for_it = looked - usize::try_from(found.distinct).unwrap();
    (for_it, found.faults.len())
}

#[test]
fn few_trees_are_looked_at_for_it() {
    for model in [Model::Posix, Model::Ext4] {
        let (looked, faults) = looked_at_for_it(model, look);
        assert!(
            0 < looked && looked < 40 * faults,
            "{model:?}: {looked} for {faults}"
        );
    }
}

/// Then nearly no change can be made: each is tried once, and not many times.
#[test]
fn where_the_message_has_a_number_each_effect_is_tried_about_once() {
    let effects = program().history().effects.len();
    for model in [Model::Posix, Model::Ext4] {
        let (looked, faults) = looked_at_for_it(model, look_with_number);
        assert!(
            looked < 2 * effects * faults,
            "{model:?}: {looked} for {faults} of {effects}"
        );
    }
}

/// Of a large file whose pages cannot be put back, not every page is tried.
#[test]
fn pages_that_are_like_others_are_not_tried() {
    const PAGES: u32 = 2_000;
    let mut log = Log::new();
    log.found(ROOT, "f", letters('a', 5_000));
    let new = log.create(ROOT, "g");
    log.write(new, 0, letters('b', PAGES * 4_096));
    log.rename(new, (ROOT, "g"), (ROOT, "f"));
    let look = |(tree, _): &Seen| {
        let all = shown(tree);
        (!all.contains("f=a*5000") && !all.contains("b*")).then(|| "zeros".to_owned())
    };
    let (found, looked) = found(&log.history(), Model::Ext4, budget(), look);
    let fault = found
        .faults
        .iter()
        .find(|fault| fault.lost.len() >= PAGES as usize);
    assert!(!fault.unwrap().is_smallest);
    let for_it = looked - usize::try_from(found.distinct).unwrap();
    assert!(for_it < 300 * found.faults.len(), "{for_it}");
}

#[test]
fn syncs_that_are_not_needed_are_left_out() {
    let mut log = Log::new();
    log.found(ROOT, "f", letters('a', 5_000));
    let mut wanted = Vec::new();
    for letter in ['b', 'c', 'd'] {
        let new = log.create(ROOT, "t");
        log.write(new, 0, letters(letter, 9_000));
        log.rename(new, (ROOT, "t"), (ROOT, "f"));
        wanted.push(new);
    }
    let history = log.history();
    let look = |(tree, _): &Seen| {
        let all = shown(tree);
        let whole = ["f=a*5000", "f=b*9000", "f=c*9000", "f=d*9000"];
        let is_whole = whole.iter().any(|whole| all.starts_with(whole));
        (!is_whole).then(|| "torn".to_owned())
    };
    let added = fixed(&history, &Model::ALL, look).unwrap();
    let nodes: Vec<_> = added.iter().map(|one| one.node).collect();
    assert_eq!(nodes, wanted);
    for one in &added {
        assert_eq!(history.steps[one.before].call, "rename");
    }
}

/// A file that is gone cannot be opened to be synced: its directory can.
#[test]
fn what_is_removed_is_not_synced() {
    let mut log = Log::new();
    let data = log.found(ROOT, "data", letters('a', 10));
    let journal = log.create(ROOT, "journal");
    log.write(journal, 0, letters('j', 10));
    log.fsync(journal);
    log.fsync(ROOT);
    log.write(data, 0, letters('b', 10));
    log.fsync(data);
    log.unlink(journal, ROOT, "journal");
    log.print();
    let history = log.history();
    let added = fixed(&history, &[Model::Posix], |(tree, told)| {
        (*told > 0 && shown(tree).contains("journal")).then(|| "older".to_owned())
    })
    .unwrap();
    assert_eq!(added.len(), 1, "{added:?}");
    assert_eq!((added[0].node, added[0].is_directory), (ROOT, true));
    assert_eq!(history.name_of(journal, added[0].before), None);
    assert_eq!(history.name_of(data, 0), Some(b"/data".to_vec()));
}
